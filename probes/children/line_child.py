"""A module of ours in a process of its own that answers each JSON line with one and dies with us."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Sequence

import msgspec

from hostdx.probes.children.bounded_wait import wait_briefly_async
from hostdx.probes.children.own_module import own_module

LINE_BYTES = 1 << 16


class LineChild:
    """One request at a time: who asks again before the answer is there gets the former one's."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(
        cls, module: str, name: str, fds: Sequence[int] = (), line_bytes: int = LINE_BYTES
    ) -> LineChild:
        """`name`: what the undo journal knows the process by, then our pid are told. `line_bytes`: of an answer."""
        return cls(
            await asyncio.create_subprocess_exec(
                *own_module(module, name, str(os.getpid())),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                pass_fds=tuple(fds),
                start_new_session=True,
                limit=line_bytes,
                cwd="/",
            )
        )

    @property
    def process_id(self) -> int:
        return self._process.pid

    def send_signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def send_request(self, request: object, seconds: float) -> bytes:
        """The answer, empty where the process has ended. Raises TimeoutError."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(msgspec.json.encode(request) + b"\n")
            await self._process.stdin.drain()
        except ConnectionError:
            return b""
        return await self.read_line(seconds)

    async def read_line(self, seconds: float) -> bytes:
        """Return what it says next, as `send_request`."""
        assert self._process.stdout is not None
        async with asyncio.timeout(seconds):
            return await self._process.stdout.readline()

    async def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await wait_briefly_async(self._process)
