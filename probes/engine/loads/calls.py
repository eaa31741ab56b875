"""What a worker repeats that neither reads nor writes a file: the kernel's everyday services. Standard library only.

An operation is a batch where one call takes less than reading the clock; `CallLoad.calls` of the
runner's side says how many calls it holds. Partners (the other end of a pipe or a connection) are
forked from the worker once, sleep between the slices, and die with it.
"""

import contextlib
import itertools
import mmap
import os
import signal
import socket
from collections.abc import Callable
from typing import Any

from hostdx.probes.children.parent_death import fork_partner
from hostdx.probes.engine import loops
from hostdx.probes.engine.loads.pinned_loads import (
    Operation,
    make_compress_operation,
    make_hash_operation,
    make_integer_operation,
    make_placed_operation,
    make_system_call_operation,
)
from hostdx.probes.engine.spec import LoadSpec

PAGE = mmap.PAGESIZE
PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS  # Python's own default is shared: another kind of page
FAULTED_PAGES = 256
PIPED_BYTES = 64 << 10  # a pipe's default size: pipe(7)
SENT_BYTES = 256 << 10
DATAGRAM_BYTES = 1024
SWITCHES = 10
REPLY_S = 10.0

OperationAndFinish = tuple[Operation, Callable[[int], None]]  # finish: what must be done after a slice

# What a worker keeps from slice to slice: buffers, partners, the names of the files it made.
_kept_between_slices: dict[str, Any] = {}


def prepare_calls(spec: LoadSpec) -> loops.PreparedOperation:
    """As `operations.prepare_operation`; it draws the numbers of the operations."""
    operation, finish = MAKERS[spec["call"]](spec)
    counting = itertools.count()
    return loops.PreparedOperation(
        lambda numbers, stop, note: loops.run_operation(operation, numbers, stop, note, spec["stretch"]),
        finish,
        lambda count: itertools.islice(counting, count),
    )


def _do_nothing(_done: int) -> None:
    pass


def _without_finish(maker: Callable[[LoadSpec], Operation]) -> Callable[[LoadSpec], OperationAndFinish]:
    """An operation that leaves nothing to be done after a slice."""
    return lambda spec: (maker(spec), _do_nothing)


def make_copy_operation(spec: LoadSpec) -> OperationAndFinish:
    """memcpy through a buffer larger than a core's caches, a mebibyte an operation. `bytes`: of each buffer."""
    size: int = spec["bytes"]
    buffers = _kept_between_slices.setdefault("copied", {})
    if size not in buffers:
        buffers[size] = tuple(memoryview(mmap.mmap(-1, size, flags=PRIVATE)) for _ in range(2))
        for buffer in buffers[size]:
            buffer[:] = os.urandom(1 << 20) * (size >> 20)
    source, target = buffers[size]
    pieces = size >> 20

    def copy_piece(number: int) -> None:
        at = number % pieces << 20
        target[at : at + (1 << 20)] = source[at : at + (1 << 20)]

    return copy_piece, _do_nothing


def make_fault_operation(_spec: LoadSpec) -> OperationAndFinish:
    """Small pages touched for the first time, then given back."""
    if "faulted" not in _kept_between_slices:
        area = mmap.mmap(-1, FAULTED_PAGES * PAGE, flags=PRIVATE)
        with contextlib.suppress(OSError, AttributeError):  # a kernel without huge pages refuses the advice
            area.madvise(mmap.MADV_NOHUGEPAGE)
        _kept_between_slices["faulted"] = area
    area, ones = _kept_between_slices["faulted"], b"\1" * FAULTED_PAGES

    def touch_and_return(_number: int) -> None:
        area[::PAGE] = ones
        area.madvise(mmap.MADV_DONTNEED)

    return touch_and_return, _do_nothing


def make_switch_operation(spec: LoadSpec) -> OperationAndFinish:
    """A byte to and fro between two processes on one CPU: two switches each time. `cpu`: where both are bound to."""
    if "switching" not in _kept_between_slices:
        there, back = os.pipe(), os.pipe()

        def echo_bytes() -> None:
            os.sched_setaffinity(0, {spec["cpu"]})
            while os.read(there[0], 1):
                os.write(back[1], b"x")

        fork_partner(echo_bytes, fds=(there[0], back[1]), own_fds=(there[1], back[0]))
        _kept_between_slices["switching"] = there[1], back[0]
    out, into = _kept_between_slices["switching"]
    everywhere = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {spec["cpu"]})

    def switch_to_and_fro(_number: int) -> None:
        for _ in range(SWITCHES):
            os.write(out, b"x")
            os.read(into, 1)

    return switch_to_and_fro, lambda _done: os.sched_setaffinity(0, everywhere)


def make_pipe_operation(_spec: LoadSpec) -> OperationAndFinish:
    """64 KiB through a pipe to another process, which says when it has them."""
    if "piping" not in _kept_between_slices:
        there, back = os.pipe(), os.pipe()

        def drain_pipe() -> None:
            while True:
                left = PIPED_BYTES
                while left:
                    received = len(os.read(there[0], left))
                    if not received:
                        return
                    left -= received
                os.write(back[1], b"x")

        fork_partner(drain_pipe, fds=(there[0], back[1]), own_fds=(there[1], back[0]))
        _kept_between_slices["piping"] = there[1], back[0]
    out, into = _kept_between_slices["piping"]
    data = memoryview(bytes(PIPED_BYTES))

    def send_through_pipe(_number: int) -> None:
        left = data
        while left:
            left = left[os.write(out, left) :]
        os.read(into, 1)

    return send_through_pipe, _do_nothing


def make_fork_operation(_spec: LoadSpec) -> OperationAndFinish:
    """fork, the child's end, and waiting for it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, the kernel would wait in our place (waitpid(2))

    def fork_and_wait(_number: int) -> None:
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)

    return fork_and_wait, _do_nothing


def make_exec_operation(spec: LoadSpec) -> OperationAndFinish:
    """A new program started and waited for: exec, the dynamic linker, exit."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    program: str = spec["program"]
    actions = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]

    def start_and_wait(_number: int) -> None:
        pid = os.posix_spawn(program, [program], {}, file_actions=actions)
        os.waitpid(pid, 0)

    return start_and_wait, _do_nothing


def make_create_operation(spec: LoadSpec) -> OperationAndFinish:
    """Empty files in the directory `fd`, kept until `make_delete_operation`."""
    files: list[str] = _kept_between_slices.setdefault("files", [])
    stem, directory = f"hostdx-{os.getpid()}", spec["fd"]

    def create_file(_number: int) -> None:
        name = f"{stem}-{len(files)}"
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600, dir_fd=directory))
        files.append(name)

    return create_file, _do_nothing


def make_stat_of_created_operation(spec: LoadSpec) -> OperationAndFinish:
    """stat of the files that `make_create_operation` left, one after the other."""
    files: list[str] = _kept_between_slices.setdefault("files", [])
    directory = spec["fd"]

    def stat_file(number: int) -> None:
        os.stat(files[number % len(files)], dir_fd=directory, follow_symlinks=False)

    return stat_file, _do_nothing


def make_delete_operation(spec: LoadSpec) -> OperationAndFinish:
    """Deletes them again; what a slice leaves is deleted after it, outside of its time."""
    files: list[str] = _kept_between_slices.setdefault("files", [])
    directory = spec["fd"]

    def delete_file(_number: int) -> None:
        os.unlink(files.pop(), dir_fd=directory)

    def delete_rest(_done: int) -> None:
        while files:
            os.unlink(files.pop(), dir_fd=directory)

    return delete_file, delete_rest


def make_tcp_operation(_spec: LoadSpec) -> OperationAndFinish:
    """256 KiB over a TCP connection within the host; the other end says when it has them."""
    if "tcp" not in _kept_between_slices:
        with socket.create_server(("127.0.0.1", 0)) as server:
            client = socket.create_connection(server.getsockname())
            peer, _ = server.accept()
        for end in (client, peer):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def receive_all() -> None:
            buffer = bytearray(SENT_BYTES)
            while True:
                left = SENT_BYTES
                while left:
                    received = peer.recv_into(buffer, left)
                    if not received:
                        return
                    left -= received
                peer.send(b"x")

        fork_partner(receive_all, own_fds=(client.fileno(),))
        peer.close()
        client.settimeout(REPLY_S)
        _kept_between_slices["tcp"] = client
    connection: socket.socket = _kept_between_slices["tcp"]
    data = bytes(SENT_BYTES)

    def send_and_confirm(_number: int) -> None:
        connection.sendall(data)
        connection.recv(1)

    return send_and_confirm, _do_nothing


def make_udp_operation(_spec: LoadSpec) -> OperationAndFinish:
    """A datagram of 1 KiB to another process of the host, and back."""
    if "udp" not in _kept_between_slices:
        client, peer = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        for end in (client, peer):
            end.bind(("127.0.0.1", 0))
        client.connect(peer.getsockname())
        peer.connect(client.getsockname())

        def echo_datagrams() -> None:
            while True:
                peer.send(peer.recv(DATAGRAM_BYTES))

        fork_partner(echo_datagrams, own_fds=(client.fileno(),))
        peer.close()
        client.settimeout(REPLY_S)
        _kept_between_slices["udp"] = client
    connection: socket.socket = _kept_between_slices["udp"]
    data = bytes(DATAGRAM_BYTES)

    def exchange_datagram(_number: int) -> None:
        connection.send(data)
        connection.recv(DATAGRAM_BYTES)

    return exchange_datagram, _do_nothing


MAKERS: dict[str, Callable[[LoadSpec], OperationAndFinish]] = {
    "integer": _without_finish(make_integer_operation),
    "hash": _without_finish(make_hash_operation),
    "compress": _without_finish(make_compress_operation),
    "copy": make_copy_operation,
    "fault": make_fault_operation,
    "syscall": _without_finish(make_system_call_operation),
    "switch": make_switch_operation,
    "pipe": make_pipe_operation,
    "fork": make_fork_operation,
    "exec": make_exec_operation,
    "create": make_create_operation,
    "stat": make_stat_of_created_operation,
    "delete": make_delete_operation,
    "tcp": make_tcp_operation,
    "udp": make_udp_operation,
    "placed": make_placed_operation,
}
