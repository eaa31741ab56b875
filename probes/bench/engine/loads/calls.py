"""What a worker repeats that neither reads nor writes a file: the kernel's everyday services. Standard library only.

An operation is a batch where one call takes less than reading the clock; `Call.calls` of the runner's side says how
many calls it holds. Partners (the other end of a pipe or a connection) are forked from the worker once, sleep between
the slices, and die with it.
"""

import contextlib
import itertools
import mmap
import os
import signal
import socket
from collections.abc import Callable, Iterator
from typing import Any

from probes.bench.engine import loops
from probes.bench.engine.loads.pinned_loads import (
    Operation,
    compressing,
    hashing,
    integer,
    placed,
    system_call,
)
from probes.bench.engine.parent_death import partner
from probes.bench.engine.spec import Spec

PAGE = mmap.PAGESIZE
PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS  # Python's own default is shared: another kind of page
FAULTED_PAGES = 256
PIPED_BYTES = 64 << 10  # a pipe's default size: pipe(7)
SENT_BYTES = 256 << 10
DATAGRAM_BYTES = 1024
SWITCHES = 10
REPLY_S = 10.0

Made = tuple[Operation, Callable[[int], None]]  # the operation, and what must be done after a slice

# What a worker keeps from slice to slice: buffers, partners, the names of the files it made.
_kept: dict[str, Any] = {}


def prepared(
    spec: Spec,
) -> tuple[
    Callable[[Iterator[int], int, loops.Note], int], Callable[[int], None], Callable[[int], Iterator[int]]
]:
    """As `operations` wants it: the loop, what is done after a slice, and where operation numbers come from."""
    operation, finish = MAKERS[spec["call"]](spec)
    counting = itertools.count()
    return (
        lambda numbers, stop, note: loops.any_operation(operation, numbers, stop, note, spec["stretch"]),
        finish,
        lambda count: itertools.islice(counting, count),
    )


def _nothing(_done: int) -> None:
    pass


def _alone(maker: Callable[[Spec], Operation]) -> Callable[[Spec], Made]:
    """An operation that leaves nothing to be done after a slice."""
    return lambda spec: (maker(spec), _nothing)


def copying(spec: Spec) -> Made:
    """memcpy through a buffer larger than a core's caches, a mebibyte an operation. `bytes`: of each buffer."""
    size: int = spec["bytes"]
    buffers = _kept.setdefault("copied", {})
    if size not in buffers:
        buffers[size] = tuple(memoryview(mmap.mmap(-1, size, flags=PRIVATE)) for _ in range(2))
        for buffer in buffers[size]:
            buffer[:] = os.urandom(1 << 20) * (size >> 20)
    source, target = buffers[size]
    pieces = size >> 20

    def operation(number: int) -> None:
        at = number % pieces << 20
        target[at : at + (1 << 20)] = source[at : at + (1 << 20)]

    return operation, _nothing


def faulting(_spec: Spec) -> Made:
    """Small pages touched for the first time, then given back."""
    if "faulted" not in _kept:
        area = mmap.mmap(-1, FAULTED_PAGES * PAGE, flags=PRIVATE)
        with contextlib.suppress(OSError, AttributeError):  # a kernel without huge pages refuses the advice
            area.madvise(mmap.MADV_NOHUGEPAGE)
        _kept["faulted"] = area
    area, ones = _kept["faulted"], b"\1" * FAULTED_PAGES

    def operation(_number: int) -> None:
        area[::PAGE] = ones
        area.madvise(mmap.MADV_DONTNEED)

    return operation, _nothing


def switching(spec: Spec) -> Made:
    """A byte to and fro between two processes on one CPU: two switches each time. `cpu`: where both are bound to."""
    if "switching" not in _kept:
        there, back = os.pipe(), os.pipe()

        def serve() -> None:
            os.sched_setaffinity(0, {spec["cpu"]})
            while os.read(there[0], 1):
                os.write(back[1], b"x")

        partner(serve, keep=(there[0], back[1]), leave=(there[1], back[0]))
        _kept["switching"] = there[1], back[0]
    out, into = _kept["switching"]
    everywhere = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {spec["cpu"]})

    def operation(_number: int) -> None:
        for _ in range(SWITCHES):
            os.write(out, b"x")
            os.read(into, 1)

    return operation, lambda _done: os.sched_setaffinity(0, everywhere)


def piping(_spec: Spec) -> Made:
    """64 KiB through a pipe to another process, which says when it has them."""
    if "piping" not in _kept:
        there, back = os.pipe(), os.pipe()

        def serve() -> None:
            while True:
                left = PIPED_BYTES
                while left:
                    got = len(os.read(there[0], left))
                    if not got:
                        return
                    left -= got
                os.write(back[1], b"x")

        partner(serve, keep=(there[0], back[1]), leave=(there[1], back[0]))
        _kept["piping"] = there[1], back[0]
    out, into = _kept["piping"]
    data = memoryview(bytes(PIPED_BYTES))

    def operation(_number: int) -> None:
        left = data
        while left:
            left = left[os.write(out, left) :]
        os.read(into, 1)

    return operation, _nothing


def forking(_spec: Spec) -> Made:
    """fork, the child's end, and waiting for it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, the kernel would wait in our place (waitpid(2))

    def operation(_number: int) -> None:
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)

    return operation, _nothing


def executing(spec: Spec) -> Made:
    """A new program started and waited for: exec, the dynamic linker, exit."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    program: str = spec["program"]
    actions = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]

    def operation(_number: int) -> None:
        pid = os.posix_spawn(program, [program], {}, file_actions=actions)
        os.waitpid(pid, 0)

    return operation, _nothing


def creating(spec: Spec) -> Made:
    """Empty files in the directory `fd`, kept until `deleting`."""
    files: list[str] = _kept.setdefault("files", [])
    stem, directory = f"hostdx-{os.getpid()}", spec["fd"]

    def operation(_number: int) -> None:
        name = f"{stem}-{len(files)}"
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600, dir_fd=directory))
        files.append(name)

    return operation, _nothing


def looking_up(spec: Spec) -> Made:
    """stat of the files that `creating` left, one after the other."""
    files: list[str] = _kept.setdefault("files", [])
    directory = spec["fd"]

    def operation(number: int) -> None:
        os.stat(files[number % len(files)], dir_fd=directory, follow_symlinks=False)

    return operation, _nothing


def deleting(spec: Spec) -> Made:
    """Deletes them again; what a slice leaves is deleted after it, outside of its time."""
    files: list[str] = _kept.setdefault("files", [])
    directory = spec["fd"]

    def operation(_number: int) -> None:
        os.unlink(files.pop(), dir_fd=directory)

    def finish(_done: int) -> None:
        while files:
            os.unlink(files.pop(), dir_fd=directory)

    return operation, finish


def tcp(_spec: Spec) -> Made:
    """256 KiB over a TCP connection within the host; the other end says when it has them."""
    if "tcp" not in _kept:
        with socket.create_server(("127.0.0.1", 0)) as server:
            ours = socket.create_connection(server.getsockname())
            theirs, _ = server.accept()
        for end in (ours, theirs):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def serve() -> None:
            buffer = bytearray(SENT_BYTES)
            while True:
                left = SENT_BYTES
                while left:
                    got = theirs.recv_into(buffer, left)
                    if not got:
                        return
                    left -= got
                theirs.send(b"x")

        partner(serve, leave=(ours.fileno(),))
        theirs.close()
        ours.settimeout(REPLY_S)
        _kept["tcp"] = ours
    connection: socket.socket = _kept["tcp"]
    data = bytes(SENT_BYTES)

    def operation(_number: int) -> None:
        connection.sendall(data)
        connection.recv(1)

    return operation, _nothing


def udp(_spec: Spec) -> Made:
    """A datagram of 1 KiB to another process of the host, and back."""
    if "udp" not in _kept:
        ours, theirs = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        for end in (ours, theirs):
            end.bind(("127.0.0.1", 0))
        ours.connect(theirs.getsockname())
        theirs.connect(ours.getsockname())

        def serve() -> None:
            while True:
                theirs.send(theirs.recv(DATAGRAM_BYTES))

        partner(serve, leave=(ours.fileno(),))
        theirs.close()
        ours.settimeout(REPLY_S)
        _kept["udp"] = ours
    connection: socket.socket = _kept["udp"]
    data = bytes(DATAGRAM_BYTES)

    def operation(_number: int) -> None:
        connection.send(data)
        connection.recv(DATAGRAM_BYTES)

    return operation, _nothing


MAKERS: dict[str, Callable[[Spec], Made]] = {
    "integer": _alone(integer),
    "hash": _alone(hashing),
    "compress": _alone(compressing),
    "copy": copying,
    "fault": faulting,
    "syscall": _alone(system_call),
    "switch": switching,
    "pipe": piping,
    "fork": forking,
    "exec": executing,
    "create": creating,
    "stat": looking_up,
    "delete": deleting,
    "tcp": tcp,
    "udp": udp,
    "placed": placed,
}
