"""What an experiment measures next, and how: one group of blocks at a time, or a train of slices.

The loop (`experiment`) is one for both: guards, looks, budget, what is given up and what is said of it.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from scenarios import events as ev
from scenarios.disturbance import Disturbance
from scenarios.experiment.groups import GroupBlocks, Pair
from scenarios.guards.watch import InterferenceWatch
from scenarios.model import Run
from scenarios.plan import Workload


class Lap(NamedTuple):
    """What was measured in one go, and recorded.

    groups     the complete ones; `pooled`: all of it as one, for what needs many operations (p99).
    disturbed  not empty: none of it counts, and it is measured again.
    stalled    for each group in which a variant alone gave nothing, that variant.
    """

    groups: Sequence[GroupBlocks]
    pooled: GroupBlocks
    disturbed: tuple[Disturbance, ...]
    stalled: Sequence[str] = ()


class LoadScheduler(Protocol):
    """One load on all its variants. `warm_up` and `measure` raise NotApplicable (VariantsUnfit where it is some
    variants only) and WriteBudgetSpent; cancelling stops the load at once.

    noun    what is measured again as a whole where it was disturbed.
    pairs   those whose log ratios are recorded; the experiment keeps them.
    fewest  groups for which there must be room, else no group is measured.
    places  how many pairs of places the variants have; 1: none of their own.
    """

    run: Run
    workload: Workload
    watch: InterferenceWatch | None
    noun: Literal["group", "train"]
    fewest: int
    pairs: Sequence[Pair] = ()
    places: int = 1

    @property
    def variant_names(self) -> tuple[str, ...]: ...

    @property
    def group_s(self) -> float:
        """Of a group, as far as it is known beforehand."""
        ...

    @property
    def most_groups(self) -> int:
        """In one go."""
        return 1

    async def warm_up(self, most_s: float) -> bool:
        """A further part of the warm-up; True once it is known how long a block or a slice must be."""
        ...

    async def measure(self, orders: Sequence[Sequence[str]]) -> Lap:
        """A group in each of these orders."""
        ...

    async def pause(self) -> None:
        """Another load may be measured before the next group."""
        return

    def drop_variants(self, variants: Sequence[str]) -> None:
        """Goes on without them."""
        ...

    def shorten_groups(self, factor: float) -> bool:
        """Groups that take so many times the seconds, or as near as may be; False where they stay as long."""
        return False

    def begin_anew_if_needed(self, groups: Sequence[GroupBlocks]) -> bool:
        """After these groups: whether all begins anew, measured otherwise."""
        return False

    def settle_longer(self, left_s: float) -> bool:
        """Wait longer from now on before the other variant is measured; False where it already does, or where too few
        groups would fit into `left_s` seconds then. All groups until now do not count any more after a True.
        """
        return False

    def is_open(self, groups: int, *, called: bool, decided: bool) -> bool:
        """Whether what was called or decided after so many groups cannot be believed yet."""
        return False

    def restrict_verdict(self, verdict: ev.RunVerdict) -> ev.RunVerdict:
        """The verdict, with what is known of how its values came about."""
        return verdict
