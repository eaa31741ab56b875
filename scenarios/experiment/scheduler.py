"""What an experiment measures next, and how: one group of blocks at a time, or a train of slices.

The loop (`experiment`) is one for both: guards, looks, budget, what is given up and what is said of it.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import Disturbance
from hostdx.scenarios.contract.model import Run
from hostdx.scenarios.contract.plan import Workload
from hostdx.scenarios.experiment.groups import GroupBlocks
from hostdx.scenarios.experiment.guards.watch import InterferenceWatch
from hostdx.scenarios.experiment.levels import Pair


class MeasuredGroups(NamedTuple):
    """The groups of one go, as recorded.

    groups: the complete ones. `pooled` holds all of them as one, for figures that need many operations (p99).
    disturbed: not empty where nothing of it counts, and it is measured again.
    stalled: for each group in which one variant alone gave nothing, that variant.
    """

    groups: Sequence[GroupBlocks]
    pooled: GroupBlocks
    disturbed: tuple[Disturbance, ...]
    stalled: Sequence[str] = ()


class LoadScheduler(Protocol):
    """Measures one load on all its variants. `warm_up` and `measure` raise MeasurementInvalid (VariantsUnfit for some
    variants only) and WriteBudgetSpent. Cancelling stops the load at once.

    noun: what is measured again as a whole after an interference.
    pairs: those whose log ratios are recorded; the experiment sets them.
    fewest: how many groups must fit, else none is measured.
    places: how many pairs of file sets the variants have; 1 where they have none of their own.
    """

    run: Run
    workload: Workload
    watch: InterferenceWatch | None
    noun: Literal["group", "slice batch"]
    fewest: int
    pairs: Sequence[Pair] = ()
    places: int = 1

    @property
    def variant_names(self) -> tuple[str, ...]: ...

    @property
    def group_s(self) -> float:
        """Return the seconds of a group, as far as they are known beforehand."""
        ...

    @property
    def most_groups(self) -> int:
        """Return how many groups are measured in one go at most."""
        return 1

    async def warm_up(self, most_s: float) -> bool:
        """Do a further part of the warm-up; return True once it is known how long a window or a slice must be."""
        ...

    async def measure(self, orders: Sequence[Sequence[str]]) -> MeasuredGroups:
        """Measure one group in each of these orders."""
        ...

    async def pause_workers(self) -> None:
        """Stop the workers: another load may be measured before the next group."""
        return

    def drop_variants(self, variants: Sequence[str]) -> None:
        """Go on without these variants."""
        ...

    def shorten_groups(self, factor: float) -> bool:
        """Change the seconds of a group by `factor`, or as near to it as possible; return False if they stay."""
        return False

    def begin_anew_if_needed(self, groups: Sequence[GroupBlocks]) -> bool:
        """Return whether, after these groups, the load begins anew and is measured in another way."""
        return False

    def try_restart_with_settling(self, left_s: float) -> bool:
        """Wait longer from now on before another variant is measured, and return True: earlier groups no longer
        count. Return False where it waits already, or where too few groups would fit into `left_s` seconds.
        """
        return False

    def is_premature(self, groups: int, *, called: bool, decided: bool) -> bool:
        """Return whether a decision after so many groups cannot be trusted yet."""
        return False

    def restrict_verdict(self, verdict: ev.RunVerdict) -> ev.RunVerdict:
        """Return the verdict, restricted by what is known of how its values came about."""
        return verdict
