"""The history of a host: its nights folded into a course of each load, the changes, and their suspects. Of a night:
what was measured in it, and which recorded facts are others than the night before.

A pure function of what the nights' recordings hold. The first `BASELINE_NIGHTS` measured nights are the baseline, and
stay it. A recorded change (kernel, firmware, libraries, mount) begins another; until that is whole the old one is what
the nights are held against, so that what the change itself cost is seen.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec

from hostdx.probes.types import Json
from hostdx.scenarios.analysis.compare.run_summary import FactKey, FigureKey, RunSummary
from hostdx.scenarios.analysis.nights.cusum import (
    BASELINE_NIGHTS,
    MARGIN,
    MIN_NIGHTS,
    BaselineReference,
    baseline_references,
    cusum_of_nights,
    night_deviation,
)
from hostdx.scenarios.contract.plan import Metric
from hostdx.scenarios.triage.knowledge.differences import (
    OTHER,
    are_within_tolerance,
    fact_influence_of,
    is_ignored_fact,
)

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

    A second run of the same night is a retest. `changes`: since the measured night before.
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


def make_night_run(night: int, summary: RunSummary, before: RunSummary | None) -> NightRun:
    """`before`: of the last measured night. What did not end as it should has no figures."""
    state = _STATES.get(summary.status, "cut off")
    measured = state == "measured"
    return NightRun(
        night=night,
        name=summary.name,
        host=summary.host,
        wall=summary.wall,
        state=state,
        reason=summary.reason,
        figures=tuple(_night_figures(summary)) if measured else (),
        changes=changes_that_move_figures(before, summary) if measured and before is not None else (),
    )


def _night_figures(summary: RunSummary) -> Iterator[NightFigure]:
    for key, figure in sorted(summary.figures.items()):
        load = summary.loads[key]
        yield NightFigure(
            key=key,
            title=load.title,
            metric=load.metric,
            log=figure.log_mean,
            value=figure.value,
            variant_label=load.variant_label,
        )


def changes_that_move_figures(before: RunSummary, after: RunSummary) -> tuple[ChangedFact, ...]:
    """Facts that both have, and that are known to move figures. What comes and goes (disks, modules) is none."""
    changes = [
        ChangedFact(subject=key[0], name=key[1], before=before.facts[key], after=value, component=component)
        for key, value in after.facts.items()
        if key in before.facts
        and before.facts[key] != value
        and not are_within_tolerance("/".join(key), (before.facts[key], value))
        and (component := _moving_component_of(key))
    ]
    return tuple(sorted(changes, key=lambda c: (c.component not in BREAKS, c.subject, c.name))[:_MAX_CHANGES])


def _moving_component_of(key: FactKey) -> str:
    fact = "/".join(key)
    mover = None if is_ignored_fact(fact) else fact_influence_of(fact)
    return mover.component if mover is not None and mover.component != OTHER else ""


# Nights before and after the one on which a course turned, in which a change is a suspect: small shifts are dated late.
_BEFORE, _AFTER = 4, 1
_TOGETHER = 3  # nights: loads that turned within so many did so together
RETEST_SCORE = -1.0  # a night that adds to a sum ...
RETEST_SUM = 2.0  # ... of at least so much is measured once more


class ListedNight(msgspec.Struct, frozen=True, kw_only=True):
    """A night in the list. `runs`: 2 with a retest. `baseline`: which one it belongs to, from 1; 0 none."""

    night: int
    wall: str
    state: State
    runs: int
    reason: str = ""
    baseline: int = 0
    changes: tuple[ChangedFact, ...] = ()


class Dated(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded change and the first night after it."""

    night: int
    wall: str
    change: ChangedFact


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """A load became slower: `since` is the first night of it, `named` the one that showed it (numbers of nights).

    `ratio` to the baseline, with its 95 % interval over all loads. `lasting`: it still is, by the last night.
    """

    key: FigureKey
    title: str
    metric: Metric
    since: int
    named: int
    ratio: float
    ci95: tuple[float, float]
    nights: int
    lasting: bool
    variant_label: str = ""


class Slowdown(msgspec.Struct, frozen=True, kw_only=True):
    """Loads that became slower together. `before`, `since`: dates of the last night before it and the first of it."""

    before: str
    since: str
    named: str
    turns: tuple[Turn, ...]
    suspects: tuple[Dated, ...]

    @property
    def is_lasting(self) -> bool:
        return any(turn.lasting for turn in self.turns)


class LoadNights(msgspec.Struct, frozen=True, kw_only=True):
    """One load: (night, value) of every night that has it. `centre`: of the newest baseline, in the metric's unit.

    `deviation`: from night to night, as a share; `total`: the CUSUM after the last night, in deviations.
    """

    key: FigureKey
    title: str
    metric: Metric
    values: tuple[tuple[int, float], ...]
    centre: float | None = None
    deviation: float | None = None
    total: float = 0.0
    slow: bool = False
    variant_label: str = ""


class HostHistory(msgspec.Struct, frozen=True, kw_only=True):
    """`collected`: nights of the baseline that is being made; `baselines`: how many are whole."""

    host: str
    margin: float
    nights: tuple[ListedNight, ...]
    loads: tuple[LoadNights, ...]
    events: tuple[Slowdown, ...]
    changes: tuple[Dated, ...]
    collected: int
    baselines: int
    retest: bool = False

    @property
    def measured_count(self) -> int:
        return sum(night.state == "measured" for night in self.nights)

    @property
    def lasting_slowdowns(self) -> tuple[Slowdown, ...]:
        return tuple(event for event in self.events if event.is_lasting)


class _Night(msgspec.Struct):
    """All runs of a night: of each load their mean counts, and the better one where they differ
    beyond the margin: the other one was disturbed."""

    number: int
    runs: list[NightRun]
    baseline: int = 0

    @property
    def first(self) -> NightRun:
        """The measured one, where there is one."""
        return next((run for run in self.runs if run.state == "measured"), self.runs[-1])

    @property
    def recorded_changes(self) -> tuple[ChangedFact, ...]:
        return self.first.changes

    def merge_figures(self) -> dict[FigureKey, NightFigure]:
        merged: dict[FigureKey, NightFigure] = {}
        for run in self.runs:
            for figure in run.figures:
                earlier = merged.setdefault(figure.key, figure)
                if abs(figure.log - earlier.log) > MARGIN:
                    merged[figure.key] = max(figure, earlier, key=lambda f: f.log)
                else:
                    merged[figure.key] = msgspec.structs.replace(
                        figure, log=(figure.log + earlier.log) / 2, value=(figure.value + earlier.value) / 2
                    )
        return merged


class _BaselineSpan(msgspec.Struct):
    """Measured nights held against one baseline: indices of `measured_count`."""

    baseline: list[int]
    watched: range


def make_history(host: str, runs: Sequence[NightRun], margin: float = MARGIN) -> HostHistory:
    """Of one host's runs, in any order."""
    nights: dict[int, _Night] = {}
    for run in sorted(runs, key=lambda run: (run.night, run.name)):
        nights.setdefault(run.night, _Night(run.night, [])).runs.append(run)
    measured = [night for night in nights.values() if night.first.state == "measured"]
    spans, collected = _spans_and_nights_in_making(measured)
    for number, span in enumerate(spans, 1):
        for index in span.baseline:
            measured[index].baseline = number
    figures = [night.merge_figures() for night in measured]
    loads, turns, retest = _judge_loads(measured, figures, spans, margin)
    changes = [
        Dated(night=night.number, wall=night.first.wall, change=change)
        for night in measured
        for change in night.recorded_changes
    ]
    return HostHistory(
        host=host,
        margin=margin,
        nights=tuple(_listed_night(night) for night in nights.values()),
        loads=tuple(loads),
        events=tuple(_group_near_turns(turns, measured, changes)),
        changes=tuple(changes),
        collected=collected,
        baselines=len(spans),
        retest=retest,
    )


def _listed_night(night: _Night) -> ListedNight:
    return ListedNight(
        night=night.number,
        wall=night.first.wall,
        state=night.first.state,
        runs=len(night.runs),
        reason=night.first.reason,
        baseline=night.baseline,
        changes=night.recorded_changes,
    )


def _spans_and_nights_in_making(measured: Sequence[_Night]) -> tuple[list[_BaselineSpan], int]:
    """Each baseline with the nights held against it, and how many nights the one being made has."""
    spans: list[_BaselineSpan] = []
    making: list[int] = []
    for index, night in enumerate(measured):
        breaks = night.first.breaking_changes
        if breaks and (spans or any(change.component not in MINOR for change in breaks)):
            if not spans and len(making) >= MIN_NIGHTS:
                spans.append(_BaselineSpan(making, range(index, index)))
            making = [index]
        elif making or not spans:
            making.append(index)
        if spans:
            spans[-1].watched = range(spans[-1].watched.start, index + 1)
        if len(making) == BASELINE_NIGHTS:
            spans.append(_BaselineSpan(making, range(index + 1, index + 1)))
            making = []
    return spans, len(making)


def _judge_loads(
    measured: Sequence[_Night],
    figures: Sequence[dict[FigureKey, NightFigure]],
    spans: Sequence[_BaselineSpan],
    margin: float,
) -> tuple[list[LoadNights], list[Turn], bool]:
    latest: dict[FigureKey, NightFigure] = {key: figure for night in figures for key, figure in night.items()}
    turns: list[Turn] = []
    standing: dict[FigureKey, tuple[BaselineReference, float, bool]] = {}
    retest = False
    for number, span in enumerate(spans, 1):
        last = number == len(spans)
        references = _baseline_references(figures, span)
        if last:
            standing = {key: (to, 0.0, False) for key, to in references.items()}
        for key, to in references.items():
            there = [(n, figures[n][key]) for n in span.watched if key in figures[n]]
            if not there:
                continue
            logs = [figure.log for _, figure in there]
            cusum = cusum_of_nights(logs, to, len(references), margin)
            if last:
                standing[key] = (to, cusum.sums[-1], cusum.slow)
                retest = retest or _should_retest(logs, to, cusum.sums, there[-1][0] == len(figures) - 1)
            turns += [
                Turn(
                    key=key, title=latest[key].title, metric=latest[key].metric, since=there[shift.since][0],
                    named=there[night][0], ratio=shift.ratio, ci95=shift.ci95, nights=shift.nights,
                    lasting=last and cusum.slow and shift is cusum.shifts[-1][1],
                    variant_label=latest[key].variant_label,
                )
                for night, shift in cusum.shifts
            ]  # fmt: skip
    loads = [
        _load_nights(key, figure, measured, figures, standing.get(key))
        for key, figure in sorted(latest.items())
    ]
    return loads, turns, retest


def _baseline_references(
    figures: Sequence[dict[FigureKey, NightFigure]], span: _BaselineSpan
) -> dict[FigureKey, BaselineReference]:
    """Of the loads that enough nights of the baseline have."""
    columns: dict[FigureKey, list[float]] = {}
    for index in span.baseline:
        for key, figure in figures[index].items():
            columns.setdefault(key, []).append(figure.log)
    sufficient_columns = {key: logs for key, logs in columns.items() if len(logs) >= MIN_NIGHTS}
    return dict(zip(sufficient_columns, baseline_references(list(sufficient_columns.values())), strict=True))


def _should_retest(
    logs: Sequence[float], to: BaselineReference, sums: Sequence[float], tonight: bool
) -> bool:
    """Return whether the last night is to be measured once more before it counts."""
    before = logs[-2] if len(logs) > 1 else None
    return tonight and night_deviation(logs[-1], to, before) < RETEST_SCORE and sums[-1] >= RETEST_SUM


def _load_nights(
    key: FigureKey,
    figure: NightFigure,
    measured: Sequence[_Night],
    figures: Sequence[dict[FigureKey, NightFigure]],
    standing: tuple[BaselineReference, float, bool] | None,
) -> LoadNights:
    values = tuple((measured[n].number, night[key].value) for n, night in enumerate(figures) if key in night)
    load_nights = LoadNights(
        key=key, title=figure.title, metric=figure.metric, values=values, variant_label=figure.variant_label
    )
    if standing is None:
        return load_nights
    to, total, slow = standing
    return msgspec.structs.replace(
        load_nights, centre=to.value(figure.metric.better), deviation=to.deviation, total=total, slow=slow
    )


def _group_near_turns(
    turns: Sequence[Turn], measured: Sequence[_Night], changes: Sequence[Dated]
) -> list[Slowdown]:
    """Turns are indices of measured nights until here; loads that turned together stand together, the largest first."""
    groups: list[list[Turn]] = []
    for turn in sorted(turns, key=lambda turn: turn.since):
        if groups and turn.since - groups[-1][0].since <= _TOGETHER:
            groups[-1].append(turn)
        else:
            groups.append([turn])
    walls = [night.first.wall for night in measured]
    numbers = [night.number for night in measured]
    slowdowns = []
    for group in groups:
        first = min(turn.since for turn in group)
        low, high = numbers[max(0, first - _BEFORE)], numbers[min(len(numbers) - 1, first + _AFTER)]
        near = [dated for dated in changes if low < dated.night <= high]
        slowdowns.append(
            Slowdown(
                before=walls[first - 1] if first else "",
                since=walls[first],
                named=walls[min(turn.named for turn in group)],
                turns=tuple(
                    msgspec.structs.replace(turn, since=numbers[turn.since], named=numbers[turn.named])
                    for turn in sorted(group, key=lambda turn: turn.ratio)
                ),
                suspects=tuple(sorted(near, key=lambda d: abs(d.night - numbers[first]))),
            )
        )
    return slowdowns
