"""Several results over time as a drawing: a line of bars for each workload, and the same as SVG."""

import math
from collections.abc import Sequence

from hostdx.app.report.figures.load_lines import LoadLine, load_lines_svg
from hostdx.app.terminal.glyphs import spark_cell
from hostdx.app.terminal.printable import make_printable
from hostdx.probes import units
from hostdx.probes.imports.numbers import imported_text
from hostdx.scenarios.analysis.imported.results import Histories, HistoriesResult, WorkloadHistory
from hostdx.scenarios.contract.results.document import Part, Picture, Table

_MAX_WORKLOADS = 60  # workloads
_NAME = 30
_MAX_POINTS = 400  # points


def history_parts(result: HistoriesResult, width: int) -> tuple[Part, ...]:
    """Return the course as a picture; nothing where no workload has two values."""
    course = drawable_histories(result.value)
    if course is None:
        return ()
    return (Picture(tuple(history_lines(course, width)), history_svg(course), _history_table(course)),)


def _history_table(course: Histories) -> Table:
    rows = tuple(
        (
            _workload_and_metric(h, course),
            *(
                str(units.metric_quantity(v, h.unit))
                for v in (h.values[0], h.values[-1], min(h.values), max(h.values))
            ),
            str(len(h.values)),
            history_verdict_words(h),
        )
        for h in course.workloads
    )
    header = ("workload", "first", "last", "lowest", "highest", "results", "verdict")
    return Table(header, rows, frozenset(range(1, 6)))


def drawable_histories(histories: Histories) -> Histories | None:
    """Return what of it is drawn; None where nothing can be."""
    drawable = tuple(
        h for h in histories.workloads[:_MAX_WORKLOADS] if len(h.values) > 1 and min(h.values) > 0
    )
    return Histories(histories.results, histories.dates, drawable) if drawable else None


def history_lines(histories: Histories, width: int) -> list[str]:
    """`ior easy     ▇▂▂▇▂▂  2.03 GB/s to 2.01 GB/s  inconclusive`, one line a workload."""
    name = min(_NAME, max(len(_workload_and_metric(h, histories)) for h in histories.workloads))
    tails = [
        f"{units.metric_quantity(h.values[0], h.unit)} to {units.metric_quantity(h.values[-1], h.unit)}  "
        f"{history_verdict_words(h)}"
        for h in histories.workloads
    ]
    room = max(8, width - name - 4 - max(map(len, tails)))
    out = []
    for h, tail in zip(histories.workloads, tails, strict=True):
        bars = spark_line(h.values, room)
        out.append(
            f"{_workload_and_metric(h, histories):<{name}.{name}}  {bars:<{min(room, len(h.values))}}  {tail}"[
                :width
            ].rstrip()
        )
    first, last = histories.results[:1], histories.results[-1:]
    when = [d[:10] if d else "" for d in (*histories.dates[:1], *histories.dates[-1:])]
    shown = [" ".join(part for part in pair if part) for pair in zip((*first, *last), when, strict=False)]
    out.append(make_printable(f"from {' to '.join(shown)}: {len(histories.results)} results")[:width])
    return out


def _workload_and_metric(h: WorkloadHistory, course: Histories) -> str:
    several = sum(1 for other in course.workloads if other.workload == h.workload) > 1
    return make_printable(f"{h.workload} {h.metric}" if several else h.workload)


def history_verdict_words(h: WorkloadHistory) -> str:
    """The verdict; a step says more than a slope."""
    return "; ".join(f"step {units.format_effect(s.ratio)}" for s in h.steps[:3]) if h.steps else h.verdict


def spark_line(values: Sequence[float], width: int) -> str:
    """One mark a value; of more values than cells, the mean of each stretch. From zero: half is half as high."""
    if len(values) > width:
        cut = [values[n * len(values) // width : (n + 1) * len(values) // width] for n in range(width)]
        values = [math.fsum(part) / len(part) for part in cut]
    top = max(values)
    return "".join(spark_cell(v / top) for v in values)


def history_svg(histories: Histories) -> str:
    """The values from zero; what is over the steps is dashed."""
    return load_lines_svg(
        f"{len(histories.results)} results over time", [_load_line(h, histories) for h in histories.workloads]
    )


def _load_line(h: WorkloadHistory, histories: Histories) -> LoadLine:
    top, last = max(h.values), len(h.values) - 1
    point_texts = [imported_text(value, h.unit) for value in h.values[:_MAX_POINTS]]
    turns = [(step.before + 0.5) / last for step in h.steps if step.before < last]
    points = [(n / last, value / top) for n, value in enumerate(h.values)]
    return LoadLine(
        _workload_and_metric(h, histories),
        history_verdict_words(h),
        points,
        h.is_degrading,
        point_texts=point_texts,
        turns=turns,
    )
