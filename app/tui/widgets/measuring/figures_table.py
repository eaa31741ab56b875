"""What a survey or a watch has read so far, a line a figure: where no load is under way there are no blocks to draw."""

import statistics
from collections.abc import Sequence

from hostdx.app.recordings.session import RunSession
from hostdx.app.terminal.glyphs import clean_text, spark_cell
from hostdx.app.terminal.lines import Line, crop_line, pad_line, shorten_middle, text_line
from hostdx.probes import units
from hostdx.scenarios.contract import events as ev

_TRACE = 24  # values drawn
_GAP = "  "
_MAX_NAME_CELLS, _MIN_NAME_CELLS = 44, 16


def _value(value: float, unit: str) -> str:
    """`1.37 k loops/s`, `24 %`."""
    if unit == "share":
        return units.format_percent(value)
    return (
        f"{units.format_prefixed(value)}{unit}"
        if unit.startswith("B")
        else str(units.metric_quantity(value, unit))
    )


def _series_line(samples: Sequence[ev.SampleTaken], width: int) -> Line:
    """Its last values drawn, and the newest."""
    values = [s.value for s in samples[-min(_TRACE, width) :]]
    most = max(*values, 0.0) or 1.0
    drawn = "".join(spark_cell(v / most) for v in values)
    last = samples[-1]
    return [(f"{drawn:<{_TRACE}}{_GAP}", "accent"), (_value(last.value, last.unit), "text")]


def figure_lines(session: RunSession, width: int, most: int) -> tuple[Line, list[Line]]:
    """Return how often it was read, and at most `most` lines. A figure of several variants has a column each, the
    median so far.
    """
    if not session.samples or most < 2:
        return [], []
    read_series = {name: samples for name, samples in session.samples.items() if samples}
    columns = list(dict.fromkeys(s.variant for samples in read_series.values() for s in samples))
    rounds = max(
        len([s for s in samples if s.variant == samples[0].variant]) for samples in read_series.values()
    )
    note = f"{rounds} readings" if columns == [""] else f"median of {rounds} rounds"
    rows = _order_by_kind(read_series)
    room = most - (columns != [""])
    newest = sorted(rows, key=lambda row: row[1][-1].t)[-(room - 1) :]
    shown = rows if len(rows) <= room else [row for row in rows if row in newest]
    longest = max(len(clean_text(name)) for name, _ in shown)
    names = min(_MAX_NAME_CELLS, longest, width // 2)
    out: list[Line] = []
    if columns == [""]:
        out += [
            crop_line([*pad_line(text_line(n), names), (_GAP, "text"), *_series_line(s, width)], width)
            for n, s in shown
        ]
    else:
        cells = [{v: _median(samples, v) for v in columns} for _, samples in shown]
        widths = {v: max(len(clean_text(v)), *(len(row[v]) for row in cells)) for v in columns}
        names = min(longest, max(_MIN_NAME_CELLS, width - sum(widths.values()) - len(_GAP) * len(columns)))
        head = _GAP.join(f"{clean_text(v):>{widths[v]}}" for v in columns)
        out.append(crop_line(text_line(f"{'':<{names}}{_GAP}{head}", "dim"), width))
        for (name, _), row in zip(shown, cells, strict=True):
            line = _GAP.join(f"{row[v]:>{widths[v]}}" for v in columns)
            called = text_line(shorten_middle(name, names))
            out.append(crop_line([*pad_line(called, names), (f"{_GAP}{line}", "text")], width))
    if len(shown) < len(rows):
        out.append(text_line(f"and {len(rows) - len(shown)} more in the report", "dim"))
    return text_line(note, "dim"), out


def _order_by_kind(read_series: dict[str, list[ev.SampleTaken]]) -> list[tuple[str, list[ev.SampleTaken]]]:
    """Figures of one unit and the same variants stand together by name: a survey reads them in a drawn order."""
    kinds = {
        name: (samples[0].unit, frozenset(s.variant for s in samples))
        for name, samples in read_series.items()
    }
    first = {kind: place for place, kind in reversed(list(enumerate(kinds.values())))}
    return sorted(read_series.items(), key=lambda row: (first[kinds[row[0]]], row[0]))


def _median(samples: Sequence[ev.SampleTaken], variant: str) -> str:
    own = [s for s in samples if s.variant == variant]
    return _value(statistics.median(s.value for s in own), own[-1].unit) if own else ""
