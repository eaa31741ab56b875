"""TCP over the loopback device to a partner on chosen CPUs: how far the other end is shows here.

The same two partners a worker for all slices, moved like the worker itself. Standard library only.
"""

import os
import socket
from collections.abc import Callable

from probes.bench.engine.parent_death import partner
from probes.bench.engine.spec import Spec

MIB = 1 << 20
PIECE = 256 << 10  # of a mebibyte: stays in a second-level cache
ASKED = 64  # bytes of a question and of its answer
REPLY_S = 10.0

Operation = Callable[[int], None]
# By what they do: our end of the connection and the partner's process.
_partners: dict[str, tuple[socket.socket, int]] = {}


def streaming(spec: Spec) -> Operation:
    """A mebibyte, and the partner's word that it has all of it."""
    connection = _connected("stream", _take, spec)
    data = memoryview(os.urandom(PIECE))

    def operation(_number: int) -> None:
        for _ in range(MIB // PIECE):
            connection.sendall(data)
        if not connection.recv(1):
            raise ConnectionError(32, "the partner on the loopback device is gone")

    return operation


def asking(spec: Spec) -> Operation:
    """A question of 64 bytes and its answer."""
    connection = _connected("ask", _echo, spec)
    data = os.urandom(ASKED)

    def operation(_number: int) -> None:
        connection.sendall(data)
        if len(connection.recv(ASKED, socket.MSG_WAITALL)) < ASKED:
            raise ConnectionError(32, "the partner on the loopback device is gone")

    return operation


def _connected(name: str, serve: Callable[[socket.socket], None], spec: Spec) -> socket.socket:
    """Raises OSError where there is no loopback device, and where the partner may not run on those CPUs."""
    if name not in _partners:
        with socket.create_server(("127.0.0.1", 0)) as server:
            ours = socket.create_connection(server.getsockname(), REPLY_S)
            theirs, address = server.accept()
        if address != ours.getsockname():
            raise ConnectionError(103, "another process took the connection on the loopback device")
        for end in (ours, theirs):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        theirs.settimeout(None)
        pid = partner(lambda: serve(theirs), leave=(0, 1, ours.fileno()))
        theirs.close()
        _partners[name] = ours, pid
    connection, pid = _partners[name]
    os.sched_setaffinity(pid, spec["peer"])
    return connection


def _take(end: socket.socket) -> None:
    buffer, taken = memoryview(bytearray(PIECE)), 0
    while got := end.recv_into(buffer):
        taken += got
        if taken >= MIB:
            taken -= MIB
            end.send(b"1")


def _echo(end: socket.socket) -> None:
    buffer = memoryview(bytearray(ASKED))
    while got := end.recv_into(buffer, ASKED, socket.MSG_WAITALL):
        end.sendall(buffer[:got])
