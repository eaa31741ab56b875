"""The verdicts as a table: both variants' values with their unit, the effect and its interval, the largest first.

One place for the end of `hostdx run` and the report.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from app.recording.session import Session
from app.recording.values import regimes_words, values_beside
from app.report import verdict_style, wording
from app.report.figures.interval_chart import drawable, sound
from probes import units
from scenarios import events as ev
from scenarios.experiment.wording import effect_cells, title_of_workload
from scenarios.plan import Metric
from scenarios.results.document import Bar, Cell, Effects, Intervals, Table, Toned
from scenarios.verdict.verdict import Word

MAX_REGIMES = 2  # loads of which two regimes are said
EACH_ITS_OWN = "Each row's values are of the groups that its own verdict rests on."


class VerdictRow(NamedTuple):
    """`left` and `right` are the values of baseline and variant, None where no block has the metric."""

    load: str
    left: units.Quantity | None
    right: units.Quantity | None
    size: str
    interval: str
    verdict: ev.RunVerdict

    @property
    def estimate(self) -> float | None:
        """None of too few groups, whose interval is not shown either."""
        return self.verdict.ratio if self.interval or self.verdict.ci95 is None else None


def rows(session: Session) -> list[VerdictRow]:
    """What was measured: decided ones by their size, then the others, the controls last; so of each part."""
    told = [v for v in session.verdicts.values() if wording.measured(v)]
    found = []

    def place(v: ev.RunVerdict) -> tuple[object, ...]:
        few = bool(wording.too_few(session, v))
        return aside(session, v), v.control, not v.is_different, few, -_distance(v)

    for v in sorted(told, key=place):
        unit = _metric(session, v).unit
        title = title_of_workload(wording.verdict_title(session, v), control=v.control)
        left, right = (
            None if value is None else units.amount(value, unit) for value in values_beside(session, v)
        )
        few = wording.too_few(session, v)
        found.append(VerdictRow(title, left, right, *((few, "") if few else effect_cells(v)), v))
    return found


def aside(session: Session, verdict: ev.RunVerdict) -> bool:
    """Whether it stands in the appendix, not on the first page."""
    load = session.load(verdict.workload)
    return load is not None and load.aside


def on_page(session: Session, *, appendix: bool = False) -> list[VerdictRow]:
    return [row for row in rows(session) if aside(session, row.verdict) is appendix]


def beside(session: Session) -> list[str]:
    """What the values are, where that is not seen at once; empty where it is."""
    regimes = [(row.load, regimes_words(session, row.verdict)) for row in on_page(session)]
    named = [f"{load}: {words}." for load, words in regimes if words]
    return [words for words in (_of_costs(session), _own_values(session), *named[:MAX_REGIMES]) if words]


def _of_costs(session: Session) -> str:
    """`26 % slower` beside 3.46 and 4.65 µs: an effect is a share of the speed, the values are what it takes."""
    for row in on_page(session):
        ratio, metric = row.verdict.ratio, _metric(session, row.verdict)
        if metric.better == "less" and row.verdict.is_different and ratio and not units.as_factor(ratio):
            way = "more" if ratio < 1 else "less"
            share = units.percent(abs(1 / ratio - 1))
            return f"{units.effect(ratio)} (speed) is {share} {way} {metric.unit}."
    return ""


def _own_values(session: Session) -> str:
    """Said where a variant has another value in another row of the same load."""
    seen: dict[tuple[str, str, str], units.Quantity | None] = {}
    for row in on_page(session):
        v = row.verdict
        for variant, value in ((v.baseline, row.left), (v.variant, row.right)):
            if seen.setdefault((v.workload, v.metric, variant), value) != value:
                return EACH_ITS_OWN
    return ""


def table(session: Session, *, narrow: bool = False, appendix: bool = False) -> Table | None:
    """None where nothing was compared. `narrow`: units in few letters, no difference by its margin, no groups."""
    found = [_narrow(row) if narrow else row for row in on_page(session, appendix=appendix)]
    if not found:
        return None
    pairs = {(row.verdict.baseline, row.verdict.variant) for row in found}
    left, right = next(iter(pairs)) if len(pairs) == 1 else ("baseline", "variant")
    # of several pairs the rows are told apart by what is compared
    loads = len(pairs) == 1 or len({row.verdict.workload for row in found}) > 1
    body: list[tuple[Cell, ...]] = []
    for row in found:
        named = [row.load] if loads else []
        if len(pairs) > 1:
            named.append(title_of_workload(pair(row.verdict), control=not loads and row.verdict.control))
        groups = "" if narrow else str(row.verdict.groups)
        body.append((*named, said(row.left), said(row.right), effect(row), row.interval or "–", groups))
    names = (*(("load",) if loads else ()), *(("compared",) if len(pairs) > 1 else ()))
    numbers = frozenset({len(names), len(names) + 1, len(names) + 4})
    header = (*names, left, right, "effect", "95 % CI", "groups")
    return Table(header, tuple(body), numbers).without_empty_columns()


def effects(session: Session, *, narrow: bool = False, appendix: bool = False) -> Effects | Table | None:
    """The table with its rows drawn, as far as one has an estimate."""
    shown = table(session, narrow=narrow, appendix=appendix)
    found = on_page(session, appendix=appendix)
    drawn = bars(found)
    if shown is None or not drawn:
        return shown
    margin = max(row.verdict.margin for row in found)
    return Effects(shown, Intervals(tuple(drawn.values()), margin), tuple(drawn))


def bars(found: Sequence[VerdictRow]) -> dict[int, Bar]:
    """By the row's number; none without an estimate. Where several pairs were compared each bar says whose it is."""
    several = len({(row.verdict.baseline, row.verdict.variant) for row in found}) > 1
    one_load = len({row.verdict.workload for row in found}) == 1

    def named(row: VerdictRow) -> str:
        if not several:
            return row.load
        return pair(row.verdict) if one_load else f"{row.verdict.variant}: {row.load}"

    return {
        n: Bar(named(row), ratio, drawable(row.verdict.ci95), Word(row.verdict.verdict), row.size)
        for n, row in enumerate(found)
        if sound(ratio := row.estimate)
    }


def _narrow(row: VerdictRow) -> VerdictRow:
    left, right = (None if value is None else units.brief(value) for value in (row.left, row.right))
    return row._replace(left=left, right=right, size=short_size(row.verdict, row.size))


def short_size(verdict: ev.RunVerdict, size: str) -> str:
    """Where there is little room, no difference by what it was shown to lie within."""
    equal = verdict.is_equal
    return f"within ±{units.percent(verdict.margin)}" if equal else size


def effect(row: VerdictRow) -> Toned:
    return Toned(row.size, verdict_style.role_of(row.verdict))


def said(value: units.Quantity | None) -> str:
    return "–" if value is None else str(value)


def pair(verdict: ev.RunVerdict) -> str:
    """`bfq against mq-deadline`."""
    return f"{verdict.variant} against {verdict.baseline}"


def _metric(session: Session, verdict: ev.RunVerdict) -> Metric:
    return session.metric(verdict.workload, verdict.metric) or Metric(verdict.metric, verdict.metric)


def _distance(verdict: ev.RunVerdict) -> float:
    """How far from no difference, either way."""
    if verdict.ratio is None or not verdict.ratio > 0 or not math.isfinite(verdict.ratio):
        return 0.0
    return abs(math.log(verdict.ratio))
