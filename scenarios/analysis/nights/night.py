"""One night of a host: what was measured in it, and which recorded facts are others than the night before."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

import msgspec

from hostdx.probes.types import Json
from hostdx.scenarios.analysis.compare.run_summary import FactKey, FigureKey, RunSummary
from hostdx.scenarios.contract.plan import Metric
from hostdx.scenarios.triage.knowledge.differences import OTHER, are_within_tolerance, is_ignored, mover_of

State: TypeAlias = Literal["measured", "skipped", "failed", "interrupted", "cut off"]
# Who changes one of these changes the host: nights before and after are two series.
BREAKS = frozenset(
    {"kernel", "firmware", "machine", "system", "packages", "file system", "disk", "measurement"}
)
MINOR = frozenset({"system", "packages"})  # they change so often that a first baseline would never be whole
_STATES: dict[str, State] = {
    "done": "measured",
    "skipped": "skipped",
    "failed": "failed",
    "interrupted": "interrupted",
}
_MAX_CHANGES = 200  # of a night, kept


class ChangedFact(msgspec.Struct, frozen=True, kw_only=True):
    """A fact that is another than the last time it was read. `component`: what a person would have changed."""

    subject: str
    name: str
    before: Json
    after: Json
    component: str


class NightFigure(msgspec.Struct, frozen=True, kw_only=True):
    """A load's figure in one run: `log` is turned so that more is better, `value` keeps the natural unit."""

    key: FigureKey
    title: str
    metric: Metric
    log: float
    value: float
    variant_label: str = ""


class NightRun(msgspec.Struct, frozen=True, kw_only=True):
    """A recording of a night. `night` orders them whatever the clock said; `wall` is UTC, ISO 8601, as it was set.

    A second run of the same night is a retest. `changed_facts`: since the measured night before.
    """

    night: int
    name: str
    host: str
    wall: str
    state: State
    reason: str = ""
    figures: tuple[NightFigure, ...] = ()
    changes: tuple[ChangedFact, ...] = ()

    @property
    def breaking_changes(self) -> tuple[ChangedFact, ...]:
        """The changes that begin another series."""
        return tuple(change for change in self.changes if change.component in BREAKS)


def night_run(night: int, take: RunSummary, before: RunSummary | None) -> NightRun:
    """`before`: of the last measured night. What did not end as it should has no figures."""
    state = _STATES.get(take.status, "cut off")
    measured = state == "measured"
    return NightRun(
        night=night,
        name=take.name,
        host=take.host,
        wall=take.wall,
        state=state,
        reason=take.reason,
        figures=tuple(_night_figures(take)) if measured else (),
        changes=changed_facts(before, take) if measured and before is not None else (),
    )


def _night_figures(take: RunSummary) -> Iterator[NightFigure]:
    for key, figure in sorted(take.figures.items()):
        load = take.loads[key]
        yield NightFigure(
            key=key,
            title=load.title,
            metric=load.metric,
            log=figure.log_mean,
            value=figure.value,
            variant_label=load.variant_label,
        )


def changed_facts(before: RunSummary, after: RunSummary) -> tuple[ChangedFact, ...]:
    """Facts that both have, and that are known to move figures. What comes and goes (disks, modules) is none."""
    changes = [
        ChangedFact(subject=key[0], name=key[1], before=before.facts[key], after=value, component=component)
        for key, value in after.facts.items()
        if key in before.facts
        and before.facts[key] != value
        and not are_within_tolerance("/".join(key), (before.facts[key], value))
        and (component := _component_of(key))
    ]
    return tuple(sorted(changes, key=lambda c: (c.component not in BREAKS, c.subject, c.name))[:_MAX_CHANGES])


def _component_of(key: FactKey) -> str:
    fact = "/".join(key)
    mover = None if is_ignored(fact) else mover_of(fact)
    return mover.component if mover is not None and mover.component != OTHER else ""
