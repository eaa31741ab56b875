"""Inside the runs of a command: CPU, memory, threads and bytes by the run's own seconds, variants over each other."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import NamedTuple, TypeAlias

from hostdx.app.recordings.session import RunSession
from hostdx.app.recordings.values import is_counted
from hostdx.app.report import wording
from hostdx.app.report.figures.plot import rounded_axis
from hostdx.app.terminal.printable import make_printable
from hostdx.probes import units
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.results.document import Axis, Chart, ChartSeries, Part, Table, paragraph_of
from hostdx.scenarios.triage.rules.texts import FindingTexts

Points: TypeAlias = list[tuple[float, float]]  # seconds since the command's start, value

SAYS = FindingTexts(Path(__file__).with_name("texts.toml"))
MARKS = "ABCDEFGH"
MAX_POINTS = 240  # of a variant's middle, and about as many of a run
MAX_LINES = 40  # runs of a variant that are drawn one by one


class TimelineField(NamedTuple):
    """`key` is the event's; `rate`: its sums are shown by the second."""

    key: str
    title: str
    unit: str
    rate: bool


FIELDS = (
    TimelineField("CPU", "CPUs busy", "", True),
    TimelineField("PSS", "memory (PSS)", "B", False),
    TimelineField("threads", "threads", "", False),
    TimelineField("read", "read", "B/s", True),
    TimelineField("written", "written", "B/s", True),
    TimelineField("temperature", "CPU temperature", "°C", False),
    TimelineField("frequency", "CPU frequency", "Hz", False),
)


def collect_curves(session: RunSession, field: TimelineField) -> dict[str, list[Points]]:
    """By variant, in the plan's order, a list of points for each run that counts and the one under way."""
    by_variant: dict[str, list[Points]] = {}
    ends = sorted((b for blocks in session.blocks.values() for b in blocks), key=lambda b: b.t)
    times = [b.t for b in ends]
    for variant in session.order_variants(session.inside):
        runs: dict[int, list[ev.ProcessTreeSample]] = {}
        for sample in session.inside[variant]:
            runs.setdefault(sample.run, []).append(sample)
        run_points = [
            _points_or_rates(own, field)
            for own in runs.values()
            if _is_run_counted_or_open(own[-1], ends, times)
        ]
        if run_points := [points for points in run_points if points]:
            by_variant[variant] = run_points
    return by_variant


def _is_run_counted_or_open(
    last: ev.ProcessTreeSample, ends: Sequence[ev.Block], times: Sequence[float]
) -> bool:
    """A run belongs to the first block that ended after its last sample; to none while it is under way."""
    at = bisect_left(times, last.t)
    if at == len(ends):
        return True
    block = ends[at]
    return block.variant == last.variant and bool(block.values) and is_counted(block)


def _points_or_rates(samples: Sequence[ev.ProcessTreeSample], field: TimelineField) -> Points:
    out: Points = []
    at, before = 0.0, 0.0
    for sample in samples:
        value = sample.values.get(field.key)
        if value is None or not math.isfinite(value) or not at < sample.at_s < math.inf:
            continue
        out.append((sample.at_s, max(0.0, value - before) / (sample.at_s - at) if field.rate else value))
        at, before = sample.at_s, value
    return out


def median_points(runs: Sequence[Points]) -> Points:
    """The median over the runs, second by second (longer steps where there are many), as far as any run went."""
    last_s = max((points[-1][0] for points in runs), default=0.0)
    step_s = max(1.0, last_s / MAX_POINTS)
    steps: dict[int, list[float]] = {}
    for points in runs:
        for at_s, value in points:
            steps.setdefault(round(at_s / step_s), []).append(value)
    return [(n * step_s, median(values)) for n, values in sorted(steps.items())]


def make_axes(point_lists: Sequence[Points]) -> tuple[Axis, Axis]:
    """Seconds from 0, values from 0."""
    last_s = max(x for points in point_lists for x, _ in points)
    return Axis(0.0, float(math.floor(last_s) + 1)), rounded_axis(
        [0.0, *(y for points in point_lists for _, y in points)]
    )


def has_positive_value(by_variant: dict[str, list[Points]]) -> bool:
    return any(value > 0 for runs in by_variant.values() for points in runs for _, value in points)


def command_curve_parts(session: RunSession) -> list[Part]:
    """A table by quarters of the run, and a drawing for each field in which anything moved."""
    by_field = {
        field: by_variant
        for field in FIELDS
        if (by_variant := collect_curves(session, field)) and has_positive_value(by_variant)
    }
    if not by_field:
        return []
    first = next(iter(by_field.values()))
    count = ", ".join(f"{len(runs)} of {make_printable(variant)}" for variant, runs in first.items())
    parts: list[Part] = [
        paragraph_of(SAYS.text("inside", runs=count)),
        quarter_table(by_field),
    ]
    return [*parts, *(_timeline_chart(session, field, by_variant) for field, by_variant in by_field.items())]


def quarter_table(by_field: dict[TimelineField, dict[str, list[Points]]]) -> Table:
    """Return a row a field and variant: the means of the run's quarters, the most, and how many runs."""
    rows = []
    for field, by_variant in by_field.items():
        for variant, runs in by_variant.items():
            points = median_points(runs)
            most = max(value for run in runs for _, value in run)
            rows.append(
                (
                    field.title,
                    variant,
                    *quarter_mean_texts(points, field),
                    format_amount(most, field),
                    str(len(runs)),
                )
            )
    return Table(("what", "variant", *wording.QUARTERS, "most", "runs"), tuple(rows), frozenset(range(2, 8)))


def quarter_mean_texts(points: Points, field: TimelineField) -> tuple[str, ...]:
    """The means of the four quarters of the time."""
    last_s = points[-1][0]
    parts: list[list[float]] = [[], [], [], []]
    for at_s, value in points:
        parts[min(3, int(4 * at_s / (last_s or 1.0) * 0.9999))].append(value)
    return tuple(format_amount(math.fsum(part) / len(part), field) if part else "–" for part in parts)


def format_amount(value: float, field: TimelineField) -> str:
    if field.unit == "B":
        return units.format_size(value)
    if field.unit == "B/s":
        return units.format_rate(value)
    if field.unit == "Hz":
        return units.format_frequency(value)
    return f"{value:.2f}" if field.key == "CPU" else units.format_number(value, 4)


def _thin_points(run: Points) -> tuple[tuple[float, float], ...]:
    return tuple(run[:: -(-len(run) // MAX_POINTS)])


def _timeline_chart(session: RunSession, field: TimelineField, by_variant: dict[str, list[Points]]) -> Chart:
    x, y = make_axes([points for runs in by_variant.values() for points in runs])
    series = tuple(
        ChartSeries(
            mark,
            tuple(median_points(runs)),
            wording.legend_text(session, mark, v),
            tuple(map(_thin_points, runs[:MAX_LINES])),
        )
        for mark, (v, runs) in zip(cycle(MARKS), by_variant.items(), strict=False)
    )
    unit = f", {field.unit}" if field.unit else ""
    return Chart(f"{field.title}{unit}, by seconds since the command's start", series, x, y)
