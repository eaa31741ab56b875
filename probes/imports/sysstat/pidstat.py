"""`pidstat` as text, with any of its activities, `-h` and `-t`. Threads are left out: their process has their sum.

Processes of one command stand together, since their numbers are others in every run; what one line of a sample does not
show did nothing in it (pidstat(1)), so means go over all samples.
"""

from collections import defaultdict

from hostdx.probes.imports.dates import date_to_iso
from hostdx.probes.imports.model import (
    ImportedMeasure,
    ImportRefusedError,
    ImportResult,
    make_facts,
    make_troubles,
)
from hostdx.probes.imports.numbers import parse_number
from hostdx.probes.imports.sample_series import CommandSeriesSums
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.imports.sysstat.sysstat_table import SysstatHeader, load_columns, parse_header

_FIRST = ("UID", "USER", "PID", "TGID")
_MAX_COMMANDS = 500


def is_pidstat_output(source: ImportSource) -> bool:
    return any(_heading_columns(line.decode("ascii", "replace").split()) for line in source.head.split(b"\n"))


def _heading_columns(fields: list[str]) -> list[str]:
    """The names of a heading, from the first one after the time on."""
    if not fields or fields[-1] != "Command" or not {"PID", "TGID"} & set(fields):
        return []
    return fields[next(n for n, name in enumerate(fields) if name in _FIRST) :]


def parse_pidstat(source: ImportSource) -> ImportResult:
    head: SysstatHeader | None = None
    columns: list[str] = []
    totals: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    samples: defaultdict[str, int] = defaultdict(int)  # of the activity that has the column
    averaged, left_out = False, 0
    over_time, shown = CommandSeriesSums(), load_columns().process
    for line in source.read_lines():
        fields = line.split()
        if not fields:
            continue
        if head is None and fields[0] == "Linux" and (head := parse_header(line)) is not None:
            over_time.clock.date = head.date
            continue
        if fields[0].endswith(":") and ":" not in fields[0][:-1]:  # Average:
            averaged = True
        elif heading := _heading_columns(fields):
            columns = heading
            for name in columns:
                samples[name] += 1
        elif columns:
            at = 2 if fields[1:2] in (["AM"], ["PM"]) else 1
            over_time.begin_sample(" ".join(fields[:at]))
            values = dict(zip(columns, line.split(None, at + len(columns) - 1)[at:], strict=False))
            command = values.get("Command", "").strip()[:120]
            if not command or ("TID" in values and values["TID"] != "-"):
                continue
            if command not in totals and len(totals) >= _MAX_COMMANDS:
                left_out += 1
                continue
            for name in shown:
                if (value := parse_number(values.get(name, "").replace(",", "."))) is not None:
                    totals[command][name] += value
                    metric, factor, unit = shown[name]
                    over_time.add(command, metric, unit, value * factor)
    measures = [
        ImportedMeasure(
            workload=f"process:{command}", metric=shown[name][0], value=total / samples[name] * shown[name][1],
            unit=shown[name][2], better="less", judged=False,
        )
        for command, command_totals in totals.items()
        for name, total in command_totals.items()
        if total
    ]  # fmt: skip
    if not measures:
        raise ImportRefusedError(
            "pidstat: no process did anything in it", "import the output from its first line on"
        )
    most = max(samples[name] for name in shown)
    troubles = make_troubles(
        ("sysstat.since-boot", most == 1 and not averaged), ("sysstat.left-out", left_out)
    )
    facts = make_facts(("release", head and head.kernel), ("machine", head and head.arch), subject="kernel")
    facts += [*make_facts(("threads", head and head.cpus), subject="cpu"), *make_facts(("samples", most))]
    return ImportResult(
        kind="pidstat", tool="pidstat", host=head.host if head else None,
        began=date_to_iso(head.date) if head else None, facts=tuple(facts),
        measures=tuple(measures[:5000]), troubles=tuple(troubles), recomputed=("means from the samples",),
        times=over_time.clock.times(), series=over_time.series(),
    )  # fmt: skip
