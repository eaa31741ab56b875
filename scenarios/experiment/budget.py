"""The planner: what the seconds of measuring are spent on, and how long the rest will take."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from scenarios.model import Clock
from scenarios.plan import Workload


def group_seconds(workload: Workload, variants: int, block_s: float | None = None) -> float:
    """Seconds of one group: two blocks a variant (ABBA). Switching comes on top and is measured."""
    return 2 * variants * (workload.block_s if block_s is None else block_s)


# Switching, the gaps' readings and what a block runs over: 3 to 8 % of a group here, seldom more than a tenth.
OVERHEAD = 1.1


def minimum_seconds(workload: Workload, variants: int) -> float:
    """Seconds to give a workload at least: the fewest groups that can decide, the warm-up and what comes on top."""
    return group_seconds(workload, variants) * (workload.min_groups * OVERHEAD + 0.75)


class Budget:
    """Wall seconds of measuring of a whole run."""

    def __init__(self, total_s: float, clock: Clock) -> None:
        self.total_s = total_s
        self._clock = clock
        self._began = clock.now()

    @property
    def left_s(self) -> float:
        return max(0.0, self.total_s - (self._clock.now() - self._began))


class Need(NamedTuple):
    """What a load needs at least, in seconds of wall time."""

    seconds: float
    control: bool = False  # it must not move: twice what it needs tell, and the loads have the rest


def seconds_for_first(left_s: float, needs: Sequence[Need]) -> float:
    """Seconds for the first of the loads that wait, in their order of importance.

    All but what the later ones need, as long as it has its own: what it does not use goes on to them.
    """
    own, reserved_s = needs[0].seconds, 0.0
    for need in needs[1:]:
        if own + reserved_s + need.seconds > left_s:
            break
        reserved_s += need.seconds
    return min(left_s - reserved_s, 2 * own) if needs[0].control else left_s - reserved_s


def allotted_seconds(budget_s: float, needs: Sequence[Need]) -> list[float]:
    """What each may have as `seconds_for_first` gives it out, if each takes all of it; 0 for those that are not
    reached.
    """
    allotted_s: list[float] = []
    for number, need in enumerate(needs):
        seconds = seconds_for_first(budget_s - sum(allotted_s), needs[number:])
        allotted_s.append(seconds if seconds >= need.seconds - 1e-6 else 0.0)
    return allotted_s


class Undecided(NamedTuple):
    """A load that its share of the budget did not decide, as the rest of the budget sees it.

    half_width  of the widest interval (ln) of its comparisons that are not decided; math.inf where there is none yet.
    next_s      wall seconds until its next look, switching back to it included.
    decides_s   about how many seconds would decide all of it (`SequentialComparison.seconds_left`); None: not known.
    """

    load: str
    half_width: float
    next_s: float
    decides_s: float | None = None


def next_undecided(left_s: float, undecided: Sequence[Undecided]) -> Undecided | None:
    """Who gets what is left, until its next look; ask again after it. None: no look of any fits any more.

    The widest interval comes first; where what is left can decide some of the loads, the widest of those: a load that
    would stay undecided whatever it gets must not take the last seconds from one that they decide.

    The looks must go on as they were planned: a load that pauses spends no alpha (no
    `SequentialComparison.final_verdict`), and its
    `planned_groups` counts what the whole rest of the budget would hold, not its share alone.
    """
    fits = [u for u in undecided if u.next_s <= left_s]
    soon = [u for u in fits if u.decides_s is not None and u.decides_s <= left_s]
    return max(soon or fits, key=lambda u: u.half_width, default=None)


class Pace:
    """How long a group really takes, with all that lies around it (switches, readings, the workers' answers), and how
    many still fit. Its seconds pass only while its load is measured.
    """

    def __init__(self, clock: Clock, budget_s: float, group_s: float) -> None:
        self._clock = clock
        self.budget_s = budget_s
        self.expect_group_seconds(group_s)
        self._spent_s = 0.0
        self._since: float | None = None

    @contextmanager
    def time_running(self) -> Iterator[None]:
        self._since = self._clock.now()
        try:
            yield
        finally:
            self._spent_s, self._since = self.spent_s, None

    @property
    def spent_s(self) -> float:
        return self._spent_s + (0.0 if self._since is None else self._clock.now() - self._since)

    @property
    def left_s(self) -> float:
        return max(0.0, self.budget_s - self.spent_s)

    def expect_group_seconds(self, group_s: float) -> None:
        """Of another length than before: what was measured until now tells nothing of it."""
        self.group_s = group_s
        self._measured = 0

    def record_groups(self, groups: int, seconds: float) -> None:
        self._measured += groups
        self.group_s += (seconds / groups - self.group_s) * groups / self._measured

    @property
    def groups_that_fit(self) -> int:
        return int(self.left_s / self.group_s + 1e-9) if self.group_s > 0 else 0
