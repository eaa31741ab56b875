"""Rows about what daemons wrote, to the system's log or to files of their own."""

import datetime
import re
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.reading.patterns import LineIndex, lazy_pattern, matches_glob
from hostdx.probes.reading.read_trace import note_read
from hostdx.probes.system.kernel_log import read_kernel_log
from hostdx.probes.system.software.container_log import container_log_paths, read_container_log
from hostdx.probes.system.software.system_log import (
    MAX_CAPTURED_BYTES,
    MAX_LINE_CHARACTERS,
    ServiceLine,
    clock_time,
    read_system_log,
)
from hostdx.probes.types import Absent, is_present
from hostdx.probes.units import join_names
from hostdx.scenarios.triage.knowledge.daemons import (
    LoggedDaemon,
    WordPattern,
    daemon_line_patterns,
    logged_daemons,
)
from hostdx.scenarios.triage.knowledge.fault_lines import (
    ANY,
    KERNEL,
    FaultLine,
    list_fault_lines,
    list_printed_states,
)
from hostdx.scenarios.triage.rules.expression import Value
from hostdx.scenarios.triage.rules.read import MAX_READ_BYTES, kernel_log_index, without_long_lines
from hostdx.scenarios.triage.rules.rule_file import RuleText
from hostdx.scenarios.triage.rules.subjects.log import line_kind, named_devices, shorten_line
from hostdx.scenarios.triage.rules.subjects.process import names_of_processes
from hostdx.scenarios.triage.rules.table import Reader, SubjectRow
from hostdx.scenarios.triage.rules.words import SentenceTemplate

MAX_LIVE_BYTES = 4 << 20
MAX_LIVE_BYTES_OF_OTHERS = 1 << 19  # of a program without an entry
MAX_FILES_OF_PROGRAM = 8  # the last ones by name: dated logs
MIN_GRAVE_LINES = 3


class ProgramLog:
    """All lines of one program: of the system's log, then of its own files."""

    def __init__(self, host: Host, program: str, files: Sequence[str], max_live_bytes: int) -> None:
        self.lines = list(host.compute_once(read_system_log).get(program, ()))
        paths = [path for pattern in files for path in host.glob_paths(pattern)]
        for path in paths[-MAX_FILES_OF_PROGRAM:]:
            text = host.read_file_text(path, max_live_bytes if host.live else MAX_CAPTURED_BYTES)
            texts = text.splitlines() if is_present(text) else []
            self.lines += [ServiceLine(line[:MAX_LINE_CHARACTERS], path, clock_time(line)) for line in texts]
        for path in host.compute_once(container_log_paths).get(program, ())[-MAX_FILES_OF_PROGRAM:]:
            self.lines += read_container_log(host, path)
        self.index = LineIndex([line.message for line in self.lines])
        self.sources = dict.fromkeys(line.source for line in self.lines)

    def count_events(self, numbers: Iterable[int]) -> int:
        """Return how many events these lines tell: what two files hold of the same second is one event."""
        lines = [self.lines[number] for number in numbers]
        counts = Counter((line.clock or line.source, line.source) for line in lines)
        by_moment: dict[str, int] = {}
        for (moment, _), count in counts.items():
            by_moment[moment] = max(by_moment.get(moment, 0), count)
        return sum(by_moment.values())

    def with_neighbours(self, numbers: Iterable[int]) -> set[int]:
        """Return all lines of the seconds of these: a program says one fault in several lines."""
        clocks = {self.lines[number].clock for number in numbers} - {""}
        return {*numbers, *(n for n, line in enumerate(self.lines) if line.clock in clocks)}


def _new_log_cache(_: Host) -> dict[tuple[str, Sequence[str]], ProgramLog]:
    """By program and its files; filled as rules ask."""
    return {}


def _program_log(
    host: Host, program: str, files: Sequence[str], max_live_bytes: int = MAX_LIVE_BYTES
) -> ProgramLog:
    """Return the log, read once per host; what it was read from is noted each time."""
    logs = host.compute_once(_new_log_cache)
    key = program, tuple(files)
    log = logs[key] = logs.get(key) or ProgramLog(host, program, files, max_live_bytes)
    for source in log.sources:
        note_read(source)
    return log


def _patterns_by_program(rules: Iterable[RuleText]) -> dict[str, list[WordPattern]]:
    """Return by program, or ANY, what the lines meet that a rule or an entry of fault_lines.toml names."""
    named: dict[str, list[WordPattern]] = {ANY: []}
    for rule in rules:
        for program in rule.programs if rule.log else ():
            named.setdefault(program, []).append((rule.log, rule.log_words))
    for entry in list_fault_lines():
        for program in entry.programs:
            named.setdefault(program, []).append((entry.pattern, entry.pattern_words))
    return named


def rows_of_unlisted_service_lines(host: Host, rules: Iterable[RuleText]) -> list[SubjectRow]:
    """One row per kind of line at fault that none of the rules names, of each daemon of knowledge/daemons.toml.

    Lines are of one kind if they are the same numbers apart. `loud`: by its words and its count the kind is worth a
    warning; of the others a daemon has one row at most, of the kind that came most often. `lines`: how many lines at
    fault the daemon wrote; `alike`: how many are of this kind; `grave`: the words of
    the first kind are; `over`: a later line says that the fault has ended.
    """
    listed = _patterns_by_program(rules)
    rows = []
    for daemon in (
        *(each for each in logged_daemons() if each.lists_unknown),
        *_daemons_without_entry(host, rules),
    ):
        for program in daemon.programs:
            files = daemon.files if program == daemon.programs[0] else ()
            log = _program_log(
                host, program, files, MAX_LIVE_BYTES if daemon.work else MAX_LIVE_BYTES_OF_OTHERS
            )
            if log.lines:
                patterns = (*listed.get(program, ()), *listed[ANY])
                rows += _unlisted_kind_rows(daemon, program, log, patterns)
    return rows


MAX_KINDS = 3
MAX_OWN_FILES = 20
_UNKNOWN_DAEMON = LoggedDaemon(
    programs=(), work="", least=30, source="syslog(3)", dated=datetime.date(2026, 12, 1)
)
# rotated ones, and what installations wrote; the logs of containers are read by their pods
_OTHER_LOGS = lazy_pattern(
    r"\d{6,}|\.\d+\.log$|^/var/log/(?:anaconda|installer|apt|dist-upgrade|unattended-upgrades|containers|pods)/"
)


def _daemons_without_entry(host: Host, rules: Iterable[RuleText]) -> list[LoggedDaemon]:
    """Return an entry without words on its work for each other program of the system's log, and for each other file
    below /var/log that is named after its program.
    """
    programs_of_entries = {program for daemon in logged_daemons() for program in daemon.programs}
    logs = (*host.compute_once(read_system_log), *host.compute_once(container_log_paths))
    names: dict[str, tuple[str, ...]] = dict.fromkeys(logs, ())
    patterns = [pattern for daemon in logged_daemons() for pattern in daemon.files]
    patterns += [pattern for rule in rules for pattern in rule.files]
    paths = [*host.glob_paths("/var/log/*.log"), *host.glob_paths("/var/log/*/*.log")]
    own = [path for path in paths if not any(matches_glob(path, pattern) for pattern in patterns)]
    for path in [path for path in own if not _OTHER_LOGS.search(path)][:MAX_OWN_FILES]:
        names[path.rpartition("/")[2].removesuffix(".log")] = (path,)
    return [
        msgspec.structs.replace(_UNKNOWN_DAEMON, programs=(name,), files=files)
        for name, files in names.items()
        if name not in programs_of_entries
    ]


def _unlisted_kind_rows(
    daemon: LoggedDaemon, program: str, log: ProgramLog, listed: Sequence[WordPattern]
) -> list[SubjectRow]:
    index = log.index
    faults = index.find_matches(daemon_line_patterns("fault"), range(len(log.lines)))
    faults -= index.find_matches(daemon_line_patterns("harmless", program), faults)
    listed_numbers = index.find_matches(listed, range(len(log.lines))) if faults else set()
    numbers = faults - log.with_neighbours(listed_numbers)
    alone = index.find_matches(daemon_line_patterns("alone"), numbers)
    grave = index.find_matches(daemon_line_patterns("grave"), numbers)
    by_kind: dict[str, list[int]] = {}
    for number in sorted(numbers):
        by_kind.setdefault(line_kind(index.lines[number]), []).append(number)

    def is_loud(kind: Sequence[int]) -> bool:
        count = log.count_events(kind)
        is_grave = kind[0] in grave and not listed_numbers  # beside a known fault it is mostly a part of it
        return (kind[0] in alone and count >= daemon.least // 15) or (
            is_grave and bool(daemon.work) and count >= max(MIN_GRAVE_LINES, daemon.least // 3)
        )

    kinds = sorted(
        by_kind.values(), key=lambda kind: (is_loud(kind), kind[0] in alone, len(kind)), reverse=True
    )
    loud: list[list[int]] = []
    for kind in filter(is_loud, kinds[:MAX_KINDS]):
        if not loud or not log.with_neighbours(loud[-1]).issuperset(kind):
            loud.append(kind)
    is_told = bool(kinds and daemon.work) and log.count_events(kinds[0]) >= daemon.least
    shown = loud or (kinds[:1] if is_told else [[]])
    rows = [_row_of_kind(daemon, program, log, kind, kind in loud) for kind in shown]
    total = log.count_events(numbers)
    is_grave = bool(shown[0]) and shown[0][0] in grave
    return [row.with_columns({"lines": total if row["alike"] else 0, "grave": is_grave}) for row in rows]


def _row_of_kind(
    daemon: LoggedDaemon, program: str, log: ProgramLog, kind: Sequence[int], loud: bool
) -> SubjectRow:
    """`kind`: the lines of one kind; without one the row says that the program wrote nothing at fault."""
    last = log.lines[kind[-1]] if kind else log.lines[-1]
    ends = log.index.find_matches(daemon_line_patterns("over"), range(len(log.lines))) if kind else ()
    word = _longest_text_without_numbers(last.message)
    columns: dict[str, Value | Reader] = {
        "name": program,
        "work": daemon.work or Absent("hostdx does not know this program", "unsupported"),
        "alike": log.count_events(kind),
        "loud": loud,
        "over": any(number > kind[-1] for number in ends),
        "last": shorten_line(_TIME_BEFORE.sub("", last.message)) if kind else "",
        "word": word,
        "source": last.source,
        "file": last.source if last.source.startswith("/var/log/") else "",
    }
    return SubjectRow(f"{program}: {word}" if kind else program, columns)


_TIME_BEFORE = lazy_pattern(
    r"^\W*(?:[A-Z][a-z]{2},? )?(?:[A-Z][a-z]{2} +\d+ |\d{4}[-/]\d\d[-/]\d\d[T ]|\d\d/\d\d/\d\d(?:\d\d)? "
    r"|\d\d [A-Z][a-z]{2} \d{4} )?\d\d:\d\d:\d\d\S*(?: \d{4})?[:\])]*\s+"
)


def _longest_text_without_numbers(message: str) -> str:
    """The longest part of a line without numbers and quotes: what finds its like again."""
    return max(re.split(r"[\d'\"\\]+", message), key=len)[:60].strip()


def _daemon_of_line(line: ServiceLine, program: str) -> str:
    """The daemon whose own file holds the line: `slurmctld` of /var/log/slurm/slurmctld.log, else the program."""
    file_name = line.source.rpartition("/")[2]
    is_own = line.source.startswith("/var/log/") and file_name.endswith("d.log")
    return file_name.removesuffix(".log") if is_own else program


def rows_of_service_lines(host: Host, rule: RuleText) -> list[SubjectRow]:
    """One row per program of the rule that wrote anything: `lines` of it meet its `log`, `worse` of them its `worse`,
    `last` is the last, `worst` the last of the worse ones or of all; `over`: a line after it meets `settled`.
    """
    rows = []
    for program in rule.programs:
        log = _program_log(host, program, rule.files if program == rule.programs[0] else ())
        numbers = sorted(log.index.find_matches([(rule.log, rule.log_words)], range(len(log.lines))))
        matching = [log.lines[number] for number in numbers]
        later = log.lines[numbers[-1] + 1 :] if rule.settled and numbers else ()
        last = (matching or log.lines)[-1] if log.lines else ServiceLine("", "")
        worse = [n for n in numbers if rule.worse and re.search(rule.worse, log.lines[n].message)]
        columns: dict[str, Value | Reader] = {
            "name": _daemon_of_line(last, program),
            "running": lambda: host.compute_once(names_of_processes),
            "lines": log.count_events(numbers),
            "worse": log.count_events(worse),
            "worst": shorten_line(log.lines[(worse or numbers)[-1]].message) if numbers else "",
            "last": shorten_line(last.message) if matching else "",
            "over": any(re.search(rule.settled, line.message) for line in later),
            "source": last.source,
        }
        rows += [SubjectRow(program, columns)] if log.lines else []
    return rows


def fault_line_rows(host: Host, rules: Iterable[RuleText] = ()) -> list[SubjectRow]:
    """One row per entry of knowledge/fault_lines.toml and program (or the kernel) that wrote such lines.

    An entry about ANY program leaves out the lines that another entry or one of the rules names for their program.
    """
    files = {daemon.programs[0]: daemon.files for daemon in logged_daemons()}
    kernel = host.compute_once(read_kernel_log)
    named = _patterns_by_program(rules)
    logged = (*host.compute_once(read_system_log), *files, *host.compute_once(container_log_paths))
    logs = {
        name: _program_log(host, name, files.get(name, ()))
        for name in dict.fromkeys(logged)
        if name != KERNEL
    }
    rows: list[SubjectRow] = []
    explained: list[tuple[FaultLine, re.Pattern[str]]] = []
    indexes = {KERNEL: host.compute_once(kernel_log_index)} | {name: log.index for name, log in logs.items()}
    indexes = {name: index for name, index in indexes.items() if index.lines}
    for entry in list_fault_lines():
        for program in logs if ANY in entry.programs else entry.programs:
            index, log = indexes.get(program), logs.get(program)
            if index is None:
                continue
            numbers = index.find_matches([(entry.pattern, entry.pattern_words)], range(len(index.lines)))
            if numbers and ANY in entry.programs:
                settled = (*daemon_line_patterns("harmless", program), *named.get(program, ()))
                numbers -= index.find_matches(settled, numbers)
            if not numbers:
                continue
            source = "" if isinstance(kernel, Absent) else kernel.source
            if log is not None:
                source = log.lines[max(numbers)].source
            count = len(numbers) if log is None else log.count_events(numbers)
            row = _fault_line_row(entry, program, index.lines, sorted(numbers), source)
            severity = "warning" if 0 < entry.loud <= count else entry.severity
            advice = entry.advice
            if entry.boot:
                advice = SentenceTemplate(advice).fill_sentence({"boot": _parameters_to_add(host, entry)})
            rows.append(row.with_columns({"lines": count, "severity": severity, "advice": advice}))
            if entry.explains and count >= entry.least and not row["over"]:
                explained.append((entry, re.compile(entry.explains)))
    return [row for row in rows if not any(_is_explained_by(row, *cause) for cause in explained)]


def _is_explained_by(row: SubjectRow, cause: FaultLine, explained: re.Pattern[str]) -> bool:
    is_of_cause = re.search(cause.pattern, str(row["last"])) is not None
    return (
        row["name"] in cause.programs and not is_of_cause and explained.search(str(row["last"])) is not None
    )


def _parameters_to_add(host: Host, entry: FaultLine) -> str:
    """Return the boot parameters of the entry that the running kernel was not started with."""
    cmdline = host.read_file_text("/proc/cmdline", 1 << 16)
    present = cmdline.split() if is_present(cmdline) else []
    return " or ".join(word for word in entry.boot if word not in present) or "no further parameter"


def _devices_of(lines: Sequence[str], number: int) -> tuple[str, ...]:
    """Return the devices that a line names, else those of the line before by the same driver: one sentence in two."""
    before = lines[max(number - 1, 0)]
    is_continued = lines[number].partition(":")[0].strip() == before.partition(":")[0].strip()
    return named_devices(lines[number]) or (named_devices(before) if is_continued else ())


def _fault_line_row(
    entry: FaultLine, program: str, lines: Sequence[str], numbers: Sequence[int], source: str
) -> SubjectRow:
    last = lines[numbers[-1]]
    match = re.search(entry.pattern, last)
    unnamed = Absent("the line does not name it", "unsupported")
    names: dict[str, Value] = {
        name: text or unnamed for name, text in (match.groupdict() if match else {}).items()
    }
    subject = next((text for text in names.values() if is_present(text)), unnamed)
    names |= {"subject": _subjects_of_lines(entry, lines, numbers) or subject, "program": program}
    every_device = dict.fromkeys(name for number in numbers for name in _devices_of(lines, number))
    devices = [name for name in every_device if name not in names.values()]  # the title has those
    columns: dict[str, Value | Reader] = {
        "name": program,
        "from_kernel": program == KERNEL,
        "least": entry.least,
        "fault": SentenceTemplate(entry.title).fill_sentence(names),
        "devices": ", ".join(devices) or Absent("the lines name no device", "unsupported"),
        "effect": entry.effect,
        "basis": entry.source,
        "last": shorten_line(last),
        "word": _longest_text_without_numbers(last),
        "over": bool(entry.settled)
        and any(re.search(entry.settled, line) for line in lines[numbers[-1] + 1 :]),
        "source": source,
        "file": source if source.startswith("/var/log/") and program != KERNEL else "",
    }
    return SubjectRow(program, columns)


MAX_NAMED_SUBJECTS = 3
_NAME = lazy_pattern(r"[A-Za-z_/][\w./:@-]*")


def _subjects_of_lines(entry: FaultLine, lines: Sequence[str], numbers: Sequence[int]) -> str:
    """Return what all these lines name, where it is names: the last line's alone would hide the others."""
    matches = (re.search(entry.pattern, lines[number]) for number in numbers)
    subjects = dict.fromkeys(next(filter(None, match.groupdict().values()), "") for match in matches if match)
    are_names = len(subjects) > 1 and all(_NAME.fullmatch(text) for text in subjects)
    longest = [text for text in subjects if not any(each.startswith(f"{text}.") for each in subjects)]
    return join_names(longest, MAX_NAMED_SUBJECTS) if are_names else ""


def _subject_of_match(match: re.Match[str]) -> str:
    """Return the first group that is there, with the others in brackets: `Prolog error (cn7)`."""
    first, *more = [group for group in match.groups() if group] or [""]
    return f"{first} ({', '.join(more)})" if more else first


def printed_state_rows(host: Host) -> list[SubjectRow]:
    """One row per entry of knowledge/printed_states.toml and output of a program in which it is met."""
    rows: dict[str, SubjectRow] = {}  # by fault: two programs may print the same state
    for entry in list_printed_states():
        for path in dict.fromkeys(path for pattern in entry.outputs for path in host.glob_paths(pattern)):
            text = host.read_file_text(path, MAX_READ_BYTES)
            lower_text = text.lower() if is_present(text) else ""
            if isinstance(text, Absent) or not any(w in lower_text for w in entry.pattern_words or ("",)):
                continue
            matches = list(re.finditer(entry.pattern, without_long_lines(text), re.MULTILINE))
            if not matches:
                continue
            subjects = list(dict.fromkeys(_subject_of_match(match) for match in matches))
            subject_text = join_names(subjects, MAX_NAMED_SUBJECTS)
            lines = [line for line in matches[0][0].splitlines() if line.strip()]
            columns: dict[str, Value | Reader] = {
                "name": path.rpartition("/")[2],
                "path": path,
                "fault": SentenceTemplate(entry.title).fill_sentence({"subject": subject_text}),
                "last": shorten_line(lines[-1].strip()) if lines else "",
                "command": entry.command,
                "effect": entry.effect,
                "advice": entry.advice,
                "basis": entry.source,
                "severity": entry.severity,
            }
            rows.setdefault(str(columns["fault"]), SubjectRow(path, columns))
    return [*rows.values()]
