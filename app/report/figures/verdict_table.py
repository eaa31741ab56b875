"""The verdicts as a table: both variants' values with their unit, the effect and its interval, the largest first.

One place for the end of `hostdx run` and the report.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hostdx.app.recordings.session import RunSession
from hostdx.app.recordings.values import baseline_and_variant_values, medians_apart_from_effect, variant_value
from hostdx.app.report import wording
from hostdx.app.report.figures.interval_chart import drawable_interval, is_drawable_value
from hostdx.probes import units
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.results.document import Bar, Cell, Effects, Intervals, Table, Toned
from hostdx.scenarios.contract.verdict.verdict import Word
from hostdx.scenarios.experiment.wording import effect_size_and_interval_cells, mark_if_control

_TIMES = ("s", "ms", "µs", "ns")
MAX_REGIMES = 2  # loads of which two regimes are said
NO_VALUES = "–: this verdict rests on other groups than the values of its variants, which do not divide to its effect."


class VerdictRow(NamedTuple):
    """`left` and `right` are the values of baseline and variant, None where no block has the metric."""

    load: str
    left: units.DisplayQuantity | None
    right: units.DisplayQuantity | None
    size: str
    interval: str
    verdict: ev.RunVerdict

    @property
    def shown_estimate(self) -> float | None:
        """None of too few groups, whose interval is not shown either."""
        return self.verdict.ratio if self.interval or self.verdict.ci95 is None else None


def list_verdict_rows(session: RunSession) -> list[VerdictRow]:
    """What was measured: decided ones by their size, then the others, the controls last; so of each part."""
    measured = [v for v in session.verdicts.values() if wording.is_measured(v)]
    table_rows = []

    def sort_key(v: ev.RunVerdict) -> tuple[object, ...]:
        few = bool(wording.too_few_groups_text(session, v))
        return (
            belongs_in_appendix(session, v),
            v.control,
            not v.is_different,
            few,
            -wording.log_effect_size(v),
        )

    for v in sorted(measured, key=sort_key):
        unit = session.metric_of(v).unit
        title = mark_if_control(wording.verdict_title(session, v), control=v.control)
        left, right = (
            None if value is None else units.metric_quantity(value, unit)
            for value in baseline_and_variant_values(session, v)
        )
        few = wording.too_few_groups_text(session, v)
        table_rows.append(
            VerdictRow(
                title, left, right, *((f"only {few}", "") if few else effect_size_and_interval_cells(v)), v
            )
        )
    return table_rows


MAX_OPEN_ROWS = 4  # of comparisons with too few groups for an interval, on the first page beside others


def belongs_in_appendix(session: RunSession, verdict: ev.RunVerdict) -> bool:
    """Return whether it stands in the appendix, not on the first page: by its load, or as one of many that say nothing
    yet beside those that do.
    """
    if is_kept_off_first_page(session, verdict):
        return True
    return verdict in session.compute_once("open comparisons", lambda: _few_group_verdicts_if_many(session))


def is_kept_off_first_page(session: RunSession, verdict: ev.RunVerdict) -> bool:
    """Return whether the scenario keeps the verdicts of this load off the first page."""
    load = session.find_workload(verdict.workload)
    return load is not None and load.aside


def _few_group_verdicts_if_many(session: RunSession) -> list[ev.RunVerdict]:
    """The comparisons with too few groups, where they are many and others have enough."""
    measured = [v for v in session.verdicts.values() if wording.is_measured(v) and not v.control]
    without_interval = [v for v in measured if wording.too_few_groups_text(session, v)]
    return without_interval if MAX_OPEN_ROWS < len(without_interval) < len(measured) else []


def rows_on_page(session: RunSession, *, appendix: bool = False) -> list[VerdictRow]:
    return [
        row for row in list_verdict_rows(session) if belongs_in_appendix(session, row.verdict) is appendix
    ]


def notes_on_values(session: RunSession) -> list[str]:
    """Return what the values are, where that is not seen at once; empty where it is."""
    regime_notes = [
        f"{row.load}: medians differ by {units.format_percent(share)}: two regimes."
        for row in rows_on_page(session)
        if (share := medians_apart_from_effect(session, row.verdict)) is not None
    ]
    notes = (
        _speed_as_cost_note(session),
        lacking_values_note(session),
        _note_on_freed_effect(session),
        *regime_notes[:MAX_REGIMES],
    )
    return [words for words in notes if words]


def _note_on_freed_effect(session: RunSession) -> str:
    """Return what was divided out of effects and values, so that nobody takes these for what the windows gave."""
    for row in rows_on_page(session):
        load = session.find_workload(row.verdict.workload)
        if load is not None and load.freed_from and row.left is not None:
            beside = wording.workload_title(session, load.freed_from)
            return f"{row.load}: effect and values are what is left without the changes of “{beside}”."
    return ""


def few_groups_note(session: RunSession) -> str:
    """Return which comparisons stand in the appendix alone, because they have too few groups to say anything."""
    verdicts = session.compute_once("open comparisons", lambda: _few_group_verdicts_if_many(session))
    loads = dict.fromkeys(wording.workload_title(session, v.workload) for v in verdicts)
    count = units.count_noun(len(verdicts), "comparison")
    return (
        f"{'; '.join(loads)}: {count} with too few groups for an interval, see Verdicts in full."
        if loads
        else ""
    )


def _speed_as_cost_note(session: RunSession) -> str:
    """`26 % slower` beside 3.46 and 4.65 µs: an effect is a share of the speed, the values are what it takes."""
    for row in rows_on_page(session):
        ratio, metric = row.verdict.ratio, session.metric_of(row.verdict)
        if metric.better == "less" and row.verdict.is_different and ratio and not units.is_factor(ratio):
            way = "more" if ratio < 1 else "less"
            share = units.format_percent(abs(1 / ratio - 1))
            of = "time" if metric.unit.partition("/")[0] in _TIMES else metric.unit
            return f"{units.format_effect(ratio)} (speed) is the same as {share} {way} {of}."
    return ""


def lacking_values_note(session: RunSession, *, appendix: bool = False) -> str:
    """Return why a row has no values; empty where each has its own."""
    rows = rows_on_page(session, appendix=appendix)
    lacking = [row.verdict for row in rows if row.left is None and row.verdict.ratio]
    return NO_VALUES if any(variant_value(session, v.workload, v.metric, v.variant) for v in lacking) else ""


def verdicts_table(session: RunSession, *, narrow: bool = False, appendix: bool = False) -> Table | None:
    """None where nothing was compared. `narrow`: units in few letters, no difference by its margin, no groups."""
    shown_rows = [_shorten_units(row) if narrow else row for row in rows_on_page(session, appendix=appendix)]
    if not shown_rows:
        return None
    pairs = {(row.verdict.baseline, row.verdict.variant) for row in shown_rows}
    left, right = next(iter(pairs)) if len(pairs) == 1 else ("baseline", "variant")
    # of several pairs the rows are told apart by what is compared
    loads = len(pairs) == 1 or len({row.verdict.workload for row in shown_rows}) > 1
    body: list[tuple[Cell, ...]] = []
    for row in shown_rows:
        cells = [row.load] if loads else []
        if len(pairs) > 1:
            cells.append(mark_if_control(pair_text(row.verdict), control=not loads and row.verdict.control))
        groups = "" if narrow else str(row.verdict.groups)
        body.append(
            (
                *cells,
                value_text(row.left),
                value_text(row.right),
                Toned(row.size, wording.verdict_role(row.verdict)),
                row.interval or "–",
                groups,
            )
        )
    names = (*(("load",) if loads else ()), *(("compared",) if len(pairs) > 1 else ()))
    numbers = frozenset({len(names), len(names) + 1, len(names) + 4})
    header = (*names, left, right, wording.effect_heading(pairs), "95 % CI", "groups")
    return Table(header, tuple(body), numbers).without_empty_columns()


def effects_part(
    session: RunSession, *, narrow: bool = False, appendix: bool = False
) -> Effects | Table | None:
    """The table with its rows drawn, as far as one has an estimate."""
    shown = verdicts_table(session, narrow=narrow, appendix=appendix)
    page_rows = rows_on_page(session, appendix=appendix)
    drawn = make_bars(page_rows)
    if shown is None or not drawn:
        return shown
    margin = max(row.verdict.margin for row in page_rows)
    return Effects(shown, Intervals(tuple(drawn.values()), margin), tuple(drawn))


def make_bars(page_rows: Sequence[VerdictRow]) -> dict[int, Bar]:
    """By the row's number; none without an estimate. Where several pairs were compared each bar says whose it is."""
    several = len({(row.verdict.baseline, row.verdict.variant) for row in page_rows}) > 1
    one_load = len({row.verdict.workload for row in page_rows}) == 1

    def bar_name(row: VerdictRow) -> str:
        if not several:
            return row.load
        return pair_text(row.verdict) if one_load else f"{row.verdict.variant}: {row.load}"

    return {
        n: Bar(bar_name(row), ratio, drawable_interval(row.verdict.ci95), Word(row.verdict.verdict), row.size)
        for n, row in enumerate(page_rows)
        if is_drawable_value(ratio := row.shown_estimate)
    }


def _shorten_units(row: VerdictRow) -> VerdictRow:
    left, right = (None if value is None else units.abbreviate_unit(value) for value in (row.left, row.right))
    return row._replace(left=left, right=right, size=size_or_equal_within(row.verdict, row.size))


def size_or_equal_within(verdict: ev.RunVerdict, size: str) -> str:
    """Return `size`; where the verdict is "equal", the margin within which no difference lies."""
    equal = verdict.is_equal
    return f"within ±{units.format_percent(verdict.margin)}" if equal else size


def value_text(value: units.DisplayQuantity | None) -> str:
    return "–" if value is None else str(value)


def pair_text(verdict: ev.RunVerdict) -> str:
    """`bfq against mq-deadline`."""
    return f"{verdict.variant} against {verdict.baseline}"
