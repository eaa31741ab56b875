"""All corners in turn, cycle by cycle: easy and hard of a load beside each other, in a drawn order.

A cycle is the unit of inference: what else the host and the file system do drifts, and both sides of a load see it
alike. The first two cycles find out how large a block must be; from then on every block of a corner is of one size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from statistics import median

from msgspec.structs import replace

from hostdx.probes.engine.measured import MeasurementInvalid, WriteBudgetSpent
from hostdx.scenarios.box.measurement.bench import BoxBench, ReadsServedByCache
from hostdx.scenarios.box.measurement.corner import CORNERS, LOADS, BoxTest, box_tests_of
from hostdx.scenarios.box.results import CornerLevel
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.model import Run, StepInProgress
from hostdx.scenarios.contract.plan import Workload
from hostdx.scenarios.contract.verdict.order import apply_order_guard
from hostdx.scenarios.contract.verdict.verdict import (
    NOT_YET,
    UNFIT,
    EffectEstimate,
    margin_edge,
    ratio_interval,
    ratio_of,
    rule_on_effect,
    smallest_effect_of,
)
from hostdx.scenarios.experiment.groups import GroupBlocks
from hostdx.scenarios.experiment.guards.watch import InterferenceWatch
from hostdx.scenarios.experiment.levels import fit_variant_levels
from hostdx.scenarios.experiment.order import order_effect
from hostdx.scenarios.experiment.schedule.guarded import GuardedBlocks
from hostdx.scenarios.experiment.statistics.stats import interval_over_groups, median_and_interval

PILOTS = 2
SETTLE_S = 1.0  # of idling after a flush, before each block of a load whose two orders contradict each other
MIN_CYCLES_AFTER = 6
ORDER_CYCLES = (6, 8, 10, 12, 16, 24, 32)  # after which the orders are held against each other
EASY, HARD = "easy", "hard"
MIN_GROUPS = 4
NEEDS = {  # what a corner works with, another one made
    "find": ("mdtest-easy-write", "mdtest-hard-write"),
    "mdtest-easy-stat": ("mdtest-easy-write",),
    "mdtest-easy-delete": ("mdtest-easy-write",),
    "mdtest-hard-stat": ("mdtest-hard-write",),
    "mdtest-hard-read": ("mdtest-hard-write",),
    "mdtest-hard-delete": ("mdtest-hard-write",),
}


class BoxCycles:
    """`corner_levels` and `load_verdicts` hold at any time, of what was measured; `ended`: why before the budget."""

    def __init__(
        self,
        run: Run,
        bench: BoxBench,
        workloads: Sequence[Workload],
        watch: InterferenceWatch | None,
        scope: str,
    ) -> None:
        self.run, self.bench, self.scope = run, bench, scope
        self.workloads = {load.id: load for load in workloads}
        self.blocks = GuardedBlocks(run, watch)
        self.unmeasured_reasons: dict[str, str] = {}  # by corner: why it is not measured
        self.cached: set[str] = set()  # of those, the ones that memory would have answered
        self.ended = ""
        self._elapsed_s = 0.0
        self._cores: dict[str, list[float]] = {}
        self._easy_first: dict[str, dict[int, bool]] = {}  # by load and cycle
        self._counted_from: dict[str, int] = {}  # by load: the first cycle since it settles longer

    async def measure(self, step: StepInProgress, budget_s: float, workers: int) -> None:
        """As many cycles as the budget has; more, for as long again, where others disturbed a corner in all of them."""
        run, began = self.run, self.run.clock.now()
        if self.blocks.watch is not None:
            await self.blocks.watch.look_before_first_block()
        cycle, longest = 0, 0.0
        while not (self.ended or self.blocks.stop_reason):
            at = run.clock.now()
            if cycle > PILOTS and at + longest - began > (2 * budget_s if self._lacks_values() else budget_s):
                break
            self.bench.begin_cycle(cycle, last_pilot=cycle == PILOTS)
            try:
                await self._measure_cycle(cycle, workers)
            except WriteBudgetSpent as why:  # what was measured until now holds
                self.ended = str(why)
            except Exception as why:  # more budget would not have helped
                self.ended = f"measuring failed: {why}"
                raise
            longest = run.clock.now() - at
            self._elapsed_s = run.clock.now() - began
            left = max(0.0, budget_s - self._elapsed_s)
            self._restart_contradicting_loads(cycle, left / (longest + 2 * SETTLE_S))
            done = min(1.0, self._elapsed_s / budget_s)
            step.report_progress(f"cycle {cycle + 1}, easy and hard in turn", left, done)
            cycle += 1
        self.ended = self.ended or self.blocks.stop_reason

    async def _measure_cycle(self, cycle: int, workers: int) -> None:
        phase: ev.Phase = "warmup" if cycle < PILOTS else "steady"
        for load in LOADS:
            sides = [
                corner for corner in box_tests_of(load) if self._note_missing_need_and_can_measure(corner)
            ]
            self.run.rng.shuffle(sides)
            if (cycle - self._counted_from.get(load, cycle)) % 2:  # the mirror of the cycle before: balanced
                sides.sort(
                    key=lambda corner: (corner.difficulty == EASY) is self._easy_first[load][cycle - 1]
                )
            if sides:
                self._easy_first.setdefault(load, {})[cycle] = sides[0].difficulty == EASY
            group = GroupBlocks(cycle, [corner.difficulty for corner in sides])
            for corner in sides:
                if load in self._counted_from:
                    await self.bench.wait_until_settled()
                    await self.run.clock.sleep(SETTLE_S)
                try:
                    measured, disturbed = await self.blocks.measure(
                        load,
                        corner.difficulty,
                        partial(self.bench.measure_block, corner),
                        group=cycle,
                        phase=phase,
                    )
                except WriteBudgetSpent:
                    raise
                except MeasurementInvalid as why:
                    self.unmeasured_reasons[corner.id] = str(why)
                    if isinstance(why, ReadsServedByCache):
                        self.cached.add(corner.id)
                    continue
                group.add(corner.difficulty, measured)
                group.disturbed += [disturbed] if disturbed is not None else []
                if phase == "steady" and measured.seconds > 0:
                    share = measured.cpu_s / measured.seconds / (workers if corner.operation != "find" else 1)
                    self._cores.setdefault(corner.id, []).append(share)
            if group.disturbed:
                self.blocks.leave_out(load, cycle)
            if phase == "steady" and len(group.blocks) == len(box_tests_of(load)) == 2:
                self._emit_group(load, group)
            await self.blocks.pause_to_spare_others(load, cycle)

    def _restart_contradicting_loads(self, cycle: int, cycles_left: float) -> None:
        """Where the two orders of a load contradict each other it begins anew, and settles before each block."""
        for load in (
            load for load in LOADS if len(box_tests_of(load)) == 2 and load not in self._counted_from
        ):
            easy, hard = box_tests_of(load)
            if len(self._ratios_by_cycle(easy, hard)) not in ORDER_CYCLES or cycles_left < MIN_CYCLES_AFTER:
                continue
            verdict = self._load_verdict(load, 1)
            if verdict.is_not_measured and verdict.order is not None:
                self._counted_from[load] = cycle + 1
                t, seconds = self.run.elapsed_s(), SETTLE_S
                self.run.emit(
                    ev.SliceLengthChosen(t=t, workload=load, seconds=seconds, why="order", blocks=True)
                )

    def _note_missing_need_and_can_measure(self, corner: BoxTest) -> bool:
        without = next(
            (needed_id for needed_id in NEEDS.get(corner.id, ()) if needed_id in self.unmeasured_reasons), ""
        )
        if without and corner.id not in self.unmeasured_reasons:
            self.unmeasured_reasons[corner.id] = self.unmeasured_reasons[without]
        return corner.id not in self.unmeasured_reasons

    def _emit_group(self, load: str, group: GroupBlocks) -> None:
        workload = self.workloads[load]
        self.run.emit(
            ev.Group(
                t=self.run.elapsed_s(),
                workload=load,
                index=group.index,
                order=group.order_text,
                log_ratios=group.log_ratios(workload, [(EASY, HARD)]),
                disturbed=tuple(group.disturbed),
            )
        )

    def _blocks_by_cycle(self, corner: BoxTest) -> dict[int, ev.Block]:
        first, counted = self._counted_from.get(corner.load, 0), self.blocks.counted_blocks(corner.load)
        steady = (b for b in counted if b.variant == corner.difficulty and b.phase == "steady")
        return {b.group: b for b in steady if b.group >= first}

    def _lacks_values(self) -> bool:
        return any(c.id not in self.unmeasured_reasons and not self._blocks_by_cycle(c) for c in CORNERS)

    def corner_levels(self) -> tuple[CornerLevel, ...]:
        return tuple(self._corner_level(corner) for corner in CORNERS)

    def _corner_level(self, corner: BoxTest) -> CornerLevel:
        blocks = self._blocks_by_cycle(corner)
        values = [block.values[corner.metric_name] for block in blocks.values()]
        if corner.id in self.unmeasured_reasons or not values:
            why = self.unmeasured_reasons.get(corner.id) or self.ended or "no cycle was undisturbed"
            return CornerLevel(
                corner=corner.id,
                unit=corner.unit,
                reason=f"not applicable: {why}",
                cached=corner.id in self.cached,
            )
        judged = self._load_verdict(corner.load, 1) if len(box_tests_of(corner.load)) == 2 else None
        if judged is not None and judged.is_not_measured and judged.order is not None:
            return CornerLevel(corner=corner.id, unit=corner.unit, reason=f"not measured: {judged.reason}")
        middle, ends = median_and_interval(values, self._level_by_paired_cycles(corner))
        return CornerLevel(
            corner=corner.id,
            unit=corner.unit,
            cycles=len(values),
            median=middle,
            ci95=ends,
            seconds=median(block.seconds for block in blocks.values()),
            cpu=median(self._cores.get(corner.id, [0.0])),
        )

    def _level_by_paired_cycles(self, corner: BoxTest) -> float | None:
        """The value that stands beside the effect of its load; None where that has none."""
        corners = box_tests_of(corner.load)
        ratio = self._load_verdict(corner.load, 1).ratio if len(corners) == 2 else None
        if ratio is None:
            return None
        easy, hard = (self._blocks_by_cycle(paired_corner) for paired_corner in corners)
        sides = [
            [blocks[n].values[paired_corner.metric_name] for n in easy if n in hard]
            for paired_corner, blocks in zip(corners, (easy, hard), strict=True)
        ]
        pair = (EASY, HARD)
        return fit_variant_levels({pair: (sides[0], sides[1])}, {pair: math.log(ratio)}).get(
            corner.difficulty
        )

    def load_verdicts(self) -> list[ev.RunVerdict]:
        """Hard against easy of each load that has both."""
        pairs = [load for load in LOADS if len(box_tests_of(load)) == 2]
        return [self._load_verdict(load, len(pairs)) for load in pairs]

    def _load_verdict(self, load: str, family: int) -> ev.RunVerdict:
        easy, hard = box_tests_of(load)
        alpha = 0.05 / family
        none = ev.RunVerdict(
            t=self.run.elapsed_s(),
            workload=load,
            metric=easy.metric_name,
            baseline=EASY,
            variant=HARD,
            verdict=NOT_YET,
            delta_unit=easy.unit,
            alpha=alpha,
            margin=self.run.effect_margin,
            scope=self.scope,
            seconds=round(self._elapsed_s, 3),
        )
        if unmeasured_reason := next(
            (
                self.unmeasured_reasons[corner.id]
                for corner in (easy, hard)
                if corner.id in self.unmeasured_reasons
            ),
            "",
        ):
            return replace(none, verdict=UNFIT, reason=unmeasured_reason)
        ratios = self._ratios_by_cycle(easy, hard)
        logs = list(ratios.values())
        spread = interval_over_groups(logs, alpha) if len(logs) >= MIN_GROUPS else None
        if spread is None:
            few = f"{len(logs)} cycles were undisturbed, {MIN_GROUPS} are needed (raise --budget)"
            return replace(none, reason=self.ended or few)
        edge = margin_edge(self.run.effect_margin)
        ruling = rule_on_effect(EffectEstimate(spread.estimate, spread.low, spread.high, edge))
        ends = ratio_interval(spread.low, spread.high)
        verdict = replace(
            none,
            verdict=ruling.word,
            reason=None if ruling.is_decided else "the interval is too wide (raise --budget)",
            ratio=ratio_of(spread.estimate),
            ci95=ends,
            groups=len(logs),
            look=1,
            smallest_effect=smallest_effect_of(ends),
            slower_in=sum(log < 0 for log in logs),
        )
        firsts = [self._easy_first[load][cycle] for cycle in ratios]
        return apply_order_guard(verdict, order_effect(logs, firsts, self.run.effect_margin))

    def _ratios_by_cycle(self, easy: BoxTest, hard: BoxTest) -> dict[int, float]:
        """By cycle."""
        of_easy, of_hard = self._blocks_by_cycle(easy), self._blocks_by_cycle(hard)
        return {
            n: math.log(of_hard[n].values[hard.metric_name] / of_easy[n].values[easy.metric_name])
            for n in of_easy
            if n in of_hard
            and min(of_hard[n].values[hard.metric_name], of_easy[n].values[easy.metric_name]) > 0
        }
