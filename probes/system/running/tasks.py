"""Tasks in uninterruptible sleep (D): which, in which kernel function, on which file.

`procs_blocked` and PSI count only tasks in io_schedule(): one that waits for a frozen file system shows in
neither (measured), so the states themselves are read. /proc/PID/stat takes no lock that a stuck task can hold
(fs/proc/array.c, do_task_stat); stack and syscall take the task's exec_update_lock and are read through the
guarded reader. A link below fd or cwd is only read, never followed: it may lead into a dead file system.
"""

import re
from collections.abc import Collection, Iterable, Iterator

import msgspec

from hostdx.probes.files.rights import FIRST_PID_NAMESPACE
from hostdx.probes.number_text import parse_hexadecimal, parse_unsigned
from hostdx.probes.reading.host import Host
from hostdx.probes.reading.patterns import lazy_pattern
from hostdx.probes.reading.process_stat import ProcessStat, parse_stat
from hostdx.probes.types import Absent, is_present

# A vfork parent sleeps in D for the few milliseconds until its child has called exec (kernel/fork.c).
HARMLESS_WAITS = frozenset({"kernel_clone", "wait_for_vfork_done", "do_fork", "_do_fork"})
_FRAME = lazy_pattern(r"\s*(?:\[<[0-9a-fx]+>\]\s*)?(?:\?\s*)?([A-Za-z_][\w.]*)\+0x[0-9a-f]+(?:/0x[0-9a-f]+)?")
_MODULE = lazy_pattern(r"\[([a-z_][\w-]*)\]")
_NO_WCHAN = frozenset({"0", "-", ""})


class BlockedTask(msgspec.Struct, frozen=True):
    """A task in D. `tid` and `start_ticks` name it for good; `switches` tells one sleep from the next."""

    pid: int
    tid: int
    comm: str
    start_ticks: int
    kernel_thread: bool
    wchan: str | Absent
    switches: int | Absent
    wchan_source: str = ""

    @property
    def key(self) -> tuple[int, int]:
        return self.tid, self.start_ticks


class BlockedTaskScan(msgspec.Struct, frozen=True):
    """One pass over /proc: the tasks in D, how many processes and threads were looked at, and why not all were."""

    tasks: tuple[BlockedTask, ...]
    processes: int
    threads: int
    unreadable: int = 0
    hidden: Absent | None = None


def find_still_asleep(before: BlockedTaskScan, after: BlockedTaskScan | Absent) -> list[BlockedTask]:
    """Those of the first pass that are in the same sleep in the second."""
    now = {t.key: t for t in after.tasks} if is_present(after) else {}
    return [
        t for t in before.tasks if (n := now.get(t.key)) and n.switches == t.switches and n.wchan == t.wchan
    ]


class OpenFile(msgspec.Struct, frozen=True):
    """A file that a task has open or works in. `how` is "syscall" (the call it sleeps in), "fd" or "cwd"."""

    path: str
    how: str


def explain_hidden_tasks(host: Host) -> Absent | None:
    """Return why tasks of this machine may exist that /proc does not show (pid_namespaces(7), proc(5) hidepid); None
    where it shows them all. A captured tree does not tell.
    """
    if not host.live:
        return None
    own = host.read_link("/proc/self/ns/pid")
    if is_present(own) and own != FIRST_PID_NAMESPACE:
        reason = "other users' tasks are hidden: this pid namespace (a container's) shows only its own; run on the host"
        return Absent(reason, "container", "/proc/self/ns/pid")
    if isinstance(host.read_file_text("/proc/1/stat", 4096), Absent):
        reason = "other users' tasks are hidden: /proc is mounted with hidepid; run as root"
        return Absent(reason, "permission", "/proc")
    return None


def find_blocked_tasks(host: Host, process_ids: Collection[int] | None = None) -> BlockedTaskScan | Absent:
    """Every task in D now, threads too, of `process_ids` if given; those that end meanwhile are passed over."""
    names = host.list_names("/proc")
    if isinstance(names, Absent):
        return names
    shown = (pid for name in names if (pid := parse_unsigned(name)) is not None)
    pids = sorted(pid for pid in shown if process_ids is None or pid in process_ids)
    if not pids and not host.live and (listed := list(_blocked_tasks_of_ps(host))):
        return BlockedTaskScan(tuple(listed), len(listed), len(listed))
    if not pids:
        return Absent("/proc shows no process", kind="captured" if not host.live else "container")
    tasks: list[BlockedTask] = []
    threads = unreadable = 0
    for pid in pids:
        leader = _read_stat(host, f"/proc/{pid}")
        if isinstance(leader, Absent):
            unreadable += leader.kind not in ("missing", "captured")
            continue
        threads += max(1, leader.thread_count)
        for stat in _stat_of_each_thread(host, pid, leader):
            if stat.state_letter == "D":
                task = _read_blocked_task(host, pid, stat)
                if task.wchan not in HARMLESS_WAITS:
                    tasks.append(task)
    return BlockedTaskScan(tuple(tasks), len(pids), threads, unreadable, _explain_unseen(host, unreadable))


# `ps alx`: F UID PID PPID PRI NI VSZ RSS WCHAN STAT TTY TIME COMMAND (ps(1)); sos keeps it as ps_alxwww.
_PS_LONG = lazy_pattern(
    r"^\d+\s+\d+\s+(\d{1,10})\s+\d+\s+\S+\s+\S+\s+\d+\s+\d+\s+(\S+)\s+D\S*\s+\S+\s+\S+\s+(\S+)", re.MULTILINE
)


def _blocked_tasks_of_ps(host: Host) -> Iterator[BlockedTask]:
    """Those in D that a sosreport's `ps alx` lists."""
    for path in host.glob_paths("/sos_commands/process/ps_alx*"):
        text = host.read_file_text(path, 8 << 20)
        for pid, channel, command in _PS_LONG.findall(text) if is_present(text) else ():
            name = command.strip("[]").rpartition("/")[2]
            wchan = Absent("ps names no wait channel") if channel in _NO_WCHAN else channel
            yield BlockedTask(int(pid), int(pid), name, 0, command.startswith("["), wchan, Absent(""), path)


def _explain_unseen(host: Host, unreadable: int) -> Absent | None:
    why = explain_hidden_tasks(host)
    if why is None and unreadable:
        tasks = "1 task" if unreadable == 1 else f"{unreadable} tasks"
        return Absent(f"the state of {tasks} may not be read; run as root", "permission", "/proc")
    return why


def _read_stat(host: Host, directory: str) -> ProcessStat | Absent:
    text = host.read_file_text(f"{directory}/stat", 4096)
    if isinstance(text, Absent):
        return text
    return parse_stat(text) or Absent("not the format of /proc/PID/stat", "invalid", f"{directory}/stat")


def _stat_of_each_thread(host: Host, pid: int, leader: ProcessStat) -> Iterator[ProcessStat]:
    yield leader
    if leader.thread_count < 2:
        return
    tids = host.list_names(f"/proc/{pid}/task")
    for tid in tids if is_present(tids) else ():
        if parse_unsigned(tid) not in (None, pid):
            stat = _read_stat(host, f"/proc/{pid}/task/{tid}")
            if is_present(stat):
                yield stat


def _read_blocked_task(host: Host, pid: int, stat: ProcessStat) -> BlockedTask:
    directory = f"/proc/{pid}/task/{stat.pid}"
    if not host.path_exists(directory):  # a captured tree may hold only /proc/PID
        directory = f"/proc/{pid}"
    wchan = host.read_word(f"{directory}/wchan")
    if is_present(wchan) and wchan in _NO_WCHAN:
        wchan = Absent("the kernel names no wait channel", kind="unsupported", source=f"{directory}/wchan")
    status = host.read_file_text(f"{directory}/status", 1 << 16)
    return BlockedTask(
        pid=pid,
        tid=stat.pid,
        comm=stat.name,
        start_ticks=stat.start_ticks,
        kernel_thread=stat.is_kernel_thread,
        wchan=wchan,
        switches=_parse_voluntary_switches(status),
        wchan_source=f"{directory}/wchan",
    )


def _parse_voluntary_switches(status: str | Absent) -> int | Absent:
    if isinstance(status, Absent):
        return status
    match = re.search(r"^voluntary_ctxt_switches:\s*([0-9]{1,19})$", status, re.MULTILINE)
    return int(match.group(1)) if match else Absent("no voluntary_ctxt_switches", kind="invalid")


class KernelStack(msgspec.Struct, frozen=True):
    """The kernel functions that a task sleeps in, innermost first; `modules`: of those that lie in one."""

    functions: tuple[str, ...]
    modules: dict[str, str]
    source: str


def kernel_stack(host: Host, pid: int, tid: int) -> KernelStack | Absent:
    """Of a live task (needs root) or of a captured one."""
    source = f"/proc/{pid}/task/{tid}/stack"
    text = host.read_file_text(source, 1 << 16, may_hang=host.live)
    if isinstance(text, Absent) and pid == tid and not host.live:  # a capture may hold only /proc/PID
        source = f"/proc/{pid}/stack"
        text = host.read_file_text(source, 1 << 16)
    if isinstance(text, Absent):
        return text
    functions, modules = parse_stack_frames(text.splitlines())
    if not functions:
        return Absent("the kernel shows no stack", "unsupported", source)
    return KernelStack(functions, modules, source)


def parse_stack_frames(lines: Iterable[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """The functions of a kernel stack, and the modules of those that lie in one."""
    functions: list[str] = []
    modules: dict[str, str] = {}
    for line in lines:
        if (match := _FRAME.match(line)) is not None:
            functions.append(match[1])
            if (module := _MODULE.search(line, match.end())) is not None:
                modules.setdefault(match[1], module[1])
    return tuple(functions), modules


def read_task_stack(host: Host, task: BlockedTask) -> tuple[str, ...] | Absent:
    """The kernel functions that the task sleeps in, innermost first; needs root."""
    trace = kernel_stack(host, task.pid, task.tid)
    return trace if isinstance(trace, Absent) else trace.functions


def stack_line_function(line: str) -> str:
    """The function of one line of a kernel stack: "[<0>] nfs4_wait+0x1f/0x40 [nfs]" gives "nfs4_wait"."""
    match = _FRAME.match(line)
    return match.group(1) if match else ""


def find_open_files(host: Host, task: BlockedTask, max_files: int = 64) -> tuple[OpenFile, ...]:
    """The files that say where a task may be stuck, the likeliest first.

    The one of the call that it sleeps in, where that may be read, then the open ones, then its working
    directory. Other users' tasks need root.
    """
    files: list[OpenFile] = []
    base = f"/proc/{task.pid}/task/{task.tid}"
    call = host.read_file_text(f"{base}/syscall", 4096, may_hang=True)
    words = call.split() if is_present(call) else []
    if len(words) > 1 and parse_unsigned(words[0]) is not None and words[1].startswith("0x"):
        # the first argument; a descriptor for read, write, fsync, fchdir, ...
        number = parse_hexadecimal(words[1])
        if number is not None and number < 1 << 16:
            target = host.read_link(f"{base}/fd/{number}")
            if is_present(target) and target.startswith("/"):
                files.append(OpenFile(target, "syscall"))
    names = host.list_names(f"{base}/fd")
    for name in (names if is_present(names) else ())[:max_files]:
        target = host.read_link(f"{base}/fd/{name}")
        if is_present(target) and target.startswith("/") and not target.startswith(("/dev/", "/proc/")):
            files.append(OpenFile(target, "fd"))
    cwd = host.read_link(f"{base}/cwd")
    if is_present(cwd) and cwd.startswith("/"):
        files.append(OpenFile(cwd, "cwd"))
    return tuple(files)
