"""The verdicts as a table to choose from: both sides' values, the interval drawn, the effect, the largest first."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from app.glyphs import clean
from app.lines import Line, crop, pad, shortened, text
from app.recording.session import Session
from app.report import verdict_style, wording
from app.report.figures.interval_chart import Scale, axis, bar_line, scale_of, sound
from app.report.figures.verdict_table import pair, rows, short_size
from app.tui.widgets.measuring.standing import margin_of, title_of
from app.tui.widgets.picker import Picker, PickerRow
from probes.units import Quantity, brief
from scenarios import events as ev
from scenarios.imported.results import HistoriesResult
from scenarios.results.document import Bar
from scenarios.verdict.verdict import Word

_LEAST_BAR, _ENOUGH_BAR, _MOST_BAR = 8, 17, 61
_LEAST_NAME = 12
_MOST_UNIT = 10  # cells of a unit on a narrow screen
_MOST_HEAD = 14
_WIDE = 96
GAP = 2
NONE = Quantity("–", "")


class EffectRow(NamedTuple):
    """One line: `size` has the effect's words, or why there is none where nothing was measured."""

    key: str
    name: str
    left: Quantity
    right: Quantity
    size: str
    interval: str
    role: str
    ratio: float | None
    ci95: tuple[float, float] | None
    measured: bool
    verdict: ev.RunVerdict | None


class Column(NamedTuple):
    """Cells of a value's number and of its unit."""

    number: int
    unit: int

    @property
    def cells(self) -> int:
        return self.number + bool(self.unit) + self.unit if self.number else 0


class ColumnWidths(NamedTuple):
    """Cells of each column; 0 for one that has no room."""

    name: int
    left: Column
    right: Column
    bar: int
    size: int
    interval: int
    scale: Scale
    tails: bool = False  # names that must be cut differ at their end only
    once: bool = False  # the right value's unit is the left one's too, in every row


def key_of(verdict: ev.RunVerdict) -> str:
    return "|".join((verdict.workload, verdict.metric, verdict.baseline, verdict.variant))


def entries(session: Session) -> list[EffectRow]:
    """What was measured by its size, the controls, what was not measured, then the trends over rounds."""
    found = rows(session)
    many = len({(r.verdict.baseline, r.verdict.variant) for r in found}) > 1
    one_load = len({r.verdict.workload for r in found}) == 1
    out = []
    for row in found:
        verdict = row.verdict
        baselines = {r.verdict.baseline for r in found if r.verdict.workload == verdict.workload}
        which = clean(verdict.variant if len(baselines) == 1 else pair(verdict))
        name = which if many and one_load else f"{which}: {row.load}" if many else row.load
        out.append(
            EffectRow(
                key_of(verdict), clean(name), row.left or NONE, row.right or NONE, row.size, row.interval,
                verdict_style.role_of(verdict), row.estimate, verdict.ci95, True, verdict,
            )
        )  # fmt: skip
    for verdict in session.verdicts.values():
        if not wording.measured(verdict):
            why = ": ".join(filter(None, (verdict.verdict, clean(verdict.reason or ""))))
            name = title_of(session, verdict.workload)
            if len({v.variant for v in session.verdicts.values()}) > 1:
                name = f"{clean(verdict.variant)}: {name}"
            out.append(
                EffectRow(key_of(verdict), name, NONE, NONE, why, "", "unknown", None, None, False, verdict)
            )
    for trend in session.series:
        words: str = trend.verdict
        if trend.slope_per_round is not None:
            words += f", {trend.slope_per_round * 100:+.1f} % a round"
        name = f"{title_of(session, trend.workload)}, {trend.rounds} rounds"
        role = verdict_style.role(trend.verdict)
        out.append(
            EffectRow(f"series|{trend.workload}", name, NONE, NONE, words, "", role, None, None, False, None)
        )
    return out


def layout(found: list[EffectRow], width: int, heads: tuple[str, str] = ("", "")) -> ColumnWidths:
    """The interval in figures gives way first, then the bar, then the names."""
    told = [e for e in found if e.measured]
    drawn = [
        Bar(e.name, e.ratio, e.ci95, Word(e.verdict.verdict), e.size)
        for e in told
        if e.verdict and sound(e.ratio)
    ]
    scale = scale_of(drawn)
    wide = width >= _WIDE

    def widest(values: list[str]) -> int:
        return max(map(cell_len, values), default=0)

    def column(values: list[Quantity], most_unit: int, head: str) -> Column:
        number = widest([v.number for v in values])
        unit = min(most_unit, widest([v.unit for v in values]))
        return Column(number, max(unit, min(cell_len(head), _MOST_HEAD) - number - 1) if number else unit)

    name = max(widest([e.name for e in found]), cell_len("variant"))
    once = not wide and all(brief(e.left).unit == brief(e.right).unit for e in told)
    pairs = [sides(e, wide=wide, once=once) for e in told]
    left = column([one for one, _ in pairs], 99 if wide else _MOST_UNIT, heads[0])
    right = column([other for _, other in pairs], 99 if wide else _MOST_UNIT, heads[1])
    size, interval = widest([effect_of(e, wide=wide) for e in told]), widest([e.interval for e in told])

    def rest(*columns: int) -> int:
        return width - sum(c + GAP for c in columns if c)

    whole = name
    name = min(name, max(_LEAST_NAME, width // 3 if wide else width // 4 - 1))
    room = rest(name, left.cells, right.cells, size, interval) - GAP
    if room < _LEAST_BAR or not wide:
        interval = 0
        room = rest(name, left.cells, right.cells, size) - GAP
    if room < _LEAST_BAR:
        name = max(_LEAST_NAME, name - (_LEAST_BAR - room))
        room = rest(name, left.cells, right.cells, size) - GAP
    # a narrow screen: the effect stays, Enter has both values
    if rest(name, left.cells, right.cells, size) < 0:
        left = right = Column(0, 0)
        room = rest(name, size) - GAP
    least = _ENOUGH_BAR if wide else _LEAST_BAR  # more than that the picture does not need
    if (more := min(whole - name, room - least)) > 0:
        name, room = name + more, room - more
    picture = min(_MOST_BAR, room) if drawn and room >= _LEAST_BAR else 0
    names = {clean(e.name) for e in found}
    tails = len({set_cell_size(n, name - 1) for n in names}) < len(names)
    return ColumnWidths(name, left, right, picture, size, interval, scale, tails, once)


def sides(entry: EffectRow, *, wide: bool, once: bool) -> tuple[Quantity, Quantity]:
    """Where there is little room the unit in few letters, and `once` for both sides; a `k` belongs to its number."""
    if wide:
        return entry.left, entry.right
    left, right = brief(entry.left), brief(entry.right)
    return (left.unitless if once else left), right


def effect_of(entry: EffectRow, *, wide: bool) -> str:
    return entry.size if wide or entry.verdict is None else short_size(entry.verdict, entry.size)


def _value(value: Quantity, at: Column) -> Line:
    """The number right-aligned, its unit dim beside it, so that numbers stand under numbers."""
    number: Line = [(value.number.rjust(at.number), "text")]
    return [*number, *pad([(f" {value.unit}", "dim")], at.unit + 1)] if at.unit else number


def named(name: str, at: ColumnWidths) -> Line:
    """In its column, so cut that no two rows look alike."""
    return pad(text(shortened(name, at.name) if at.tails else name), at.name)


def table_of(found: list[EffectRow], margin: float, width: int) -> list[Line]:
    """Without heads and a cursor: beside a list of recordings."""
    at = layout(found, width)
    return [entry_line(entry, at, margin, width) for entry in found]


def _line(entry: EffectRow, table: VerdictList, width: int) -> Line:
    return entry_line(entry, table.laid, margin_of(table.session()), width)


def entry_line(entry: EffectRow, at: ColumnWidths, margin: float, width: int) -> Line:
    line = named(entry.name, at)
    gap = (" " * GAP, "text")
    if not entry.measured:
        return crop([*line, gap, (entry.size, entry.role)], width)
    left, right = sides(entry, wide=width >= _WIDE, once=at.once)
    if at.left.cells:
        line += [gap, *_value(left, at.left)]
    if at.right.cells:
        line += [gap, *_value(right, at.right)]
    if at.bar:
        none = entry.ratio is None  # a band alone would look like a result of exactly 1
        picture = (
            []
            if none
            else bar_line(entry.ratio, entry.ci95, at.bar, at.scale, margin=margin, role=entry.role)
        )
        line += [gap, *pad(picture, at.bar)]
    line += [gap, *pad([(effect_of(entry, wide=width >= _WIDE), entry.role)], at.size)]
    if at.interval:
        line += [gap, (entry.interval, "dim")]
    return crop(line, width)


class VerdictList(Picker):
    def __init__(self, session: Callable[[], Session]) -> None:
        super().__init__(id="verdicts", title="RESULT", empty="nothing was compared")
        self.session = session
        self.laid = layout([], 80)
        self._found: tuple[tuple[object, ...], list[EffectRow]] | None = None

    def entries(self) -> list[EffectRow]:
        """Made anew where a verdict came: medians over all blocks are not for every key."""
        session = self.session()
        state = (id(session), len(session.verdicts), len(session.series), session.ended is not None)
        if self._found is None or self._found[0] != state:
            made = [] if session.result(HistoriesResult) is not None else entries(session)  # drawn as courses
            self._found = (state, made)
        return self._found[1]

    def rows(self) -> list[PickerRow]:
        return [PickerRow(e.key, partial(_line, e, self), f"{e.name} {e.size}") for e in self.entries()]

    def entry(self) -> EffectRow | None:
        """The one under the cursor."""
        return next((e for e in self.entries() if e.key == self.selected), None)

    def columns(self, width: int) -> list[Line]:
        told = [e.verdict for e in self.entries() if e.measured and e.verdict is not None]
        pairs = {(v.baseline, v.variant) for v in told}
        left, right = next(iter(pairs)) if len(pairs) == 1 else ("baseline", "with it")
        if len({v.baseline for v in told}) == 1:
            left = told[0].baseline
        at = self.laid = layout(self.entries(), width - 2, (clean(left), clean(right)))
        if not told:
            return []
        gap = (" " * GAP, "text")
        alone = len({v.workload for v in told}) == 1 and len(pairs) > 1  # the rows are the variants
        line: Line = [("  ", "text"), *pad(text("variant" if alone else "load", "dim"), at.name)]
        for words, column, role in (
            (left, at.left, "a"),
            (right, at.right, "b" if len(pairs) == 1 else "dim"),
        ):
            if column.cells:
                line += [gap, *pad([(clean(words).rjust(column.number), role)], column.cells)]
        if at.bar:
            line += [gap, *pad(axis(at.bar, at.scale), at.bar)]
        line += [gap, *pad(text("effect", "dim"), at.size)]
        if at.interval:
            line += [gap, ("95 % CI", "dim")]
        return [crop(line, width)]

    def draw(self, width: int, height: int) -> list[Line]:
        self.note = [("Enter: its groups", "dim")] if self.has_focus and self.entries() else []
        return super().draw(width, height)
