"""TCP over the loopback device to a partner on chosen CPUs: how far the other end is shows here.

The same two partners a worker for all slices, moved like the worker itself. Standard library only.
"""

import os
import socket
from collections.abc import Callable

from probes.children.parent_death import fork_partner
from probes.engine.spec import Spec

MIB = 1 << 20
PIECE = 256 << 10  # of a mebibyte: stays in a second-level cache
ASKED = 64  # bytes of a question and of its answer
REPLY_S = 10.0

Operation = Callable[[int], None]
# By what they do: our end of the connection and the partner's process.
_partners: dict[str, tuple[socket.socket, int]] = {}


def make_stream(spec: Spec) -> Operation:
    """A mebibyte, and the partner's word that it has all of it."""
    connection = _connect_partner("stream", _receive_stream, spec)
    data = memoryview(os.urandom(PIECE))

    def send_piece(_number: int) -> None:
        for _ in range(MIB // PIECE):
            connection.sendall(data)
        if not connection.recv(1):
            raise ConnectionError(32, "the partner on the loopback device is gone")

    return send_piece


def make_request(spec: Spec) -> Operation:
    """A question of 64 bytes and its answer."""
    connection = _connect_partner("ask", _echo_requests, spec)
    data = os.urandom(ASKED)

    def send_request(_number: int) -> None:
        connection.sendall(data)
        if len(connection.recv(ASKED, socket.MSG_WAITALL)) < ASKED:
            raise ConnectionError(32, "the partner on the loopback device is gone")

    return send_request


def _connect_partner(name: str, serve: Callable[[socket.socket], None], spec: Spec) -> socket.socket:
    """Raises OSError where there is no loopback device, and where the partner may not run on those CPUs."""
    if name not in _partners:
        with socket.create_server(("127.0.0.1", 0)) as server:
            client = socket.create_connection(server.getsockname(), REPLY_S)
            peer, address = server.accept()
        if address != client.getsockname():
            raise ConnectionError(103, "another process took the connection on the loopback device")
        for end in (client, peer):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer.settimeout(None)
        pid = fork_partner(lambda: serve(peer), leave=(0, 1, client.fileno()))
        peer.close()
        _partners[name] = client, pid
    connection, pid = _partners[name]
    os.sched_setaffinity(pid, spec["peer"])
    return connection


def _receive_stream(end: socket.socket) -> None:
    buffer, received_bytes = memoryview(bytearray(PIECE)), 0
    while size := end.recv_into(buffer):
        received_bytes += size
        if received_bytes >= MIB:
            received_bytes -= MIB
            end.send(b"1")


def _echo_requests(end: socket.socket) -> None:
    buffer = memoryview(bytearray(ASKED))
    while size := end.recv_into(buffer, ASKED, socket.MSG_WAITALL):
        end.sendall(buffer[:size])
