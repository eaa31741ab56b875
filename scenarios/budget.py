"""The planner: what the seconds of measuring are spent on, and how long the rest will take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scenarios.model import Clock
from scenarios.plan import Workload


def group_seconds(workload: Workload, arms: int, block_s: float | None = None) -> float:
    """Seconds of one group: two blocks an arm (ABBA). Switching comes on top and is measured."""
    return 2 * arms * (workload.block_s if block_s is None else block_s)


# Switching, the gaps' readings and what a block runs over: 3 to 8 % of a group here, seldom more than a tenth.
OVERHEAD = 1.1


def least_seconds(workload: Workload, arms: int) -> float:
    """Seconds to give a workload at least: the fewest groups that can decide, the warm-up and what comes on top."""
    return group_seconds(workload, arms) * (workload.min_groups * OVERHEAD + 0.75)


class Budget:
    """Wall seconds of measuring of a whole run; see `allotted` for who gets them."""

    def __init__(self, total_s: float, clock: Clock) -> None:
        self.total_s = total_s
        self._clock = clock
        self._began = clock.now()

    @property
    def left_s(self) -> float:
        return max(0.0, self.total_s - (self._clock.now() - self._began))


LOADS_DECIDED_WELL = 3  # what a budget is for, at the least


class Share(NamedTuple):
    """Wall seconds of one load. `most_s`: where its fewest groups take longer than was planned, on a slow disk."""

    seconds: float
    most_s: float


def allotted(left_s: float, waiting: Sequence[Workload], arms: int, *, before_control: bool = True) -> Share:
    """Seconds for the first of the loads that still wait, in their order of importance.

    On a quiet host each decides early and all fit. On a noisy one it is better to know three things than to have
    six times "inconclusive": so a load may use up to a third of what is left, beside the least that the control needs.
    Where the load does not fit beside the control, `before_control` says which of them comes first.
    """
    first, later = waiting[0], waiting[1:]
    if arms == 1:  # nothing to decide: equal parts
        return Share(left_s / len(waiting), left_s / len(waiting))
    least = least_seconds(first, arms)
    if first.control:
        return Share(min(left_s, 1.5 * least), left_s)
    kept = sum(least_seconds(w, arms) for w in later if w.control)
    free = max(0.0, left_s - kept)
    if free < least and before_control:
        free = left_s
    rivals = [w for w in later if not w.control]
    wish = 1.2 * least  # some of the groups are measured again
    spare = free - sum(least_seconds(w, arms) for w in rivals)
    if spare >= least:
        wish = min(wish, spare)
    third = free / min(LOADS_DECIDED_WELL, len(rivals) + 1)
    return Share(min(free, max(third, wish)), free)


class Pace:
    """How long a group of this workload really takes, switching included, and how many still fit."""

    def __init__(
        self, clock: Clock, budget_s: float, expected_group_s: float, most_s: float | None = None
    ) -> None:
        self._clock = clock
        self._began = clock.now()
        self.budget_s = budget_s
        self.most_s = budget_s if most_s is None else max(budget_s, most_s)
        self._group_s = expected_group_s
        self._measured = 0
        self._since = self._began

    @property
    def spent_s(self) -> float:
        return self._clock.now() - self._began

    @property
    def left_s(self) -> float:
        return max(0.0, self.budget_s - self.spent_s)

    @property
    def group_s(self) -> float:
        return self._group_s

    def expect(self, group_s: float) -> None:
        """What the warm-up tells of a group's length."""
        self._group_s = group_s

    def make_room(self, groups: int) -> bool:
        """Whether so many groups fit; the budget grows up to `most_s` where only that lets them."""
        need_s = groups * self._group_s
        if need_s > self.left_s * 1.001 and self.spent_s + need_s <= self.most_s:
            self.budget_s = min(self.most_s, self.spent_s + need_s * OVERHEAD)
        return need_s <= self.left_s * 1.001

    def group_began(self) -> None:
        self._since = self._clock.now()

    def group_ended(self) -> None:
        took = self._clock.now() - self._since
        self._measured += 1
        self._group_s += (took - self._group_s) / self._measured

    @property
    def groups_that_fit(self) -> int:
        return int(self.left_s / self._group_s + 1e-9) if self._group_s > 0 else 0
