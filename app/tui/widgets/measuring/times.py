"""How long a load's operations took while it is measured: a histogram a side, with the percentiles beside it."""

import msgspec

from hostdx.app.recordings.session import RunSession
from hostdx.app.report.figures.latency import (
    LatencySummary,
    latency_figure,
    pool_latency_histograms,
    summarise_latencies,
)
from hostdx.app.terminal.lines import Line, area_lines, cell_width, crop_line, fit_line, split_line, text_line
from hostdx.app.tui.widgets.measuring.variants import variant_marks
from hostdx.probes import units
from hostdx.scenarios.contract.plan import Workload
from hostdx.scenarios.contract.results.document import Histogram

WIDE = 52  # cells that have room for two percentiles


class Times:
    """How long a load's operations took: a histogram a side on one logarithmic axis, with its percentiles."""

    def __init__(self, session: RunSession, load: Workload, width: int) -> None:
        histograms = latency_figure(session, load.id) if load.id in session.blocks else ()
        self._histogram = histograms[0] if histograms else None
        self._latencies = (
            [
                summarise_latencies(load.id, *variant_times)
                for variant_times in pool_latency_histograms(session, load.id).items()
            ]
            if histograms
            else []
        )
        self._marks = variant_marks(session)
        self._width = width
        self.sides = len(self._latencies)

    def draw_histograms(self, height: int, *, axis: bool) -> list[Line]:
        """`height` rows a side, and where the `axis` ends; empty where nobody kept the times."""
        if self._histogram is None:
            return []
        names = max(cell_width(text_line(latency.variant)) for latency in self._latencies)
        words = [_format_percentiles(latency, wide=self._width >= WIDE) for latency in self._latencies]
        tail = max(map(len, words)) + 1
        histogram = _merge_buckets(self._histogram, self._width - names - 2 - tail)
        across = len(histogram.rows[0][1])
        out: list[Line] = []
        for latency, (_, counts), percentile_text in zip(self._latencies, histogram.rows, words, strict=True):
            role = self._marks.get(latency.variant, ("", "text"))[1]
            most = max(counts)
            drawn = area_lines([count / most if count else None for count in counts], height, role)
            for number, row in enumerate(drawn):
                last = number == len(drawn) - 1
                name = fit_line(text_line(latency.variant if last else ""), names)
                figures: Line = [(f"{percentile_text:>{tail}}" if last else "", "text")]
                out.append(split_line([*name, ("  ", "text"), *row], figures, self._width))
        if axis:
            ends = [units.format_latency(end) for end in (histogram.low_ns, histogram.high_ns)]
            out.append(
                text_line(
                    f"{'':{names + 2}}{ends[0]}{ends[1]:>{max(len(ends[1]) + 1, across - len(ends[0]))}}",
                    "dim",
                )
            )
        return [crop_line(line, self._width) for line in out]


def _format_percentiles(latency: LatencySummary, *, wide: bool) -> str:
    percentiles = (("p50", latency.p50_ns), ("p99", latency.p99_ns))[: 2 if wide else 1]
    return "  ".join(f"{name} {units.format_latency(ns):>7}" for name, ns in percentiles if ns is not None)


def _merge_buckets(histogram: Histogram, room: int) -> Histogram:
    """As many neighbouring buckets as one as it takes to have room."""
    each = -(-len(histogram.rows[0][1]) // max(8, room))
    rows = tuple(
        (name, tuple(sum(counts[at : at + each]) for at in range(0, len(counts), each)))
        for name, counts in histogram.rows
    )
    return msgspec.structs.replace(histogram, rows=rows)
