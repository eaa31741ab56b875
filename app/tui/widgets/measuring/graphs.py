"""Time series over the whole run as lines of dots: each on the scale of its own data, its ends marked with the unit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from hostdx.app.recordings.session import RunSession
from hostdx.app.terminal.glyphs import clean_text
from hostdx.app.terminal.lines import (
    Line,
    cell_width,
    crop_line,
    fit_line,
    half_column_width,
    line_with_key_names,
    shorten_middle,
    split_line,
    text_line,
    two_columns,
)
from hostdx.app.tui.widgets.measuring.variants import leading_metric_and_unit, variant_label, variant_marks
from hostdx.probes import units
from hostdx.probes.units import DisplayQuantity, abbreviate_unit
from hostdx.scenarios.contract import events as ev

Point: TypeAlias = tuple[float, float]  # seconds of the run, value

# steps of a fifth to a third: what is drawn moves seldom, and little of the axis is empty
WINDOWS_S = (
    10, 12, 15, 20, 25, 30, 40, 50, 60, 75, 90, 120, 150, 180, 210, 240, 300, 360, 420, 480, 600, 720, 900, 1200,
    1500, 1800, 2400, 3000, 3600, 4800, 7200, 10800, 14400, 28800, 86400,
)  # fmt: skip
MAX_NAME_CELLS, MAX_VALUE_CELLS = 30, 16
MIN_GRAPH_LINES, MAX_GRAPH_LINES = 2, 14
MIN_WIDTH = 30  # cells of a panel with graphs
MAX_SAMPLE_GRAPHS = 4  # of series that a table lists as well
READING_S = 0.5  # a watch reads all its series within it
CPUS = "CPUs"  # the unit of processors in use, with two digits
TWO_COLUMNS_CELLS = 100  # from which on two graphs stand side by side
MIN_RANGE = 0.1  # of the middle: noise below it stays a flat line
MIN_SHARE_RANGE = 0.05  # of a share: 0 to 1 % of the CPUs is no mountain
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))  # of a cell, by column, from the top
_BLANK_CELL = 0x2800


class Graph(NamedTuple):
    """One time series. `unit` "share" is shown in percent. `group`: graphs of one group share a scale.

    `leads`: what the run is about, drawn even where it is nothing but zeros.
    """

    name: str
    role: str
    unit: str
    points: Sequence[Point]
    group: str = ""
    leads: bool = False


class Scale(NamedTuple):
    low: float
    high: float

    def share_of(self, value: float) -> float:
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))


def format_value(value: float, unit: str, most: int = MAX_VALUE_CELLS) -> str:
    """Return `24 %`, `1.37 k loops/s`, `482 MB/s`; a unit that makes it longer than `most` cells is left out."""
    if unit == "share":
        return units.format_percent(value)
    if unit == CPUS:
        return f"{value:.2f} CPUs"
    return format_short(units.metric_quantity(value, unit), most)


def format_short(value: DisplayQuantity, width: int) -> str:
    """With its unit where there is room, else with its prefix alone: `12.9 k/s`."""
    full_text = str(abbreviate_unit(value))
    prefix, _, unit = value.unit.partition(" ")
    prefix = prefix if unit and len(prefix) == 1 else ""  # no word of a unit of several
    rate = "/s" if value.unit.endswith("/s") else ""
    return full_text if len(full_text) <= width else f"{value.number}{' ' * bool(prefix)}{prefix}{rate}"


def scale_for(graphs: Sequence[Graph]) -> Scale:
    """Return the range of all values; one so small that only noise would fill it is widened."""
    values = [value for graph in graphs for _, value in graph.points if math.isfinite(value)]
    if not values:
        return Scale(0.0, 1.0)
    low, high = min(values), max(values)
    least = MIN_SHARE_RANGE if graphs[0].unit == "share" else 0.0
    span = max(high - low, MIN_RANGE * abs(high + low) / 2, least)
    if span <= 0:  # nothing but 0
        return Scale(0.0, 1.0)
    if high - low < span:
        low, high = (low + high - span) / 2, (low + high + span) / 2
    if min(values) >= 0 > low:
        low, high = 0.0, high - low
    if graphs[0].unit == "share" and high > 1 >= max(values):  # widened beyond the whole
        low, high = max(0.0, low - (high - 1)), 1.0
    return Scale(low, high)


def time_axis_seconds(elapsed_s: float) -> float:
    """Return the length of a time axis: one of a few, so that what is drawn moves seldom."""
    return float(next((window for window in WINDOWS_S if window >= elapsed_s), elapsed_s))


def dot_rows(points: Sequence[Point], scale: Scale, window_s: float, width: int, height: int) -> list[str]:
    """Return `height` rows of `width` cells: the points joined by a line of dots, two by four in a cell."""
    columns, rows = 2 * width, 4 * height
    cells = [[0] * width for _ in range(height)]
    last: tuple[int, int] | None = None
    for t, value in points:
        if not math.isfinite(value):
            last = None
            continue
        x = min(columns - 1, max(0, int(t / window_s * columns)))
        y = min(rows - 1, int((1 - scale.share_of(value)) * rows))
        for column, top, bottom in _dots_of_line_to(last, (x, y)):
            for dot in range(top, bottom + 1):
                cells[dot // 4][column // 2] |= _DOTS[column % 2][dot % 4]
        last = x, y
    return ["".join(chr(_BLANK_CELL + cell) if cell else " " for cell in row) for row in cells]


def _dots_of_line_to(start: tuple[int, int] | None, end: tuple[int, int]) -> list[tuple[int, int, int]]:
    """Return (column, highest dot, lowest dot) of the line that ends there; its first column is drawn already."""
    x1, y1 = end
    if start is None or start[0] == x1:
        y0 = y1 if start is None else start[1]
        return [(x1, min(y0, y1), max(y0, y1))]
    x0, before = start[0], start[1]
    out: list[tuple[int, int, int]] = []
    for x in range(x0 + 1, x1 + 1):
        y = round(start[1] + (y1 - start[1]) * (x - x0) / (x1 - x0))
        out.append((x, min(before, y), max(before, y)))
        before = y
    return out


def graph_lines(
    graph: Graph, scale: Scale, axis: Point, names: int, ends: int, width: int, height: int
) -> list[Line]:
    """Return `height` lines: name and newest value, the ends of the scale, the line of dots.

    `axis`: its first second and its length. `names` and `ends`: cells of these columns, the same for all graphs.
    """
    plot = max(4, width - names - ends - 3)
    start_s, window_s = axis
    rows = dot_rows([(t - start_s, value) for t, value in graph.points], scale, window_s, plot, height)
    newest = format_value(graph.points[-1][1], graph.unit) if graph.points else ""
    top, bottom = (format_value(end, graph.unit) for end in (scale.high, scale.low))
    out: list[Line] = []
    for number, row in enumerate(rows):
        if height == 1:
            name = _name_and_value(graph, newest, names)
            label = ""
        else:
            name = (
                text_line(shorten_middle(graph.name, names), "text")
                if not number
                else text_line(newest if number == 1 else "", "strong")
            )
            label = top if not number else bottom if number == height - 1 else ""
        edge = "┤" if label else "│"
        out.append([*fit_line(name, names), (f" {label:>{ends}}{edge}", "dim"), (row, graph.role)])
    return out


def _name_and_value(graph: Graph, newest: str, width: int) -> Line:
    return split_line(
        text_line(shorten_middle(graph.name, max(4, width - len(newest) - 1))), [(newest, "strong")], width
    )


def draw_graphs(
    graphs: Sequence[Graph], now_s: float, width: int, height: int, *, start_s: float = 0.0
) -> list[Line]:
    """Return at most `height` lines: as many graphs as have room, one below the other or in two columns, and the time
    axis of all, which begins at `start_s` of the run. A series of nothing but zeros is left out unless it leads.
    """
    drawable = [graph for graph in graphs if graph.leads or any(value for _, value in graph.points)]
    drawable = [graph for graph in drawable if graph.points]
    if not drawable or height < MIN_GRAPH_LINES + 1 or width < MIN_WIDTH:
        return []
    is_two_columns = width >= TWO_COLUMNS_CELLS and len(drawable) * (MIN_GRAPH_LINES + 1) > height - 1
    room = half_column_width(width) if is_two_columns else width
    per_column = max(1, (height - 1) // MIN_GRAPH_LINES)
    shown = drawable[: per_column * (2 if is_two_columns else 1)]
    columns = [shown[0::2], shown[1::2]] if is_two_columns and len(shown) > 1 else [shown]
    window_s, scales = time_axis_seconds(now_s - start_s), _scales_by_group(shown)
    names, ends = _label_cells(shown, scales, room)
    axis = _time_axis(window_s, names + ends + 2, room)
    drawn: list[list[Line]] = []
    for column in columns:
        each, more = divmod(height - 1, len(columns[0]))
        heights = [min(MAX_GRAPH_LINES, each + (n < more)) for n in range(len(column))]
        lines = [
            graph_lines(
                graph, scales[graph.group or graph.name], (start_s, window_s), names, ends, room, high
            )
            for graph, high in zip(column, heights, strict=True)
        ]
        drawn.append([line for rows in lines for line in rows])
    if len(drawn) == 2:
        out = [*two_columns(drawn[0], drawn[1], width), *two_columns([axis], [axis], width)]
    else:
        out = [*drawn[0], axis]
    if hidden := len(drawable) - len(shown):
        more_keys = line_with_key_names(f"{hidden} more: [o]")  # below the names, where the axis has nothing
        out[-1] = [
            *fit_line(crop_line(more_keys, names + ends), names + ends),
            *_without_first_cells(out[-1], names + ends),
        ]
    return out[:height]


def _label_cells(graphs: Sequence[Graph], scales: Mapping[str, Scale], width: int) -> tuple[int, int]:
    """Return the cells of the names with the newest values, and of the ends of the scales."""
    ends = max(
        len(format_value(end, graph.unit)) for graph in graphs for end in scales[graph.group or graph.name]
    )
    words = [word for graph in graphs for word in (graph.name, format_value(graph.points[-1][1], graph.unit))]
    longest = max(cell_width(text_line(word)) for word in words)
    return min(MAX_NAME_CELLS, width // 3, longest), ends


def _scales_by_group(graphs: Sequence[Graph]) -> dict[str, Scale]:
    groups: dict[str, list[Graph]] = {}
    for graph in graphs:
        groups.setdefault(graph.group or graph.name, []).append(graph)
    return {name: scale_for(members) for name, members in groups.items()}


def _time_axis(window_s: float, left_cells: int, width: int) -> Line:
    """Return `└0 s ───── 30 s ───── 60 s`: the ends and the middle of the axis."""
    room = width - left_cells
    end, middle = units.format_duration(window_s), units.format_duration(window_s / 2)
    words = [(0, "0 s "), (room - len(end) - 1, f" {end}"), (room // 2 - len(middle) // 2, f" {middle} ")]
    rule = "─" * max(0, room)
    for at, word in words:  # the ends before the middle: it gives way
        if at >= 0 and at + len(word) <= room and set(rule[at : at + len(word)]) == {"─"}:
            rule = rule[:at] + word + rule[at + len(word) :]
    return [(" " * (left_cells - 1), "text"), ("└", "dim"), (rule, "dim")]


def _without_first_cells(line: Line, cells: int) -> Line:
    """Return the line without its first blanks."""
    (blanks, role), *rest = line
    return [(blanks[cells:], role), *rest]


# What a session has of time series


def host_graphs(session: RunSession) -> list[Graph]:
    """Return the host's own over the run: CPU, the disks that the plan names or else the busiest, tasks that wait."""
    pulses = list(session.pulses)
    if not pulses:
        return []

    def share_graph(name: str, value: Callable[[ev.Pulse], float | None]) -> Graph:
        return Graph(name, "accent", "share", [(p.t, v) for p in pulses if (v := value(p)) is not None])

    out = [share_graph("CPU in use", lambda pulse: pulse.cpu)]
    out += [
        Graph(f"{clean_text(name)} moves", "b", "B/s", _device_points(pulses, name, (0, 1)))
        for name in _planned_or_busiest(session, pulses)
    ]
    out.append(share_graph("tasks wait: disk", lambda pulse: pulse.psi_io))
    out.append(share_graph("tasks wait: CPU", lambda pulse: pulse.psi_cpu))
    steal = share_graph("taken by hypervisor", lambda pulse: pulse.steal)
    return out + ([steal] if any(value >= 0.02 for _, value in steal.points) else [])


def _planned_or_busiest(session: RunSession, pulses: Sequence[ev.Pulse]) -> list[str]:
    planned = [
        name.strip() for w in (session.plan.writes if session.plan else ()) for name in w.device.split(",")
    ]
    planned_devices = [
        name for name in dict.fromkeys(planned) if any(name in pulse.devices for pulse in pulses)
    ]
    if planned_devices:
        return planned_devices[:4]
    moved: dict[str, float] = {}
    for pulse in pulses:
        for name, (read, written, _) in pulse.devices.items():
            moved[name] = moved.get(name, 0.0) + read + written
    busiest = max(moved, key=lambda name: moved[name], default="")
    return [busiest] if busiest and moved[busiest] > 0 else []


def _device_points(pulses: Iterable[ev.Pulse], name: str, summed_parts: Sequence[int]) -> list[Point]:
    return [
        (pulse.t, sum(pulse.devices[name][part] for part in summed_parts))
        for pulse in pulses
        if name in pulse.devices
    ]


def write_graphs(session: RunSession) -> list[Graph]:
    """Return what goes to each side's disk while the files are written: one graph a device of the plan."""
    marks = variant_marks(session)
    pulses = list(session.pulses)
    out: list[Graph] = []
    for written in session.plan.writes if session.plan is not None else ():
        name = next((n.strip() for n in written.device.split(",")), "")
        sides = [v for v in session.planned_variants if written.where and v.label == written.where]
        role = marks[sides[0].id][1] if sides else "accent"
        title = f"{clean_text(sides[0].id)} {clean_text(name)}" if sides else clean_text(name)
        points = _device_points(pulses, name, (1,))
        if points and all(graph.name != f"{title} writes" for graph in out):
            out.append(Graph(f"{title} writes", role, "B/s", points, "writes"))
    return out


def block_graphs(session: RunSession, workload: str) -> list[Graph]:
    """Return the load's leading figure block by block, a graph a side on one scale."""
    metric, unit = leading_metric_and_unit(session, workload)
    points: dict[str, list[Point]] = {}
    for block in session.blocks.get(workload, ()):
        if metric in block.values:
            points.setdefault(block.variant, []).append((block.t, block.values[metric]))
    marks = variant_marks(session)
    return [
        Graph(variant_label(session, variant), marks[variant][1], unit or metric, own, workload)
        for variant, own in points.items()
    ]


def block_graph_lines(session: RunSession, workload: str, width: int, height: int) -> list[Line]:
    """Draw `block_graphs` over the load's own time."""
    blocks = session.blocks.get(workload)
    if not blocks:
        return [
            text_line("nothing was measured" if session.ended is not None else "nothing measured yet", "dim")
        ]
    start_s = blocks[0].t - blocks[0].seconds
    graphs = block_graphs(session, workload)
    return draw_graphs(graphs, blocks[-1].t, width, height, start_s=start_s)


def sample_graphs(session: RunSession) -> list[Graph]:
    """Return the series of samples, the one that was read last first, those of one reading in their order; the variants
    of a series share its scale.
    """
    marks = variant_marks(session)
    newest = sorted(session.samples.items(), key=lambda item: -round(item[1][-1].t / READING_S))
    out: list[Graph] = []
    for series, samples in newest:
        points: dict[str, list[Point]] = {}
        for sample in samples:
            at_s = sample.t if sample.at_s is None else sample.at_s
            points.setdefault(sample.variant, []).append((at_s, sample.value))
        for variant, own in points.items():
            name = f"{clean_text(series)} {clean_text(variant)}".strip()
            out.append(Graph(name, marks[variant][1] if variant else "a", samples[-1].unit, own, series))
    return out


def trace_graphs(session: RunSession) -> list[Graph]:
    """Return the series that the scenario's card draws; it is drawn even where nothing happened."""
    trace = session.scenario_card.trace
    own = sample_graphs(session) if trace is not None else []
    return [graph._replace(leads=True) for graph in own if trace is not None and graph.group == trace.series]


def inside_graphs(session: RunSession) -> list[Graph]:
    """Return the CPUs and the memory that a command's processes use, a graph a variant, over all of its runs."""
    marks = variant_marks(session)
    out: list[Graph] = []
    for name, unit, is_sum in (("CPU", CPUS, True), ("PSS", "B", False)):
        for variant, samples in session.inside.items():
            points: list[Point] = []
            before: ev.ProcessTreeSample | None = None
            for sample in samples:
                value = sample.values.get(name)
                if value is None:
                    continue
                if not is_sum:
                    points.append((sample.t, value))
                elif before is not None and before.run == sample.run and sample.at_s > before.at_s:
                    used = value - before.values.get(name, value)
                    points.append((sample.t, max(0.0, used / (sample.at_s - before.at_s))))
                before = sample
            if points:
                words = "memory" if name == "PSS" else "CPUs in use"
                out.append(
                    Graph(
                        f"{clean_text(variant)} {words}", marks.get(variant, ("", "a"))[1], unit, points, name
                    )
                )
    return out


def run_graph_lines(session: RunSession, width: int, height: int, *, writing: bool = False) -> list[Line]:
    """Return all that a run has measured so far, what it is about first, the host last.

    Of a watch its own series alone. Of a checkup those of the part under way, on a time axis of their own.
    """
    samples, host, now_s = (
        sample_graphs(session) if not session.blocks else [],
        host_graphs(session),
        session.time,
    )
    if session.scenario_card.role == "whole":
        part = [graph for graph in samples if graph.group.startswith(f"{session.current_step_id}: ")]
        start_s = min((graph.points[0][0] for graph in part), default=0.0)
        upper = draw_graphs(part[:MAX_SAMPLE_GRAPHS], now_s, width, height // 2, start_s=start_s)
        return [*upper, *draw_graphs(host, now_s, width, height - len(upper))]
    if session.scenario_card.trace is not None:
        return draw_graphs([*trace_graphs(session), *host], now_s, width, height)
    files = write_graphs(session) if writing else []
    graphs = [*files, *samples[:MAX_SAMPLE_GRAPHS], *inside_graphs(session), *host]
    return draw_graphs(graphs, now_s, width, height)


def trace_lines(session: RunSession, width: int, height: int) -> list[Line]:
    """Return the series that a watch draws, over the whole run."""
    return draw_graphs(trace_graphs(session), session.time, width, height)
