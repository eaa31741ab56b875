"""STREAM 5.x: MB/s are 10^6 bytes; copy and scale move two arrays, add and triad three."""

import re
from statistics import median

import msgspec

from probes.imports.model import Contradiction, Measure, Refused, Result, Trouble, compared, noted
from probes.imports.numbers import number
from probes.imports.source import Source

_ROW = re.compile(r"^\s*(Copy|Scale|Add|Triad):\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)", re.IGNORECASE)
_ARRAYS = {"copy": 2, "scale": 2, "add": 3, "triad": 3}
_SIZE = re.compile(r"Array size\s*=\s*(\d{1,18})")
_THREADS = re.compile(r"Number of Threads (?:counted|requested)\s*=\s*(\d{1,9})")
_VERSION = re.compile(r"STREAM version \$Revision: (\S+)")
_ELEMENT = re.compile(r"uses (\d{1,3}) bytes per")


class Stream(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    mb_s: dict[str, float] = {}
    threads: int | None = None
    array_elements: int | None = None
    validates: bool = False
    version: str | None = None


def recognised(source: Source) -> bool:
    return b"STREAM version" in source.head or (b"Triad:" in source.head and b"Copy:" in source.head)


def parse(source: Source) -> Result:
    rates: dict[str, float] = {}
    runs: dict[str, list[float]] = {}
    times: dict[str, float] = {}
    size = threads = version = None
    element, validates, failed = 8, False, False
    for line in source.lines():
        if found := _ROW.match(line):
            rate, least = number(found[2]), number(found[4])
            if rate is not None and rate > 0:
                name = found[1].lower()
                runs.setdefault(name, []).append(rate)
                rates[name] = rate
                times[name] = least or 0.0
        elif found := _SIZE.search(line):
            size = int(found[1])
        elif found := _THREADS.search(line):
            threads = int(found[1])
        elif found := _VERSION.search(line):
            version = found[1][:20]
        elif found := _ELEMENT.search(line):
            element = int(found[1])
        elif "Solution Validates" in line:
            validates = True
        elif "Failed Validation" in line:
            failed = True
    if not rates:
        raise Refused("STREAM: no rate in it", "import the benchmark's whole output")
    found_all: list[Contradiction] = []
    for name, rate in rates.items():
        gives = _ARRAYS[name] * element * (size or 0) / times[name] / 1e6 if times[name] > 0 else 0.0
        if gives:
            rule, slack = f"{_ARRAYS[name]} arrays ÷ least time", 0.01 + 1e-6 / times[name]
            found_all += compared("stream.rate", name, rate * 1e6, gives * 1e6, rule, slack, unit="B/s")
    facts = noted(("threads", threads), ("array elements", size))
    conditions = (("threads", threads), ("array elements", size))
    not_validated = "its own check of the arrays failed" if failed else ""
    detail = Stream(
        mb_s=rates,
        threads=threads,
        array_elements=size,
        validates=validates,
        version=version,
    )
    return Result(
        kind="stream", tool="STREAM", version=version, facts=tuple(facts), contradictions=tuple(found_all),
        measures=tuple(
            Measure(
                workload=f"stream {n}", metric="bandwidth", value=median(all_runs[:1000]) * 1e6, unit="B/s",
                of="median", runs=tuple(v * 1e6 for v in all_runs[:1000]) if len(all_runs) > 1 else (),
                conditions={what: str(value) for what, value in conditions if value is not None},
                invalid="" if validates else not_validated,
            )
            for n, all_runs in runs.items()
        ),
        troubles=() if validates else (Trouble(id="stream.not-validated"),),
        recomputed=("rate from array size and least time",), detail=detail,
    )  # fmt: skip
