"""HPL's result lines (`WR11C2R4  N  NB  P  Q  Time  Gflops`) and HPCG's summary. A failed residual is said."""

import re

from probes.imports.model import Contradiction, Measure, Refused, Result, Trouble, compared
from probes.imports.numbers import number
from probes.imports.source import Source

_ROW = re.compile(r"^(W[RC]\w{6,10})\s+(\d{1,9})\s+(\d{1,6})\s+(\d{1,6})\s+(\d{1,6})\s+(\S+)\s+(\S+)\s*$")
_VERSION = re.compile(r"^HPLinpack (\S{1,20})\s")
_RATING = re.compile(r"^Final Summary::HPCG result is (VALID|INVALID) with a GFLOP/s rating of[=:]\s*(\S+)")
_DIMENSION = re.compile(
    r"^(?:Global Problem Dimensions|Distributed Processes|Machine Summary)::([\w ]+)=(\d{1,12})\s*$"
)
_MOST_ROWS = 10_000


def recognised(source: Source) -> bool:
    return source.has(b"HPLinpack ") and b"Gflops" in source.data


def parse(source: Source) -> Result:
    rows: list[re.Match[str]] = []
    version, failed = None, set[int]()
    for line in source.lines():
        if (found := _ROW.match(line)) and len(rows) < _MOST_ROWS:
            rows.append(found)
        elif (found := _VERSION.match(line)) and version is None:
            version = found[1]
        else:
            failed |= {len(rows) - 1} if line.rstrip().endswith("FAILED") else set()
    measures: list[Measure] = []
    contradicted: list[Contradiction] = []
    for row, found in enumerate(rows):
        order, block, p, q = (int(found[i]) for i in range(2, 6))
        seconds, gflops = number(found[6]), number(found[7])
        if not seconds or not gflops:
            continue
        prefix = f"run {len(measures) + 1}: " if len(rows) > 1 else ""
        named = {"variant": found[1], "N": str(order), "NB": str(block), "P × Q": f"{p} × {q}"}
        measures.append(
            Measure(
                workload=f"{prefix}hpl", metric="rate", value=gflops * 1e9, unit="FLOP/s", seconds=seconds,
                conditions=named, invalid="its residual check FAILED" if row in failed else "",
            )
        )  # fmt: skip
        gives = (2 / 3 * order**3 + 3 / 2 * order**2) / seconds
        rule, slack = "(2/3 N³ + 3/2 N²) ÷ time", 0.01 + 0.01 / seconds
        contradicted += compared("hpl.rate", f"{prefix}hpl", gflops * 1e9, gives, rule, slack, unit="FLOP/s")
    if not measures:
        raise Refused("HPL: no result line in it", "the run did not end: import a finished one")
    return Result(
        kind="hpl", tool="HPL", version=version, measures=tuple(measures), seconds=sum(m.seconds for m in measures),
        contradictions=tuple(contradicted[:100]), recomputed=("rate from N and time",),
        troubles=(Trouble(id="hpl.failed", said=str(len(failed))),) if failed else (),
    )  # fmt: skip


def hpcg_recognised(source: Source) -> bool:
    return b"::HPCG result is" in source.data


def parse_hpcg(source: Source) -> Result:
    """Of the YAML-like file and of what is printed: the last summary stands."""
    rating: re.Match[str] | None = None
    named: dict[str, str] = {}
    for line in source.lines():
        if found := _RATING.match(line.strip()):
            rating = found
        elif (found := _DIMENSION.match(line.strip())) and len(named) < 20:
            named[found[1].replace("Global ", "").strip()] = found[2]
    value = number(rating[2]) if rating is not None else None
    if rating is None or not value:
        raise Refused("HPCG: no rating in it", "the run did not end: import a finished one")
    invalid = rating[1] == "INVALID"
    return Result(
        kind="hpcg", tool="HPCG", troubles=(Trouble(id="hpcg.invalid"),) if invalid else (),
        measures=(
            Measure(
                workload="hpcg", metric="rate", value=value * 1e9, unit="FLOP/s", conditions=named,
                invalid="HPCG calls its result INVALID" if invalid else "",
            ),
        ),
    )  # fmt: skip
