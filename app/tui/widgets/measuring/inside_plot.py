"""One curve inside a command's runs, the variants over each other on the run's own clock, and its figures below."""

from app.glyphs import clean
from app.lines import BLANK, Line, crop, split, text
from app.recording.session import Session
from app.report.figures.plot import plot
from app.report.results import command_timeline as timeline
from app.tui.widgets.measuring.block_plot import label, seconds_below, variants
from scenarios.results.document import ChartSeries

_NAME, _FIRST, _CELL = 15, 12, 10
_NOTHING = "no samples inside the runs: a run is sampled once a second, and has to take 3 s at least"


def inside_lines(session: Session, at: int, width: int, height: int) -> list[Line]:
    """The field with that number, counted round. Fewer figures on a low screen, the plot first."""
    field = timeline.FIELDS[at % len(timeline.FIELDS)]
    found = timeline.curves(session, field)
    if not found:
        return [text(_NOTHING if not session.inside else f"{field.title}: could not be read", "dim")]
    marks = variants(session)
    shown = {v: mark for v, mark in marks.items() if v in found}
    middles = {v: timeline.middle(runs) for v, runs in found.items()}
    x, y = timeline.axes([points for runs in found.values() for points in runs])
    series = [ChartSeries(mark, tuple(middles[v])) for v, (mark, _) in shown.items()]
    below = _figures(session, field, found, shown, width)
    room = max(5, height - len(below) - 2)
    rows = plot(series, width, room, x, y)
    by_mark = dict(shown.values())
    drawn = seconds_below(rows, by_mark)
    unit = f" in {field.unit}" if field.unit else ""
    title: Line = [(f"{field.title}{unit}", "strong"), (", median over the runs", "dim")]
    return [split(title, text("seconds since the command's start", "dim"), width), *drawn, BLANK, *below]


def _figures(
    session: Session,
    field: timeline.Field,
    found: dict[str, list[list[tuple[float, float]]]],
    shown: dict[str, tuple[str, str]],
    width: int,
) -> list[Line]:
    """A line a variant: the means of the run's quarters, and the most."""
    head = _row((*timeline.QUARTERS, "most"))
    out: list[Line] = [crop(text(f"{'':<{_NAME + 2}}{head}", "dim"), width)]
    for variant, (mark, role) in shown.items():
        runs = found[variant]
        most = max(value for points in runs for _, value in points)
        cells = _row((*timeline.quarters(timeline.middle(runs), field), timeline.amount(most, field)))
        name = f"{label(session, variant, _NAME):<{_NAME}}"
        counted = f"  {len(runs)} {'run' if len(runs) == 1 else 'runs'}"
        out.append(
            crop([(f"{mark} ", role), (name, "text"), (cells, "strong"), (clean(counted), "dim")], width)
        )
    return out


def _row(parts: tuple[str, ...]) -> str:
    return f"{parts[0]:>{_FIRST}}" + "".join(f"{part:>{_CELL}}" for part in parts[1:])
