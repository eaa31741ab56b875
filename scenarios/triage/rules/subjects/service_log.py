"""Rows about what daemons wrote, to the system's log or to files of their own."""

import re
from collections.abc import Sequence

from hostdx.probes.reading.host import Host
from hostdx.probes.reading.patterns import LineIndex
from hostdx.probes.reading.read_trace import note_read
from hostdx.probes.system.software.system_log import (
    MAX_CAPTURED_BYTES,
    MAX_LINE_CHARACTERS,
    ServiceLine,
    read_system_log,
)
from hostdx.probes.types import is_present
from hostdx.scenarios.triage.rules.expression import Value
from hostdx.scenarios.triage.rules.rule_file import RuleText
from hostdx.scenarios.triage.rules.subjects.process import process_names
from hostdx.scenarios.triage.rules.table import Reader, SubjectRow

MAX_LIVE_BYTES = 4 << 20
MAX_SHOWN_CHARACTERS = 300
MAX_FILES_OF_PROGRAM = 8  # the last ones by name: dated logs


class ProgramLog:
    """All lines of one program: of the system's log, then of its own files."""

    def __init__(self, host: Host, program: str, files: Sequence[str]) -> None:
        self.lines = list(host.compute_once(read_system_log).get(program, ()))
        paths = [path for pattern in files for path in host.glob_paths(pattern)]
        for path in paths[-MAX_FILES_OF_PROGRAM:]:
            text = host.read_file_text(path, MAX_LIVE_BYTES if host.live else MAX_CAPTURED_BYTES)
            texts = text.splitlines() if is_present(text) else []
            self.lines += [ServiceLine(line[:MAX_LINE_CHARACTERS], path) for line in texts]
        self.index = LineIndex([line.message for line in self.lines])
        self.sources = dict.fromkeys(line.source for line in self.lines)


def _no_logs(_: Host) -> dict[tuple[str, Sequence[str]], ProgramLog]:
    """By program and its files; filled as rules ask."""
    return {}


def service_lines_of(host: Host, rule: RuleText) -> list[SubjectRow]:
    """One row per program of the rule that wrote anything: `lines` of it meet its `log`, `worse` of them its `worse`,
    `last` is the last; `over`: a line after it meets `settled`.
    """
    rows, logs = [], host.compute_once(_no_logs)
    for program in rule.programs:
        key = program, rule.files if program == rule.programs[0] else ()
        log = logs[key] = logs.get(key) or ProgramLog(host, *key)
        for source in log.sources:
            note_read(source)
        numbers = sorted(log.index.find_matches([(rule.log, rule.log_words)], range(len(log.lines))))
        matching = [log.lines[number] for number in numbers]
        later = log.lines[numbers[-1] + 1 :] if rule.settled and numbers else ()
        last = (matching or log.lines)[-1] if log.lines else ServiceLine("", "")
        columns: dict[str, Value | Reader] = {
            "name": program,
            "running": lambda: host.compute_once(process_names),
            "lines": len(matching),
            "worse": sum(bool(rule.worse and re.search(rule.worse, line.message)) for line in matching),
            "last": last.message[:MAX_SHOWN_CHARACTERS] if matching else "",
            "over": any(re.search(rule.settled, line.message) for line in later),
            "source": last.source,
        }
        rows += [SubjectRow(program, columns)] if log.lines else []
    return rows
