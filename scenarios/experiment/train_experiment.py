"""The experiment in trains: groups of short slices of all variants, a second of them at a time, until it is decided.

It can be measured for a while, left, and taken up again: what remains undecided gets what is left of the budget (see
`campaign`). Nothing of the runner lies between two slices. The guards look between the trains; a disturbed train is
measured again as a whole. Cancelling propagates into the train under way, which stops its own load.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Awaitable, Callable, Iterator, Sequence

from probes.bench.measured import NotApplicable, Spent, Train, Unfit
from probes.units import counted
from scenarios import events as ev
from scenarios.disturbance import Disturbance, too_disturbed
from scenarios.experiment.budget import Undecided
from scenarios.experiment.carry_over import CarryLooks
from scenarios.experiment.groups import Group, Pair
from scenarios.experiment.interleaved import DISTURBED_AT_MOST, DISTURBED_COUNTED_FROM
from scenarios.experiment.judge import Judge, in_bytes, judges_for, undecided
from scenarios.experiment.places import Visits
from scenarios.experiment.sequential import orders
from scenarios.experiment.slices import LEAST_S, SliceLength, Warm, length_event, longest_slice, slice_length
from scenarios.experiment.train_pace import TrainPace
from scenarios.experiment.trains import Trains, event_of, groups_of, in_blocks, sides_of, warm
from scenarios.experiment.wording import not_measured
from scenarios.guards.watch import Watch, told
from scenarios.model import Run
from scenarios.plan import Workload

Recast = Callable[[ev.Verdict], ev.Verdict]
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


class TrainExperiment:
    """One workload on all its variants. `begin`, then `go` as often as there is time, then `conclude`.

    most_s  wall seconds that it may get at most, over all its turns; `family`, `margin`, `pairs`, `scope`: as
            for `experiment.compare`.
    """

    def __init__(
        self,
        run: Run,
        workload: Workload,
        trains: Trains,
        *,
        most_s: float,
        family: int,
        margin: float = 0.05,
        watch: Watch | None = None,
        pairs: Sequence[Pair] | None = None,
        scope: str = "",
    ) -> None:
        if len(trains.variants) < 2:
            raise ValueError("an experiment needs two variants")
        self.run = run
        self.workload = workload
        self.trains = trains
        first = trains.variants[0]
        self.all_pairs = list(pairs) if pairs is not None else [(first, v) for v in trains.variants[1:]]
        self.pairs = list(self.all_pairs)
        self.family, self.margin, self.scope = family, margin, scope
        self.watch = watch
        self.slice_s, self.onset_s = workload.slice_s or LEAST_S, 0.0
        self.pace = TrainPace(run.clock, most_s, self.group_s)
        self.judges: list[Judge] = []
        self.verdicts: list[ev.Verdict] = []
        self.groups: list[Group] = []  # that count, of slices as long as now
        self.counted: list[Train] = []  # that hold these groups
        self.reason = ""  # why no further train may be measured
        self.needs_s: float | None = None  # of a run's budget, where it was not begun
        self.spent: Spent | None = None  # its write limit ended it
        self.broken_off = ""  # why nothing may be claimed
        self.gone: dict[str, str] = {}  # variant -> why it is not applicable
        self.disturbed: list[Disturbance] = []
        self.measured = 0  # trains, the disturbed ones too
        self._by_operations, self._rate = False, 0.0  # why slices are as long, and of the slowest side
        self._numbers = itertools.count()
        self._group = 0
        self.carry = CarryLooks(margin=margin, block_s=workload.block_s)
        self._draw: Iterator[tuple[str, ...]] = iter(())
        self._placed = trains.places > 1
        self._visits = Visits(trains.places, run.rng)

    @property
    def group_s(self) -> float:
        return 2 * len(self.trains.variants) * self.slice_s

    @property
    def over(self) -> bool:
        """Nothing more can or need be measured."""
        return bool(self.reason or self.broken_off) or not (self._open or self._held_back)

    @property
    def undecided(self) -> Undecided:
        """For the planner: who gets what is left of the budget."""
        return undecided(self.workload.id, self._open, self.pace)

    @property
    def first_look_s(self) -> float:
        """Wall seconds until anything can be decided."""
        return max((judge.comparison.looks[0] * self.pace.group_s for judge in self._open), default=0.0)

    @property
    def _open(self) -> list[Judge]:
        return [judge for judge in self.judges if not judge.decided and judge.pair in self.pairs]

    @property
    def _held_back(self) -> bool:
        """A difference was called, and whether the sides carry work over to each other cannot be told yet."""
        called = any(j.decision is not None and j.decision.differs for j in self.judges)
        if self.carry.untold(len(self.groups)):  # something was found already
            return called or (not self.carry.in_blocks and any(j.decided for j in self.judges))
        missing = TELLING_GROUPS - len(self.groups)
        return called and missing > 0 and TELLING_GROUPS * self.group_s <= CARRY_TEST_S

    async def begin(self, warm_up_s: float = WARM_UP_S) -> None:
        """The look at the host, the workers' start, the warm-up: it finds how long a slice must be."""
        with self.pace.running():
            if self.watch is not None:
                await self.watch.settle()
            if self.watch is None or not self.watch.stopped:
                await self._warm_up(min(WARM_UP_S, warm_up_s))
        self._stop_if_told()
        self.judges = self._new_judges()
        if self.reason:
            self.leave_out(self.reason)

    def shorten(self, seconds: float) -> None:
        """Slices so short that the first look comes within `seconds`, where it is their operations that make them long.

        Fewer operations scatter more; the error stays what it is, for the order is drawn all the same.
        """
        least_s = self.workload.slice_operations / FEWER / self._rate if self._rate > 0 else self.slice_s
        for _ in range(2):  # of shorter slices more fit, and the looks are planned anew
            wanted_s = self.slice_s * max(0.0, seconds) / max(1e-9, self.first_look_s)
            shorter = math.ceil(1000 * max(least_s, wanted_s, self.workload.slice_s or LEAST_S)) / 1000
            if not self._by_operations or shorter >= self.slice_s:
                return
            self.slice_s = shorter
            self.judges = self._new_judges()
            self.run.emit(
                ev.SliceLength(t=self.run.time(), workload=self.workload.id, seconds=shorter, why="budget")
            )

    def leave_out(self, why: str, needs_s: float | None = None) -> None:
        """It is not measured; its verdicts say why, and how many seconds of a budget it needs."""
        self.needs_s = needs_s
        self.judges = self.judges or self._new_judges()
        self.reason = why
        self.run.note(not_measured(self.workload.title, why))

    async def go(self, seconds: float) -> None:
        """Trains until everything is decided or the seconds are over; one train at least where it fits."""
        until = self.run.clock.now() + seconds
        if self.watch is not None and self.watch.stopped:  # under another load: what there is may be judged
            self.reason = self.reason or self.watch.stopped
        with self.pace.running():
            while not self.over:
                left = min(until - self.run.clock.now(), self.pace.left_s)
                groups = min(self._groups_a_train(), int(left / self.pace.group_s + 1e-9))
                if groups < 1:
                    break
                self._progress()
                await self._one(self._steady(groups))

    def conclude(self, why: str = "", recast: Recast | None = None) -> list[ev.Verdict]:
        """The verdicts, as events and in the result; once. `recast`: what else is known of how they came about."""
        if not self.verdicts:
            why = self.reason or why or f"not decided within {self.pace.spent_s:.0f} s"
            judged = [self._verdict(judge, why) for judge in self.judges]
            told = recast is not None and not self.broken_off
            self.verdicts = [recast(v) if recast and told and v.ratio is not None else v for v in judged]
            for verdict in self.verdicts:
                self.run.emit(verdict)
        return self.verdicts

    def _verdict(self, judge: Judge, why: str) -> ev.Verdict:
        t = self.run.time()
        gone = next((v for v in judge.pair if v in self.gone), None)
        if gone is not None and not judge.decided:
            verdict = judge.not_applicable(t, self.pace, f"{gone}: {self.gone[gone]}")
        elif self.broken_off:
            verdict = judge.broken_off(t, self.pace, self.broken_off)
        elif self.reason and not self.measured:
            verdict = judge.not_started(t, self.reason, self.needs_s)
        else:
            blame = self.watch.blame(self.workload.id) if self.watch is not None else ""
            verdict = self.carry.told(judge.conclude(t, self.pace, f"{why}; {blame}" if blame else why))
        return in_bytes(verdict, self.spent)

    def _new_judges(self) -> list[Judge]:
        self.pace.expect(self.group_s)
        return judges_for(
            self.workload,
            self.all_pairs,
            family=self.family,
            margin=self.margin,
            planned_groups=max(self.workload.min_groups, self.pace.groups_that_fit),
            scope=self.scope,
            all_pairs=self.trains.places if self._placed else 0,
        )

    async def _warm_up(self, most_s: float) -> None:
        """A first look at every variant, then slices with a switch before each, until a switch no longer shows."""
        until = self.run.clock.now() + most_s
        again = True
        load = self.workload
        seen: list[Warm] = []
        found: SliceLength | None = None
        while self.pairs and not self.reason:
            names = self.trains.variants
            if found is None:
                train = await self._one(self.trains.ready())
                until = max(until, self.run.clock.now() + WARM_UP_LEAST_S)
            else:
                left_s = (until - self.run.clock.now()) / len(names)
                left, length = int(left_s / found.seconds), found.seconds
                if left < 1:
                    # Too slow to find out what a switch costs; but a cold start is not its pace either.
                    if not again:
                        break
                    again, left, length = False, 1, max(load.slice_s or LEAST_S, left_s)
                order = list(range(len(names))) * min(WARM_SLICES, left)
                train = await self._one(
                    self.trains.train(order, length, onset_s=load.slice_onset_s, quarters=True)
                )
            if train is None:  # a variant is gone, or all of them
                continue
            self._record(train, "warmup", [])
            cut_s = load.slice_onset_s if found is not None else 0.0
            seen = [w for w in seen if w.variant in names] + warm(train, names, cut_s)
            found = slice_length(
                seen,
                margin=self.margin,
                most_s=longest_slice(load, seen, len(names), self.trains.affordable_s(AFFORDED_GROUPS)),
                least_operations=load.slice_operations,
                least_s=load.slice_s or LEAST_S,
            )
            if found.settled or (self.run.clock.now() >= until and not again):
                break
        if found is not None:
            found = found._replace(onset_s=max(found.onset_s, load.slice_onset_s))
            self.slice_s, self.onset_s = found.seconds, found.onset_s
            self.run.emit(length_event(self.run.time(), self.workload.id, found))
            self._by_operations = found.why in ("operations", "block") and not self.onset_s
            self._rate = found.rate
        self._draw = orders(self.trains.variants, self.run.rng)

    async def _one(self, work: Awaitable[Train]) -> Train | None:
        """None where a train could not be had, with the reason kept."""
        try:
            return await work
        except Spent as why:  # when it ends does not hang on how it looks: what there is may be judged
            self.reason, self.spent = str(why), why
        except Unfit as why:
            self._drop(why.variants, str(why))
        except NotApplicable as why:
            self._drop(self.trains.variants, str(why))
        return None

    def _drop(self, variants: Sequence[str], reason: str) -> None:
        """Goes on with the others; what is compared with these is not applicable."""
        self.gone.update(dict.fromkeys(variants, reason))
        self.pairs = [pair for pair in self.pairs if not set(pair) & set(self.gone)]
        needed = {variant for pair in self.pairs for variant in pair}
        if needed:
            self.trains = self.trains.without([v for v in self.trains.variants if v not in needed])
            self._draw = orders(self.trains.variants, self.run.rng)
            self.groups, self.counted = [], []
            self.pace.expect(self.group_s)

    async def _steady(self, wanted: int) -> Train:
        names = self.trains.variants
        order = [names.index(v) for _ in range(wanted) for v in next(self._draw)]
        places = self._visits.next(wanted) if self._placed else []
        where = [place for place in places for _ in range(2 * len(names))]
        began = self.run.clock.now()
        if self.watch is not None:
            self.watch.begin()
        if self.carry.in_blocks:
            train = await in_blocks(self.trains, order, self.slice_s, where)
        else:
            train = await self.trains.train(order, self.slice_s, onset_s=self.onset_s, places=where)
        found = None
        if self.watch is not None:
            found = self.watch.end(self.workload.id, "", train.together())
            also = await self.watch.spare()
            found = found or also
        self._stop_if_told()
        groups = groups_of(train, names, self._group, places)
        self.measured += 1
        self._group += len(groups)
        disturbed = self._disturbed(found, groups)
        self._record(train, "steady", groups, disturbed)
        if groups:
            self.pace.took(len(groups), self.run.clock.now() - began)
        if not disturbed:
            self.counted.append(train)
            self._count(groups, sides_of(train, names, self._group))
        elif self._too_disturbed() and not self.broken_off:
            self.broken_off = too_disturbed(self.disturbed, self.measured, "trains")
        return train

    def _stop_if_told(self) -> None:
        if self.watch is not None and self.watch.stopped:
            self.broken_off = self.watch.stopped

    def _disturbed(self, found: Disturbance | None, groups: Sequence[Group]) -> tuple[Disturbance, ...]:
        if found is None:
            return (Disturbance("stopped", text=self.broken_off),) if self.broken_off else ()
        self.disturbed.append(found)
        told(found, self.run, self.workload.id, groups[0].index if groups else 0, again="train")
        return (found,)

    def _count(self, groups: Sequence[Group], whole: Group) -> None:
        self.groups += groups
        self._visits.counted([group.place for group in groups if group.place is not None])
        for judge in self._open:
            for group in groups:
                judge.add(group, self.pace)
            if estimate := judge.estimate(self.run.time(), whole, self.pace):
                self.run.emit(estimate)
        self._look_for_carry_over()

    def _look_for_carry_over(self) -> None:
        """Where one side leaves work to the other, all begins anew: with longer slices, or in blocks."""
        then = self.carry.look(self.groups, self.workload.metrics[0].name, self.pairs, self.slice_s)
        if then is None:
            return
        self.slice_s, self.onset_s = then.seconds, 0.0
        self.groups, self.counted, self._visits = [], [], Visits(self.trains.places, self.run.rng)
        self.judges = self._new_judges()
        bias = then.carried.bias
        self.run.emit(
            ev.SliceLength(
                t=self.run.time(),
                workload=self.workload.id,
                seconds=then.seconds,
                why="carry-over",
                blocks=then.todo == "blocks",
                bias=None if bias is None else (round(bias.low, 5), round(bias.high, 5)),
            )
        )

    def _record(
        self,
        train: Train,
        phase: ev.Phase,
        groups: Sequence[Group],
        disturbed: tuple[Disturbance, ...] = (),
    ) -> None:
        self.run.emit(
            event_of(
                self.run.time(),
                train,
                self.workload,
                self.trains.variants,
                groups,
                self.pairs,
                index=next(self._numbers),
                phase=phase,
                disturbed=disturbed,
            )
        )

    def _too_disturbed(self) -> bool:
        enough = self.measured >= DISTURBED_COUNTED_FROM
        return enough and len(self.disturbed) > DISTURBED_AT_MOST * self.measured

    def _groups_a_train(self) -> int:
        affordable = self.trains.affordable_s(1) / self.slice_s  # by the write limit; one too many says so
        return max(1, int(min(round(TRAIN_S / self.group_s), affordable)))

    def _progress(self) -> None:
        left = [judge.seconds_left(self.pace) for judge in self._open]
        known = [s for s in left if s is not None]
        again = f", {len(self.disturbed)} trains measured again" if self.disturbed else ""
        self.run.emit(
            ev.Progress(
                t=self.run.time(),
                step=self.workload.id,
                text=f"{self.workload.title}: {counted(self._group, 'group')}{again}",
                seconds_left=min(max(known), self.pace.left_s) if known else None,
            )
        )
