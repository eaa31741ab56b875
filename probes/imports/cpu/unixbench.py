"""BYTE UnixBench 5: one index score for each number of copies, the geometric mean of its tests' indices."""

import re

import msgspec

from probes.imports.model import Contradiction, Measure, Noted, Refused, Result, Trouble, compared
from probes.imports.numbers import geometric_mean, number
from probes.imports.source import Source

_COPIES = re.compile(r"^(\d{1,9}) CPUs? in system; running (\d{1,9}) parallel cop(?:y|ies)")
_TEST = re.compile(r"^(\S.*?)\s{2,}(\S+) (lps|MWIPS|KBps|lpm)\s+\(")
_INDEX = re.compile(r"^(\S.*?)\s{2,}(\d+\.\d+)\s+(\d+\.\d+)\s+(\d+\.\d+)\s*$")
_SCORE = re.compile(r"^System Benchmarks Index Score(?: \(Partial Only\))?\s+(\S+)")
_MOST = 1000


class UnixbenchRun(msgspec.Struct, kw_only=True, omit_defaults=True):
    cpus: int
    copies: int
    tests: dict[str, tuple[float, str]] = {}
    indices: dict[str, float] = {}
    index_score: float | None = None
    partial: bool = False


class UnixBench(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    runs: tuple[UnixbenchRun, ...] = ()


def recognised(source: Source) -> bool:
    return b"BYTE UNIX Benchmarks" in source.data[: 1 << 20]


def parse(source: Source) -> Result:
    runs: list[UnixbenchRun] = []
    host = None
    for line in source.lines():
        if line.startswith("   System:"):
            host = line.partition(":")[2].strip().partition(":")[0][:120] or None
        elif found := _COPIES.match(line):
            if len(runs) < _MOST:
                runs.append(UnixbenchRun(cpus=int(found[1]), copies=int(found[2])))
        elif not runs:
            continue
        elif found := _TEST.match(line):
            value = number(found[2])
            if value is not None and len(runs[-1].tests) < 100:
                runs[-1].tests[found[1][:80]] = (value, found[3])
        elif found := _SCORE.match(line):
            runs[-1].index_score, runs[-1].partial = number(found[1]), "Partial" in line
        elif (
            (found := _INDEX.match(line))
            and (index := number(found[4])) is not None
            and len(runs[-1].indices) < 100
        ):
            runs[-1].indices[found[1][:80]] = index
    done = [run for run in runs if run.tests]
    if not done:
        raise Refused("UnixBench: no result in it", "import the report of a finished run")
    measures: list[Measure] = []
    found_all: list[Contradiction] = []
    for run in done:
        name = f"UnixBench {run.copies} {'copy' if run.copies == 1 else 'copies'}"
        if run.index_score is not None:
            measures.append(Measure(workload=name, metric="index", value=run.index_score, unit=""))
            gives = geometric_mean(run.indices.values())
            if gives is not None:
                rule = "geometric mean of the tests' indices"
                found_all += compared("unixbench.index", name, run.index_score, gives, rule, 0.002)
        for test, (value, unit) in run.tests.items():
            kilo = unit == "KBps"
            measures.append(
                Measure(
                    workload=f"{name}: {test}", metric="bandwidth" if kilo else unit,
                    value=value * 1024 if kilo else value, unit="B/s" if kilo else unit, judged=True,
                )
            )  # fmt: skip
    troubles = [Trouble(id="unixbench.partial", subject=f"{r.copies}") for r in done if r.partial]
    return Result(
        kind="unixbench", tool="UnixBench", host=host, measures=tuple(measures), troubles=tuple(troubles),
        facts=(Noted(name="threads", value=done[0].cpus, subject="cpu"),), contradictions=tuple(found_all),
        recomputed=("index from the tests",), detail=UnixBench(runs=tuple(runs)),
    )  # fmt: skip
