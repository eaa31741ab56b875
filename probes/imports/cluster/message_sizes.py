"""Tables by message size: OSU's MPI benchmarks, NVIDIA's nccl-tests and perftest (ib_write_bw and its like).

OSU's MB are 10^6 bytes, and perftest says itself whether its are (`MB/sec` is MiB there unless it was told otherwise).
A value a size; all sizes are judged apart.
"""

import re

import msgspec

from probes.imports.model import Measure, Refused, Result, Trouble
from probes.imports.numbers import MIB, integer, number
from probes.imports.source import Source
from probes.units import size as sized

_OSU = re.compile(r"^# OSU (.{1,80}?)(?: v(\S{1,20}))?\s*$")
_OSU_HEAD = re.compile(r"^# Size\s+(.{1,300})$")
_OSU_BESIDE = re.compile(r"^(P[\d.]+|Min|Max)\b.*\(us\)")
_OSU_SHAPE = re.compile(r"\[ (pairs|window size): (\d{1,9}) \]", re.ASCII)
_NCCL_HEAD = re.compile(
    r"^#\s+nThread (\d{1,9}) nGpus (\d{1,9}) minBytes (\d{1,18}) maxBytes (\d{1,18})(?: step: (\S{1,30}))?",
    re.ASCII,
)
_NCCL_COLLECTIVE = re.compile(r"^# Collective test starting: (\S{1,60})")
_NCCL_RANK = re.compile(r"^#\s+Rank\s+\d", re.ASCII)
_NCCL_COLUMNS = re.compile(r"^#\s+(size\s+count\s+type\s.{0,300})$")
_NCCL_NAMED = {"type": "type", "redop": "operation", "root": "root"}
_NCCL_AVERAGE = re.compile(r"^# Avg bus bandwidth\s*:\s*(\S+)")
_NCCL_WRONG = re.compile(r"^# Out of bounds values : (\d{1,12}) (\w+)")
_PERFTEST = re.compile(r"^\s+((?:RDMA_|Send |Atomic |RAW ).{1,60}?Test)\s*$")
_PERFTEST_OPTION = re.compile(r"(?<!\S)([A-Z][\w./ -]{0,24}?)\s*:\s*(\S+)")
_PERFTEST_HEAD = re.compile(r"^\s*#bytes\s+#iterations\s+(.+)$")
_MOST_ROWS = 1000
_KEPT = ("Transport type", "Connection type", "Number of qps", "Mtu", "Link type", "TX depth")


def osu_recognised(source: Source) -> bool:
    return source.has(b"# OSU ") and source.has(b"# Size")


def parse_osu(source: Source) -> Result:
    name, version = "", None
    columns: list[str] = []
    shape: dict[str, str] = {}
    measures: list[Measure] = []
    for line in source.lines():
        if found := _OSU.match(line):
            name, version, columns, shape = found[1], found[2] or version, [], {}
        elif line.startswith("# ["):
            shape = dict(_OSU_SHAPE.findall(line))
        elif found := _OSU_HEAD.match(line):
            columns = re.split(r"\s{2,}", found[1].strip())
        elif columns and (fields := line.split()) and (size := integer(fields[0])) is not None:
            if len(measures) >= _MOST_ROWS:
                break
            row = dict(zip(columns, fields[1:], strict=False))
            failed = "validation failed" if row.get("Validation", "").lower() == "fail" else ""
            for place, (column, text) in enumerate(row.items()):
                if (value := number(text)) and (place == 0 or _OSU_BESIDE.search(column)):
                    measure = _osu_measure(f"{name}, {sized(size, 6)}", column, value, beside=place > 0)
                    measures.append(msgspec.structs.replace(measure, conditions=shape, invalid=failed))
    if not measures:
        raise Refused("OSU: no row of a size in it", "import the benchmark's whole output")
    return Result(kind="osu", tool="OSU Micro-Benchmarks", version=version, measures=tuple(measures))


def _osu_measure(workload: str, column: str, value: float, *, beside: bool) -> Measure:
    """`beside`: a percentile or an extreme, beside the average that is judged."""
    if "(us)" in column:
        named = _OSU_BESIDE.search(column) if beside else None
        metric = f"{named[1].lower()} latency" if named else "latency"
        return Measure(
            workload=workload, metric=metric, value=value / 1e6, unit="s", better="less", judged=not beside
        )
    if "MB/s" in column:
        return Measure(workload=workload, metric="bandwidth", value=value * 1e6, unit="B/s")
    return Measure(workload=workload, metric=column.strip(), value=value, unit="1/s")


def nccl_recognised(source: Source) -> bool:
    return source.has(b"# nThread ") and source.has(b"busbw")


def parse_nccl(source: Source) -> Result:
    """Out of place, then in place; older tables have no root, or no operation. GB/s are 10^9 bytes."""
    measures: list[Measure] = []
    troubles: list[Trouble] = []
    collective: dict[str, str] = {}
    run: dict[str, str] = {}
    row: dict[str, str] = {}
    sizes: dict[str, str] = {}
    columns: list[str] = []
    ranks = 0
    for line in source.lines():
        fields = line.split()
        if found := _NCCL_COLLECTIVE.match(line):
            collective = {"collective": found[1]}
        elif found := _NCCL_HEAD.match(line):
            run, row, ranks, columns = {"threads": found[1], "GPUs a thread": found[2]}, {}, 0, []
            sizes = {"sizes": f"{sized(int(found[3]), 6)} to {sized(int(found[4]), 6)}"}
            sizes |= {"step": found[5]} if found[5] else {}
        elif _NCCL_RANK.match(line):
            ranks += 1
        elif found := _NCCL_COLUMNS.match(line):
            columns = found[1].split()
            run |= collective | ({"ranks": str(ranks)} if ranks else {})
        elif found := _NCCL_AVERAGE.match(line):
            if (average := number(found[1])) and len(measures) < 2 * _MOST_ROWS:
                measures.append(_nccl_measure("nccl average", average, run | row | sizes))
        elif (found := _NCCL_WRONG.match(line)) and found[2] != "OK":
            troubles.append(Trouble(id="nccl.wrong", said=found[1]))
        elif "busbw" in columns and len(fields) >= len(columns) and (size := integer(fields[0])) is not None:
            named = {name: fields[columns.index(c)] for c, name in _NCCL_NAMED.items() if c in columns}
            row = {name: value for name, value in named.items() if value not in ("none", "-1")}
            rate = number(fields[columns.index("busbw")])
            if rate and len(measures) < _MOST_ROWS:
                measures.append(_nccl_measure(f"nccl {sized(size, 6)}", rate, run | row))
    if not measures:
        raise Refused("nccl-tests: no row in it", "import the test's whole output")
    wrong = f"{troubles[0].said} values out of bounds" if troubles else ""
    return Result(
        kind="nccl", tool="nccl-tests", troubles=tuple(troubles),
        measures=tuple(msgspec.structs.replace(m, invalid=wrong) for m in measures),
    )  # fmt: skip


def _nccl_measure(workload: str, gb_s: float, conditions: dict[str, str]) -> Measure:
    return Measure(
        workload=workload, metric="bus bandwidth", value=gb_s * 1e9, unit="B/s", conditions=conditions
    )


def perftest_recognised(source: Source) -> bool:
    return source.has(b"#bytes", b"#iterations")


def parse_perftest(source: Source) -> Result:
    name = "perftest"
    columns: list[str] = []
    named: dict[str, str] = {}
    measures: list[Measure] = []
    for line in source.lines():
        if found := _PERFTEST.match(line):
            name = found[1]
        elif found := _PERFTEST_HEAD.match(line):
            columns = [c.strip() for c in re.split(r"\s{2,}|(?<=\])\s+", found[1].strip()) if c.strip()]
        elif columns and (fields := line.split()) and (size := integer(fields[0])) is not None:
            for column, text in zip(columns, fields[2:], strict=False):
                value = number(text)
                if value and len(measures) < _MOST_ROWS and (made := _perftest(column, value)):
                    metric, scaled, unit = made
                    measures.append(
                        Measure(
                            workload=f"{name}, {sized(size, 6)}", metric=metric, value=scaled, unit=unit,
                            better="less" if unit == "s" else "more", conditions=named,
                        )
                    )  # fmt: skip
        elif not columns:
            named |= {k.strip(): v for k, v in _PERFTEST_OPTION.findall(line) if k.strip() in _KEPT}
    if not measures:
        raise Refused("perftest: no row in it", "import what the client printed, to its end")
    return Result(kind="perftest", tool="perftest", measures=tuple(measures))


def _perftest(column: str, value: float) -> tuple[str, float, str] | None:
    """Average, typical and 99th percentile; peaks and extremes are left out."""
    lower = column.lower()
    if "bw average" in lower:
        scale = 1e9 / 8 if "gb/sec" in lower else MIB
        return "bandwidth", value * scale, "B/s"
    if "t_avg" in lower or ("99%" in lower and "usec" in lower and "99.9" not in lower):
        return ("mean latency" if "t_avg" in lower else "p99 latency"), value / 1e6, "s"
    return None
