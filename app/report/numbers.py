"""The report's numbers: effects with intervals, what each variant reached, trends, the loads as small multiples."""

import math
from collections.abc import Mapping
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import NamedTuple, TypeAlias

from hostdx.app.recordings.session import RunSession
from hostdx.app.recordings.values import counted_values, is_counted, shown_variant_value
from hostdx.app.report import wording
from hostdx.app.report.figures.latency import latency_figure
from hostdx.app.report.figures.plot import rounded_axis
from hostdx.probes import units
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.results.document import (
    Axis,
    Chart,
    ChartSeries,
    Gallery,
    Heading,
    Part,
    Table,
    paragraph_of,
)
from hostdx.scenarios.triage.rules.texts import FindingTexts

SAYS = FindingTexts(Path(__file__).with_name("texts.toml"))
MARKS = "ABCDEFGH"
VariantPoints: TypeAlias = Mapping[str, tuple[tuple[float, float], ...]]  # seconds and value
MAX_POINTS = 2000  # of a side in a chart
_LARGEST = " (max)"  # behind a metric's name


class LoadSeries(NamedTuple):
    """The steady blocks of a load by their leading metric; no points where fewer than two have a value."""

    metric: str
    points: VariantPoints


def is_imported(session: RunSession) -> bool:
    """The recording was made from other tools' files: nothing was measured on this host."""
    return session.scenario_card.role == "import"


def number_parts(session: RunSession) -> list[Part]:
    parts: list[Part] = []
    if any(wording.is_measured(v) for v in session.verdicts.values()):
        parts += _shared_values_and_effects(session)
        parts.append(paragraph_of(SAYS.text("ratio")))
    reached = _median_values_table(session)
    if reached:
        parts += [Heading("What each variant reached"), reached]
        if any(v.groups for v in session.verdicts.values()):
            parts.append(paragraph_of(SAYS.text("reached")))
    if session.series:
        parts += [Heading("Over the rounds"), _series_verdict_table(session)]
    return parts


def single_variant_table(session: RunSession) -> Table | None:
    """Return what each load gave, a column a variant, where nothing is compared within the run; None where something
    is.
    """
    if session.verdicts or session.scenario_card.role != "battery":
        return None
    variants = session.order_variants(b.variant for blocks in session.blocks.values() for b in blocks)
    rows = []
    for workload, blocks in session.blocks.items():
        metric = _leading_metric_name(session, workload, blocks)
        unit, cells = _unit_or_metric_name(session, workload, metric), []
        for variant in variants:
            value = shown_variant_value(session, workload, metric, variant)
            cells.append("–" if value is None else str(units.metric_quantity(value, unit)))
        rows.append((wording.workload_title(session, workload), *cells))
    header = ("load, median", *(wording.variant_label(session, variant) for variant in variants))
    return Table(header, tuple(rows), frozenset(range(1, len(header)))) if rows else None


def load_series_galleries(session: RunSession) -> list[Gallery]:
    """Each load's blocks by the time; not those of imported results, which have no clock of their own."""
    if is_imported(session):
        return []
    courses = {w: course for w in session.blocks if (course := _points_of_leading_metric(session, w)).points}
    drawn = tuple(_load_chart(session, workload, course) for workload, course in courses.items())
    return [Gallery(drawn, _quarters_table(session, courses))] if drawn else []


def _quarters_table(session: RunSession, courses: Mapping[str, LoadSeries]) -> Table:
    """Return the median of each quarter of a load's time, a row a load and variant."""
    rows: list[tuple[str, ...]] = []
    for workload, (metric, by_variant) in courses.items():
        unit = _unit_or_metric_name(session, workload, metric)
        times = [at_s for points in by_variant.values() for at_s, _ in points]
        took_s = (max(times) - min(times)) or 1.0
        for variant, points in by_variant.items():
            parts: list[list[float]] = [[] for _ in wording.QUARTERS]
            for at_s, value in points:
                parts[min(3, int(4 * (at_s - min(times)) / took_s))].append(value)
            cells = (str(units.metric_quantity(median(part), unit)) if part else "–" for part in parts)
            rows.append((wording.workload_title(session, workload), variant, *cells))
    return Table(("load, median", "variant", *wording.QUARTERS), tuple(rows), frozenset(range(2, 6)))


def latency_galleries(session: RunSession) -> list[Gallery]:
    """Return the histograms; the first page has their figures."""
    drawn = tuple(histogram for w in session.blocks for histogram in latency_figure(session, w))
    return [Gallery(drawn)] if drawn else []


def _shared_values_and_effects(session: RunSession) -> list[Part]:
    """Return the values that all rows share, to print before the table, which is wide."""
    header = (
        "workload",
        "metric",
        "compared",
        "verdict",
        "ratio",
        "95 %",
        "difference",
        "groups",
        "could be missed",
    )
    rows = []
    for v in session.verdicts.values():
        if not wording.is_measured(v):
            continue
        title = wording.verdict_load_title(session, v)
        resolution = wording.resolution_text(v)
        pair = f"{v.variant} / {v.baseline}"
        cells = (
            wording.ratio_text(v.ratio),
            wording.interval_text(v.ci95),
            wording.delta_text(session, v),
            str(v.groups),
            resolution,
        )
        rows.append((title, wording.metric_title(v.metric), pair, v.verdict, *cells))
    common = {n for n in range(3) if len({row[n] for row in rows}) == 1} if len(rows) > 1 else set()
    columns = [n for n in range(len(header)) if n not in common]
    table = Table(
        tuple(header[n] for n in columns),
        tuple(tuple(row[n] for n in columns) for row in rows),
        frozenset(columns.index(n) for n in (4, 5, 6, 7, 8)),
    )
    return [
        *([paragraph_of(*(f"{header[n]}: {rows[0][n]}." for n in sorted(common)))] if common else ()),
        table,
    ]


def _median_values_table(session: RunSession) -> Table | None:
    """Medians over the steady blocks; onset, warm-up and disturbed ones are not in them."""
    rows: list[tuple[str, ...]] = []
    for workload, blocks in session.blocks.items():
        steady = [b for b in blocks if is_counted(b)]
        for metric in dict.fromkeys(name for b in steady for name in b.values):
            for variant in session.order_variants(b.variant for b in steady):
                values = counted_values(session, workload, metric, variant)
                value = shown_variant_value(session, workload, metric, variant)
                unit = _unit_or_metric_name(session, workload, metric)
                if values and value is not None:
                    rows.append(
                        (
                            wording.workload_title(session, workload),
                            metric
                            + (_LARGEST if _is_largest_repetition_shown(session, workload, metric) else ""),
                            wording.variant_title(session, variant),
                            _format_value(value, metric, unit),
                            f"{_format_value(min(values), metric, unit)} to {_format_value(max(values), metric, unit)}",
                            str(len(values)),
                        )
                    )
    counted = "groups" if session.trains else "windows"
    largest = any(metric.endswith(_LARGEST) for _, metric, *_ in rows)
    head = "value, or max" if largest else "value"
    header = ("workload", "metric", "variant", head, "lowest to highest", counted)
    return Table(header, tuple(rows), frozenset({3, 4, 5})).without_empty_columns() if rows else None


def _is_largest_repetition_shown(session: RunSession, workload: str, metric: str) -> bool:
    """Return whether the tool of an imported result takes the largest of its repetitions for its figure."""
    planned = session.find_metric(workload, metric)
    return planned is not None and planned.of == "max"


def _unit_or_metric_name(session: RunSession, workload: str, metric: str) -> str:
    planned = session.find_metric(workload, metric)
    return planned.unit if planned is not None else metric


def _format_value(value: float, metric: str, unit: str) -> str:
    """With its unit, where the metric's name is not the unit already."""
    return units.format_number(value, 4) if unit in ("", metric) else str(units.metric_quantity(value, unit))


def _series_verdict_table(session: RunSession) -> Table:
    header = ("workload", "rounds", "verdict", "slope a round", "95 %", "p", "per GB")
    rows = []
    for s in session.series:
        slope = "–" if s.slope_per_round is None else units.format_change(s.slope_per_round)
        ci = "–" if s.ci95 is None else " … ".join(map(units.format_change, s.ci95))
        p = "–" if s.p is None else f"{s.p:.2g}"
        per_gb = "–" if s.per_gb is None else f"{s.per_gb:.2g}"
        rows.append(
            (wording.workload_title(session, s.workload), str(s.rounds), s.verdict, slope, ci, p, per_gb)
        )
    return Table(header, tuple(rows), frozenset({1, 3, 4, 5, 6})).without_empty_columns()


def _points_of_leading_metric(session: RunSession, workload: str) -> LoadSeries:
    blocks = [b for b in session.blocks[workload] if is_counted(b)]
    metric = _leading_metric_name(session, workload, blocks)
    finite = [b for b in blocks if math.isfinite(b.values.get(metric, math.nan))]
    by_variant: dict[str, tuple[tuple[float, float], ...]] = {}
    for variant in session.order_variants(b.variant for b in finite) if len(finite) > 1 else ():
        points = tuple((b.t, b.values[metric]) for b in finite if b.variant == variant)
        by_variant[variant] = points[:: max(1, -(-len(points) // MAX_POINTS))]
    return LoadSeries(metric, by_variant)


def _load_chart(session: RunSession, workload: str, course: LoadSeries) -> Chart:
    metric, by_variant = course
    series = [
        ChartSeries(mark, points, wording.legend_text(session, mark, variant))
        for mark, (variant, points) in zip(cycle(MARKS), by_variant.items(), strict=False)
    ]
    times, values = zip(*(point for points in by_variant.values() for point in points), strict=True)
    x, y = Axis(math.floor(min(times)), math.floor(max(times)) + 1), rounded_axis(values)
    scale = ", log scale" if y.log else ""
    title = wording.workload_title(session, workload)
    mark = "group" if workload in session.trains else "window"
    return Chart(f"{title}: {metric} by seconds into the run, one mark a {mark}{scale}", tuple(series), x, y)


def _leading_metric_name(session: RunSession, workload: str, blocks: list[ev.Block]) -> str:
    load = session.find_workload(workload)
    if load is not None and load.metrics:
        return load.metrics[0].name
    return next((name for b in blocks for name in b.values), "")
