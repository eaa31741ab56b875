"""Looks at all processes: what each has used of the CPUs and the disks until then.

Only /proc/PID/stat, /proc/PID/io and the list of children are read: none of them waits for a process's memory
map, as cmdline does behind a stuck page fault. io waits for a process that hangs inside execve (proc_pid_io takes its
lock): one in D state is asked through a child process that can be abandoned.
"""

import errno
import os
from collections.abc import Iterable

import msgspec

from hostdx.probes.files.rights import user_name
from hostdx.probes.files.safe_read import decode_host_text
from hostdx.probes.number_text import parse_unsigned, parse_unsigned_list
from hostdx.probes.reading.host import Host
from hostdx.probes.reading.process_stat import parse_stat
from hostdx.probes.system.processor.cpu_times import TICKS_PER_S, read_proc_stat
from hostdx.probes.system.pulse import uptime_s
from hostdx.probes.types import Absent, is_present

COMMAND = "hostdx"


class Process(msgspec.Struct, frozen=True):
    """One look at a process. The kernel adds to `cpu_s` and `io` the whole life of every child that was waited for."""

    pid: int
    name: str  # the kernel's 15 characters: data from the host
    state: str
    parent: int
    start_ticks: int
    cpu_s: float
    own_s: float  # the part of `cpu_s` that its own threads used
    io: tuple[int, int] | None = None  # bytes read and written; None: not readable
    kernel_thread: bool = False
    major_faults: int = 0
    threads: int = 1

    @property
    def children_s(self) -> float:
        return self.cpu_s - self.own_s


class ProcessTable(msgspec.Struct, frozen=True):
    """All processes that could be seen at one time."""

    uptime_s: float
    processes: dict[int, Process]
    cpus: int = 0  # 0: not known
    unreadable: int = 0  # processes whose I/O we may not read
    hung: bool = False  # one in D state did not tell its I/O in time: the others were not asked


def read_process_table(host: Host, *, io: bool, waiting: bool = True) -> ProcessTable:
    """Every process that can be seen; 7 microseconds each, 14 with its I/O.

    waiting  False: processes in D state are not asked for their I/O (an earlier look hung there).
    """
    names = host.list_names("/proc")
    processes: dict[int, Process] = {}
    unreadable = 0
    hung = not waiting
    for name in () if isinstance(names, Absent) else names:
        process = _read_process(host, name) if name.isdecimal() else None
        if process is None:
            continue
        if io:
            used, why = _read_io_or_reason(host, process.pid, process.state == "D", hung)
            unreadable += why == "permission"
            hung = hung or why == "timeout"
            if used is not None:
                process = msgspec.structs.replace(process, io=used)
        processes[process.pid] = process
    up_s = uptime_s(host)
    return ProcessTable(
        up_s if is_present(up_s) else 0.0, processes, host.compute_once(_count_cpus), unreadable, hung
    )


def process_with_descendants(host: Host, pid: int | None = None) -> dict[int, Process]:
    """A process and its descendants (children of its threads, and of the descendants' first threads)."""
    top = os.getpid() if pid is None else pid
    family: dict[int, Process] = {}
    waiting = [top]
    while waiting:
        at = waiting.pop()
        process = _read_process(host, str(at)) if at not in family else None
        if process is None:
            continue
        family[at] = process
        threads = host.list_names(f"/proc/{at}/task") if at == top else (str(at),)
        for thread in () if isinstance(threads, Absent) else threads:
            children = host.read_file_text(f"/proc/{at}/task/{thread}/children", 1 << 16)
            if isinstance(children, str):
                waiting.extend(parse_unsigned_list(children.split()) or ())
    return family


def find_descendants(everybody: dict[int, Process], ancestors: Iterable[int]) -> dict[int, Process]:
    """Whoever has one of these processes, or another one found so, as its parent."""
    family: dict[int, Process] = {}
    known_pids = set(ancestors)
    while new := {p.pid: p for p in everybody.values() if p.parent in known_pids and p.pid not in known_pids}:
        family |= new
        known_pids |= new.keys()
    return family


def is_same_process(first: Process | None, other: Process | None) -> bool:
    """Ids are used again: a process is its id and the time of its start."""
    return first is not None and other is not None and first.start_ticks == other.start_ticks


def own_process_family(host: Host, pid: int | None = None) -> dict[int, Process]:
    """As `process_with_descendants`, from the topmost hostdx that we were started by: the app that waits for a child of
    its own and follows a run is nobody else either.

    Such a parent runs the same program file under the name of the command, or of the interpreter as we do.
    """
    top = os.getpid() if pid is None else pid
    own = _read_process(host, str(top))
    program = host.read_link(f"/proc/{top}/exe")
    while own is not None and own.parent > 1 and not isinstance(program, Absent):
        parent = _read_process(host, str(own.parent))
        if parent is None or host.read_link(f"/proc/{parent.pid}/exe") != program:
            break
        if parent.name not in (COMMAND, own.name):
            break
        own = parent
    return process_with_descendants(host, top if own is None else own.pid)


def cpu_seconds(processes: dict[int, Process]) -> float:
    """Summed, children that were reaped included: it never falls while the topmost process lives."""
    return sum(process.cpu_s for process in processes.values())


def _read_process(host: Host, pid: str) -> Process | None:
    data = _read_small_file(host, f"/proc/{pid}/stat")
    stat = None if isinstance(data, Absent) else parse_stat(decode_host_text(data))
    number = parse_unsigned(pid)
    if stat is None or number is None:
        return None
    own = stat.user_ticks + stat.system_ticks
    return Process(
        number,
        stat.name,
        stat.state_letter,
        stat.parent_pid,
        stat.start_ticks,
        (own + stat.children_ticks) / TICKS_PER_S,
        own / TICKS_PER_S,
        kernel_thread=stat.is_kernel_thread,
        major_faults=stat.major_faults,
        threads=stat.thread_count,
    )


def _read_io_or_reason(host: Host, pid: int, waits: bool, hung: bool) -> tuple[tuple[int, int] | None, str]:
    """Its bytes, else why not: "permission", "timeout" (it hangs, or another one did), or something else."""
    path = f"/proc/{pid}/io"
    if waits and host.live:
        if hung:
            return None, "timeout"
        text = host.read_file_text(path, 4096, may_hang=True)
        data = text if isinstance(text, Absent) else text.encode()
    else:
        data = _read_small_file(host, path)
    if isinstance(data, Absent):
        # Of a captured tree nobody knows who was allowed what: a missing file was not readable.
        return None, "permission" if data.kind in ("permission", "container", "captured") else data.kind
    counts = dict(line.partition(b": ")[::2] for line in data.splitlines())
    moved = parse_unsigned_list(
        decode_host_text(counts.get(name, b"")) for name in (b"read_bytes", b"write_bytes")
    )
    return (None, "invalid") if moved is None else ((moved[0], moved[1]), "")


def process_io_bytes(host: Host, pid: int) -> tuple[int, int] | None:
    """Bytes that a process made storage read and write (proc_pid_io(5)); None where that cannot be read."""
    return _read_io_or_reason(host, pid, False, False)[0]


def _read_small_file(host: Host, path: str) -> bytes | Absent:
    """A small file of /proc. On the live host without `Host`'s checks, which cost three times as much as the file."""
    if not host.live:
        text = host.read_file_text(path, 4096)
        return text if isinstance(text, Absent) else text.encode()
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(fd, 4096)
        finally:
            os.close(fd)
    except OSError as error:
        denied = error.errno in (errno.EACCES, errno.EPERM)
        return Absent(f"{path}: {error.strerror}", "permission" if denied else "missing", path)


def _count_cpus(host: Host) -> int:
    stat = read_proc_stat(host)
    return 0 if isinstance(stat, Absent) else len(stat.cpus)


def user_of(pid: int) -> str:
    """The user that a process belongs to, by name; "" where it has ended."""
    try:
        uid = os.stat(f"/proc/{pid}").st_uid  # noqa: PTH116 (it costs a tenth, and a process may be gone)
    except OSError:
        return ""
    return user_name(uid)
