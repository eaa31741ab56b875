"""Rows about what daemons wrote, to the system's log or to files of their own."""

import re
from collections.abc import Sequence

from hostdx.probes.reading.host import Host
from hostdx.probes.reading.patterns import LineIndex
from hostdx.probes.reading.read_trace import note_read
from hostdx.probes.system.software.system_log import (
    MAX_LINE_CHARACTERS,
    ServiceLine,
    read_log_end,
    read_system_log,
)
from hostdx.scenarios.triage.knowledge.service_logs import files_by_program
from hostdx.scenarios.triage.rules.expression import Value
from hostdx.scenarios.triage.rules.subjects.process import process_names
from hostdx.scenarios.triage.rules.table import Reader, SubjectRow

MAX_SHOWN_CHARACTERS = 300
MAX_FILES_OF_PROGRAM = 8  # the last ones by name: dated logs


class ProgramLog:
    """All lines of one program."""

    def __init__(self, lines: Sequence[ServiceLine]) -> None:
        self.lines = lines
        self.index = LineIndex([line.message for line in lines])
        self.sources = tuple(dict.fromkeys(line.source for line in lines))


def program_log(host: Host, program: str) -> ProgramLog:
    """Return the lines of a program: of the system's log, then of its own files."""
    logs = host.compute_once(_no_logs)
    if program not in logs:
        lines = list(host.compute_once(read_system_log).get(program, ()))
        patterns = files_by_program().get(program, ())
        for path in [path for pattern in patterns for path in host.glob_paths(pattern)][
            -MAX_FILES_OF_PROGRAM:
        ]:
            texts = read_log_end(host, path).splitlines()
            lines += [ServiceLine(text[:MAX_LINE_CHARACTERS], path) for text in texts]
        logs[program] = ProgramLog(lines)
    for source in logs[program].sources:
        note_read(source)
    return logs[program]


def _no_logs(_: Host) -> dict[str, ProgramLog]:
    """By program; filled as rules ask."""
    return {}


def service_lines_of(
    host: Host, programs: Sequence[str], pattern: str, worse: str, words: Sequence[str], settled: str
) -> list[SubjectRow]:
    """One row per program that wrote anything: `lines` of it meet the pattern, `worse` of them are of the worse kind,
    `last` is the last; `over`: a line after it meets `settled`.
    """
    rows = []
    for program in programs:
        log = program_log(host, program)
        if not log.lines:
            continue
        numbers = sorted(log.index.find_matches([(pattern, words)], range(len(log.lines))))
        matching = [log.lines[number] for number in numbers]
        later = log.lines[numbers[-1] + 1 :] if settled and numbers else ()
        last = matching[-1] if matching else ServiceLine("", log.sources[0])
        columns: dict[str, Value | Reader] = {
            "name": program,
            "running": lambda: host.compute_once(process_names),
            "lines": len(matching),
            "worse": sum(bool(worse and re.search(worse, line.message)) for line in matching),
            "last": last.message[:MAX_SHOWN_CHARACTERS],
            "over": any(re.search(settled, line.message) for line in later),
            "source": last.source,
        }
        rows.append(SubjectRow(program, columns))
    return rows
