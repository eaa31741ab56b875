"""mdtest's `--saveRankPerformanceDetails` CSV: a line of all ranks together, then one of each rank.

Written by `StoreRankInformation` in the tool's src/mdtest.c: rates in operations a second, times in seconds, two empty
fields where nothing was done. A sweep over task counts appends another line of all; of several iterations the line of
all is the first one. mdtest writes no JSON, and no version into this file.
"""

import csv

import msgspec

from probes.imports.model import Contradiction, Measure, Noted, Refused, Result, compared, noted
from probes.imports.numbers import integer, number
from probes.imports.source import Source

_HEAD = b"rank,items,rate-"
_MOST_RUNS = 1000


class Ranks(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Of one task count. `rate` in operations a second, `time` in seconds; `done`: operations that ranks count."""

    items: int | None = None
    rate: dict[str, float] = {}
    time: dict[str, float] = {}
    done: dict[str, float] = {}
    tasks: int = 0
    iterations: int = 1


class MdtestRanks(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    runs: tuple[Ranks, ...] = ()


def recognised(source: Source) -> bool:
    return source.head.lstrip().startswith(_HEAD)


def parse(source: Source) -> Result:
    runs: list[Ranks] = []
    columns: list[tuple[str, int]] = []
    try:
        for fields in csv.reader(source.lines()):
            if fields[:2] == ["rank", "items"]:
                columns = [(_name(n), at) for at, n in enumerate(fields) if n.startswith("rate-")]
            elif fields[:1] == ["all"] and columns and len(runs) < _MOST_RUNS:
                runs.append(_all(fields, columns))
            elif runs and columns and (rank := integer(fields[0] if fields else None)) is not None:
                _add(runs[-1], rank, fields, columns)
    except csv.Error as error:
        raise Refused(f"mdtest: CSV cannot be read: {error}", "check the file") from None
    measured = [run for run in runs if run.rate]
    if not measured:
        raise Refused(
            "mdtest: its CSV has no line of all ranks with a rate",
            "the run did not finish: import a finished one",
        )
    return _result(measured)


def _name(column: str) -> str:
    """3.x pads the names and ends them with a colon."""
    return column.removeprefix("rate-").strip().rstrip(":").strip()[:60]


def _all(fields: list[str], columns: list[tuple[str, int]]) -> Ranks:
    run = Ranks(items=integer(fields[1]) if len(fields) > 1 else None)
    for name, at in columns:
        rate, seconds = _pair(fields, at)
        if rate is not None and seconds is not None:
            run.rate[name], run.time[name] = rate, seconds
    return run


def _add(run: Ranks, rank: int, fields: list[str], columns: list[tuple[str, int]]) -> None:
    if rank == 0 and run.tasks:
        run.iterations += 1
    if run.iterations > 1:
        return
    run.tasks += 1
    for name, at in columns:
        rate, seconds = _pair(fields, at)
        if rate is not None and seconds is not None:
            run.done[name] = run.done.get(name, 0.0) + rate * seconds


def _pair(fields: list[str], at: int) -> tuple[float | None, float | None]:
    if len(fields) <= at + 1:
        return None, None
    return number(fields[at]), number(fields[at + 1])


def _result(runs: list[Ranks]) -> Result:
    measures: list[Measure] = []
    found: list[Contradiction] = []
    facts: list[Noted] = []
    for index, run in enumerate(runs):
        prefix = f"run {index + 1}: " if len(runs) > 1 else ""
        subject = f"run:{index + 1}" if prefix else ""
        for name, rate in run.rate.items():
            measures.append(
                Measure(
                    workload=f"{prefix}mdtest {name.lower()}", metric="IOPS", value=rate, unit="IOPS",
                    seconds=run.time[name], judged=not name.startswith("Tree"),
                    conditions={"ranks": str(run.tasks), "items a task": str(run.items)},
                )
            )  # fmt: skip
            if run.done.get(name) and run.time[name] > 0:
                gives, rule = run.done[name] / run.time[name], "sum of rate × time of the ranks ÷ time of all"
                found += compared("mdtest.rate", f"{prefix}{name}", rate, gives, rule, 1e-6, unit="IOPS")
        named = (("tasks", run.tasks or None), ("items a task", run.items), ("iterations", run.iterations))
        facts += noted(*named, subject=subject)
    return Result(
        kind="mdtest-csv", tool="mdtest", measures=tuple(measures), facts=tuple(facts[:1000]),
        contradictions=tuple(found[:200]), recomputed=("rate from the ranks' own",),
        detail=MdtestRanks(runs=tuple(runs)),
    )  # fmt: skip
