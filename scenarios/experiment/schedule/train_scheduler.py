"""Groups of short slices, a second of them at a time: for what can be switched within a millisecond.

Nothing of the runner lies between two slices. The guards look between the trains; a disturbed train is measured again
as a whole. See `scheduler.LoadScheduler`.

Slice batches: measured window by window, and from slices back to groups and events.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Literal

from hostdx.probes.engine.batch_source import BatchSource
from hostdx.probes.engine.histogram import coarser_buckets
from hostdx.probes.engine.measured import Measured, MeasuredBatch, join_batches
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import Disturbance
from hostdx.scenarios.contract.model import Run
from hostdx.scenarios.contract.plan import Workload
from hostdx.scenarios.experiment.carry_over import CarryOverAnalyses
from hostdx.scenarios.experiment.groups import GroupBlocks
from hostdx.scenarios.experiment.guards.watch import InterferenceWatch, emit_disturbance
from hostdx.scenarios.experiment.levels import Pair
from hostdx.scenarios.experiment.places import FileSetVisits
from hostdx.scenarios.experiment.schedule.guarded import measure_watched
from hostdx.scenarios.experiment.schedule.slices import (
    MIN_SLICE_S,
    ChosenSliceLength,
    WarmUpSlice,
    choose_slice_length,
    longest_slice_s,
    slice_length_event,
)
from hostdx.scenarios.experiment.scheduler import LoadScheduler, MeasuredGroups


async def measure_in_blocks(
    batches: BatchSource[object], order: Sequence[int], block_s: float, places: Sequence[int] = ()
) -> MeasuredBatch:
    """Measure each window by itself, and wait for requests and unwritten data of one variant before the next begins."""
    parts: list[MeasuredBatch] = []
    before = None
    for at, side in enumerate(order):
        if side != before:
            await batches.finish_requests()
        parts.append(await batches.measure_batch([side], block_s, places=places[at : at + 1]))
        if not parts[-1].order:  # it took far too long: no complete group can follow
            break
        before = side
    return join_batches(parts)


def batch_groups(
    batch: MeasuredBatch, variants: Sequence[str], first: int, places: Sequence[int] = (), loud: bool = False
) -> list[GroupBlocks]:
    """Return the complete groups of a batch, numbered from `first`: two slices of every variant each.

    `places`: the pair of file sets of each group. `loud`: see `GroupBlocks`.
    """
    size = 2 * len(variants)
    groups = []
    for number, at in enumerate(range(0, len(batch.order) - size + 1, size)):
        order = batch.order[at : at + size]
        place = places[number] if places else None
        group = GroupBlocks(first + number, [variants[n] for n in order], place, loud)
        for place, side in enumerate(order, at):
            values = {metric: each[place] for metric, each in batch.values.items()}
            group.add(variants[side], Measured(seconds=batch.lengths[place], values=values))
        groups.append(group)
    return groups


def batch_as_group(batch: MeasuredBatch, variants: Sequence[str], group: int) -> GroupBlocks:
    """Return the whole batch as one group, for figures that need many operations (p99)."""
    pooled = GroupBlocks(group, variants)
    for variant, side in zip(variants, batch.sides, strict=True):
        pooled.add(variant, side)
    return pooled


def warm_up_slices(batch: MeasuredBatch, variants: Sequence[str], onset_s: float) -> list[WarmUpSlice]:
    """Return the slices right after a switch, with the rates within them, without the first `onset_s` seconds."""
    each = zip(
        batch.order, [None, *batch.order], batch.lengths, batch.operations, batch.quarters, strict=False
    )
    return [
        WarmUpSlice(variants[n], s + onset_s, count, within)
        for n, before, s, count, within in each
        if n != before
    ]


def batch_event(
    t: float,
    batch: MeasuredBatch,
    workload: Workload,
    variants: Sequence[str],
    groups: Sequence[GroupBlocks],
    pairs: Sequence[Pair],
    *,
    index: int,
    phase: ev.Phase,
    disturbed: tuple[Disturbance, ...] = (),
) -> ev.SliceBatch:
    """Return the event that records a batch, with five digits of each value."""
    ratios: dict[str, list[float]] = {}
    if not disturbed and phase == "steady":
        for group in groups:
            for key, value in group.log_ratios(workload, pairs).items():
                ratios.setdefault(key, []).append(round(value, 5))
    size = 2 * len(variants)
    words = "".join(ev.SIDES[n] for n in batch.order)
    sides = dict(zip(variants, batch.sides, strict=True))
    return ev.SliceBatch(
        t=t,
        workload=workload.id,
        index=index,
        group=groups[0].index if groups else 0,
        seconds=round(batch.seconds, 4),
        slice_s=round(batch.slice_s, 5),
        variants=list(variants),
        order=" ".join(words[at : at + size] for at in range(0, len(words), size)),
        values={metric: [float(f"{v:.5g}") for v in each] for metric, each in batch.values.items()},
        log_ratios=ratios,
        places=[group.place for group in groups if group.place is not None],
        phase=phase,
        operations={v: side.operations for v, side in sides.items()},
        bytes={v: side.bytes for v, side in sides.items() if side.bytes},
        device_bytes=batch.device_bytes,
        cpu_s=round(sum(side.cpu_s for side in sides.values()), 4),
        waited_s=round(batch.waited_s, 4),
        p50_ns={v: side.p50_ns for v, side in sides.items() if side.p50_ns is not None},
        p99_ns={v: p99 for v in sides if (p99 := batch_as_group(batch, variants, 0).p99_ns(v)) is not None},
        histogram={v: coarser_buckets(side.histogram, COARSE) for v, side in sides.items() if side.histogram},
        disturbed=disturbed,
    )


COARSE = 1.08  # of a recorded bucket's bounds: its latencies are known within 4 %


TRAIN_S = 1.0  # of slices; a group of long ones is a train of its own
WARM_UP_S = 3.0  # at most, where slices are long or a switch shows for long
WARM_UP_LEAST_S = 1.0  # of it after the first slices, however long those took
WARM_SLICES = 10  # of a side: enough to tell its first quarter from noise
FEWER = 5  # times fewer operations than a slice should hold, where the first look came too late otherwise
AFFORDED_GROUPS = 48
# So many groups find work of a twentieth of a slice in two of three cases, of a tenth in 97 % (simulated, noise 3 %).
TELLING_GROUPS = 48
# A difference that was called early is held back until this can be told, where that costs no more:
CARRY_TEST_S = 5.0


class BatchScheduler(LoadScheduler):
    """Measures in slice batches. `counted` holds the batches of groups that count, with slices as long as now."""

    noun = "slice batch"

    def __init__(
        self,
        run: Run,
        workload: Workload,
        trains: BatchSource[object],
        watch: InterferenceWatch | None = None,
    ) -> None:
        self.run, self.workload, self.watch = run, workload, watch
        self.batches = trains
        self.fewest = workload.min_groups
        self.places = trains.places
        self.counted_batches: list[MeasuredBatch] = []
        self.slice_s, self.onset_s = workload.slice_s or MIN_SLICE_S, 0.0
        self.carry = CarryOverAnalyses(margin=run.effect_margin, block_s=workload.block_s)
        self._by_operations, self._rate = False, 0.0  # why slices are as long, and of the slowest side
        self._numbers, self._group = itertools.count(), 0
        self._visits = FileSetVisits(self.places, run.rng)
        self._warm_up_slices: list[WarmUpSlice] = []
        self._chosen_length: ChosenSliceLength | None = None
        self._warm_until, self._once_more = 0.0, True
        self._is_settled = False  # measured in blocks because of the order

    @property
    def variant_names(self) -> tuple[str, ...]:
        return self.batches.variant_names

    @property
    def group_s(self) -> float:
        return 2 * len(self.variant_names) * self.slice_s

    @property
    def most_groups(self) -> int:
        affordable = self.batches.affordable_s(1) / self.slice_s  # by the write limit; one too many says so
        return max(1, int(min(round(TRAIN_S / self.group_s), affordable)))

    async def warm_up(self, most_s: float) -> bool:
        """Measure every variant once, then slices with a switch before each, until a switch no longer shows."""
        load, names, chosen = self.workload, self.variant_names, self._chosen_length
        if chosen is None:
            self._warm_until = self._warm_until or self.run.clock.now() + min(WARM_UP_S, most_s)
            train, cut_s = await self.batches.start_workers_and_rehearse(), 0.0
            self._warm_until = max(self._warm_until, self.run.clock.now() + WARM_UP_LEAST_S)
        else:
            left_s, cut_s = (self._warm_until - self.run.clock.now()) / len(names), load.slice_onset_s
            left, length = int(left_s / chosen.seconds), chosen.seconds
            if left < 1:
                # Too slow to find out what a switch costs; but a cold start is not its pace either.
                if not self._once_more:
                    return self._adopt_slice_length(chosen)
                self._once_more, left, length = False, 1, max(self._shortest_slice_s, left_s)
            # groups: the warm-up takes a quarter of one in four
            afforded = self.batches.affordable_s(1) / length
            left = int(min(WARM_SLICES, left, max(1.0, afforded / 2)))
            order = list(range(len(names))) * left
            train = await self.batches.measure_batch(order, length, onset_s=cut_s, quarters=True)
        self._emit_batch(train, "warmup", [])
        self._warm_up_slices = [w for w in self._warm_up_slices if w.variant in names] + warm_up_slices(
            train, names, cut_s
        )
        self._chosen_length = chosen = choose_slice_length(
            self._warm_up_slices,
            margin=self.carry.margin,
            most_s=longest_slice_s(
                load, self._warm_up_slices, len(names), self.batches.affordable_s(AFFORDED_GROUPS)
            ),
            least_operations=load.slice_operations,
            least_s=self._shortest_slice_s,
        )
        if chosen.settled or (self.run.clock.now() >= self._warm_until and not self._once_more):
            return self._adopt_slice_length(chosen)
        return False

    @property
    def _shortest_slice_s(self) -> float:
        """Return the shortest slice with which the needed groups fit into the write limit."""
        return max(MIN_SLICE_S, min(self.workload.slice_s, self.batches.affordable_s(self.fewest)))

    def _adopt_slice_length(self, chosen: ChosenSliceLength) -> bool:
        chosen = chosen._replace(onset_s=max(chosen.onset_s, self.workload.slice_onset_s))
        self.slice_s, self.onset_s = chosen.seconds, chosen.onset_s
        self.run.emit(slice_length_event(self.run.elapsed_s(), self.workload.id, chosen))
        self._by_operations = chosen.why in ("operations", "block") and not self.onset_s
        self._rate = chosen.rate
        return True

    def shorten_groups(self, factor: float) -> bool:
        """Shorten the slices where their operations make them long. Fewer operations scatter more; the error rate
        stays, because the order is still drawn.
        """
        least_s = self.workload.slice_operations / FEWER / self._rate if self._rate > 0 else self.slice_s
        wanted_s = max(least_s, self.slice_s * factor, self._shortest_slice_s)
        shorter = math.ceil(1000 * wanted_s) / 1000
        if not self._by_operations or shorter >= self.slice_s:
            return False
        self.slice_s = shorter
        self.run.emit(
            ev.SliceLengthChosen(
                t=self.run.elapsed_s(), workload=self.workload.id, seconds=shorter, why="budget"
            )
        )
        return True

    async def measure(self, orders: Sequence[Sequence[str]]) -> MeasuredGroups:
        names, wanted = self.variant_names, len(orders)
        order = [names.index(variant) for group in orders for variant in group]
        places = self._visits.choose_for(wanted) if self.places > 1 else []
        slice_places = [place for place in places for _ in range(2 * len(names))]
        if self.carry.in_blocks or self._is_settled:
            work = measure_in_blocks(self.batches, order, self.slice_s, slice_places)
        else:
            work = self.batches.measure_batch(order, self.slice_s, onset_s=self.onset_s, places=slice_places)
        train, disturbance = await measure_watched(
            self.watch, self.workload.id, work, MeasuredBatch.as_one_block
        )
        if self.watch is not None:
            others = await self.watch.pause_to_spare_others()
            disturbance = disturbance or others
        groups = batch_groups(train, names, self._group, places, self.watch is not None and self.watch.loud)
        first, self._group = self._group, self._group + len(groups)
        disturbed: tuple[Disturbance, ...] = ()
        if disturbance is not None:
            emit_disturbance(disturbance, self.run, self.workload.id, first if groups else 0, again="train")
            disturbed = (disturbance,)
        elif self.watch is not None and self.watch.stopped:
            disturbed = (Disturbance("stopped", text=self.watch.stopped),)
        self._emit_batch(train, "steady", groups, disturbed)
        if not disturbed:
            self.counted_batches.append(train)
            self._visits.count_visits([group.place for group in groups if group.place is not None])
        stalled_alone = [
            each
            for each in (group.stalled_variants(self.workload, self.pairs) for group in groups)
            if len(each) == 1
        ]
        return MeasuredGroups(
            groups, batch_as_group(train, names, self._group), disturbed, [each[0] for each in stalled_alone]
        )

    def latency_histogram(self, variant: str, groups: int) -> list[tuple[int, int]]:
        """Return the latencies of the operations in the first groups that count, in the buckets that are recorded. A
        batch keeps them as a whole, so the last one may hold some groups more.
        """
        side, histogram, before = self.variant_names.index(variant), list[tuple[int, int]](), 0
        for train in self.counted_batches:
            if before < groups:
                histogram += coarser_buckets(train.sides[side].histogram, COARSE)
            before += len(train.order) // (2 * len(self.variant_names))
        return histogram

    def drop_variants(self, variants: Sequence[str]) -> None:
        self.batches = self.batches.without_variants(variants)
        self.counted_batches = []

    def begin_anew_if_needed(self, groups: Sequence[GroupBlocks]) -> bool:
        """Begin anew with longer slices or in windows, where one variant leaves work to the other."""
        then = self.carry.analyse_carry_over(groups, self.workload.metrics[0].name, self.pairs, self.slice_s)
        if then is None:
            return False
        bias = then.carried.bias
        rounded = None if bias is None else (round(bias.low, 5), round(bias.high, 5))
        self._restart_with_slice(then.seconds, "carry-over", bias=rounded, blocks=then.todo == "blocks")
        return True

    def try_restart_with_settling(self, left_s: float) -> bool:
        """Measure in windows, with a flush and a wait after each."""
        block_s = max(self.slice_s, self.workload.block_s)
        is_in_blocks = self.carry.in_blocks or self._is_settled
        if is_in_blocks or left_s < self.fewest * 2 * len(self.variant_names) * block_s:
            return False
        self._is_settled = True
        self._restart_with_slice(block_s, "order", bias=None, blocks=True)
        return True

    def _restart_with_slice(
        self,
        seconds: float,
        why: Literal["carry-over", "order"],
        *,
        bias: tuple[float, float] | None,
        blocks: bool,
    ) -> None:
        self.slice_s, self.onset_s = seconds, 0.0
        self.counted_batches, self._visits = [], FileSetVisits(self.places, self.run.rng)
        length = ev.SliceLengthChosen(
            t=self.run.elapsed_s(),
            workload=self.workload.id,
            seconds=seconds,
            why=why,
            bias=bias,
            blocks=blocks,
        )
        self.run.emit(length)

    def is_premature(self, groups: int, *, called: bool, decided: bool) -> bool:
        """Return whether it cannot be told yet if the variants leave work to each other."""
        if self.carry.groups_until_known(groups):  # something was found already
            return called or (not self.carry.in_blocks and decided)
        return called and groups < TELLING_GROUPS and TELLING_GROUPS * self.group_s <= CARRY_TEST_S

    def restrict_verdict(self, verdict: ev.RunVerdict) -> ev.RunVerdict:
        return self.carry.restrict_verdict(verdict)

    def _emit_batch(
        self,
        train: MeasuredBatch,
        phase: ev.Phase,
        groups: Sequence[GroupBlocks],
        disturbed: tuple[Disturbance, ...] = (),
    ) -> None:
        self.run.emit(
            batch_event(
                self.run.elapsed_s(),
                train,
                self.workload,
                self.variant_names,
                groups,
                self.pairs,
                index=next(self._numbers),
                phase=phase,
                disturbed=disturbed,
            )
        )
