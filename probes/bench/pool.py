"""The storage engine's worker processes, from the runner's side."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from probes.bench.measured import BenchRefused

HELLO_S = 30.0  # sixteen interpreters start on one busy core
STUCK_S = 60.0  # an operation that takes longer hangs: better to say so than to wait for ever
LINE_BYTES = 4 << 20


class WorkerFailed(BenchRefused):
    """A worker could not do what it was told. `errno` is the system's, or 0."""

    def __init__(self, text: str, errno: int = 0) -> None:
        super().__init__(text)
        self.errno = errno


class Worker:
    """One process. Requests are numbered, so that an answer nobody waited for is passed over."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.number = 0
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._said = ""

    @classmethod
    def start(cls, fds: Sequence[int]) -> tuple[Worker, socket.socket]:
        """Only in a thread that outlives the worker: PR_SET_PDEATHSIG looks at the thread (prctl(2))."""
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "probes.bench.worker", str(os.getpid())],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=theirs.fileno(),
                pass_fds=tuple(fds),
                env=os.environ | {"LC_ALL": "C"},
            )
        return cls(process), ours

    async def greet(self, ours: socket.socket) -> None:
        self._reader, self._writer = await asyncio.open_connection(sock=ours, limit=LINE_BYTES)
        async with asyncio.timeout(HELLO_S):
            await self._next(0)

    def send(self, message: dict[str, Any]) -> None:
        assert self._writer is not None
        self._writer.write(json.dumps(message).encode() + b"\n")

    def ask(self, do: str, **what: Any) -> int:
        self.number += 1
        self.send({"id": self.number, "do": do, **what})
        return self.number

    async def answer(self, number: int, seconds: float = STUCK_S) -> dict[str, Any]:
        """The next message to this request; WorkerFailed where it could not, died or hangs."""
        try:
            async with asyncio.timeout(seconds):
                message = await self._next(number)
        except TimeoutError:
            raise WorkerFailed(
                f"a storage worker did not answer for {seconds:.0f} s: the device or file system hangs; see dmesg"
            ) from None
        if "error" in message:
            raise WorkerFailed(str(message["error"]), int(message["errno"]))
        return message

    async def _next(self, number: int) -> dict[str, Any]:
        assert self._reader is not None
        while True:
            try:
                line = await self._reader.readline()
            except (ConnectionError, ValueError):
                line = b""
            if not line:
                raise WorkerFailed(await self._why_gone())
            try:
                message = json.loads(line)
            except ValueError:
                self._said = line.decode(errors="backslashreplace").strip() or self._said
                continue
            if message["to"] == number:
                return dict(message)

    async def _why_gone(self) -> str:
        status = await _ended(self.process, 1.0)
        if status is not None and status < 0:
            name = signal.Signals(-status).name if -status in signal.valid_signals() else str(-status)
            hint = ": out of memory? see dmesg" if status == -signal.SIGKILL else ""
            return f"a storage worker was ended by {name}{hint}; the block is lost"
        return f"a storage worker ended (status {status}): {self._said[:200] or 'it said nothing'}"

    def kill(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
        if self._writer is not None:
            self._writer.close()


class Pool:
    """Started as they are needed; `fds` (name -> fd) are inherited. After `kill` the next use starts new ones."""

    def __init__(self, fds: Sequence[int]) -> None:
        self.fds = tuple(fds)
        self.workers: list[Worker] = []
        self._dying: list[Worker] = []

    async def ensure(self, count: int) -> list[Worker]:
        missing = count - len(self.workers)
        if missing > 0:
            try:
                started = [Worker.start(self.fds) for _ in range(missing)]
            except OSError as error:
                self.kill()
                raise BenchRefused(f"cannot start a storage worker: {error.strerror}") from error
            self.workers += [worker for worker, _ in started]
            try:
                await asyncio.gather(*(worker.greet(ours) for worker, ours in started))
            except TimeoutError:
                self.kill()
                raise BenchRefused(f"the storage workers did not start within {HELLO_S:.0f} s") from None
            except BaseException:
                self.kill()
                raise
        return self.workers[:count]

    async def long(self, do: str, progress: Callable[[int], None], **what: Any) -> None:
        """A command of the first worker that reports on its way; it may take as long as it goes on reporting."""
        (worker,) = await self.ensure(1)
        try:
            number = worker.ask(do, **what)
            while "done" not in (message := await worker.answer(number)):
                progress(int(message["written"]))
        except BaseException:
            self.kill()
            raise

    async def block(self, specs: Sequence[dict[str, Any]], lead_s: float) -> list[dict[str, Any]]:
        """One block of as many workers as specs: all get ready, then start at the same moment."""
        workers = await self.ensure(len(specs))
        longest = max(max(spec["at_most_s"], spec["slices"][-1]) for spec in specs)
        try:
            asked = [worker.ask("block", **spec) for worker, spec in zip(workers, specs, strict=True)]
            await asyncio.gather(*(w.answer(n) for w, n in zip(workers, asked, strict=True)))
            start = time.perf_counter_ns() + int(lead_s * 1e9)
            for worker in workers:
                worker.send({"go": start})
            return await asyncio.gather(
                *(w.answer(n, longest + STUCK_S) for w, n in zip(workers, asked, strict=True))
            )
        except BaseException:
            self.kill()
            raise

    async def sync(self, fd: int, seconds: float) -> bool:
        """fdatasync in the first worker; False where it takes longer than `seconds` (it goes on)."""
        if not self.workers:
            return True
        number = self.workers[0].ask("sync", fd=fd)
        try:
            await self.workers[0].answer(number, seconds)
        except WorkerFailed:
            return False
        return True

    def kill(self) -> None:
        """At once. One that the kernel holds in an operation dies when that returns."""
        for worker in self.workers:
            worker.kill()
        self._dying += self.workers
        self.workers = []

    async def close(self, seconds: float = 2.0) -> None:
        self.kill()
        until = time.monotonic() + seconds
        for worker in self._dying:
            await _ended(worker.process, max(0.0, until - time.monotonic()))
        self._dying = [worker for worker in self._dying if worker.process.returncode is None]


async def _ended(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    """The exit status, or None after `seconds`; no thread and no child watcher for a process that ends at once."""
    until = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < until:
        await asyncio.sleep(0.005)
    return process.returncode
