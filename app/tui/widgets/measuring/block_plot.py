"""The blocks of a workload, by variant, as they come, on fixed axes."""

import math
from collections.abc import Mapping

from app.recordings.session import RunSession
from app.recordings.values import is_counted
from app.report.figures.plot import draw_plot, nice_axis
from app.terminal.glyphs import MARKERS, clean_text
from app.terminal.lines import Line, cell_width, crop_line, merge_spans, split_line, text_line
from probes import units
from scenarios.contract.results.document import Axis, ChartSeries

ROLES = ("a", "b", "c", "d")
_WINDOWS = (10, 20, 40, 60, 90, 120, 180, 240, 360, 480, 720, 960, 1440, 1800, 3600, 7200, 14400, 86400)
_ENDS = (1, 1.2, 1.6, 2, 2.4, 3, 4, 6, 8, 10)  # of an axis, over a power of ten
MAX_POINTS = 300  # of a variant: more than one in a column
_LETTER = 2  # cells of `A'`: a longer id is a word and its label stands in brackets


def variant_marks(session: RunSession) -> dict[str, tuple[str, str]]:
    """Id to (marker, role), in the plan's order, then in the order of appearance."""
    ids = [v.id for v in session.planned_variants]
    for blocks in session.blocks.values():
        ids += [b.variant for b in blocks if b.variant not in ids]
    for samples in session.samples.values():
        ids += [s.variant for s in samples if s.variant not in ids]
    unique = list(dict.fromkeys(ids))
    return {v: (MARKERS[i % len(MARKERS)], ROLES[i % len(ROLES)]) for i, v in enumerate(unique)}


def variant_label(session: RunSession, variant: str, width: int = 18) -> str:
    """`A /scratch`, `none (no rule)`: the id with what a person reads; that alone where it names the id itself."""
    plan_label = next((v.label for v in session.planned_variants if v.id == variant), "")
    if not plan_label or plan_label == variant:
        words = variant
    elif variant in plan_label.split():
        words = plan_label
    else:
        words = f"{variant} {plan_label}" if len(variant) <= _LETTER else f"{variant} ({plan_label})"
    cleaned = clean_text(words)
    if len(cleaned) > width and len(variant) > _LETTER:
        cleaned = clean_text(variant)  # a name that tells enough alone, rather than a torn one
    return cleaned if len(cleaned) <= width else cleaned[: width - 1] + "…"


def leading_metric(session: RunSession, workload: str) -> tuple[str, str]:
    """(name, unit) of the workload's first metric."""
    load = session.find_workload(workload)
    if load is not None and load.metrics:
        return load.metrics[0].name, load.metrics[0].unit
    values = next((b.values for b in session.blocks.get(workload, []) if b.values), {})
    return next(iter(values), ""), ""


def _drawn_workload(session: RunSession) -> str:
    """The workload under way; after the end one that has blocks, if only an earlier one has."""
    if session.ended is None or session.workload in session.blocks or not session.blocks:
        return session.workload
    return next(reversed(session.blocks))


def _title(session: RunSession, metric_words: str, workload: str) -> str:
    """`random read 4k: IOPS`: the plot says itself which load it is of."""
    load = session.find_workload(workload) if session.blocks.get(workload) else None
    return f"{load.title}: {metric_words}" if load is not None and load.title else metric_words


def _collect_points(
    session: RunSession, workload: str
) -> tuple[str, dict[str, list[tuple[float, float]]], float]:
    """(what is drawn, points by variant, seconds of the first): the blocks of the workload, else the samples."""
    blocks = session.blocks.get(workload, [])
    if session.ended is not None:  # then every figure beside it is without the warm-up
        blocks = [b for b in blocks if is_counted(b)] or blocks
    points: dict[str, list[tuple[float, float]]] = {}
    if blocks:
        name, unit = leading_metric(session, workload)
        first = blocks[0].t - blocks[0].seconds
        for block in blocks:
            if name in block.values:
                points.setdefault(block.variant, []).append((max(0.0, block.t - first), block.values[name]))
        points = {variant: thin_points(own) for variant, own in points.items()}
        return (name if not unit or unit in (name, *name.split()) else f"{name} in {unit}"), points, first
    if session.samples and not session.workload:
        series = max(session.samples, key=lambda s: session.samples[s][-1].t)
        samples = session.samples[series]
        first = samples[0].t
        for sample in samples:
            points.setdefault(sample.variant, []).append((max(0.0, sample.t - first), sample.value))
        unit = samples[-1].unit
        return (series if not unit or unit in series else f"{series} in {unit}"), points, first
    return "", {}, 0.0


def thin_points(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The means of neighbours where there are more of them than a screen has dots."""
    each = -(-len(points) // MAX_POINTS)
    if each < 2:
        return points
    parts = [points[at : at + each] for at in range(0, len(points), each)]
    return [(sum(x for x, _ in part) / len(part), sum(y for _, y in part) / len(part)) for part in parts]


def plot_lines(session: RunSession, width: int, height: int, workload: str) -> list[Line]:
    """A legend line and the plot in `height` lines. The x axis is seconds since the workload's first block."""
    workload = _drawn_workload(session) if workload == session.workload else workload
    metric_words, points, first = _collect_points(session, workload)
    if not points:
        waiting = clean_text(session.activity_text or "the first block")
        if session.ended is not None:
            return [text_line("no blocks were measured", "dim")]
        return [text_line(f"waiting for: {waiting}", "dim")]
    last_s = max(x for some in points.values() for x, _ in some)
    under_way = workload == session.workload and session.ended is None
    elapsed = session.time - first if under_way else last_s
    window = next((w for w in _WINDOWS if w >= elapsed), elapsed) if under_way else _axis_end(elapsed)
    marks = variant_marks(session)
    shown = {v: mark for v, mark in marks.items() if v in points}
    by_mark = dict(shown.values())
    # the last value, while it is the last one: afterwards the table has the figure
    now = session.ended is None and workload == session.workload
    unit = _unit(session, workload)
    last = {v: f" {units.metric_quantity(points[v][-1][1], unit)}" if now else "" for v in shown}
    series = [ChartSeries(mark, tuple(points[v])) for v, (mark, _) in shown.items()]
    y = nice_axis([value for some in points.values() for _, value in some])
    title: Line = [
        (clean_text(_title(session, metric_words, workload)), "strong"),
        ("  log scale" if y.log else "", "dim"),
    ]
    head = _head_lines(session, title, shown, last, width)
    room = max(4, height - len(head))
    rows = draw_plot(series, width, room, Axis(0.0, float(window)), y)
    return [*head, *seconds_below(rows, by_mark)]


def _axis_end(seconds: float) -> float:
    """Where an axis over so many ends: little behind them, and each of its four parts is a round number."""
    power = 10.0 ** math.floor(math.log10(max(seconds, 0.1)))
    return next(part * power for part in _ENDS if part * power >= seconds)


def _head_lines(
    session: RunSession,
    title: Line,
    shown: Mapping[str, tuple[str, str]],
    last: Mapping[str, str],
    width: int,
) -> list[Line]:
    """The title, the sides beside it; below it where that would tear their names. The values are never cut."""

    def legend_line(names: int) -> Line:
        out: Line = []
        for variant, (mark, role) in shown.items():
            words = f"{variant_label(session, variant, names)}{last[variant]}"
            out += [("   ", "text"), (f"{mark} ", role), (words, "text")]
        return out[1:]

    for names in (18, 14):
        if cell_width(title) + 3 + cell_width(legend_line(names)) <= width:
            return [split_line(title, legend_line(names), width)]
    fitting = (legend_line(names) for names in (18, 14, 10, 6))
    return [
        crop_line(title, width),
        crop_line(next((line for line in fitting if cell_width(line) <= width), legend_line(4)), width),
    ]


def _unit(session: RunSession, workload: str) -> str:
    """Of what is drawn."""
    if session.blocks.get(workload):
        return leading_metric(session, workload)[1]
    return max(session.samples.values(), key=lambda s: s[-1].t)[-1].unit if session.samples else ""


def seconds_below(rows: list[str], roles: dict[str, str]) -> list[Line]:
    """In colours; the first tick of the axis says the unit."""
    drawn = [colour_row(row, roles) for row in rows]
    if rows and (at := rows[-1].find("0  ")) >= 0:
        drawn[-1] = [(f"{rows[-1][:at]}0 s{rows[-1][at + 3 :]}", "dim")]
    return drawn


def colour_row(row: str, roles: dict[str, str]) -> Line:
    """Splits at the markers; everything before the axis is dim."""
    edge = max((row.find(c) for c in "┤│└"), default=-1)
    head, body = row[: edge + 1], row[edge + 1 :]
    line: Line = [(head, "dim")]
    axis = edge < 0 or "└" in head
    grid = head.endswith("┤")  # a faint line where the axis has a figure
    for sign in body:
        if axis or sign != " " or not grid:
            line.append((sign, "dim" if axis else roles.get(sign, "dim")))
        else:
            line.append(("·", "rule"))
    return merge_spans(line)
