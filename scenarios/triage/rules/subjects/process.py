"""Rows about processes: how many files daemons have open, and processes that are stopped, left over or too many."""

import re
from collections import Counter
from collections.abc import Iterator

import msgspec

from hostdx.probes.number_text import parse_unsigned
from hostdx.probes.reading.host import Host
from hostdx.probes.system.processor.cpu_times import TICKS_PER_S
from hostdx.probes.system.running.cgroup import control_group_of
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.triage.rules.expression import Value
from hostdx.scenarios.triage.rules.services import read_processes
from hostdx.scenarios.triage.rules.table import SubjectRow

_LIMIT = re.compile(r"^Max open files +([0-9]{1,19}) +([0-9]{1,19}|unlimited)", re.MULTILINE)
_SLOTS = re.compile(r"^FDSize:\s*([0-9]{1,10})", re.MULTILINE)


def open_files_rows(host: Host) -> list[SubjectRow]:
    """One row per daemon (a child of process 1) whose table of files has grown to half of its limit: `open`, the
    `soft` and the `hard` limit (-1: none), and the `unit` of systemd that it runs in.
    """
    rows = []
    for process in host.compute_once(read_processes).processes.values():
        if process.kernel_thread or process.parent != 1:
            continue
        folder = f"/proc/{process.pid}"
        limits, status = host.read_file_text(f"{folder}/limits"), host.read_file_text(f"{folder}/status")
        limit = _LIMIT.search(limits) if is_present(limits) else None
        slots = _SLOTS.search(status) if is_present(status) else None
        soft = parse_unsigned(limit[1]) if limit else None
        if limit is None or slots is None or not soft or 2 * int(slots[1]) < soft:
            continue
        files = host.list_names(f"{folder}/fd")
        unit = control_group_of(host, process.pid).rpartition("/")[2]
        columns: dict[str, Value] = {
            "name": process.name,
            "pid": process.pid,
            "open": files if isinstance(files, Absent) else len(files),
            "soft": soft,
            "hard": -1 if limit[2] == "unlimited" else parse_unsigned(limit[2]) or 0,
            "unit": unit if unit.endswith(".service") else Absent(f"{process.name} runs in no service"),
        }
        rows.append(SubjectRow(f"{process.name} [{process.pid}]", columns))
    return rows


class ListedProcess(msgspec.Struct, frozen=True):
    """`parent` 0 and `age_s` 0: not known. `command` is empty where only the name was read."""

    pid: int
    parent: int
    state: str
    name: str
    command: str = ""
    age_s: float = 0.0


_CRONS = frozenset({"CROND", "crond", "cron"})
_SHELLS = frozenset({"sh", "bash", "dash"})
_UPDATERS = frozenset({"dnf", "yum", "apt", "apt-get", "dpkg", "zypper"})
_HEAP = re.compile(r"-Xmx([0-9]{1,15})([kKmMgGtT]?)")
_DAY_S = 86400
_INTERPRETER = re.compile(r"(?:\S*/)?(?:platform-python|python|perl|ruby|bash|sh|dash)[0-9.]*")
_OF_A_DAY = re.compile(r"[A-Z][a-z]{2}[0-9]{2}")  # ps: started on another day than today


def all_processes(host: Host) -> tuple[ListedProcess, ...]:
    """Return those of /proc; of a captured host without them those of `ps`. Kernel threads are left out."""
    table = host.compute_once(read_processes)
    processes = tuple(
        ListedProcess(p.pid, p.parent, p.state, p.name, "", table.uptime_s - p.start_ticks / TICKS_PER_S)
        for p in table.processes.values()
        if not p.kernel_thread
    )
    return processes or (() if host.live else _captured_processes(host) or _processes_by_status(host))


def _processes_by_status(host: Host) -> tuple[ListedProcess, ...]:
    """Return what /proc/PID/status tells of each process: a sosreport keeps that and not /proc/PID/stat."""
    texts = (host.read_file_text(path, 1 << 16) for path in host.glob_paths("/proc/[0-9]*/status"))
    fields = (dict(re.findall(r"^(\w+):\s*(\S+)", text, re.MULTILINE)) for text in texts if is_present(text))
    return tuple(
        ListedProcess(
            parse_unsigned(row.get("Pid", "")) or 0,
            parse_unsigned(row.get("PPid", "")) or 0,
            row["State"],
            row["Name"],
        )
        for row in fields
        if {"State", "Name"} <= row.keys() and row.get("PPid") != "2"
    )


def _captured_processes(host: Host) -> tuple[ListedProcess, ...]:
    """Return the processes of a `ps` that tells each one's state, of one with their parents if there is one. Another
    one tells which of them were started on another day.
    """
    lists: list[list[ListedProcess]] = [[]]
    old_pids: set[int] = set()
    for path in host.glob_paths("/sos_commands/process/ps_*"):
        text = host.read_file_text(path, 8 << 20)
        head, _, body = text.partition("\n") if is_present(text) else ("", "", "")
        columns = head.split()
        if {"PID", "STAT"} <= {*columns} and columns[-1] in ("COMMAND", "CMD") and "STARTED" not in columns:
            lines = (line.split(None, len(columns) - 1) for line in body.splitlines())
            rows = [dict(zip(columns, words, strict=True)) for words in lines if len(words) == len(columns)]
            lists.append([_process_of_ps(row) for row in rows if row["PID"] != "-"])
            old_pids.update(
                parse_unsigned(row["PID"]) or 0 for row in rows if _OF_A_DAY.fullmatch(row.get("START", ""))
            )
    chosen = max(lists, key=lambda processes: (any(p.parent for p in processes), len(processes)))
    return tuple(msgspec.structs.replace(p, age_s=_DAY_S + 1.0) if p.pid in old_pids else p for p in chosen)


def _process_of_ps(row: dict[str, str]) -> ListedProcess:
    command = row.get("COMMAND", row.get("CMD", ""))
    words = [word for word in command.split() if not word.startswith("-")] or [""]
    program = words[1] if len(words) > 1 and _INTERPRETER.fullmatch(words[0]) else words[0]
    pid, parent = parse_unsigned(row["PID"]) or 0, parse_unsigned(row.get("PPID", "")) or 0
    return ListedProcess(pid, parent, row["STAT"][:1], program.strip("[]:").rpartition("/")[2], command)


def process_names(host: Host) -> frozenset[str] | Absent:
    """Return the names of all processes but kernel threads."""
    names = frozenset(process.name for process in host.compute_once(all_processes))
    return names or Absent("no process was captured", "captured")


def process_fault_rows(host: Host) -> list[SubjectRow]:
    """One row per parent of zombies, stopped daemon, program of which cron runs several, and updater that does not end:
    `kind` says which, `count` how many, `pid` of the parent or the process, `hours` how long it runs.
    """
    processes = host.compute_once(all_processes)
    names = {process.pid: process.name for process in processes}
    rows = []
    for kind, name, pid, count, hours in (*_left_processes(processes, names), *_long_processes(processes)):
        columns: dict[str, Value] = {"kind": kind, "name": name, "pid": pid, "count": count, "hours": hours}
        rows.append(SubjectRow(f"{name} [{pid}]" if pid else name, columns))
    return rows


def _left_processes(
    processes: tuple[ListedProcess, ...], names: dict[int, str]
) -> Iterator[tuple[str, str, int, int, float]]:
    zombies = Counter(process.parent for process in processes if process.state == "Z" and process.parent)
    for parent, count in zombies.most_common(8):
        yield "zombies", names.get(parent, "a process"), parent, count, 0.0
    of_cron = [p for p in processes if names.get(p.parent) in _CRONS and p.name not in _CRONS]
    jobs = Counter(p.command or p.name for p in of_cron if p.command or p.name not in _SHELLS)
    for job, count in jobs.most_common(4):
        yield "cron", job[:120], 0, count, 0.0


def _long_processes(processes: tuple[ListedProcess, ...]) -> Iterator[tuple[str, str, int, int, float]]:
    for process in processes:
        if process.state in "Tt" and process.parent == 1:
            yield "stopped", process.name, process.pid, 1, process.age_s / 3600
        if process.name in _UPDATERS and process.age_s > _DAY_S:
            yield "updater", process.name, process.pid, 1, process.age_s / 3600


def java_rows(host: Host) -> list[SubjectRow]:
    """One row: the sum of the largest heaps (-Xmx) that Java programs were started with, and how many there are."""
    heaps = []
    for process in host.compute_once(all_processes):
        if process.name != "java":
            continue
        text = process.command or host.read_file_text(f"/proc/{process.pid}/cmdline", 1 << 17, may_hang=True)
        sizes = _HEAP.findall(text) if is_present(text) else []
        heaps += [int(number) << 10 * " kmgt".index(unit.lower() or " ") for number, unit in sizes[-1:]]
    return [SubjectRow("", {"heaps": sum(heaps), "count": len(heaps)})] if heaps else []
