"""The other end of the streams: takes bytes in and throws them away, or sends bytes. It opens no file, runs nothing.

One client: the first that greets with the token. Its first connection is the lifeline: when that ends, or after the
deadline, or with the process that started it, the peer ends, and with it its port.

A request is an operation and a length, at most MOST_BYTES: the peer takes so many bytes in and says one byte when it
has them, or sends so many. Nothing else can be asked of it. Standard library only: it crosses an ssh connection as text
and is run by the other host's own Python.
"""

from __future__ import annotations

import hmac
import json
import mmap
import os
import secrets
import select
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable

MAGIC = b"hostdx/2"
TOKEN_BYTES = 32  # hexadecimal digits
GREETING = struct.Struct(f"!8s{TOKEN_BYTES}s")
# What lies between the bytes of a stream is as long as a cache's line: after five bytes all that followed was copied to
# odd addresses, and sending took 1.6 times as much CPU (AMD EPYC, over the loopback, 13 of 14 pairs).
LINE = 64
REQUEST = struct.Struct(f"!cI{LINE - 5}x")
USAGE = struct.Struct("!d")  # seconds of CPU time that the peer has used
SINK, SOURCE, USED = b"w", b"r", b"u"
WELCOME, DONE = b"!" * LINE, b"+" * LINE
MAX_REQUEST_BYTES = 16 << 20  # of a request
MAX_STREAMS = 64
CHUNK = 512 << 10  # of our requests
PIECE = 128 << 10  # of a call from or to memory, as iperf3's: 512 KiB are more than many a core's own cache


class PeerEnded(OSError):
    """The other end is gone, or says what it should not."""


def greeting_bytes(token: str) -> bytes:
    return GREETING.pack(MAGIC, token.encode("ascii"))


def receive_bytes(connection: socket.socket, count: int) -> bytes:
    """So many bytes. Raises Ended; OSError, also where a time limit of the socket's is over."""
    data = bytearray(count)
    receive_into(connection, memoryview(data))
    return bytes(data)


def receive_into(connection: socket.socket, view: memoryview) -> None:
    """Fills the view."""
    have = 0
    while have < len(view):
        size = connection.recv_into(view[have:])
        if size == 0:
            raise PeerEnded("the other end has closed the connection")
        have += size


def set_time_limit(connection: socket.socket, seconds: float) -> None:
    """Of each call, kept by the kernel: with Python's own the socket would not block, and sendfile gives up."""
    limit = struct.pack("@ll", int(seconds), int(seconds % 1 * 1e6))
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        connection.setsockopt(socket.SOL_SOCKET, option, limit)


def set_keepalive(connection: socket.socket) -> None:
    """A connection that was cut is noticed within half a minute."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in ((socket.TCP_KEEPIDLE, 10), (socket.TCP_KEEPINTVL, 5), (socket.TCP_KEEPCNT, 3)):
        connection.setsockopt(socket.IPPROTO_TCP, option, value)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 15_000)


GREET_S = 5.0
LOOK_S = 0.25  # how often the deadline is looked at
MAX_WRONG = 32  # greetings without the token
MAX_STRANGERS = 256  # connections that have not greeted yet, at once


def new_peer_token() -> str:
    return secrets.token_hex(TOKEN_BYTES // 2)


def open_timed_listener(address: str, port: int = 0) -> socket.socket:
    """Without an address on all of them; accept() times out after LOOK_S. Raises OSError."""
    if not address:
        try:
            return open_timed_listener("::", port)
        except OSError:  # a host without IPv6
            pass
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    server = socket.socket(family, socket.SOCK_STREAM)
    try:
        if family == socket.AF_INET6:
            server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, address != "::")
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((address, port))
        server.listen(MAX_STRANGERS)
    except OSError:
        server.close()
        raise
    server.settimeout(LOOK_S)
    return server


class _UngreetedConnection:
    """A connection that has not greeted yet: its address, since when (monotonic seconds), and what it said so far."""

    def __init__(self, address: str, since: float) -> None:
        self.address, self.since, self.greeted_bytes = address, since, b""


class StreamPeer:
    """`serve_and_get_ending` returns why it ended; the caller ends the process then, for its threads may still wait
    for bytes.
    """

    def __init__(
        self,
        port: socket.socket,
        token: str,
        seconds: float,
        has_parent_gone: Callable[[], bool] = lambda: False,
    ) -> None:
        """`has_parent_gone`: whether whoever started it is."""
        self._port, self._token, self._has_parent_gone = port, token.encode("ascii"), has_parent_gone
        self._until = time.monotonic() + seconds
        self._lock = threading.Lock()
        self._client = ""  # its address, once it has greeted
        self._wrong = self._streams = 0
        self._strangers: dict[socket.socket, _UngreetedConnection] = {}  # not greeted yet, the oldest first
        self._over = threading.Event()

    def serve_and_get_ending(self) -> str:
        self._port.setblocking(False)
        with selectors.DefaultSelector() as ready:
            ready.register(self._port, selectors.EVENT_READ)
            try:
                return self._serve_and_get_ending(ready)
            finally:
                for connection in self._strangers:
                    connection.close()

    def _serve_and_get_ending(self, ready: selectors.BaseSelector) -> str:
        while not self._over.is_set():
            if time.monotonic() > self._until:
                return "its time is over"
            if self._has_parent_gone():
                return "whoever started it is gone"
            if self._wrong >= MAX_WRONG:
                return "too many connections without its token"
            for key, _ in ready.select(LOOK_S):
                if key.fileobj is self._port:
                    self._accept_waiting(ready)
                elif isinstance(key.fileobj, socket.socket):
                    self._read_greeting_and_admit(ready, key.fileobj)
            late = time.monotonic() - GREET_S
            for connection in [c for c, stranger in self._strangers.items() if stranger.since < late]:
                self._drop_ungreeted(ready, connection)
        return "its client has left"

    def _accept_waiting(self, ready: selectors.BaseSelector) -> None:
        """Take every connection that waits. Where there are too many, the one that has been silent longest goes."""
        for _ in range(MAX_STRANGERS):
            try:
                connection, address = self._port.accept()
            except OSError:  # nobody waits, or whoever waited has left
                return
            if self._client and address[0] != self._client:
                connection.close()
                continue
            connection.setblocking(False)
            self._strangers[connection] = _UngreetedConnection(address[0], time.monotonic())
            ready.register(connection, selectors.EVENT_READ)
            self._read_greeting_and_admit(ready, connection)  # whoever has the token sends it at once
            if len(self._strangers) > MAX_STRANGERS:
                self._drop_ungreeted(ready, next(iter(self._strangers)))

    def _read_greeting_and_admit(self, ready: selectors.BaseSelector, connection: socket.socket) -> None:
        """Read a part of the greeting; the token decides before a place is taken."""
        stranger = self._strangers.get(connection)
        if stranger is None:
            return
        try:
            data = connection.recv(GREETING.size - len(stranger.greeted_bytes))
        except BlockingIOError:
            return
        except OSError:
            data = b""
        stranger.greeted_bytes += data
        if data and len(stranger.greeted_bytes) < GREETING.size:
            return
        if not data:
            self._drop_ungreeted(ready, connection)
            return
        magic, token = GREETING.unpack(stranger.greeted_bytes)
        self._strangers.pop(connection)
        ready.unregister(connection)
        if magic != MAGIC or not hmac.compare_digest(token, self._token):
            self._wrong += 1
            connection.close()
            return
        with self._lock:
            welcome = self._client in ("", stranger.address) and self._streams <= MAX_STREAMS
            first = welcome and not self._client
            if welcome:
                self._client = stranger.address
                self._streams += 1
        if not welcome:  # the right token, and no place: it is told by the end of the connection
            connection.close()
            return
        threading.Thread(target=self._serve_client, args=(connection, first), daemon=True).start()

    def _drop_ungreeted(self, ready: selectors.BaseSelector, connection: socket.socket) -> None:
        self._strangers.pop(connection, None)
        ready.unregister(connection)
        connection.close()

    def _serve_client(self, connection: socket.socket, is_lifeline: bool) -> None:
        """`is_lifeline`: its lifeline, with which the peer ends."""
        with connection:
            try:
                connection.setblocking(True)
                set_keepalive(connection)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.sendall(WELCOME)
                self._answer_requests(connection)
            except OSError:
                pass
            finally:
                with self._lock:
                    self._streams -= 1
                if is_lifeline:
                    self._over.set()

    def _answer_requests(self, connection: socket.socket) -> None:
        buffer = memoryview(mmap.mmap(-1, PIECE))  # aligned
        buffer[:] = os.urandom(PIECE)
        while True:
            operation, count = REQUEST.unpack(receive_bytes(connection, REQUEST.size))
            if count > MAX_REQUEST_BYTES:
                raise PeerEnded("asks for too much")
            if operation == USED:
                connection.sendall(USAGE.pack(time.process_time()))
                continue
            if operation not in (SINK, SOURCE):
                raise PeerEnded("asks for what a peer does not do")
            for at in range(0, count, PIECE):
                part = buffer[: min(PIECE, count - at)]
                if operation == SINK:
                    receive_into(connection, part)
                else:
                    connection.sendall(part)
            if operation == SINK:
                connection.sendall(DONE)


def has_stdin_ended() -> bool:
    """Of a pipe or of ssh's channel: nobody waits any more. What is written there is passed over."""
    ready, _, _ = select.select([0], [], [], 0)
    return bool(ready) and not os.read(0, 1 << 12)


def main(address: str, seconds: float, port: int = 0) -> int:
    """Says where it listens as one JSON line, then serves until its standard input ends or one of the others."""
    token = new_peer_token()
    with open_timed_listener(address, port) as server:
        line = {"hostdx_peer": 1, "port": server.getsockname()[1], "token": token}
        os.write(1, json.dumps(line).encode() + b"\n")
        StreamPeer(server, token, seconds, has_stdin_ended).serve_and_get_ending()
    os._exit(0)  # threads may still wait for bytes
