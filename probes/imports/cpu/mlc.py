"""Intel Memory Latency Checker: latency (ns) and bandwidth (10^6 bytes a second) between nodes.

A matrix has fewer rows than columns where a node has no CPUs (CXL memory).
"""

import re

import msgspec

from probes.imports.model import Measure, Noted, Refused, Result
from probes.imports.numbers import number
from probes.imports.source import Source

_VERSION = re.compile(r"Intel\(R\) Memory Latency Checker - v(\S+)")
_PEAK = re.compile(r"^(ALL Reads|[\d:]+ Reads-Writes|Stream-triad like)\s*:\s*(\S+)")
_MOST = 4096


class Mlc(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Matrices by row; a cell that is no number is None."""

    version: str | None = None
    latency_ns: tuple[tuple[float | None, ...], ...] | None = None
    bandwidth_mb_s: tuple[tuple[float | None, ...], ...] | None = None


def recognised(source: Source) -> bool:
    return b"Memory Latency Checker" in source.head


def parse(source: Source) -> Result:
    version = None
    kind = ""
    columns = 0
    matrices: dict[str, list[tuple[float | None, ...]]] = {}
    peak: dict[str, float] = {}
    for line in source.lines():
        text = line.strip()
        fields = text.split()
        if found := _VERSION.search(line):
            version = found[1][:40]
        elif "idle latencies" in text:
            kind, columns = "latency", 0
        elif "Memory Bandwidths between nodes" in text:
            kind, columns = "bandwidth", 0
        elif found := _PEAK.match(text):
            value = number(found[2])
            if value is not None and len(peak) < 100:
                peak.setdefault(found[1], value)
        elif kind and fields[:1] in (["Numa"], ["Socket"], ["Node"]):
            columns = sum(1 for f in fields if f.isdecimal())
        elif kind and columns and fields and fields[0].isdecimal() and len(fields) > 1:
            rows = matrices.setdefault(kind, [])
            if len(rows) < _MOST and len(fields) <= _MOST:
                rows.append(tuple(number(f) for f in fields[1 : columns + 1]))
        elif columns and not fields:
            kind = ""
    if not matrices and not peak:
        raise Refused(
            "mlc: no matrix and no peak bandwidth in it", "run mlc as root: it needs access to the MSRs"
        )
    detail = Mlc(
        version=version,
        latency_ns=tuple(matrices["latency"]) if "latency" in matrices else None,
        bandwidth_mb_s=tuple(matrices["bandwidth"]) if "bandwidth" in matrices else None,
    )
    measures: list[Measure] = []
    for name, rows in matrices.items():
        latency = name == "latency"
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                if value is not None and value > 0 and len(measures) < 20_000:
                    measures.append(
                        Measure(
                            workload=f"memory node {i} to {j}", metric=name, unit="s" if latency else "B/s",
                            value=value * (1e-9 if latency else 1e6), better="less" if latency else "more",
                        )
                    )  # fmt: skip
    measures += [
        Measure(workload=f"memory {name.lower()}", metric="bandwidth", value=value * 1e6, unit="B/s")
        for name, value in peak.items()
        if value > 0
    ]
    shape = next(iter(matrices.values()), [])
    facts = [Noted(name="memory nodes", value=max((len(r) for r in shape), default=0))] if shape else []
    return Result(
        kind="mlc",
        tool="Intel MLC",
        version=version,
        measures=tuple(measures),
        facts=tuple(facts),
        detail=detail,
    )
