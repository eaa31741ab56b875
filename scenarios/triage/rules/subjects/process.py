"""Rows about processes: how many files daemons have open, and processes that are stopped, left over or too many."""

import re
from collections import Counter

import msgspec

from hostdx.probes.number_text import parse_unsigned
from hostdx.probes.reading.host import Host
from hostdx.probes.system.running.cgroup import control_group_of
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.triage.knowledge.workers import WorkerLimit, worker_limits
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
        columns: dict[str, Value] = {
            "name": process.name,
            "pid": process.pid,
            "open": files if isinstance(files, Absent) else len(files),
            "soft": soft,
            "hard": -1 if limit[2] == "unlimited" else parse_unsigned(limit[2]) or 0,
            "unit": _service_of_process(host, process.pid),
        }
        rows.append(SubjectRow(f"{process.name} [{process.pid}]", columns))
    return rows


_CONTAINER = re.compile(r"/(?:docker|kubepods|libpod|crio|cri-containerd|lxc)\b")
_STARTERS = re.compile(r"containerd-shim|conmon|docker-containe|lxc-start")


def container_process_rows(host: Host) -> list[SubjectRow]:
    """One row per program that a container began with: how many files it may open (`soft`)."""
    processes = host.compute_once(read_processes).processes
    rows = []
    for process in processes.values():
        parent = processes.get(process.parent)
        is_first = process.parent == 1 or (parent is not None and _STARTERS.match(parent.name))
        if not is_first or _STARTERS.match(process.name):
            continue
        text = host.read_file_text(f"/proc/{process.pid}/limits")
        limit = _LIMIT.search(text) if is_present(text) else None
        if limit is None or not _CONTAINER.search(control_group_of(host, process.pid)):
            continue
        columns: dict[str, Value] = {
            "name": process.name,
            "pid": process.pid,
            "soft": parse_unsigned(limit[1]) or 0,
        }
        rows.append(SubjectRow(f"{process.name} [{process.pid}]", columns))
    return rows


def worker_rows(host: Host) -> list[SubjectRow]:
    """One row per daemon of knowledge/workers.toml that runs here: how many threads or processes are at work (`used`),
    its own `limit`, and the file that sets it (`file`, absent where it is the usual one).
    """
    processes = host.compute_once(read_processes).processes.values()
    rows = []
    for known in worker_limits():
        own = [process for process in processes if process.name == known.program]
        if not own:
            continue
        limit, file = _limit_and_file(host, known)
        most = max(own, key=lambda process: process.threads)
        columns: dict[str, Value] = {
            "name": known.program,
            "pid": most.pid,
            "used": len(own) if known.of == "processes" else most.threads,
            "of": known.of,
            "limit": limit or Absent(f"no file sets {known.setting}", "unsupported"),
            "file": file or Absent(f"no file sets {known.setting}", "unsupported"),
            "setting": known.setting,
            "effect": known.effect,
            "advice": known.advice,
            "unit": _service_of_process(host, most.pid),
        }
        rows.append(SubjectRow(known.program, columns))
    return rows


def _limit_and_file(host: Host, known: WorkerLimit) -> tuple[int, str]:
    """The number and the file that sets it; the usual one and no file, or 0."""
    limits = [
        (int(number), path)
        for pattern in known.files
        for path in host.glob_paths(pattern)
        if is_present(text := host.read_file_text(path, 1 << 20))
        for number in re.findall(known.limit, text, re.MULTILINE)
        if len(number) < 10
    ]
    return max(limits) if limits else (known.usual, "")


def _service_of_process(host: Host, pid: int) -> Value:
    unit = control_group_of(host, pid).rpartition("/")[2]
    return unit if unit.endswith(".service") else Absent(f"PID {pid} runs in no service")


class ListedProcess(msgspec.Struct, frozen=True):
    """`parent` 0: not known. `command` is empty where only the name was read."""

    pid: int
    parent: int
    state: str
    name: str
    command: str = ""


_CRONS = frozenset({"CROND", "crond", "cron"})
_SHELLS = frozenset({"sh", "bash", "dash"})
_HEAP = re.compile(r"-Xmx([0-9]{1,15})([kKmMgGtT]?)")
_INTERPRETER = re.compile(r"(?:\S*/)?(?:platform-python|python|perl|ruby|bash|sh|dash)[0-9.]*")


def all_processes(host: Host) -> tuple[ListedProcess, ...]:
    """Return those of /proc without kernel threads; of a captured host without stat those of ps, or of status."""
    processes = tuple(
        ListedProcess(p.pid, p.parent, p.state, p.name)
        for p in host.compute_once(read_processes).processes.values()
        if not p.kernel_thread
    )
    return processes or (() if host.live else _processes_of_ps(host) or _processes_by_status(host))


def _processes_by_status(host: Host) -> tuple[ListedProcess, ...]:
    texts = (host.read_file_text(path, 1 << 16) for path in host.glob_paths("/proc/[0-9]*/status"))
    fields = (dict(re.findall(r"^(\w+):\s*(\S+)", text, re.MULTILINE)) for text in texts if is_present(text))
    return tuple(
        ListedProcess(
            parse_unsigned(row["Pid"]) or 0, parse_unsigned(row["PPid"]) or 0, row["State"], row["Name"]
        )
        for row in fields
        if {"Pid", "PPid", "State", "Name"} <= row.keys() and row["PPid"] != "2"
    )


def _processes_of_ps(host: Host) -> tuple[ListedProcess, ...]:
    """Return those of the `ps` that tells states and, if there is one, parents."""
    lists: list[tuple[ListedProcess, ...]] = [()]
    for path in host.glob_paths("/sos_commands/process/ps_*"):
        text = host.read_file_text(path, 8 << 20)
        head, _, body = text.partition("\n") if is_present(text) else ("", "", "")
        columns = head.split()
        if {"PID", "STAT"} <= {*columns} and columns[-1] in ("COMMAND", "CMD") and "STARTED" not in columns:
            lines = (line.split(None, len(columns) - 1) for line in body.splitlines())
            rows = (dict(zip(columns, words, strict=True)) for words in lines if len(words) == len(columns))
            lists.append(tuple(_process_of_ps(row, row[columns[-1]]) for row in rows if row["PID"] != "-"))
    return max(lists, key=lambda processes: (any(p.parent for p in processes), len(processes)))


def _process_of_ps(row: dict[str, str], command: str) -> ListedProcess:
    words = [word for word in command.split() if not word.startswith("-")] or [""]
    program = words[1] if len(words) > 1 and _INTERPRETER.fullmatch(words[0]) else words[0]
    pid, parent = parse_unsigned(row["PID"]) or 0, parse_unsigned(row.get("PPID", "")) or 0
    return ListedProcess(pid, parent, row["STAT"][:1], program.strip("[]:").rpartition("/")[2], command)


def names_of_processes(host: Host) -> frozenset[str] | Absent:
    """Return the names of all processes but kernel threads."""
    names = frozenset(process.name for process in host.compute_once(all_processes))
    return names or Absent("no process was captured", "captured")


def odd_process_rows(host: Host) -> list[SubjectRow]:
    """One row per parent of zombies, stopped daemon and program that cron runs: `kind` says which, `count` how many,
    `pid` of the parent or the daemon.
    """
    processes = host.compute_once(all_processes)
    names = {process.pid: process.name for process in processes}
    zombies = Counter(p.parent for p in processes if p.state == "Z" and p.parent)
    of_cron = [p for p in processes if names.get(p.parent) in _CRONS and p.name not in _CRONS]
    jobs = Counter(p.command or p.name for p in of_cron if p.command or p.name not in _SHELLS)
    faults = [
        *(("zombies", names.get(parent, "a process"), parent, n) for parent, n in zombies.most_common(8)),
        *(("cron", job[:120], 0, n) for job, n in jobs.most_common(4)),
        *(("stopped", p.name, p.pid, 1) for p in processes if p.state in "Tt" and p.parent == 1),
    ]
    return [
        SubjectRow(f"{name} [{pid}]" if pid else name, {"kind": kind, "name": name, "pid": pid, "count": n})
        for kind, name, pid, n in faults
    ]


def java_rows(host: Host) -> list[SubjectRow]:
    """One row: the sum of the largest heaps (-Xmx) that Java programs were started with, and how many there are."""
    heaps = []
    for process in (p for p in host.compute_once(all_processes) if p.name == "java"):
        text = process.command or host.read_file_text(f"/proc/{process.pid}/cmdline", 1 << 17, may_hang=True)
        sizes = _HEAP.findall(text) if is_present(text) else []
        heaps += [int(number) << 10 * " kmgt".index(unit.lower() or " ") for number, unit in sizes[-1:]]
    return [SubjectRow("", {"heaps": sum(heaps), "count": len(heaps)})] if heaps else []
