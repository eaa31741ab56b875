"""Inside the runs of a command: CPU, memory, threads and bytes by the run's own seconds, variants over each other."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import NamedTuple, TypeAlias

from app.printable import printable
from app.recording.session import Session
from app.recording.values import counts
from app.report import wording
from app.report.figures.plot import nice_axis
from probes import units
from scenarios import events as ev
from scenarios.results.document import Axis, Chart, ChartSeries, Part, Table, paragraph_of
from scenarios.rules.texts import Texts

Points: TypeAlias = list[tuple[float, float]]  # seconds since the command's start, value

SAYS = Texts(Path(__file__).with_name("texts.toml"))
MARKS = "ABCDEFGH"
QUARTERS = ("1st quarter", "2nd", "3rd", "4th")
MOST_POINTS = 240  # of a variant's middle, and about as many of a run
MOST_LINES = 40  # runs of a variant that are drawn one by one


class Field(NamedTuple):
    """`key` is the event's; `rate`: its sums are shown by the second."""

    key: str
    title: str
    unit: str
    rate: bool


FIELDS = (
    Field("CPU", "CPUs busy", "", True),
    Field("PSS", "memory (PSS)", "B", False),
    Field("threads", "threads", "", False),
    Field("read", "read", "B/s", True),
    Field("written", "written", "B/s", True),
    Field("temperature", "CPU temperature", "°C", False),
    Field("frequency", "CPU frequency", "Hz", False),
)


def curves(session: Session, field: Field) -> dict[str, list[Points]]:
    """By variant, in the plan's order, a list of points for each run that counts and the one under way."""
    found: dict[str, list[Points]] = {}
    ends = sorted((b for blocks in session.blocks.values() for b in blocks), key=lambda b: b.t)
    times = [b.t for b in ends]
    for variant in session.ordered(session.inside):
        runs: dict[int, list[ev.ProcessTreeSample]] = {}
        for sample in session.inside[variant]:
            runs.setdefault(sample.run, []).append(sample)
        kept = [_points(own, field) for own in runs.values() if _counted(own[-1], ends, times)]
        if kept := [points for points in kept if points]:
            found[variant] = kept
    return found


def _counted(last: ev.ProcessTreeSample, ends: Sequence[ev.Block], times: Sequence[float]) -> bool:
    """A run belongs to the first block that ended after its last sample; to none while it is under way."""
    at = bisect_left(times, last.t)
    if at == len(ends):
        return True
    block = ends[at]
    return block.variant == last.variant and bool(block.values) and counts(block)


def _points(samples: Sequence[ev.ProcessTreeSample], field: Field) -> Points:
    out: Points = []
    at, before = 0.0, 0.0
    for sample in samples:
        value = sample.values.get(field.key)
        if value is None or not math.isfinite(value) or not at < sample.at_s < math.inf:
            continue
        out.append((sample.at_s, max(0.0, value - before) / (sample.at_s - at) if field.rate else value))
        at, before = sample.at_s, value
    return out


def middle(runs: Sequence[Points]) -> Points:
    """The median over the runs, second by second (longer steps where there are many), as far as any run went."""
    last_s = max((points[-1][0] for points in runs), default=0.0)
    step_s = max(1.0, last_s / MOST_POINTS)
    steps: dict[int, list[float]] = {}
    for points in runs:
        for at_s, value in points:
            steps.setdefault(round(at_s / step_s), []).append(value)
    return [(n * step_s, median(values)) for n, values in sorted(steps.items())]


def axes(found: Sequence[Points]) -> tuple[Axis, Axis]:
    """Seconds from 0, values from 0."""
    last_s = max(x for points in found for x, _ in points)
    return Axis(0.0, float(math.floor(last_s) + 1)), nice_axis(
        [0.0, *(y for points in found for _, y in points)]
    )


def moved(found: dict[str, list[Points]]) -> bool:
    return any(value > 0 for runs in found.values() for points in runs for _, value in points)


def inside(session: Session) -> list[Part]:
    """A table by quarters of the run, and a drawing for each field in which anything moved."""
    by_field = {field: found for field in FIELDS if (found := curves(session, field)) and moved(found)}
    if not by_field:
        return []
    first = next(iter(by_field.values()))
    count = ", ".join(f"{len(runs)} of {printable(variant)}" for variant, runs in first.items())
    parts: list[Part] = [
        paragraph_of(SAYS.text("inside", runs=count)),
        _table(by_field),
    ]
    return [*parts, *(_chart(session, field, found) for field, found in by_field.items())]


def _table(by_field: dict[Field, dict[str, list[Points]]]) -> Table:
    rows = []
    for field, found in by_field.items():
        for variant, runs in found.items():
            points = middle(runs)
            most = max(value for run in runs for _, value in run)
            rows.append((field.title, variant, *quarters(points, field), amount(most, field)))
    return Table(("what", "variant", *QUARTERS, "most"), tuple(rows), frozenset(range(2, 7)))


def quarters(points: Points, field: Field) -> tuple[str, ...]:
    """The means of the four quarters of the time."""
    last_s = points[-1][0]
    parts: list[list[float]] = [[], [], [], []]
    for at_s, value in points:
        parts[min(3, int(4 * at_s / (last_s or 1.0) * 0.9999))].append(value)
    return tuple(amount(math.fsum(part) / len(part), field) if part else "–" for part in parts)


def amount(value: float, field: Field) -> str:
    if field.unit == "B":
        return units.size(value)
    if field.unit == "B/s":
        return units.rate(value)
    if field.unit == "Hz":
        return units.frequency(value)
    return units.number(value, 3 if field.rate else 4)


def _thinned(run: Points) -> tuple[tuple[float, float], ...]:
    return tuple(run[:: -(-len(run) // MOST_POINTS)])


def _chart(session: Session, field: Field, found: dict[str, list[Points]]) -> Chart:
    x, y = axes([points for runs in found.values() for points in runs])
    series = tuple(
        ChartSeries(
            mark,
            tuple(middle(runs)),
            wording.legend(session, mark, v),
            tuple(map(_thinned, runs[:MOST_LINES])),
        )
        for mark, (v, runs) in zip(cycle(MARKS), found.items(), strict=False)
    )
    unit = f", {field.unit}" if field.unit else ""
    return Chart(f"{field.title}{unit}, by seconds since the command's start", series, x, y)
