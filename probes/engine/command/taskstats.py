"""What every task spent in its life, told by the kernel as it ends: taskstats over generic netlink, for root.

Tasks too quick to be looked at are in it as well. linux/taskstats.h, linux/genetlink.h,
Documentation/accounting/taskstats.rst. Standard library only: a light child reads it.
"""

import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_GENERIC, _CONTROLLER = 16, 16  # NETLINK_GENERIC, GENL_ID_CTRL
_GET_FAMILY, _FAMILY_ID, _FAMILY_NAME = 3, 1, 2  # CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, ..._NAME
_GET, _LISTEN, _DEAF = 1, 3, 4  # TASKSTATS_CMD_GET, ..._ATTR_REGISTER_CPUMASK, ..._DEREGISTER_CPUMASK
_STATS, _OF_TASK = 3, 4  # TASKSTATS_TYPE_STATS, ..._AGGR_PID (one thread; _AGGR_TGID sums a process's)
_HEAD = 20  # nlmsghdr and genlmsghdr
_REQUEST = 1  # NLM_F_REQUEST
_RCVBUFFORCE = 33  # SO_RCVBUFFORCE
TICK_S = 0.01  # the longest that there is
BUFFER_BYTES = 8 << 20
ANSWER_S = 0.2
MAX_TASKS = 50_000  # tasks of the whole host kept: with more nothing is told
OLDEST, ODD = 9, 15  # versions: thrashing is told since 9; 15 alone has fields in between
_DELAYS = struct.Struct("=Q8xQ8xQ8xQ")  # from 24: CPU, block I/O, swap-in; time on a CPU (exact)
_PARENT = struct.Struct("=II")  # from 128: the task, its parent's process
_AGE = struct.Struct("=Q")  # from 144: microseconds since its start
_RECLAIM = struct.Struct("=Q8xQ")  # from 320: reclaim, thrashing
_MIN_BYTES = 344
_RCV_MOST = 1 << 16


class EndedTask(NamedTuple):
    """One task. Nanoseconds: running (as of its last tick: up to one more is missing), waiting for a CPU, for block
    I/O; for memory: swapping in, reclaiming itself, for pages that had just been reclaimed (in part the same).
    """

    task: int
    parent: int
    ran_ns: int
    waited_ns: int
    blocked_ns: int
    swapping_ns: int
    reclaiming_ns: int
    thrashing_ns: int
    age_us: int = 0

    @property
    def asleep_ns(self) -> int:
        """Neither on a CPU nor waiting for one."""
        return max(0, 1000 * self.age_us - self.ran_ns - self.waited_ns)

    @property
    def reread_wait_ns(self) -> int:
        """Waiting for what was taken away, no second counted twice; in `blocked_ns` as well."""
        return max(self.swapping_ns, self.thrashing_ns)


class TaskExitListener:
    """Listens from its making on; `take_messages` often enough, `ended_tasks_below` at the end, `end` it then. Where it
    is not there or not allowed (no root, a container's own process numbers), `ended_tasks_below` is None.
    """

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._family = 0
        self._ended: list[EndedTask] = []
        self._complete = False
        try:
            self._cpus = Path("/sys/devices/system/cpu/possible").read_bytes().strip() + b"\0"
            self._open_socket_and_register()
        except (OSError, struct.error):
            self._complete = False

    def _open_socket_and_register(self) -> None:
        talk = self._socket = socket.socket(
            socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _GENERIC
        )
        talk.bind((0, 0))
        talk.setsockopt(socket.SOL_SOCKET, _RCVBUFFORCE, BUFFER_BYTES)
        talk.settimeout(ANSWER_S)
        self._send(_CONTROLLER, _GET_FAMILY, _FAMILY_NAME, b"TASKSTATS\0")
        answer = talk.recv(_RCV_MOST)
        for kind, data in _netlink_attributes(answer[_HEAD:]):
            if kind == _FAMILY_ID:
                self._family = struct.unpack_from("=H", data)[0]
        if self._family:
            self._send(self._family, _GET, _LISTEN, self._cpus, acknowledge=True)
            (refused,) = struct.unpack_from("=i", talk.recv(_RCV_MOST), 16)
            self._complete = not refused
        talk.setblocking(False)

    def _send(self, family: int, command: int, kind: int, data: bytes, *, acknowledge: bool = False) -> None:
        size = 4 + len(data)
        body = struct.pack("=BBHHH", command, 1, 0, size, kind) + data + b"\0" * (-size % 4)
        flags = _REQUEST | (4 if acknowledge else 0)  # NLM_F_ACK
        assert self._socket is not None
        self._socket.send(struct.pack("=IHHII", 16 + len(body), family, flags, 0, 0) + body)

    def take_messages(self) -> None:
        """Takes what has come; what did not fit into the buffer is lost, and then nothing is told."""
        while self._complete and self._socket is not None:
            try:
                message = self._socket.recv(_RCV_MOST)
            except BlockingIOError:
                return
            except OSError:  # ENOBUFS
                self._complete = False
                return
            self._ended += parse_ended_tasks(message, self._family)
            self._complete = len(self._ended) <= MAX_TASKS

    def ended_tasks_below(self, ancestor: int) -> list[EndedTask] | None:
        """All that ended of what this process started, however deep; orphans too where it is their subreaper."""
        return tasks_below(self._ended, ancestor) if self._complete else None

    def close(self) -> None:
        if self._socket is not None:
            try:
                if self._family:
                    self._send(self._family, _GET, _DEAF, self._cpus)
            except OSError:
                pass
            self._socket.close()
            self._socket = None


class TaskTime(NamedTuple):
    """Seconds of all threads together. `refetching_s` is in `blocked_s` too, `reclaiming_s` in part
    in the CPU time; `asleep_s`: neither on a CPU nor waiting for one.
    """

    waited_s: float
    blocked_s: float
    refetching_s: float
    reclaiming_s: float
    asleep_s: float


def task_time_if_complete(ended: list[EndedTask] | None, reaped: set[int], cpu_s: float) -> TaskTime | None:
    """None where some of them are missing: one that was waited for, or more CPU time than ticks can be short of."""
    if ended is None or not reaped <= {task.task for task in ended}:
        return None
    if sum(task.ran_ns for task in ended) / 1e9 + TICK_S * len(ended) < 0.9 * cpu_s:
        return None
    return TaskTime(
        sum(task.waited_ns for task in ended) / 1e9,
        sum(task.blocked_ns for task in ended) / 1e9,
        sum(task.reread_wait_ns for task in ended) / 1e9,
        sum(task.reclaiming_ns for task in ended) / 1e9,
        sum(task.asleep_ns for task in ended) / 1e9,
    )


def parse_ended_tasks(message: bytes, family: int) -> Iterator[EndedTask]:
    """Of one datagram; a layout that is not known gives nothing."""
    at = 0
    while at + _HEAD <= len(message):
        size, kind = struct.unpack_from("=IH", message, at)
        if size < _HEAD:
            return
        for outer, of_task in _netlink_attributes(message[at + _HEAD : at + size]) if kind == family else ():
            for inner, stats in _netlink_attributes(of_task) if outer == _OF_TASK else ():
                if inner == _STATS and (task := _parse_ended_task(stats)) is not None:
                    yield task
        at += (size + 3) & ~3


def _parse_ended_task(stats: bytes) -> EndedTask | None:
    if len(stats) < _MIN_BYTES:
        return None
    (version,) = struct.unpack_from("=H", stats)
    (age_us,) = _AGE.unpack_from(stats, 144)
    if version < OLDEST or version == ODD:
        return None
    waited, blocked, swapping, ran = _DELAYS.unpack_from(stats, 24)
    task, parent = _PARENT.unpack_from(stats, 128)
    reclaiming, thrashing = _RECLAIM.unpack_from(stats, 320)
    return EndedTask(task, parent, ran, waited, blocked, swapping, reclaiming, thrashing, age_us)


def tasks_below(ended: list[EndedTask], ancestor: int) -> list[EndedTask]:
    """A task's parent ended later, or lives: then it is the ancestor itself, who gets the orphans, or a stranger."""
    parents = {task.task: task.parent for task in ended}
    own_pids = {ancestor}
    strangers: set[int] = set()
    for task in ended:
        path = []
        at = task.parent
        while at not in own_pids and at not in strangers and at in parents and at not in path:
            path.append(at)
            at = parents[at]
        (own_pids if at in own_pids else strangers).update((*path, at))
    return [task for task in ended if task.parent in own_pids and task.task != ancestor]


def _netlink_attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(data):
        size, kind = struct.unpack_from("=HH", data, at)
        if size < 4:
            return
        yield kind & 0x3FFF, data[at + 4 : at + size]
        at += (size + 3) & ~3
