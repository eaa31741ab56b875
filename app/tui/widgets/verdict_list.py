"""The verdicts as a table to choose from: both sides' values, the interval drawn, the effect, the largest first."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from hostdx.app.recordings.session import RunSession
from hostdx.app.report import wording
from hostdx.app.report.figures.interval_chart import (
    LogScale,
    axis_line,
    bar_line,
    is_drawable_value,
    scale_for_bars,
)
from hostdx.app.report.figures.verdict_table import list_verdict_rows, pair_text, size_or_equal_within
from hostdx.app.terminal.glyphs import clean_text
from hostdx.app.terminal.lines import Line, crop_line, fit_line, shorten_middle, text_line
from hostdx.app.tui.widgets.measuring.standing import margin_of, title_of
from hostdx.app.tui.widgets.on_top import import_pictures
from hostdx.app.tui.widgets.picker import Picker, PickerRow
from hostdx.probes.units import DisplayQuantity, abbreviate_unit
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.results.document import Bar
from hostdx.scenarios.contract.verdict.verdict import Word

_MIN_BAR_CELLS, _GOOD_BAR_CELLS, _MAX_BAR_CELLS = 8, 17, 61
_MIN_NAME_CELLS = 12
_MAX_UNIT_CELLS = 10  # cells of a unit on a narrow screen
_MAX_HEAD_CELLS = 14
_WIDE = 96
GAP = 2
NONE = DisplayQuantity("–", "")


class EffectRow(NamedTuple):
    """One line: `size` has the effect's words, or why there is none where nothing was measured."""

    key: str
    name: str
    left: DisplayQuantity
    right: DisplayQuantity
    size: str
    interval: str
    role: str
    ratio: float | None
    ci95: tuple[float, float] | None
    measured: bool
    verdict: ev.RunVerdict | None


class ValueColumn(NamedTuple):
    """Cells of a value's number and of its unit."""

    number: int
    unit: int

    @property
    def total_cells(self) -> int:
        return self.number + bool(self.unit) + self.unit if self.number else 0


class ColumnWidths(NamedTuple):
    """Cells of each column; 0 for one that has no room."""

    name: int
    left: ValueColumn
    right: ValueColumn
    bar: int
    size: int
    interval: int
    scale: LogScale
    tails: bool = False  # names that must be cut differ at their end only
    shares_unit: bool = False  # the right value's unit is the left one's too, in every row


def key_of(verdict: ev.RunVerdict) -> str:
    return "|".join((verdict.workload, verdict.metric, verdict.baseline, verdict.variant))


def list_effects(session: RunSession) -> list[EffectRow]:
    """Return what was measured by its size, the controls, what was not measured, then the trends over rounds."""
    verdict_rows = list_verdict_rows(session)
    many = len({(r.verdict.baseline, r.verdict.variant) for r in verdict_rows}) > 1
    one_load = len({r.verdict.workload for r in verdict_rows}) == 1
    out = []
    for row in verdict_rows:
        verdict = row.verdict
        baselines = {r.verdict.baseline for r in verdict_rows if r.verdict.workload == verdict.workload}
        which = clean_text(verdict.variant if len(baselines) == 1 else pair_text(verdict))
        name = which if many and one_load else f"{which}: {row.load}" if many else row.load
        out.append(
            EffectRow(
                key_of(verdict), clean_text(name), row.left or NONE, row.right or NONE, row.size, row.interval,
                wording.verdict_role(verdict), row.shown_estimate, verdict.ci95, True, verdict,
            )
        )  # fmt: skip
    for verdict in session.verdicts.values():
        if not wording.is_measured(verdict):
            word = wording.word_without_figures(verdict)
            why = ": ".join(filter(None, (word, clean_text(verdict.reason or ""))))
            name = title_of(session, verdict.workload)
            if len({v.variant for v in session.verdicts.values()}) > 1:
                name = f"{clean_text(verdict.variant)}: {name}"
            out.append(
                EffectRow(key_of(verdict), name, NONE, NONE, why, "", "unknown", None, None, False, verdict)
            )
    for trend in session.series:
        words: str = trend.verdict
        if trend.slope_per_round is not None:
            words += f", {trend.slope_per_round * 100:+.1f} % a round"
        name = f"{title_of(session, trend.workload)}, {trend.rounds} rounds"
        role = wording.word_role(trend.verdict)
        out.append(
            EffectRow(f"series|{trend.workload}", name, NONE, NONE, words, "", role, None, None, False, None)
        )
    return out


def lay_out_columns(effects: list[EffectRow], width: int, heads: tuple[str, str] = ("", "")) -> ColumnWidths:
    """The interval in figures gives way first, then the bar, then the names."""
    measured_rows = [e for e in effects if e.measured]
    drawn = [
        Bar(e.name, e.ratio, e.ci95, Word(e.verdict.verdict), e.size)
        for e in measured_rows
        if e.verdict and is_drawable_value(e.ratio)
    ]
    scale = scale_for_bars(drawn)
    wide = width >= _WIDE

    def widest_cells(values: list[str]) -> int:
        return max(map(cell_len, values), default=0)

    def make_column(values: list[DisplayQuantity], most_unit: int, head: str) -> ValueColumn:
        number = widest_cells([v.number for v in values])
        unit = min(most_unit, widest_cells([v.unit for v in values]))
        return ValueColumn(
            number, max(unit, min(cell_len(head), _MAX_HEAD_CELLS) - number - 1) if number else unit
        )

    name = max(widest_cells([e.name for e in effects]), cell_len("variant"))
    shares_unit = not wide and all(
        abbreviate_unit(e.left).unit == abbreviate_unit(e.right).unit for e in measured_rows
    )
    pairs = [left_and_right_values(e, wide=wide, shares_unit=shares_unit) for e in measured_rows]
    left = make_column([left_value for left_value, _ in pairs], 99 if wide else _MAX_UNIT_CELLS, heads[0])
    right = make_column([other for _, other in pairs], 99 if wide else _MAX_UNIT_CELLS, heads[1])
    size, interval = (
        widest_cells([effect_text(e, wide=wide) for e in measured_rows]),
        widest_cells([e.interval for e in measured_rows]),
    )

    def free_cells(*columns: int) -> int:
        return width - sum(c + GAP for c in columns if c)

    full_name = name
    name = min(name, max(_MIN_NAME_CELLS, width // 3 if wide else width // 4 - 1))
    room = free_cells(name, left.total_cells, right.total_cells, size, interval) - GAP
    if room < _MIN_BAR_CELLS or not wide:
        interval = 0
        room = free_cells(name, left.total_cells, right.total_cells, size) - GAP
    if room < _MIN_BAR_CELLS:
        name = max(_MIN_NAME_CELLS, name - (_MIN_BAR_CELLS - room))
        room = free_cells(name, left.total_cells, right.total_cells, size) - GAP
    # a narrow screen: the effect stays, Enter has both values
    if free_cells(name, left.total_cells, right.total_cells, size) < 0:
        left = right = ValueColumn(0, 0)
        room = free_cells(name, size) - GAP
    least = _GOOD_BAR_CELLS if wide else _MIN_BAR_CELLS  # more than that the picture does not need
    if (more := min(full_name - name, room - least)) > 0:
        name, room = name + more, room - more
    picture = min(_MAX_BAR_CELLS, room) if drawn and room >= _MIN_BAR_CELLS else 0
    names = {clean_text(e.name) for e in effects}
    tails = len({set_cell_size(n, name - 1) for n in names}) < len(names)
    return ColumnWidths(name, left, right, picture, size, interval, scale, tails, shares_unit)


def left_and_right_values(
    entry: EffectRow, *, wide: bool, shares_unit: bool
) -> tuple[DisplayQuantity, DisplayQuantity]:
    """Where there is little room the unit in few letters, and `shares_unit` for both sides; a `k` belongs to its
    number.
    """
    if wide:
        return entry.left, entry.right
    left, right = abbreviate_unit(entry.left), abbreviate_unit(entry.right)
    return (left.without_unit if shares_unit else left), right


def effect_text(entry: EffectRow, *, wide: bool) -> str:
    return entry.size if wide or entry.verdict is None else size_or_equal_within(entry.verdict, entry.size)


def _aligned_value(value: DisplayQuantity, at: ValueColumn) -> Line:
    """The number right-aligned, its unit dim beside it, so that numbers stand under numbers."""
    number: Line = [(value.number.rjust(at.number), "text")]
    return [*number, *fit_line([(f" {value.unit}", "dim")], at.unit + 1)] if at.unit else number


def name_cell(name: str, at: ColumnWidths) -> Line:
    """In its column, so cut that no two rows look alike."""
    return fit_line(text_line(shorten_middle(name, at.name) if at.tails else name), at.name)


def table_of(effects: list[EffectRow], margin: float, width: int) -> list[Line]:
    """Without heads and a cursor: beside a list of recordings."""
    at = lay_out_columns(effects, width)
    return [entry_line(entry, at, margin, width) for entry in effects]


def _effect_line(entry: EffectRow, table: VerdictList, width: int) -> Line:
    return entry_line(entry, table.laid, margin_of(table.session()), width)


def entry_line(entry: EffectRow, at: ColumnWidths, margin: float, width: int) -> Line:
    line = name_cell(entry.name, at)
    gap = (" " * GAP, "text")
    if not entry.measured:
        return crop_line([*line, gap, (entry.size, entry.role)], width)
    left, right = left_and_right_values(entry, wide=width >= _WIDE, shares_unit=at.shares_unit)
    if at.left.total_cells:
        line += [gap, *_aligned_value(left, at.left)]
    if at.right.total_cells:
        line += [gap, *_aligned_value(right, at.right)]
    if at.bar:
        none = entry.ratio is None  # a band alone would look like a result of exactly 1
        picture = (
            []
            if none
            else bar_line(entry.ratio, entry.ci95, at.bar, at.scale, margin=margin, role=entry.role)
        )
        line += [gap, *fit_line(picture, at.bar)]
    line += [gap, *fit_line([(effect_text(entry, wide=width >= _WIDE), entry.role)], at.size)]
    if at.interval:
        line += [gap, (entry.interval, "dim")]
    return crop_line(line, width)


class VerdictList(Picker):
    def __init__(self, session: Callable[[], RunSession]) -> None:
        super().__init__(id="verdicts", title="RESULT", empty="nothing was compared")
        self.session = session
        self.laid = lay_out_columns([], 80)
        self._cached_effects: tuple[tuple[object, ...], list[EffectRow]] | None = None

    def effect_rows(self) -> list[EffectRow]:
        """Made anew where a verdict came: medians over all blocks are not for every key."""
        session = self.session()
        state = (id(session), len(session.verdicts), len(session.series), session.ended is not None)
        if self._cached_effects is None or self._cached_effects[0] != state:
            effects = [] if import_pictures(session, 80) else list_effects(session)  # drawn as courses
            self._cached_effects = (state, effects)
        return self._cached_effects[1]

    def build_rows(self) -> list[PickerRow]:
        return [
            PickerRow(e.key, partial(_effect_line, e, self), f"{e.name} {e.size}") for e in self.effect_rows()
        ]

    def selected_effect(self) -> EffectRow | None:
        """The one under the cursor."""
        return next((e for e in self.effect_rows() if e.key == self.selected_key), None)

    def draw_column_heads(self, width: int) -> list[Line]:
        verdicts = [e.verdict for e in self.effect_rows() if e.measured and e.verdict is not None]
        pairs = {(v.baseline, v.variant) for v in verdicts}
        left, right = next(iter(pairs)) if len(pairs) == 1 else ("baseline", "with it")
        if len({v.baseline for v in verdicts}) == 1:
            left = verdicts[0].baseline
        at = self.laid = lay_out_columns(self.effect_rows(), width - 2, (clean_text(left), clean_text(right)))
        if not verdicts:
            return []
        gap = (" " * GAP, "text")
        alone = len({v.workload for v in verdicts}) == 1 and len(pairs) > 1  # the rows are the variants
        line: Line = [("  ", "text"), *fit_line(text_line("variant" if alone else "load", "dim"), at.name)]
        for words, column, role in (
            (left, at.left, "a"),
            (right, at.right, "b" if len(pairs) == 1 else "dim"),
        ):
            if column.total_cells:
                line += [gap, *fit_line([(clean_text(words).rjust(column.number), role)], column.total_cells)]
        if at.bar:
            line += [gap, *fit_line(axis_line(at.bar, at.scale), at.bar)]
        line += [gap, *fit_line(text_line(clean_text(wording.effect_heading(pairs)), "dim"), at.size)]
        if at.interval:
            line += [gap, ("95 % CI", "dim")]
        return [crop_line(line, width)]

    def draw(self, width: int, height: int) -> list[Line]:
        self.note = self._enter_opens_line()
        lines = super().draw(width, height)
        if (note := self._enter_opens_line()) != self.note:  # the columns have another width now
            self.note = note
            lines = super().draw(width, height)
        return lines

    def _enter_opens_line(self) -> Line:
        """What Enter opens: a name that has no room in its column stands here whole."""
        selected = self.selected_effect() if self.has_focus else None
        if selected is None:
            return []
        is_cut = cell_len(selected.name) > self.laid.name
        return [("Enter: ", "dim"), (selected.name, "text") if is_cut else ("groups of this load", "dim")]
