"""The samples of a file as a drawing: a row a metric over the clock time; incidents are marked."""

from collections.abc import Sequence

from hostdx.app.report.figures.load_lines import LoadLine, load_lines_svg
from hostdx.app.terminal.glyphs import spark_cell
from hostdx.app.terminal.printable import make_printable
from hostdx.probes import units
from hostdx.probes.imports.numbers import imported_text
from hostdx.scenarios.analysis.imported.results import TimelineResult
from hostdx.scenarios.analysis.incidents.findings import clock_text, period_text
from hostdx.scenarios.analysis.incidents.incidents import Timeline, TimelineRow
from hostdx.scenarios.contract.results.document import Part, Picture

_MAX_NAME = 32
_MIN_ROOM = 12
_MARK = "▀"


def timeline_parts(result: TimelineResult, width: int) -> tuple[Part, ...]:
    """Return the time axis as a picture; nothing where no metric moves."""
    timeline = result.value.timeline
    if not timeline.rows or timeline.seconds <= 0:
        return ()
    return (Picture(tuple(timeline_lines(timeline, width)), timeline_svg(timeline)),)


def timeline_lines(timeline: Timeline, width: int) -> list[str]:
    """`disk sda utilisation   ▁▁▂█▁▁  0.3 to 99 %`, then the marks of the incidents, then the clock."""
    names = [_subject_and_metric(row) for row in timeline.rows]
    tails = [_lowest_to_highest(row) for row in timeline.rows]
    left = min(_MAX_NAME, max(len("incidents"), *map(len, names)))
    room = max(_MIN_ROOM, width - left - 4 - max(map(len, tails)))
    lines = [
        f"{name:<{left}.{left}}  {_spark_line_text(row, timeline.seconds, room)}  {tail}"[:width].rstrip()
        for row, name, tail in zip(timeline.rows, names, tails, strict=True)
    ]
    if timeline.incidents:
        cells = [" "] * room
        for incident in timeline.incidents:
            first, last = (
                _cell_of_moment(at_s, timeline.seconds, room) for at_s in (incident.began_s, incident.ended_s)
            )
            cells[first : last + 1] = _MARK * (last + 1 - first)
        lines.append(f"{'incidents':<{left}}  {''.join(cells)}".rstrip())
    return [*lines, f"{'':<{left}}  {_clock_axis_text(timeline, room)}".rstrip()]


def _subject_and_metric(row: TimelineRow) -> str:
    return make_printable(f"{row.subject.replace(':', ' ', 1)} {row.metric}")


def _lowest_to_highest(row: TimelineRow) -> str:
    values = [value for _, value in row.points]
    low, high = min(values), max(values)
    if row.unit == "%":
        return f"{units.format_number(low, 2)} to {units.format_number(high, 2)} %"
    return f"{imported_text(low, row.unit)} to {imported_text(high, row.unit)}"


def _spark_line_text(row: TimelineRow, seconds: float, room: int) -> str:
    """A cell a stretch of time: its highest value, from zero; one without samples is as before."""
    cells: list[float | None] = [None] * room
    for at_s, value in row.points:
        place = _cell_of_moment(at_s, seconds, room)
        before = cells[place]
        cells[place] = value if before is None else max(before, value)
    top = max(value for _, value in row.points) or 1.0
    drawn: list[str] = []
    for cell in cells:
        drawn.append(spark_cell(cell / top) if cell is not None else drawn[-1] if drawn else " ")
    return "".join(drawn)


def _cell_of_moment(at_s: float, seconds: float, room: int) -> int:
    """The cell of `room` in which a moment lies. One far behind the end, as a damaged file may have, is in the last."""
    share = at_s / seconds
    return int(share * room) if share < 1 else room - 1


def _clock_axis_text(timeline: Timeline, room: int) -> str:
    """The clock at the beginning, in the middle and at the end."""
    first, middle, last = (clock_text(timeline.times, timeline.seconds * share) for share in (0, 0.5, 1))
    half = room // 2
    return f"{first:<{half}}{middle}"[: room - len(last) - 1].ljust(room - len(last)) + last


def timeline_svg(timeline: Timeline) -> str:
    title = f"{units.count_noun(timeline.samples, 'sample')} over time"
    marks = {
        min(1.0, incident.began_s / timeline.seconds): period_text(incident, timeline.times)
        for incident in timeline.incidents
    }
    return load_lines_svg(title, [_drawn_line(row, timeline) for row in timeline.rows], marks)


def _drawn_line(row: TimelineRow, timeline: Timeline) -> LoadLine:
    top = max(value for _, value in row.points) or 1.0
    points: Sequence[tuple[float, float]] = [
        (min(1.0, at_s / timeline.seconds), max(0.0, value / top)) for at_s, value in row.points
    ]
    is_symptom = any(
        (symptom.subject, symptom.metric) == (row.subject, row.metric)
        for incident in timeline.incidents
        for symptom in incident.symptoms
    )
    return LoadLine(_subject_and_metric(row), _lowest_to_highest(row), points, is_symptom)
