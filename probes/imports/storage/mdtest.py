"""mdtest: text of 1.9.3 to 4.x. A row of zeros means "not asked for", not a rate of zero.

The second table of 4.1.0 is titled "time (in ms/op)" and holds seconds of the phase (317 of 336 phase times of the
IO500 archive): read as seconds. From 3.3 on maximum and minimum "of 1 iterations" are over ranks.

`--saveRankPerformanceDetails` writes a CSV (`StoreRankInformation` in the tool's src/mdtest.c): a line of all ranks,
then one of each rank; rates in operations a second, times in seconds, two empty fields where nothing was done. A sweep
over task counts appends another line of all; of several iterations the line of all is the first one. It names no
version.
"""

import re

import msgspec

from hostdx.probes.imports.command_options import significant_options
from hostdx.probes.imports.dates import date_to_iso
from hostdx.probes.imports.model import (
    Contradiction,
    ImportedMeasure,
    ImportRefusedError,
    ImportResult,
    ImportTrouble,
    Noted,
    compare_claim,
    join_repetitions_or_number_runs,
    make_facts,
    make_measures,
    make_troubles,
)
from hostdx.probes.imports.numbers import parse_integer, parse_number
from hostdx.probes.imports.source import ImportSource

_BANNER = re.compile(r"mdtest-(\S+) was launched with (\d{1,12}) total task\(s\) on (\d{1,12}) node\(s\)")
_STARTED = re.compile(r"^-- started at (.+?) --")
_ITEMS = re.compile(r"^(\d{1,12}) tasks, (\d{1,18}) (files/directories|files|directories)")
_SUMMARY = re.compile(
    r"^SUMMARY\s*(rate|time)?\s*(?:\((?:in )?[^)]*\))?\s*:?\s*(?:\(of (\d{1,9}) iterations\))?"
)
_ROW = re.compile(r"^\s*([A-Z][a-z]+(?: [a-z]+)*)\s*:?\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s*$")
_MAX_RUNS = 10_000


class MdtestStat(msgspec.Struct, frozen=True, kw_only=True):
    max: float
    min: float
    mean: float


class MdtestRun(msgspec.Struct, kw_only=True, omit_defaults=True):
    """`rate` in operations a second, `time` in seconds of the phase; only what was asked for."""

    version: str
    tasks: int
    nodes: int
    began: str | None = None
    command: str | None = None
    items: int | None = None
    item_kind: str | None = None
    rate: dict[str, MdtestStat] = {}
    time: dict[str, MdtestStat] = {}
    iterations: int | None = None
    finished: bool = False
    not_computed: list[str] = []  # the rate is 0 and the time is not


def parse_mdtest(source: ImportSource) -> ImportResult:
    runs: list[MdtestRun] = []
    table, began = "", None
    zero: set[str] = set()
    for line in source.read_lines():
        if match := _STARTED.match(line):
            began = match[1]
        elif match := _BANNER.search(line):
            if len(runs) >= _MAX_RUNS:
                break
            runs.append(
                MdtestRun(version=match[1][:40], tasks=int(match[2]), nodes=int(match[3]), began=began)
            )
            table, zero = "", set()
        elif not runs:
            continue
        elif line.startswith(("Command line used:", "Command line:")):
            runs[-1].command = line.partition(":")[2].strip()[:2000]
        elif match := _ITEMS.match(line):
            runs[-1].items, runs[-1].item_kind = int(match[2]), match[3]
        elif line.startswith("SUMMARY") and (match := _SUMMARY.match(line)):
            table = match[1] or "rate"
            if match[2]:
                runs[-1].iterations = int(match[2])
        elif line.startswith("-- finished"):
            runs[-1].finished, table = True, ""
        elif table and (match := _ROW.match(line)):
            _add_rate_or_time(runs[-1], table, match, zero)
    return _result_of_runs(runs)


def _add_rate_or_time(run: MdtestRun, table: str, match: re.Match[str], zero_names: set[str]) -> None:
    values = [parse_number(match[i]) for i in range(2, 6)]  # the last is their deviation
    if values[0] is None or values[1] is None or values[2] is None:
        return
    name = match[1]
    if not any(values):
        if table == "rate":
            zero_names.add(name)
        return
    stat = MdtestStat(max=values[0], min=values[1], mean=values[2])
    if table == "rate":
        run.rate[name] = stat
    else:
        run.time[name] = stat
        if name in zero_names:
            run.not_computed.append(name)


def _result_of_runs(runs: list[MdtestRun]) -> ImportResult:
    measured = [run for run in runs if run.rate]
    if not measured:
        raise ImportRefusedError(
            "mdtest: no rate in its summary", "the run ended before its summary: import a finished one"
        )
    every: list[list[ImportedMeasure]] = []
    claims: list[Contradiction] = []
    troubles: list[ImportTrouble] = []
    facts: list[Noted] = []
    for index, run in enumerate(measured):
        prefix = f"run {index + 1}: " if len(measured) > 1 else ""
        conditions = {"ranks": str(run.tasks), "nodes": str(run.nodes)}
        if run.items is not None:
            conditions["items"] = f"{run.items} {run.item_kind}"
        if options := significant_options(run.command, "mdtest"):
            conditions["options"] = options
        every.append([
            measure
            for name, stat in run.rate.items()
            for measure in make_measures(
                f"mdtest {name.lower()}", ("IOPS", stat.max, "IOPS"),
                seconds=run.time[name].max if name in run.time else 0.0,
                judged=not name.startswith("Tree"), conditions=conditions,
            )
        ])  # fmt: skip
        claims += find_contradictions(run, prefix)
        troubles += [ImportTrouble(id="mdtest.not-computed", subject=prefix + n) for n in run.not_computed]
        if not run.finished:
            troubles.append(ImportTrouble(id="mdtest.unfinished", subject=prefix.rstrip(": ")))
        subject = f"run:{index + 1}" if prefix else ""
        counts = (("tasks", run.tasks), ("nodes", run.nodes), (run.item_kind or "items", run.items))
        facts += make_facts(*counts, subject=subject)
    troubles += make_troubles(("mdtest.runs-without-result", len(runs) - len(measured)))
    return ImportResult(
        kind="mdtest", tool="mdtest", version=measured[0].version, began=date_to_iso(measured[0].began),
        measures=tuple(join_repetitions_or_number_runs(every)), facts=tuple(facts[:1000]),
        contradictions=tuple(claims[:200]),
        troubles=tuple(troubles[:200]), recomputed=("rate from items and time",),
    )  # fmt: skip


def find_contradictions(run: MdtestRun, prefix: str = "") -> list[Contradiction]:
    """min ≤ mean ≤ max; and where nothing was cut short, items ÷ time must be the rate."""
    claims = []
    for name, stat in run.rate.items():
        slack = 0.001 + 1e-6 * abs(stat.max)
        if not stat.min - slack <= stat.mean <= stat.max + slack:
            claims.append(
                Contradiction(
                    id="mdtest.mean-outside", subject=f"{prefix}{name}", claimed=stat.mean,
                    recomputed=f"{stat.min:g} to {stat.max:g}", unit="IOPS", rule="minimum to maximum",
                )
            )  # fmt: skip
        time = run.time.get(name)
        is_comparable = run.item_kind == "files" and name.startswith("File") and run.iterations == 1
        if time is None or time.max < 0.1 or not is_comparable or not run.items or _is_stonewalled(run):
            continue
        gives, rule = run.items / time.max, "items ÷ time of the phase"
        claims += compare_claim("mdtest.rate", f"{prefix}{name}", stat.max, gives, rule, 0.02, unit="IOPS")
    return claims


def _is_stonewalled(run: MdtestRun) -> bool:
    """A stonewall, or the status file of an earlier one, changes how many items there are."""
    return run.command is None or "-W" in run.command or "-x" in run.command


_MAX_RANK_RUNS = 1000


class MdtestRanks(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Of one task count. `rate` in operations a second, `time` in seconds; `done`: operations that ranks count."""

    items: int | None = None
    rate: dict[str, float] = {}
    time: dict[str, float] = {}
    done: dict[str, float] = {}
    tasks: int = 0
    iterations: int = 1


def parse_mdtest_ranks(source: ImportSource) -> ImportResult:
    runs: list[MdtestRanks] = []
    columns: list[tuple[str, int]] = []
    for fields in source.read_rows("mdtest"):
        if fields[:2] == ["rank", "items"]:
            columns = [(_phase_name(n), at) for at, n in enumerate(fields) if n.startswith("rate-")]
        elif fields[:1] == ["all"] and columns and len(runs) < _MAX_RANK_RUNS:
            runs.append(_parse_all_ranks(fields, columns))
        elif runs and columns and (rank := parse_integer(fields[0] if fields else None)) is not None:
            _add_rank_row(runs[-1], rank, fields, columns)
    measured = [run for run in runs if run.rate]
    if not measured:
        raise ImportRefusedError(
            "mdtest: its CSV has no line of all ranks with a rate",
            "the run did not finish: import a finished one",
        )
    return _make_ranks_result(measured)


def _phase_name(column: str) -> str:
    """3.x pads the names and ends them with a colon."""
    return column.removeprefix("rate-").strip().rstrip(":").strip()[:60]


def _parse_all_ranks(fields: list[str], columns: list[tuple[str, int]]) -> MdtestRanks:
    run = MdtestRanks(items=parse_integer(fields[1]) if len(fields) > 1 else None)
    for name, at in columns:
        rate, seconds = _read_rate_and_seconds(fields, at)
        if rate is not None and seconds is not None:
            run.rate[name], run.time[name] = rate, seconds
    return run


def _add_rank_row(run: MdtestRanks, rank: int, fields: list[str], columns: list[tuple[str, int]]) -> None:
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


def _make_ranks_result(runs: list[MdtestRanks]) -> ImportResult:
    every: list[list[ImportedMeasure]] = []
    contradictions: list[Contradiction] = []
    facts: list[Noted] = []
    for index, run in enumerate(runs):
        every.append([])
        prefix = f"run {index + 1}: " if len(runs) > 1 else ""
        subject = f"run:{index + 1}" if prefix else ""
        for name, rate in run.rate.items():
            every[-1] += make_measures(
                f"mdtest {name.lower()}", ("IOPS", rate, "IOPS"), seconds=run.time[name],
                judged=not name.startswith("Tree"),
                conditions={"ranks": str(run.tasks), "items a task": str(run.items)},
            )  # fmt: skip
            if run.done.get(name) and run.time[name] > 0:
                gives, rule = run.done[name] / run.time[name], "sum of rate × time of the ranks ÷ time of all"
                contradictions += compare_claim(
                    "mdtest.rate", f"{prefix}{name}", rate, gives, rule, 1e-6, unit="IOPS"
                )
        counts = (("tasks", run.tasks or None), ("items a task", run.items), ("iterations", run.iterations))
        facts += make_facts(*counts, subject=subject)
    return ImportResult(
        kind="mdtest-csv", tool="mdtest", measures=tuple(join_repetitions_or_number_runs(every)),
        facts=tuple(facts[:1000]),
        contradictions=tuple(contradictions[:200]), recomputed=("rate from the ranks' own",),
    )  # fmt: skip
