"""How long a load's operations took while it is measured: a histogram a side, with the percentiles beside it."""

import msgspec

from app.glyphs import clean
from app.lines import Line, area, cells, crop, pad, split, text
from app.recording.session import Session
from app.report.figures.histogram import latencies
from app.report.figures.latency import Latency, of_side, pooled
from app.tui.widgets.measuring.block_plot import variants
from probes import units
from scenarios.plan import Workload
from scenarios.results.document import Histogram

WIDE = 52  # cells that have room for two percentiles


class Times:
    """How long a load's operations took: a histogram a side on one logarithmic axis, with its percentiles."""

    def __init__(self, session: Session, load: Workload, width: int) -> None:
        found = latencies(session, load.id) if load.id in session.blocks else ()
        self._found = found[0] if found else None
        self._told = [of_side(load.id, *one) for one in pooled(session, load.id).items()] if found else []
        self._marks = variants(session)
        self._width = width
        self.sides = len(self._told)

    def lines(self, height: int, *, axis: bool) -> list[Line]:
        """`height` rows a side, and where the `axis` ends; empty where nobody kept the times."""
        if self._found is None:
            return []
        names = max(cells(text(clean(one.variant))) for one in self._told)
        words = [_percentiles(one, wide=self._width >= WIDE) for one in self._told]
        tail = max(map(len, words)) + 1
        found = _narrower(self._found, self._width - names - 2 - tail)
        across = len(found.rows[0][1])
        out: list[Line] = []
        for one, (_, counts), said in zip(self._told, found.rows, words, strict=True):
            role = self._marks.get(one.variant, ("", "text"))[1]
            most = max(counts)
            drawn = area([count / most if count else None for count in counts], height, role)
            for number, row in enumerate(drawn):
                last = number == len(drawn) - 1
                name = pad(text(clean(one.variant) if last else ""), names)
                figures: Line = [(f"{said:>{tail}}" if last else "", "text")]
                out.append(split([*name, ("  ", "text"), *row], figures, self._width))
        if axis:
            ends = [units.elapsed(end) for end in (found.low_ns, found.high_ns)]
            out.append(
                text(
                    f"{'':{names + 2}}{ends[0]}{ends[1]:>{max(len(ends[1]) + 1, across - len(ends[0]))}}",
                    "dim",
                )
            )
        return [crop(line, self._width) for line in out]


def _percentiles(one: Latency, *, wide: bool) -> str:
    told = (("p50", one.p50_ns), ("p99", one.p99_ns))[: 2 if wide else 1]
    return "  ".join(f"{name} {units.elapsed(ns):>7}" for name, ns in told if ns is not None)


def _narrower(found: Histogram, room: int) -> Histogram:
    """As many neighbouring buckets as one as it takes to have room."""
    each = -(-len(found.rows[0][1]) // max(8, room))
    rows = tuple(
        (name, tuple(sum(counts[at : at + each]) for at in range(0, len(counts), each)))
        for name, counts in found.rows
    )
    return msgspec.structs.replace(found, rows=rows)
