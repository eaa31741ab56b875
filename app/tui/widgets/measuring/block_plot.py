"""The blocks of a workload, by variant, as they come, on fixed axes."""

import math
from collections.abc import Mapping

from app.glyphs import MARKERS, clean
from app.lines import Line, cells, crop, merged, split, text
from app.recording.session import Session
from app.recording.values import counts
from app.report.figures.plot import nice_axis, plot
from probes import units
from scenarios.results.document import Axis, ChartSeries

ROLES = ("a", "b", "c", "d")
_WINDOWS = (10, 20, 40, 60, 90, 120, 180, 240, 360, 480, 720, 960, 1440, 1800, 3600, 7200, 14400, 86400)
_ENDS = (1, 1.2, 1.6, 2, 2.4, 3, 4, 6, 8, 10)  # of an axis, over a power of ten
MOST_POINTS = 300  # of a variant: more than one in a column
_LETTER = 2  # cells of `A'`: a longer id is a word and its label stands in brackets


def variants(session: Session) -> dict[str, tuple[str, str]]:
    """Id to (marker, role), in the plan's order, then in the order of appearance."""
    ids = [v.id for v in session.variants]
    for blocks in session.blocks.values():
        ids += [b.variant for b in blocks if b.variant not in ids]
    for samples in session.samples.values():
        ids += [s.variant for s in samples if s.variant not in ids]
    unique = list(dict.fromkeys(ids))
    return {v: (MARKERS[i % len(MARKERS)], ROLES[i % len(ROLES)]) for i, v in enumerate(unique)}


def label(session: Session, variant: str, width: int = 18) -> str:
    """`A /scratch`, `none (no rule)`: the id with what a person reads; that alone where it names the id itself."""
    named = next((v.label for v in session.variants if v.id == variant), "")
    if not named or named == variant:
        words = variant
    elif variant in named.split():
        words = named
    else:
        words = f"{variant} {named}" if len(variant) <= _LETTER else f"{variant} ({named})"
    cleaned = clean(words)
    if len(cleaned) > width and len(variant) > _LETTER:
        cleaned = clean(variant)  # a name that tells enough alone, rather than a torn one
    return cleaned if len(cleaned) <= width else cleaned[: width - 1] + "…"


def leading_metric(session: Session, workload: str) -> tuple[str, str]:
    """(name, unit) of the workload's first metric."""
    load = session.load(workload)
    if load is not None and load.metrics:
        return load.metrics[0].name, load.metrics[0].unit
    values = next((b.values for b in session.blocks.get(workload, []) if b.values), {})
    return next(iter(values), ""), ""


def _drawn(session: Session) -> str:
    """The workload under way; after the end one that has blocks, if only an earlier one has."""
    if session.ended is None or session.workload in session.blocks or not session.blocks:
        return session.workload
    return next(reversed(session.blocks))


def _title(session: Session, what: str, workload: str) -> str:
    """`random read 4k: IOPS`: the plot says itself which load it is of."""
    load = session.load(workload) if session.blocks.get(workload) else None
    return f"{load.title}: {what}" if load is not None and load.title else what


def _points(session: Session, workload: str) -> tuple[str, dict[str, list[tuple[float, float]]], float]:
    """(what is drawn, points by variant, seconds of the first): the blocks of the workload, else the samples."""
    blocks = session.blocks.get(workload, [])
    if session.ended is not None:  # then every figure beside it is without the warm-up
        blocks = [b for b in blocks if counts(b)] or blocks
    points: dict[str, list[tuple[float, float]]] = {}
    if blocks:
        name, unit = leading_metric(session, workload)
        first = blocks[0].t - blocks[0].seconds
        for block in blocks:
            if name in block.values:
                points.setdefault(block.variant, []).append((max(0.0, block.t - first), block.values[name]))
        points = {variant: thinned(own) for variant, own in points.items()}
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


def thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The means of neighbours where there are more of them than a screen has dots."""
    each = -(-len(points) // MOST_POINTS)
    if each < 2:
        return points
    parts = [points[at : at + each] for at in range(0, len(points), each)]
    return [(sum(x for x, _ in part) / len(part), sum(y for _, y in part) / len(part)) for part in parts]


def plot_lines(session: Session, width: int, height: int, workload: str) -> list[Line]:
    """A legend line and the plot in `height` lines. The x axis is seconds since the workload's first block."""
    workload = _drawn(session) if workload == session.workload else workload
    what, points, first = _points(session, workload)
    if not points:
        waiting = clean(session.doing or "the first block")
        if session.ended is not None:
            return [text("no blocks were measured", "dim")]
        return [text(f"waiting for: {waiting}", "dim")]
    last_s = max(x for some in points.values() for x, _ in some)
    under_way = workload == session.workload and session.ended is None
    elapsed = session.time - first if under_way else last_s
    window = next((w for w in _WINDOWS if w >= elapsed), elapsed) if under_way else _whole(elapsed)
    marks = variants(session)
    shown = {v: mark for v, mark in marks.items() if v in points}
    by_mark = dict(shown.values())
    # the last value, while it is the last one: afterwards the table has the figure
    now = session.ended is None and workload == session.workload
    unit = _unit(session, workload)
    last = {v: f" {units.amount(points[v][-1][1], unit)}" if now else "" for v in shown}
    series = [ChartSeries(mark, tuple(points[v])) for v, (mark, _) in shown.items()]
    y = nice_axis([value for some in points.values() for _, value in some])
    title: Line = [
        (clean(_title(session, what, workload)), "strong"),
        ("  log scale" if y.log else "", "dim"),
    ]
    head = _head(session, title, shown, last, width)
    room = max(4, height - len(head))
    rows = plot(series, width, room, Axis(0.0, float(window)), y)
    return [*head, *seconds_below(rows, by_mark)]


def _whole(seconds: float) -> float:
    """Where an axis over so many ends: little behind them, and each of its four parts is a round number."""
    power = 10.0 ** math.floor(math.log10(max(seconds, 0.1)))
    return next(part * power for part in _ENDS if part * power >= seconds)


def _head(
    session: Session, title: Line, shown: Mapping[str, tuple[str, str]], last: Mapping[str, str], width: int
) -> list[Line]:
    """The title, the sides beside it; below it where that would tear their names. The values are never cut."""

    def sides(names: int) -> Line:
        out: Line = []
        for variant, (mark, role) in shown.items():
            words = f"{label(session, variant, names)}{last[variant]}"
            out += [("   ", "text"), (f"{mark} ", role), (words, "text")]
        return out[1:]

    for names in (18, 14):
        if cells(title) + 3 + cells(sides(names)) <= width:
            return [split(title, sides(names), width)]
    fitting = (sides(names) for names in (18, 14, 10, 6))
    return [
        crop(title, width),
        crop(next((line for line in fitting if cells(line) <= width), sides(4)), width),
    ]


def _unit(session: Session, workload: str) -> str:
    """Of what is drawn."""
    if session.blocks.get(workload):
        return leading_metric(session, workload)[1]
    return max(session.samples.values(), key=lambda s: s[-1].t)[-1].unit if session.samples else ""


def seconds_below(rows: list[str], roles: dict[str, str]) -> list[Line]:
    """In colours; the first tick of the axis says the unit."""
    drawn = [coloured(row, roles) for row in rows]
    if rows and (at := rows[-1].find("0  ")) >= 0:
        drawn[-1] = [(f"{rows[-1][:at]}0 s{rows[-1][at + 3 :]}", "dim")]
    return drawn


def coloured(row: str, roles: dict[str, str]) -> Line:
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
    return merged(line)
