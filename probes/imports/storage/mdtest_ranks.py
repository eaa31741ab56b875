"""mdtest's `--saveRankPerformanceDetails` CSV: a line of all ranks together, then one of each rank.

Written by `StoreRankInformation` in the tool's src/mdtest.c: rates in operations a second, times in seconds, two empty
fields where nothing was done. A sweep over task counts appends another line of all; of several iterations the line of
all is the first one. mdtest writes no JSON, and no version into this file.
"""

import csv

import msgspec

from hostdx.probes.imports.model import (
    Contradiction,
    ImportedMeasure,
    ImportRefusedError,
    ImportResult,
    Noted,
    compare_claim,
    make_noted,
)
from hostdx.probes.imports.numbers import parse_integer, parse_number
from hostdx.probes.imports.source import ImportSource

_MAX_RUNS = 1000


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


def parse(source: ImportSource) -> ImportResult:
    runs: list[Ranks] = []
    columns: list[tuple[str, int]] = []
    try:
        for fields in csv.reader(source.read_lines()):
            if fields[:2] == ["rank", "items"]:
                columns = [(_phase_name(n), at) for at, n in enumerate(fields) if n.startswith("rate-")]
            elif fields[:1] == ["all"] and columns and len(runs) < _MAX_RUNS:
                runs.append(_read_all_ranks(fields, columns))
            elif runs and columns and (rank := parse_integer(fields[0] if fields else None)) is not None:
                _add_rank_row(runs[-1], rank, fields, columns)
    except csv.Error as error:
        raise ImportRefusedError(f"mdtest: CSV cannot be read: {error}", "check the file") from None
    measured = [run for run in runs if run.rate]
    if not measured:
        raise ImportRefusedError(
            "mdtest: its CSV has no line of all ranks with a rate",
            "the run did not finish: import a finished one",
        )
    return _make_result(measured)


def _phase_name(column: str) -> str:
    """3.x pads the names and ends them with a colon."""
    return column.removeprefix("rate-").strip().rstrip(":").strip()[:60]


def _read_all_ranks(fields: list[str], columns: list[tuple[str, int]]) -> Ranks:
    run = Ranks(items=parse_integer(fields[1]) if len(fields) > 1 else None)
    for name, at in columns:
        rate, seconds = _read_rate_and_seconds(fields, at)
        if rate is not None and seconds is not None:
            run.rate[name], run.time[name] = rate, seconds
    return run


def _add_rank_row(run: Ranks, rank: int, fields: list[str], columns: list[tuple[str, int]]) -> None:
    if rank == 0 and run.tasks:
        run.iterations += 1
    if run.iterations > 1:
        return
    run.tasks += 1
    for name, at in columns:
        rate, seconds = _read_rate_and_seconds(fields, at)
        if rate is not None and seconds is not None:
            run.done[name] = run.done.get(name, 0.0) + rate * seconds


def _read_rate_and_seconds(fields: list[str], at: int) -> tuple[float | None, float | None]:
    if len(fields) <= at + 1:
        return None, None
    return parse_number(fields[at]), parse_number(fields[at + 1])


def _make_result(runs: list[Ranks]) -> ImportResult:
    measures: list[ImportedMeasure] = []
    contradictions: list[Contradiction] = []
    facts: list[Noted] = []
    for index, run in enumerate(runs):
        prefix = f"run {index + 1}: " if len(runs) > 1 else ""
        subject = f"run:{index + 1}" if prefix else ""
        for name, rate in run.rate.items():
            measures.append(
                ImportedMeasure(
                    workload=f"{prefix}mdtest {name.lower()}", metric="IOPS", value=rate, unit="IOPS",
                    seconds=run.time[name], judged=not name.startswith("Tree"),
                    conditions={"ranks": str(run.tasks), "items a task": str(run.items)},
                )
            )  # fmt: skip
            if run.done.get(name) and run.time[name] > 0:
                gives, rule = run.done[name] / run.time[name], "sum of rate × time of the ranks ÷ time of all"
                contradictions += compare_claim(
                    "mdtest.rate", f"{prefix}{name}", rate, gives, rule, 1e-6, unit="IOPS"
                )
        counts = (("tasks", run.tasks or None), ("items a task", run.items), ("iterations", run.iterations))
        facts += make_noted(*counts, subject=subject)
    return ImportResult(
        kind="mdtest-csv", tool="mdtest", measures=tuple(measures), facts=tuple(facts[:1000]),
        contradictions=tuple(contradictions[:200]), recomputed=("rate from the ranks' own",),
        detail=MdtestRanks(runs=tuple(runs)),
    )  # fmt: skip
