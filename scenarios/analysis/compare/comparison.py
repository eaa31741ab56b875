"""Two sides of recordings, compared: a pure function of what was recorded, on this host or anywhere."""

from collections.abc import Sequence

import msgspec

from scenarios.analysis.compare.conditions import (
    InvalidLoad,
    Unlike,
    invalid_loads,
    unlike_loads,
    without_loads,
    without_twins,
)
from scenarios.analysis.compare.differences import Fingerprints, compare_fingerprints
from scenarios.analysis.compare.effects import Effect, effects_between
from scenarios.analysis.compare.faults import KnownFault, known_faults, release_of
from scenarios.analysis.compare.groups import group_means, match_pattern, score_means
from scenarios.analysis.compare.run_summary import FigureKey, RunSummary
from scenarios.triage.knowledge.differences import DifferencePattern

FAMILY_ERROR = 0.05


class RecordedSide(msgspec.Struct, frozen=True, kw_only=True):
    """Who was measured, when, how often. `unfinished`: runs that were interrupted, failed or killed.

    `boots` is 0 where nobody knows them. `twins`: results left out, each with the one whose figures it has.
    """

    names: tuple[str, ...]  # of the recordings
    hosts: tuple[str, ...]
    kernels: tuple[str, ...]
    scenarios: tuple[str, ...]
    runs: int
    boots: int
    first: str  # UTC, ISO 8601
    last: str
    unfinished: int = 0
    disturbed: int = 0
    groups: int = 0
    left_out: int = 0  # lines of its recordings that are not read: `RunSummary.left_out`
    twins: tuple[tuple[str, str], ...] = ()


class ComparedRecordings(msgspec.Struct, frozen=True, kw_only=True):
    """`order`: the runs by date, "ABBA". `only_a`, `only_b`: loads that the other side has not.

    `unlike`: loads that both have, under other conditions; they are among the effects only with `anyway`.
    `invalid`: loads of single runs that are never among the effects.
    """

    a: RecordedSide
    b: RecordedSide
    margin: float
    effects: tuple[Effect, ...]
    groups: tuple[Effect, ...]
    scores: tuple[Effect, ...]
    fingerprints: Fingerprints
    order: str
    unlike: tuple[Unlike, ...] = ()
    anyway: bool = False
    invalid: tuple[InvalidLoad, ...] = ()
    only_a: tuple[FigureKey, ...] = ()
    only_b: tuple[FigureKey, ...] = ()
    pattern: DifferencePattern | None = None
    faults: tuple[KnownFault, ...] = ()

    @property
    def one_after_the_other(self) -> bool:
        """All runs of one side before all of the other: a drift over the days looks like an effect."""
        return self.order in ("A" * self.a.runs + "B" * self.b.runs, "B" * self.b.runs + "A" * self.a.runs)


def compare_recordings(
    a: Sequence[RunSummary], b: Sequence[RunSummary], *, margin: float = 0.05, anyway: bool = False
) -> ComparedRecordings:
    """B against A. Raises ValueError where a side has no recording."""
    if not a or not b:
        raise ValueError("a comparison needs a recording on each side")
    (a, a_twins), (b, b_twins) = without_twins(a), without_twins(b)
    left, right = ({key for run in side for key in run.figures} for side in (a, b))
    unlike = unlike_loads(a, b)
    if not anyway:
        a, b = without_loads(a, unlike), without_loads(b, unlike)
    load_effects = effects_between(a, b, margin=margin, alpha=FAMILY_ERROR)
    runs = sorted([(run.wall, "A") for run in a] + [(run.wall, "B") for run in b])
    return ComparedRecordings(
        a=_recorded_side(a, a_twins),
        b=_recorded_side(b, b_twins),
        margin=margin,
        effects=tuple(load_effects),
        groups=tuple(group_means(a, b, margin=margin)),
        scores=tuple(score_means(a, b, margin=margin)),
        fingerprints=compare_fingerprints(a, b, load_effects),
        order="".join(side for _, side in runs),
        unlike=unlike,
        anyway=anyway,
        invalid=(*invalid_loads(a), *invalid_loads(b)),
        only_a=tuple(sorted(left - right)),
        only_b=tuple(sorted(right - left)),
        pattern=match_pattern(load_effects),
        faults=known_faults(a, b),
    )


def _recorded_side(runs: Sequence[RunSummary], twins: tuple[tuple[str, str], ...]) -> RecordedSide:
    return RecordedSide(
        names=tuple(run.name for run in runs),
        hosts=tuple(dict.fromkeys(run.host for run in runs)),
        kernels=tuple(dict.fromkeys(r for run in runs if (r := release_of(run)))),
        scenarios=tuple(dict.fromkeys(run.scenario for run in runs)),
        runs=len(runs),
        boots=len({run.boot for run in runs if run.boot}),
        first=min(run.wall for run in runs),
        last=max(run.wall for run in runs),
        unfinished=sum(run.status != "done" for run in runs),
        disturbed=sum(run.disturbed for run in runs),
        groups=sum(run.groups for run in runs),
        left_out=sum(run.left_out for run in runs),
        twins=twins,
    )
