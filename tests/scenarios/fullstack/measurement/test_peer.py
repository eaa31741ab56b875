"""The peer over the loopback: what it does for its one client, and that it ends by itself."""

import ast
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostdx.scenarios.fullstack.measurement import peer as module
from hostdx.scenarios.fullstack.measurement.peer import (
    DONE,
    MAX_REQUEST_BYTES,
    MAX_WRONG,
    REQUEST,
    SINK,
    SOURCE,
    USAGE,
    USED,
    WELCOME,
    StreamPeer,
    greeting_bytes,
    new_peer_token,
    open_timed_listener,
    receive_bytes,
)
from hostdx.scenarios.fullstack.measurement.remote import peer_name_problem
from tests.every_case import every_case
from tests.real.polled import happens


class Running:
    """A peer in a thread; `why` once it has ended."""

    def __init__(self, seconds: float = 30.0) -> None:
        self.token, self.why, self.is_over = new_peer_token(), "", False
        self.port = open_timed_listener("127.0.0.1")
        self.address = self.port.getsockname()
        self._peer = StreamPeer(self.port, self.token, seconds, lambda: self.is_over)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        self._opened: list[socket.socket] = []

    def _serve(self) -> None:
        self.why = self._peer.serve_and_get_ending()

    def connect(self, token: str | None = None) -> socket.socket:
        connection = socket.create_connection(self.address, 5)
        connection.settimeout(5)
        connection.sendall(greeting_bytes(self.token if token is None else token))
        self._opened.append(connection)
        return connection

    def client(self) -> socket.socket:
        connection = self.connect()
        assert receive_bytes(connection, len(WELCOME)) == WELCOME
        return connection

    @property
    def has_ended(self) -> bool:
        self._thread.join(5)
        return not self._thread.is_alive()

    def close(self) -> None:
        self.is_over = True
        for connection in self._opened:
            connection.close()
        self._thread.join(5)
        self.port.close()


@pytest.fixture
def running() -> Iterator[Running]:
    peer = Running()
    yield peer
    peer.close()


def is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def test_it_takes_bytes_in_and_sends_some(running: Running) -> None:
    client = running.client()
    client.sendall(REQUEST.pack(SINK, 3_000_000) + b"x" * 3_000_000)
    assert receive_bytes(client, len(DONE)) == DONE
    client.sendall(REQUEST.pack(SOURCE, 2_500_000))
    assert len(receive_bytes(client, 2_500_000)) == 2_500_000
    client.sendall(REQUEST.pack(USED, 0))
    (usage,) = USAGE.unpack(receive_bytes(client, USAGE.size))
    assert usage > 0


def test_it_ends_with_its_client(running: Running) -> None:
    first, second = running.client(), running.client()
    second.close()  # one stream of several
    client = running.client()
    client.sendall(REQUEST.pack(SINK, 1) + b"x")
    assert receive_bytes(client, len(DONE)) == DONE and running.why == ""
    first.close()
    assert running.has_ended and running.why


@pytest.mark.parametrize("token", ["", "0" * 32, "x" * 32])
def test_without_its_token_nobody_is_served(running: Running, token: str) -> None:
    stranger = running.connect(token)
    stranger.sendall(b"\0" * 64)
    assert is_closed(stranger)
    assert receive_bytes(running.connect(), len(WELCOME)) == WELCOME


def test_a_client_that_greets_in_part_keeps_nobody_out(running: Running) -> None:
    with socket.create_connection(running.address, 5) as slow:
        slow.sendall(greeting_bytes(running.token)[:20])
        assert receive_bytes(running.connect(), len(WELCOME)) == WELCOME


def test_it_gives_up_where_somebody_guesses() -> None:
    peer = Running()
    try:
        for _ in range(MAX_WRONG):
            with peer.connect("0" * 32) as stranger:
                is_closed(stranger)
        assert peer.has_ended and peer.why
    finally:
        peer.close()


@pytest.mark.parametrize(
    "request_bytes",
    [REQUEST.pack(SINK, MAX_REQUEST_BYTES + 1), REQUEST.pack(b"x", 1), REQUEST.pack(b"\0", 0)],
)
def test_what_it_does_not_do_ends_the_connection(running: Running, request_bytes: bytes) -> None:
    lifeline, client = running.client(), running.client()
    client.sendall(request_bytes)
    assert is_closed(client)
    lifeline.sendall(REQUEST.pack(USED, 0))
    assert receive_bytes(lifeline, USAGE.size)


def test_its_time_ends() -> None:
    peer = Running(seconds=0.3)
    try:
        began = time.monotonic()
        client = peer.client()
        assert peer.has_ended and peer.why and time.monotonic() - began < 3
        client.close()
    finally:
        peer.close()


def test_it_ends_with_whoever_started_it(running: Running) -> None:
    running.client()
    running.is_over = True
    assert running.has_ended and running.why


def test_another_host_s_python_can_run_its_text() -> None:
    """Standard library only, and nothing that it could open or execute."""
    tree = ast.parse(Path(module.__file__).read_text())
    modules = {
        name.name if isinstance(node, ast.Import) else node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    assert {str(name).split(".")[0] for name in modules} <= set(sys.stdlib_module_names)
    calls = {
        node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
    }
    assert not calls & {
        "open",
        "exec",
        "eval",
        "system",
        "Popen",
        "run",
        "execv",
        "fork",
        "compile",
        "__import__",
    }


@every_case(
    ("host", "token", "fits"),
    [
        ("node1", "", True),
        ("node1.site.example", "", True),
        ("node1:5001", "0f", True),
        ("[fe80::1]:5001", "0f", True),
        ("node1", "0f", False),
        ("node1:99999", "0f", False),
        ("r\udce9s:5001", "0f", False),
        ("node1:5001", "r\udce9s", False),
        ("-oProxyCommand=id", "", False),
        (":5001", "0f", False),
    ],
)
def test_what_names_no_peer_is_refused_before_anything_is_made(host: str, token: str, fits: bool) -> None:
    assert (peer_name_problem(host, token) == "") == fits


def test_silent_strangers_do_not_shut_the_client_out(running: Running) -> None:
    """The token decides before a place is taken: 300 connections that say nothing take none."""
    silent = [socket.create_connection(running.address, 5) for _ in range(300)]
    try:
        began = time.monotonic()
        client = running.client()
        assert time.monotonic() - began < module.GREET_S / 2
        silent[0].settimeout(module.GREET_S / 2)
        assert silent[0].recv(1) == b""  # the one that was silent longest gave way
        client.close()
        assert running.has_ended
    finally:
        for stranger in silent:
            stranger.close()


def test_half_a_greeting_is_waited_for_and_a_slow_one_is_dropped(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GREET_S", 0.3)
    slow = socket.create_connection(running.address, 5)
    slow.sendall(greeting_bytes(running.token)[:10])
    slow.settimeout(5)
    assert slow.recv(1) == b""
    slow.close()
    half = socket.create_connection(running.address, 5)
    half.settimeout(5)
    greeting = greeting_bytes(running.token)
    half.sendall(greeting[:10])
    time.sleep(0.05)
    half.sendall(greeting[10:])
    assert receive_bytes(half, len(WELCOME)) == WELCOME
    half.close()


def test_more_connections_than_there_are_places_end_nothing(running: Running) -> None:
    client = running.client()
    more = [running.connect() for _ in range(module.MAX_STREAMS + module.MAX_WRONG + 8)]
    assert happens(lambda: more[-1].recv(1) == b"")  # no place, and closed
    client.sendall(REQUEST.pack(USED, 0))
    assert len(receive_bytes(client, USAGE.size)) == USAGE.size and running.why == ""
