"""The kernel's log: read from the machine or a captured file, followed live; hung-task reports and oopses.

Sources: Documentation/ABI/testing/dev-kmsg (records), kernel/hung_task.c (the report's lines),
Documentation/admin-guide/sysctl/kernel.rst (hung_task_*, dmesg_restrict).
"""

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from hostdx.probes.number_text import parse_unsigned
from hostdx.probes.reading.host import Host
from hostdx.probes.reading.patterns import lazy_pattern
from hostdx.probes.reading.read_trace import ReadTrace
from hostdx.probes.system.running.tasks import parse_stack_frames, stack_line_function
from hostdx.probes.types import Absent, is_present

MAX_LOG_BYTES = 16 << 20
_FILES = ("/var/log/dmesg", "/var/log/kern.log", "/var/log/messages", "/var/log/syslog")
# By sos' versions; with the lines' own priorities (`dmesg -x`, `-r`, a journal as JSON) before those without.
_WITH_PRIORITIES = ("/sos_commands/kernel/dmesg_-[rx]*", "/sos_commands/logs/journalctl_*json*")
_CAPTURED = ("/sos_commands/kernel/dmesg*", "/dmesg", "/dmesg.txt")
_JOURNALS = "/sos_commands/logs/journalctl_*--boot*"
LEVELS = ("emerg", "alert", "crit", "err", "warn", "notice", "info", "debug")  # dmesg(1), -x
WARNING = 4
_FIRST_WORDS = "Linux version "  # of a boot

_OF_KERNEL = lazy_pattern(r'"_TRANSPORT"\s*:\s*"kernel"')
_LEVEL = lazy_pattern(r"^<([0-9]{1,3})>|^\w+\s*:(\w+)\s*: (?=\[)")
_MONOTONIC = lazy_pattern(r"^\[\s*([0-9]{1,15}\.[0-9]{1,15})\]\s?(.*)$")
_SYSLOG = lazy_pattern(r"^(?:\w{3}\s+\d+ [\d:.]+|\d{4}-\d\d-\d\dT\S+) \S+ kernel: (.*)$")
# a line of syslog that names its program: of a file that holds no line of the kernel's, none is the kernel's
_OF_PROGRAM = lazy_pattern(
    r"^(?:\w{3}\s+\d+ [\d:.]+|\d{4}-\d\d-\d\dT\S+) \S+ (?!kernel:)[^\s:\[\]]+(?:\[[^\]]*\])?: |^-- (?:Logs begin|Boot )"
)
_HOST = lazy_pattern(r"^(?:\w{3}\s+\d+ [\d:.]+|\d{4}-\d\d-\d\dT\S+) ([^.\s]+)\S* kernel: ")
_CALENDAR = lazy_pattern(r"^\[\w{3} \w{3}\s+\d+ [\d:]+ \d{4}\]\s?(.*)$")
_HUNG = lazy_pattern(
    r"INFO: task (?P<comm>.{1,32}?):(?P<pid>[0-9]{1,10}) "
    r"(?:is )?blocked (?:in I/O wait )?for more than (?P<s>[0-9]{1,10}) seconds"
)
_RELEASE = lazy_pattern(r"^\s+(?:Not tainted|Tainted: .*?) (\d+\.\d+\S*) ")
_TAINT = lazy_pattern(r"(?:Not tainted|Tainted: .*?) (\d+\.\d+\S*) ")  # on an oops's line of CPU and PID
_OWN_LINES = lazy_pattern(
    r'^\s*(?:task:|Call Trace:|Workqueue:|<TASK>|</TASK>|"echo 0 >|Not tainted|Tainted|\[<|\? ?\w)'
    # kernels before 5.8: the task's own line, whose name may hold spaces (then its address, or free stack, PID and
    # parent), and words of its stack
    r"|^\S.{0,15}? +[RSDTtXZKWPI] +(?:[0-9a-fA-F]{8,16}|\d+ +\d+ +\d+)\b|^\s*[0-9a-f]{8,16}(?: [0-9a-f]{8,16})*\s*$"
)
_NULL = lazy_pattern(r"(?:kernel )?NULL pointer dereference")
_RIP = lazy_pattern(r"RIP: (?:[0-9a-f]+:)?(?:\[<[0-9a-f]+>\]\s*)*([A-Za-z_][\w.]*)\+0x")
_MAX_REPORT_LINES = 60


class LogLine(msgspec.Struct, frozen=True):
    """One line without its prefix; `time_s` is seconds since boot and `priority` 0..7 where the line says so."""

    message: str
    time_s: float | None = None
    priority: int | None = None


class KernelLog(msgspec.Struct, frozen=True):
    lines: tuple[LogLine, ...]
    source: str


class HungTask(msgspec.Struct, frozen=True):
    """One report of the hung-task watch: the task, how long at least, its kernel, its stack (inner first)."""

    comm: str
    pid: int
    seconds: int
    time_s: float | None = None
    release: str = ""
    stack: tuple[str, ...] = ()
    modules: dict[str, str] = {}  # of the functions that lie in one
    work: str = ""  # of a kworker: its work queue and the function that it runs


class NullDereference(msgspec.Struct, frozen=True):
    """A null-pointer oops: where it happened, the work queue's function if it was one, the kernel that it names."""

    function: str
    worker: str = ""
    time_s: float | None = None
    release: str = ""


def parse_log_line(line: str) -> LogLine:
    """Takes dmesg's, syslog's and journalctl's prefixes off."""
    if line.startswith("{"):
        return _parse_journal_json(line)
    syslog = _SYSLOG.match(line)
    if syslog:
        line = syslog.group(1).removeprefix(": ")  # a line of an empty name
    level = _LEVEL.match(line)
    priority = None
    if level:
        line = line[level.end() :]
        level_number = LEVELS.index(level[2]) if level[2] in LEVELS else None
        priority = int(level[1]) & 7 if level[1] else level_number
    match = _MONOTONIC.match(line)
    if match:
        return LogLine(match.group(2), float(match.group(1)), priority)
    calendar = _CALENDAR.match(line)
    return LogLine(calendar.group(1) if calendar else line, None, priority)


class _JournalEntry(msgspec.Struct, rename="upper"):
    """Of `journalctl -o json` (systemd.journal-fields(7)). A message that is no text is a list of bytes."""

    message: str = ""
    priority: str = ""
    monotonic: str = msgspec.field(name="__MONOTONIC_TIMESTAMP", default="")


def _parse_journal_json(line: str) -> LogLine:
    try:
        entry = msgspec.json.decode(line, type=_JournalEntry)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return LogLine(line)
    at_us, priority = parse_unsigned(entry.monotonic), parse_unsigned(entry.priority)
    return LogLine(
        entry.message,
        None if at_us is None else at_us / 1e6,
        priority if priority is not None and priority < len(LEVELS) else None,
    )


def read_kernel_log(host: Host) -> KernelLog | Absent:
    """The log of this boot, or of a captured host; absent with the missing right, else the first reason.

    The kernel keeps the newest lines alone. Of a captured host the system's log has those before.
    """
    log = _read_newest_lines(host)
    if host.live or isinstance(log, Absent) or log.source in _FILES[1:]:
        return log
    for path in _FILES[1:]:
        text = host.read_file_text(path, MAX_LOG_BYTES)
        if is_present(text) and " kernel: " in text:
            older = _older_lines_of_boot(_kernel_lines(_without_lines_of_other_hosts(host, text)), log.lines)
            return KernelLog((*older, *log.lines), f"{log.source}, {path}") if older else log
    return log


def _without_lines_of_other_hosts(host: Host, text: str) -> str:
    """Leave out the lines that a log server received from other hosts."""
    named_lines = [(match[1], line) for line in text.splitlines() if (match := _HOST.match(line))]
    names = Counter(name for name, _ in named_lines)
    if len(names) < 2:
        return text
    own = host.read_word("/etc/hostname")
    short = own.partition(".")[0] if is_present(own) else ""
    kept_name = short if short in names else max(names, key=lambda each: names[each])
    return "\n".join(line for name, line in named_lines if name == kept_name)


def _older_lines_of_boot(system_lines: Sequence[LogLine], newest: Sequence[LogLine]) -> tuple[LogLine, ...]:
    """Return the lines of this boot in the system's log that the kernel's own no longer has: of equal lines the last
    ones are those that both have.
    """
    boot = max((n for n, line in enumerate(system_lines) if line.message.startswith(_FIRST_WORDS)), default=0)
    left = Counter(line.message for line in newest)
    older = []
    for line in reversed(system_lines[boot:]):
        if left[line.message] > 0:
            left[line.message] -= 1
        else:
            older.append(line)
    return tuple(reversed(older))


def _read_newest_lines(host: Host) -> KernelLog | Absent:
    absent: list[Absent] = []
    captured = () if host.live else tuple(path for glob in _WITH_PRIORITIES for path in host.glob_paths(glob))
    for path in captured:
        text = host.read_file_text(path, MAX_LOG_BYTES)
        if is_present(text) and text.strip():
            return KernelLog(_kernel_lines(text), path)
    for argv in (
        ("dmesg", "-r") if host.live else ("dmesg",),
        ("journalctl", "-k", "-b", "-o", "short-monotonic", "--no-pager", "-n", "20000"),
    ):
        with ReadTrace() as read:
            text = host.read_command(*argv)
        if is_present(text) and text.strip():
            # of a captured tree the file that holds the command's output
            return KernelLog(_kernel_lines(text), " ".join(argv) if host.live else [*read][-1])
        absent.append(text if isinstance(text, Absent) else Absent(f"{argv[0]} shows nothing"))
    fallback_paths = (
        () if host.live else tuple(path for glob in (*_CAPTURED, _JOURNALS) for path in host.glob_paths(glob))
    )
    for path in (*fallback_paths, *_FILES):
        text = host.read_file_text(path, MAX_LOG_BYTES)
        if is_present(text) and text.strip() and (lines := _kernel_lines(text)):
            return KernelLog(lines, path)
    return next((a for a in absent if a.kind == "permission"), absent[0])


def _kernel_lines(text: str) -> tuple[LogLine, ...]:
    """The kernel's own lines; a syslog file also holds those of services."""
    lines = text.splitlines()
    if any(" kernel: " in line for line in lines):
        lines = [line for line in lines if " kernel: " in line]
    elif lines and any(map(_OF_PROGRAM.match, (lines[0], lines[-1]))):
        lines = [line for line in lines if not _OF_PROGRAM.match(line)]
    elif lines and lines[0].startswith("{"):
        lines = [line for line in lines if '"_TRANSPORT"' not in line or _OF_KERNEL.search(line)]
    return tuple(parse_log_line(line) for line in lines)


def find_hung_tasks(lines: Iterable[LogLine]) -> tuple[HungTask, ...]:
    """Every hung-task report. A report's stack ends with the first line that does not belong to one."""
    tasks: list[HungTask] = []
    current: re.Match[str] | None = None
    time_s: float | None = None
    release, work, count = "", "", 0
    body: list[str] = []

    def end_current_task() -> None:
        if current:
            functions, modules = parse_stack_frames(body)
            tasks.append(
                HungTask(
                    comm=current["comm"],
                    pid=int(current["pid"]),
                    seconds=int(current["s"]),
                    time_s=time_s,
                    release=release,
                    stack=functions,
                    modules=modules,
                    work=work,
                )
            )

    for line in lines:
        start = _HUNG.search(line.message)
        if start:
            end_current_task()
            current, time_s, release, work, body, count = start, line.time_s, "", "", [], 0
            continue
        if not current:
            continue
        count += 1
        release_match = _RELEASE.match(line.message)
        function = stack_line_function(line.message)
        if release_match:
            release = release_match.group(1)
        elif function and "? " not in line.message:
            body.append(line.message)
        elif line.message.startswith("Workqueue: "):
            work = line.message.removeprefix("Workqueue: ").strip()
        elif (not function and not _OWN_LINES.match(line.message)) or count > _MAX_REPORT_LINES:
            end_current_task()
            current = None
    end_current_task()
    return tuple(tasks)


def find_null_dereferences(lines: Iterable[LogLine]) -> tuple[NullDereference, ...]:
    """Every null-pointer oops with the function that its RIP names, within the 30 lines after it."""
    all_lines = list(lines)
    dereferences: list[NullDereference] = []
    for number, line in enumerate(all_lines):
        if not _NULL.search(line.message):
            continue
        after = [later.message for later in all_lines[number + 1 : number + 31]]
        rip = next((m.group(1) for text in after if (m := _RIP.search(text))), "")
        work = next((t.split("Workqueue:", 1)[1].strip() for t in after if "Workqueue:" in t), "")
        release = next((m.group(1) for text in after if (m := _TAINT.search(text))), "")
        dereferences.append(NullDereference(rip, work, line.time_s, release))
    return tuple(dereferences)


class KernelLogFollower:
    """New kernel lines since it was opened. /dev/kmsg needs root, or kernel.dmesg_restrict=0.

    Never waits: the device is read without blocking (an overrun loses lines and goes on).
    """

    def __init__(self, path: str = "/dev/kmsg") -> None:
        self.problem = ""
        self._fd = -1
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(self._fd, 0, os.SEEK_END)
        except OSError as error:
            self.problem = f"{path}: {error.strerror} (needs root, or kernel.dmesg_restrict=0)"
            self.close()

    def read_new(self, max_records: int = 2000) -> list[LogLine]:
        """Return what was logged since the last call, at most `max_records` records."""
        lines: list[LogLine] = []
        while self._fd >= 0 and len(lines) < max_records:
            try:
                data = os.read(self._fd, 1 << 16)
            except BrokenPipeError:  # the ring wrapped: lines are lost, reading goes on (dev-kmsg)
                continue
            except OSError:
                break
            if not data:
                break
            lines.append(parse_kmsg_record(data.decode(errors="backslashreplace")))
        return lines

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1


def parse_kmsg_record(record: str) -> LogLine:
    """A record of /dev/kmsg, "6,339,5140900,-;text": priority, sequence number, microseconds, flags."""
    head, _, text = record.partition(";")
    fields = head.split(",")
    line = text.split("\n", 1)[0]
    at_us = parse_unsigned(fields[2]) if len(fields) > 2 else None
    priority = parse_unsigned(fields[0])
    return LogLine(line, None if at_us is None else at_us / 1e6, None if priority is None else priority & 7)
