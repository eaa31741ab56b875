"""The planner: what the seconds of measuring are spent on, and how long the rest will take."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from hostdx.scenarios.contract.model import Clock
from hostdx.scenarios.contract.plan import Workload


def group_seconds(workload: Workload, variants: int) -> float:
    """Return the seconds of one group: two windows for each variant (ABBA). Switching takes more, and is measured."""
    return 2 * variants * workload.block_s


# Switching, the gaps' readings and what a block runs over: 3 to 8 % of a group here, seldom more than a tenth.
OVERHEAD = 1.1


def minimum_seconds(workload: Workload, variants: int) -> float:
    """Return the least seconds that a load needs: the fewest groups that can decide, the warm-up and the switching."""
    return group_seconds(workload, variants) * (workload.min_groups * OVERHEAD + 0.75)


class TimeBudget:
    """The seconds of measuring that a whole run may take."""

    def __init__(self, total_s: float, clock: Clock) -> None:
        self.total_s = total_s
        self._clock = clock
        self._began = clock.now()

    @property
    def left_s(self) -> float:
        """Return the seconds that are left."""
        return max(0.0, self.total_s - (self._clock.now() - self._began))


class LeastTime(NamedTuple):
    """The least seconds that a load needs."""

    seconds: float
    control: bool = False  # it must not move: twice what it needs tell, and the loads have the rest


def seconds_for_first(left_s: float, needs: Sequence[LeastTime]) -> float:
    """Return the seconds for the first of the waiting loads, which are ordered by importance.

    The first load gets all seconds but those that the later loads need, and at least its own need. Seconds that it does
    not use go to the later loads.
    """
    own, reserved_s = needs[0].seconds, 0.0
    for need in needs[1:]:
        if own + reserved_s + need.seconds > left_s:
            break
        reserved_s += need.seconds
    return min(left_s - reserved_s, 2 * own) if needs[0].control else left_s - reserved_s


def allotted_seconds(budget_s: float, needs: Sequence[LeastTime]) -> list[float]:
    """Return the seconds of each load if each uses all that `seconds_for_first` gives it; 0 for one that gets none."""
    allotted_s: list[float] = []
    for number, need in enumerate(needs):
        seconds = seconds_for_first(budget_s - sum(allotted_s), needs[number:])
        allotted_s.append(seconds if seconds >= need.seconds - 1e-6 else 0.0)
    return allotted_s


class UndecidedLoad(NamedTuple):
    """A load that is undecided after its share of the budget.

    half_width: of the widest interval (logarithm) among its undecided comparisons; math.inf where there is no interval
    yet.
    next_s: seconds until its next interim analysis, switching back to it included.
    decides_s: about how many seconds would decide all of it (`SequentialComparison.seconds_left`); None: not known.
    """

    load: str
    half_width: float
    next_s: float
    decides_s: float | None = None


def next_undecided(left_s: float, undecided: Sequence[UndecidedLoad]) -> UndecidedLoad | None:
    """Return the load that is measured next, until its next interim analysis; None where no analysis fits into the
    seconds left.

    The load with the widest interval comes first. If the seconds left can decide some loads, the widest of those comes
    first: a load that stays undecided in any case must not use the seconds that would decide another.

    A load that pauses spends no alpha (it calls no `SequentialComparison.final_verdict`). Its `planned_groups` counts
    the groups that the whole rest of the budget would hold, so that its interim analyses go on as planned.
    """
    fits = [u for u in undecided if u.next_s <= left_s]
    soon = [u for u in fits if u.decides_s is not None and u.decides_s <= left_s]
    return max(soon or fits, key=lambda u: u.half_width, default=None)


class LoadPace:
    """The real seconds of a group, with switches, readings and answers of workers, and how many groups still fit.
    Its seconds pass only while its load is measured.
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
        """Start again with groups of another length: the seconds measured until now no longer apply."""
        self.group_s = group_s
        self._measured = 0

    def record_groups(self, groups: int, seconds: float) -> None:
        self._measured += groups
        self.group_s += (seconds / groups - self.group_s) * groups / self._measured

    @property
    def groups_that_fit(self) -> int:
        return int(self.left_s / self.group_s + 1e-9) if self.group_s > 0 else 0
