"""sysbench 0.4 to 1.1 as text: cpu, memory, fileio and oltp, several runs in one file, a prefix before the banner.

Latency in ms with two decimals: 0.00 is "below 0.005", so it is left out rather than taken for zero.
"""

import re

import msgspec

from probes.imports.model import Contradiction, Measure, Noted, Refused, Result, Trouble, compared
from probes.imports.numbers import MIB, number, truncated
from probes.imports.source import Source

_BANNER = re.compile(r"^(.{0,60}?)\s*\bsysbench (\d[\w.-]*)[: ]")
_PAIR = re.compile(r"^\s*([A-Za-z][\w ,/:-]*?)\s*:\s+(.+?)\s*$")
_LATENCY = re.compile(r"^\s*(min|avg|max|\d+(?:\.\d+)?(?:st|nd|rd|th) percentile)\s*:\s*(\S+?)(?:ms)?\s*$")
_PER_SECOND = re.compile(r"\(\s*(\S+) per (?:sec|second)\.?\)")
_INTERVAL = re.compile(r"^\[\s*\S+s\s*\] ")
_MOVED = re.compile(r"^\s*\S+ Mi?B transferred \((\S+) Mi?B/sec\)")
_STARTED = re.compile(
    r".{0,60}\bThreads started!|Done\.|General statistics|Total operations|.{1,40} speed:|OLTP test stat"
)
_NEUTRAL = re.compile(
    r"running |random number|initializing|debug|report|threads started|warning|\W*$|fatal|verbosity"
)
_MOST_RUNS = 10_000


class SysbenchRun(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Rates a second, latency in ms as printed; None: not in the file."""

    version: str
    label: str = ""
    threads: int | None = None
    events: int | None = None
    total_s: float | None = None
    tps: float | None = None
    qps: float | None = None
    mib_s: float | None = None
    ops_s: float | None = None
    events_s: float | None = None
    rates: dict[str, float] = {}  # fileio: "reads/s", "written, MiB/s"
    lat_ms: dict[str, float] = {}
    errors: float = 0.0
    interval_lines: int = 0
    options: dict[str, str] = {}  # what the run printed before it started its threads
    started: bool = False


class Sysbench(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    runs: tuple[SysbenchRun, ...] = ()


def recognised(source: Source) -> bool:
    return any(_BANNER.match(line.decode("latin-1")) for line in source.head.split(b"\n", 200)[:200])


def parse(source: Source) -> Result:
    runs: list[SysbenchRun] = []
    for line in source.lines():
        if found := _BANNER.match(line):
            if len(runs) >= _MOST_RUNS:
                break
            runs.append(SysbenchRun(version=found[2].rstrip(":")[:40], label=found[1].strip()))
        elif runs:
            _line(runs[-1], line)
    finished = [r for r in runs if r.total_s is not None and r.events is not None]
    if not finished:
        raise Refused("sysbench: no finished run in it", "the run ended before its statistics: repeat it")
    measures, found_all = [], []
    for index, run in enumerate(finished):
        prefix = f"run {index + 1}: " if len(finished) > 1 else ""
        measures += _measures(run, prefix)
        found_all += _contradictions(run, prefix)
    troubles = [
        Trouble(id="sysbench.errors", subject=r.label or f"run {i + 1}", said=f"{r.errors:g}")
        for i, r in enumerate(finished)
        if r.errors
    ]
    if len(finished) < len(runs):
        troubles.append(Trouble(id="sysbench.unfinished", said=str(len(runs) - len(finished))))
    facts = [
        Noted(name="threads", value=r.threads, subject=f"run:{i + 1}" if len(finished) > 1 else "")
        for i, r in enumerate(finished[:200])
        if r.threads is not None
    ]
    return Result(
        kind="sysbench", tool="sysbench", version=finished[0].version, measures=tuple(measures),
        seconds=sum(r.total_s or 0.0 for r in finished), facts=tuple(facts), troubles=tuple(troubles[:100]),
        contradictions=tuple(found_all[:100]), recomputed=("events ÷ total time",),
        detail=Sysbench(runs=tuple(runs)),
    )  # fmt: skip


def _line(run: SysbenchRun, line: str) -> None:
    if not run.started:
        run.started = _STARTED.match(line.strip()) is not None
        if not run.started:
            _option(run, line.strip())
            return
    if _INTERVAL.match(line):
        run.interval_lines += 1
    elif found := _LATENCY.match(line):
        value = number(found[2])
        if value is not None:
            rank = re.match(r"[\d.]+", found[1])
            run.lat_ms.setdefault(f"p{float(rank[0]):g}" if rank else found[1], value)
    elif found := _MOVED.match(line):
        run.mib_s = number(found[1])
    elif found := _PAIR.match(line):
        _pair(run, found[1].strip().lower(), found[2])


def _option(run: SysbenchRun, line: str) -> None:
    """Everything that is printed before the threads start is a condition, but for what changes no load."""
    found = _PAIR.match(line)
    name, value = (found[1].strip().lower(), found[2]) if found else (line.rstrip(".").lower(), "yes")
    if name == "number of threads":
        run.threads = truncated(value)
    elif line and not _NEUTRAL.match(name) and len(run.options) < 60:
        run.options[name[:60]] = value[:60]


def _pair(run: SysbenchRun, name: str, value: str) -> None:
    rate = _PER_SECOND.search(value[:200])
    per_second = number(rate[1]) if rate else None
    match name:
        case "total time" | "time elapsed":
            run.total_s = number(value.removesuffix("s"))
        case "total number of events":
            run.events = truncated(value)
        case "transactions":
            run.tps = per_second
        case "queries" | "read/write requests":
            run.qps = per_second
        case "total operations" | "operations performed":
            run.ops_s = per_second
        case "events per second":
            run.events_s = number(value)
        case "ignored errors" | "errors":
            run.errors += number(value.partition(" ")[0]) or 0.0
        case "reads/s" | "writes/s" | "fsyncs/s" | "read, mib/s" | "written, mib/s":
            if (v := number(value)) is not None:
                run.rates[name] = v


def _measures(run: SysbenchRun, prefix: str) -> list[Measure]:
    seconds = run.total_s or 0.0
    workload = f"{prefix}sysbench"
    named = [
        ("transactions", run.tps, "1/s"), ("queries", run.qps, "1/s"), ("operations", run.ops_s, "1/s"),
        ("events", run.events_s, "1/s"), ("bandwidth", run.mib_s and run.mib_s * MIB, "B/s"),
        ("read IOPS", run.rates.get("reads/s"), "IOPS"), ("write IOPS", run.rates.get("writes/s"), "IOPS"),
        ("syncs", run.rates.get("fsyncs/s"), "1/s"),
        ("read rate", run.rates.get("read, mib/s", 0.0) * MIB, "B/s"),
        ("write rate", run.rates.get("written, mib/s", 0.0) * MIB, "B/s"),
    ]  # fmt: skip
    if not any(value for _, value, _ in named) and run.events and seconds:
        named.append(("events", run.events / seconds, "1/s"))
    conditions = ({"threads": str(run.threads)} if run.threads is not None else {}) | run.options
    made = [
        Measure(workload=workload, metric=n, value=v, unit=u, seconds=seconds, conditions=conditions)
        for n, v, u in named
        if v
    ]
    for key, ms in run.lat_ms.items():
        if ms > 0:
            name = {"avg": "mean latency", "min": "least latency", "max": "greatest latency"}.get(key)
            made.append(
                Measure(
                    workload=workload, metric=name or f"{key} latency", value=ms / 1000, unit="s", better="less",
                    seconds=seconds, judged=key == "avg", conditions=conditions,
                )
            )  # fmt: skip
    return made


def _contradictions(run: SysbenchRun, prefix: str) -> list[Contradiction]:
    """Events ÷ total time against the printed rate. Two seconds at least: the total includes the start."""
    if not run.events or not run.total_s or run.total_s < 2:
        return []
    gives = run.events / run.total_s
    found: list[Contradiction] = []
    for name, claimed in (("transactions", run.tps), ("operations", run.ops_s), ("events", run.events_s)):
        if claimed:
            subject, rule = f"{prefix}{name}", "events ÷ total time"
            found += compared("sysbench.rate", subject, claimed, gives, rule, 0.02, unit="1/s")
    return found
