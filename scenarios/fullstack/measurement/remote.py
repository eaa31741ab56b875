"""A peer on another host, started over ssh: its text crosses the connection, the other host's Python runs it."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shlex
from pathlib import Path

import msgspec

from hostdx.probes.children.bounded_wait import END_S, wait_briefly_async
from hostdx.probes.children.own_module import PYTHONS
from hostdx.probes.engine.measured import BenchRefused

SSH = ("ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=10")
START_S = 30.0
MAX_LINES = 50  # of a login that greets, before the peer's own
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@:%-]{0,252}")
_BY_HAND = re.compile(r"([][A-Za-z0-9_.:%-]{1,255}):([0-9]{1,5})")
_TEXT = Path(__file__).with_name("peer.py")
_START = (
    'f=open(0,"rb",closefd=False,buffering=0);n=int(f.readline());t=b"";\n'
    "while len(t)<n: t+=f.read(n-len(t))\n"
    'g={"__name__":"hostdx_peer"};exec(compile(t,"peer","exec"),g);g["main"]("",float("%g"))'
)


class PeerLine(msgspec.Struct, frozen=True):
    hostdx_peer: int
    port: int
    token: str


class RemotePeer:
    """`address`, `port`, `token`: for the streams. `close` ends it; it ends by itself where we are gone."""

    def __init__(self, address: str, peer_line: PeerLine, process: asyncio.subprocess.Process | None) -> None:
        self.address, self.port, self.token = address, peer_line.port, peer_line.token
        self._process = process

    @classmethod
    async def start(cls, host: str, token: str, seconds: float) -> RemotePeer:
        """On `host` over ssh; or, by `HOST:PORT` and its token, one that was started by hand. Raises BenchRefused."""
        if why := peer_name_problem(host, token):
            raise BenchRefused(why)
        if token and (match := _BY_HAND.fullmatch(host)):
            return cls(match[1].strip("[]"), PeerLine(1, int(match[2]), token), None)
        text = _TEXT.read_bytes()
        process = await asyncio.create_subprocess_exec(
            *SSH, "--", host, _find_python_command(seconds),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
        try:
            assert process.stdin is not None
            process.stdin.write(b"%d\n" % len(text) + text)
            peer_line = await asyncio.wait_for(_read_peer_line(process, host), START_S)
            return cls(await _address_of_ssh(host), peer_line, process)
        except TimeoutError:
            await _close_and_wait_or_kill(process)
            raise BenchRefused(f"{host}: no peer after {START_S:.0f} s") from None
        except BaseException:
            await _close_and_wait_or_kill(process)
            raise

    async def close(self) -> None:
        if self._process is not None:
            await _close_and_wait_or_kill(self._process)


def peer_name_problem(host: str, token: str) -> str:
    """Return why that names no peer; empty where it does."""
    by_hand = _BY_HAND.fullmatch(host)
    if not _HOST.fullmatch(host.strip("[]")) and not by_hand:
        return f"--peer {host[:40]}: not the name of a host"
    if not token:
        return ""
    if by_hand is None or int(by_hand[2]) > 65535:
        return "--token belongs to a peer that was started by hand: --peer HOST:PORT"
    return "" if token.isascii() else "--token: not what a peer prints"


def _find_python_command(seconds: float) -> str:
    start = shlex.quote(_START % seconds)
    tried = " ".join(PYTHONS)
    script = (
        f'PATH=$PATH:/usr/local/bin:/usr/bin; for p in {tried}; do "$p" -I -c "" </dev/null >/dev/null 2>&1 '
        f'&& exec "$p" -I -c {start}; done; echo "no Python 3 was found" >&2; exit 1'
    )
    return f"exec /bin/sh -c {shlex.quote(script)}"


async def _read_peer_line(process: asyncio.subprocess.Process, host: str) -> PeerLine:
    assert process.stdout is not None
    assert process.stderr is not None
    for _ in range(MAX_LINES):
        line = await process.stdout.readline()
        if not line:
            words = (await process.stderr.read(4096)).decode("utf-8", "backslashreplace").split("\n")
            last = next((word for word in reversed(words) if word.strip()), "ssh said nothing")
            raise BenchRefused(f"{host}: no peer could be started there: {last.strip()[:200]}")
        with contextlib.suppress(msgspec.DecodeError):
            return msgspec.json.decode(line, type=PeerLine)
    raise BenchRefused(f"{host}: its login talks and starts no peer")


async def _address_of_ssh(host: str) -> str:
    """Return what ssh itself connects to, by its configuration."""
    process = await asyncio.create_subprocess_exec(
        "ssh", "-G", "--", host, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), END_S)
    except TimeoutError:  # a `Match exec` of its configuration hangs
        process.kill()
        await wait_briefly_async(process)
        output = b""
    for line in output.decode("utf-8", "replace").splitlines():
        name, _, value = line.partition(" ")
        if name == "hostname" and value:
            return value
    return host.rpartition("@")[2]


async def _close_and_wait_or_kill(process: asyncio.subprocess.Process) -> None:
    if process.stdin is not None:
        process.stdin.close()  # the peer sees it
    try:
        await asyncio.wait_for(process.wait(), 2.0)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await wait_briefly_async(process)
