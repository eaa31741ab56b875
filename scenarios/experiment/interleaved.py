"""The interleaved experiment: the same workload on several variants, group by group, until it is decided.

Order, unit of inference, looks, blocks, budget and guards are fixed before the first block (design: "The
experiment"). Cancelling it propagates into the block under way; the arms stop their own load.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from probes.bench.measured import Measured, NotApplicable, Spent
from probes.units import duration
from scenarios import events as ev
from scenarios.disturbance import Disturbance, too_disturbed
from scenarios.experiment.arm import Arm
from scenarios.experiment.budget import OVERHEAD, Pace, group_seconds
from scenarios.experiment.groups import Group, Pair
from scenarios.experiment.guarded import GuardedBlocks
from scenarios.experiment.judge import Judge, judges_for
from scenarios.experiment.sequential import BATCH, orders
from scenarios.experiment.stats import sign_test
from scenarios.experiment.wording import not_measured
from scenarios.guards.watch import Watch
from scenarios.model import Run
from scenarios.plan import Workload
from scenarios.verdict.word import Word

# A run whose groups are disturbed more often than not tells of the neighbour, not of the variants. Counted
# from the sixth group on (the fourth where blocks are long), so that one burst at the start does not end it.
DISTURBED_AT_MOST = 0.5
DISTURBED_COUNTED_FROM = 6

FEWEST = 4  # groups that are measured where no more fit: with so few the single blocks must show a difference as well

# How likely stalls of one variant alone may be by chance, to be held against it: 5 %, by the exact sign test.
STALLS_BY_CHANCE = 0.05


class Comparison(NamedTuple):
    """What came out: the verdicts, and the blocks that count (no warm-up, no disturbed group; onsets apart)."""

    verdicts: list[ev.Verdict]
    blocks: list[ev.Block]


class _Gone(Exception):
    """An arm turned out not to be applicable."""

    def __init__(self, variant: str, reason: str) -> None:
        super().__init__(reason)
        self.variant = variant
        self.reason = reason


async def compare(
    run: Run,
    workload: Workload,
    arms: Sequence[Arm],
    *,
    budget_s: float,
    family: int,
    margin: float | None = None,
    watch: Watch | None = None,
    pairs: Sequence[Pair] | None = None,
    scope: str = "",
    most_s: float | None = None,
) -> Comparison:
    """Measures and judges; every judged metric of every pair gets its verdict, as an event and in the result.

    budget_s  wall seconds of measuring for this workload, warm-up and switching included; up to `most_s` where blocks
              turn out so long (a slow disk's operations) that the fewest groups need it.
    family    how many comparisons (workload x pair) the whole run makes: its family-wise error is 5 %.
    margin    the smallest effect that matters, as a fraction; without it the run's option.
    pairs     (baseline, variant); without it the first arm is everybody's baseline.
    scope     "this stack" or "this disk": what the verdicts speak of.
    """
    if len(arms) < 2:
        raise ValueError("an experiment needs two variants")
    wanted = list(pairs) if pairs is not None else [(arms[0].variant, a.variant) for a in arms[1:]]
    if margin is None:
        margin = run.options.number("margin", 0.05)
    pace = Pace(run.clock, budget_s, group_seconds(workload, len(arms)), most_s)
    experiment = _Experiment(run, workload, arms, wanted, pace, watch)
    verdicts = await experiment.conduct(
        lambda planned: judges_for(
            workload, wanted, family=family, margin=margin, planned_groups=planned, scope=scope
        )
    )
    return Comparison(verdicts, experiment.blocks.counted(workload.id))


class _Experiment:
    def __init__(
        self,
        run: Run,
        workload: Workload,
        arms: Sequence[Arm],
        pairs: Sequence[Pair],
        pace: Pace,
        watch: Watch | None,
    ) -> None:
        self.run = run
        self.workload = workload
        self.arms = {arm.variant: arm for arm in arms}
        self.pairs = list(pairs)
        self.pace = pace
        self.watch = watch
        self.block_s = workload.block_s
        self.switching_s = 0.0
        # Groups: at the first look a large effect shows, and on a slow disk that is all that can be had.
        self.fewest = min(BATCH, workload.min_groups)
        self.blocks = GuardedBlocks(run, watch)
        self.active: Arm | None = None
        self.gone: list[_Gone] = []
        self.disturbed: list[Disturbance] = []
        self.needs_s: float | None = None  # of budget, where it was not enough
        self.spent = ""  # why no further block may be measured
        self.stalls: Counter[str] = Counter()  # groups in which a variant alone gave nothing in a block

    async def conduct(self, judges_of: Callable[[int], list[Judge]]) -> list[ev.Verdict]:
        """Warm-up, groups, verdicts. `judges_of` is asked once, when it is known how many groups will fit."""
        reason = self._does_not_fit(warm=False)
        if not reason and self.watch is not None:
            await self.watch.settle()
            reason = self.watch.stopped
        if not reason:
            await self._warm_up()
            reason = self.spent or self._does_not_fit(warm=True)
        judges = judges_of(max(self.pace.groups_that_fit, self.fewest))
        if reason:
            self.run.note(not_measured(self.workload.title, reason))
        broken_off = "" if reason else await self._groups(judges)
        return [self._verdict(judge, reason, broken_off) for judge in judges]

    def _verdict(self, judge: Judge, not_started: str, broken_off: str) -> ev.Verdict:
        t = self.run.time()
        gone = next((g for g in self.gone if g.variant in judge.pair), None)
        if gone is not None and not judge.decided:
            verdict = judge.not_applicable(t, self.pace, f"{gone.variant}: {gone.reason}")
        elif not_started:
            verdict = judge.not_started(t, not_started, self.needs_s)
        elif broken_off:
            verdict = judge.broken_off(t, self.pace, broken_off)
        else:
            blame = self.watch.blame(self.workload.id) if self.watch is not None else ""
            why = self.spent or f"not decided within {self.pace.budget_s:.0f} s"
            verdict = judge.conclude(t, self.pace, f"{why}; {blame}" if blame else why)
            verdict = self._with_stalls(verdict)
        self.run.emit(verdict)
        return verdict

    def _with_stalls(self, verdict: ev.Verdict) -> ev.Verdict:
        """A variant that alone stands still again and again is not "no different", whatever the other groups say."""
        here, there = self.stalls[verdict.variant], self.stalls[verdict.baseline]
        worse = verdict.variant if here >= there else verdict.baseline
        if sign_test(here, there) > STALLS_BY_CHANCE / max(1, len(self.pairs)):
            return verdict
        better = verdict.baseline if worse == verdict.variant else verdict.variant
        stalls = (
            f"{worse} stalled (no operation finished in a block) in {max(here, there)} groups, {better} in "
            f"{min(here, there) or 'none'}; those groups are not in the ratio"
        )
        contradicted = verdict.equal or (verdict.faster if worse == verdict.variant else verdict.slower)
        word = Word.UNDECIDED if contradicted else verdict.verdict
        reason = "; ".join(r for r in (stalls, verdict.reason) if r)
        return msgspec.structs.replace(verdict, verdict=word, reason=reason)

    def _does_not_fit(self, *, warm: bool) -> str:
        """Why not, or "". `warm`: how long a block must be is known; a large effect may show in fewer groups, too."""
        if not self.pairs:
            return ""
        groups = self.workload.min_groups
        for enough in (groups, self.fewest, min(FEWEST, groups)) if warm else (groups,):
            if self.pace.make_room(enough):
                self.fewest = min(self.fewest, max(enough, self.pace.groups_that_fit))
                return ""
        self.needs_s = self.pace.spent_s + groups * self.pace.group_s * OVERHEAD
        return (
            f"needs {duration(groups * self.pace.group_s)}, "
            f"{duration(max(0.0, self.pace.most_s - self.pace.spent_s))} of the budget were left (raise --budget)"
        )

    async def _warm_up(self) -> None:
        """One block an arm that never counts; it tells how long a block must be for the fewest operations.

        What it took as a whole tells nothing: workers start in it. Its blocks' own length and the switches do.
        """
        longest = self.workload.block_s
        took: dict[str, float] = {}
        for arm in list(self.arms.values()):
            if arm.variant not in self.arms:
                continue
            try:
                measured = await self._block(arm, Group(-1, (arm.variant,)), "warmup")
            except Spent as why:
                self.spent = str(why)
                return
            except _Gone as gone:
                self._drop(gone)
                continue
            onset_s = measured.onset.seconds if measured.onset is not None else 0.0
            took[arm.variant] = measured.seconds + onset_s
            if measured.operations > 0 and measured.seconds > 0:
                needed = self.workload.min_operations * measured.seconds / measured.operations
                longest = max(longest, needed + self.workload.onset_s)
        asked_s = self.block_s
        self.block_s = min(longest, max(self.workload.max_block_s, self.workload.block_s))
        # A block that ended early spent its bytes (a stream of writes), and will again; a block of one operation, a
        # command, lasts as long as that does on its side.
        own_length = self.workload.min_operations == 1
        blocks_s = sum(
            2 * (t if own_length or t < 0.9 * asked_s else self.block_s)
            for v, t in took.items()
            if v in self.arms
        )
        switches = 2 * len(self.arms) - 1.5  # a group and its successor's beginning, on average
        self.pace.expect(blocks_s + switches * self.switching_s / max(1, len(took)))

    async def _groups(self, judges: Sequence[Judge]) -> str:
        """Groups until everything is decided or the budget is spent. Returns why it was broken off, or ""."""
        draw = self._orders()
        for index in itertools.count():
            open_judges = [j for j in judges if not j.decided and j.pair in self.pairs]
            if not open_judges or self.pace.groups_that_fit < 1:
                break
            self._progress(index, open_judges)
            group = Group(index, next(draw))
            self.pace.group_began()
            try:
                await self._measure(group)
            except Spent as why:  # when it ends does not hang on how it looks: what there is may be judged
                group.disturbed.append(Disturbance("budget", text=str(why)))
                self._emit_group(group)
                self.spent = str(why)
                break
            except _Gone as gone:
                group.disturbed.append(Disturbance("not applicable", subject=gone.variant, text=gone.reason))
                self._emit_group(group)
                self._drop(gone)
                draw = self._orders()
                continue
            if self.blocks.stopped:
                self._emit_group(group)
                return self.blocks.stopped
            self.pace.group_ended()
            if stalled := group.stalled(self.workload, self.pairs):
                group.disturbed += [Disturbance("stall", subject=variant) for variant in stalled]
                if len(stalled) == 1:
                    self.stalls[stalled[0]] += 1
            self._emit_group(group)
            if group.disturbed:
                self.disturbed.append(group.disturbed[0])
                if self._too_disturbed(index + 1):
                    return too_disturbed(self.disturbed, index + 1, "groups")
                continue
            for judge in open_judges:
                judge.add(group, self.pace)
                if estimate := judge.estimate(self.run.time(), group, self.pace):
                    self.run.emit(estimate)
        return ""

    def _orders(self) -> Iterator[tuple[str, ...]]:
        """Few groups of long blocks: a batch that must hold both orders has then only as many."""
        return orders(tuple(self.arms), self.run.rng, self.fewest)

    async def _measure(self, group: Group) -> None:
        for variant in group.order:
            group.add(variant, await self._block(self.arms[variant], group, "steady"))
            group.disturbed += filter(None, [await self.blocks.spare(self.workload.id, group.index)])
            if self.blocks.stopped:
                group.disturbed.append(Disturbance("stopped", text=self.blocks.stopped))
                return

    async def _block(self, arm: Arm, group: Group, phase: ev.Phase) -> Measured:
        try:
            await self._switch_to(arm)
            measured, disturbed = await self.blocks.measure(
                self.workload.id,
                arm.variant,
                lambda: arm.block(self.block_s),
                group=group.index,
                phase=phase,
            )
        except Spent:
            self.active = None
            raise
        except NotApplicable as why:
            self.active = None
            raise _Gone(arm.variant, str(why)) from why
        group.disturbed += filter(None, [disturbed])
        return measured

    async def _switch_to(self, arm: Arm) -> None:
        """Waits for what the other one has in flight before the next is made active."""
        if self.active is arm:
            return
        began = self.run.clock.now()
        if self.active is not None:
            before, self.active = self.active, None
            await before.quiesce()
        await arm.activate()
        self.active = arm
        self.switching_s += self.run.clock.now() - began

    def _emit_group(self, group: Group) -> None:
        if group.disturbed:
            self.blocks.leave_out(self.workload.id, group.index)
        self.run.emit(
            ev.Group(
                t=self.run.time(),
                workload=self.workload.id,
                index=group.index,
                order=group.label,
                log_ratios={} if group.disturbed else group.log_ratios(self.workload, self.pairs),
                disturbed=tuple(dict.fromkeys(group.disturbed)),
            )
        )

    def _progress(self, index: int, judges: Sequence[Judge]) -> None:
        left = [judge.seconds_left(self.pace) for judge in judges]
        known = [s for s in left if s is not None]
        again = f", {len(self.disturbed)} measured again" if self.disturbed else ""
        self.run.emit(
            ev.Progress(
                t=self.run.time(),
                step=self.workload.id,
                text=f"{self.workload.title}: group {index + 1}{again}",
                seconds_left=min(max(known), self.pace.left_s) if known else None,
            )
        )

    def _drop(self, gone: _Gone) -> None:
        """Goes on with the others; what is compared with this variant is not applicable."""
        self.gone.append(gone)
        self.pairs = [pair for pair in self.pairs if gone.variant not in pair]
        needed = {variant for pair in self.pairs for variant in pair}
        share = len(needed) / max(1, len(self.arms))
        self.arms = {variant: arm for variant, arm in self.arms.items() if variant in needed}
        self.pace.expect(self.pace.group_s * share)

    def _too_disturbed(self, attempted: int) -> bool:
        enough = attempted >= min(DISTURBED_COUNTED_FROM, self.workload.min_groups)
        return enough and len(self.disturbed) > DISTURBED_AT_MOST * attempted
