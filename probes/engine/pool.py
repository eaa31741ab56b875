"""The storage engine's worker processes, from the runner's side."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from hostdx.probes.children.own_module import own_module
from hostdx.probes.engine.measured import BenchRefused
from hostdx.probes.engine.spec import BlockReply, LoadSpec
from hostdx.probes.files.rights import KILLED
from hostdx.probes.reading.process_stat import is_running

HELLO_S = 30.0  # sixteen interpreters start on one busy core
STUCK_S = 60.0  # an operation that takes longer hangs: better to say so than to wait for ever
LINE_BYTES = 4 << 20


class WorkerFailed(BenchRefused):
    """An error that says which worker could not do its work. `errno`: the system's, or 0; `side`: of a slice batch."""

    def __init__(self, text: str, errno: int = 0, side: int | None = None) -> None:
        super().__init__(text)
        self.errno = errno
        self.side = side


class EngineWorker:
    """One worker process. Requests are numbered, so that an answer nobody waits for any more is skipped."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, server: ForkServer
    ) -> None:
        self.number = 0
        self._reader = reader
        self._writer = writer
        self._server = server

    @classmethod
    async def start(cls, server: ForkServer) -> EngineWorker:
        reader, writer = await asyncio.open_connection(sock=server.fork(), limit=LINE_BYTES)
        worker = cls(reader, writer, server)
        try:
            server.pids.append(int((await worker.next_answer(0, HELLO_S))["hello"]))
        except BaseException:
            writer.close()
            raise
        return worker

    def send(self, message: Mapping[str, object]) -> None:
        self._writer.write(json.dumps(message).encode() + b"\n")

    def send_request(self, do: str, **fields: object) -> int:
        self.number += 1
        self.send({"id": self.number, "do": do, **fields})
        return self.number

    async def next_answer(self, number: int, seconds: float = STUCK_S) -> dict[str, Any]:
        """Return the next message for this request. Raise WorkerFailed where the worker failed, died or hangs."""
        try:
            async with asyncio.timeout(seconds):
                message = await self._next_message(number)
        except TimeoutError:
            raise WorkerFailed(
                f"a storage worker did not answer for {seconds:.0f} s: the device or file system hangs; see dmesg"
            ) from None
        if "error" in message:
            raise WorkerFailed(str(message["error"]), int(message["errno"]), message.get("side"))
        return message

    async def _next_message(self, number: int) -> dict[str, Any]:
        while True:
            try:
                line = await self._reader.readline()
                message = json.loads(line) if line else None
            except (ConnectionError, ValueError):
                message = None
            if message is None:
                raise WorkerFailed(await self._server.why_workers_ended())
            if message["to"] == number:
                return dict(message)

    def close(self) -> None:
        self._writer.close()


def fork_child(control: socket.socket) -> socket.socket:
    """Return the socket of a new child of a process that forks one for each descriptor it receives."""
    own_end, child_end = socket.socketpair()
    with child_end:
        try:
            socket.send_fds(control, [b"f"], [child_end.fileno()])
        except OSError:
            pass  # it is gone: reading from `own_end` finds the end
    return own_end


class ForkServer:
    """The interpreter from which the workers are forked."""

    def __init__(self, fds: Sequence[int]) -> None:
        """Only in a thread that outlives it: PR_SET_PDEATHSIG looks at the thread (prctl(2))."""
        self.pids: list[int] = []
        self._control, child_end = socket.socketpair()
        with child_end:
            self.process = subprocess.Popen(
                own_module("hostdx.probes.engine.worker", str(os.getpid())),
                stdin=child_end.fileno(),
                stdout=child_end.fileno(),
                stderr=child_end.fileno(),
                pass_fds=tuple(fds),
                env=os.environ | {"LC_ALL": "C"},
            )

    def fork(self) -> socket.socket:
        """Return the socket of a new worker."""
        return fork_child(self._control)  # `why_workers_ended` tells why it is gone

    async def why_workers_ended(self) -> str:
        status = await self.wait_for_exit(0.2)
        if status is None or status == -signal.SIGKILL:
            return f"a storage worker was {KILLED}; the block is lost"
        self._control.setblocking(False)
        try:
            output = self._control.recv(1 << 16).decode(errors="backslashreplace").strip()
        except OSError:
            output = ""
        last = output.splitlines()[-1] if output else "it said nothing"
        return f"the storage workers ended (status {status}): {last[:200]}"

    def kill(self) -> None:
        """Kill the process and all workers, which are tied to it. A worker in an operation dies when that returns."""
        if self.process.returncode is None:
            self.process.kill()
        self._control.close()

    async def wait_for_exit(self, seconds: float) -> int | None:
        """Return the exit status, or None after `seconds`, without a thread or a child watcher."""
        until = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < until:
            await asyncio.sleep(0.005)
        return self.process.returncode

    async def wait_until_gone(self, seconds: float) -> bool:
        """Return whether it and all its workers ended within `seconds`."""
        until = time.monotonic() + seconds
        while await self.wait_for_exit(seconds) is None or any(is_running(pid) for pid in self.pids):
            if time.monotonic() >= until:
                return False
            await asyncio.sleep(0.002)
        return True


class WorkerPool:
    """Workers that are started when they are needed; they inherit `fds`. After `kill` the next use starts new ones."""

    def __init__(self, fds: Sequence[int]) -> None:
        self.fds = tuple(fds)
        self.workers: list[EngineWorker] = []
        self._server: ForkServer | None = None
        self._dying: list[ForkServer] = []

    @property
    def all_pids(self) -> tuple[int, ...]:
        """Return the process ids of the workers and of the process that they are forked from."""
        return () if self._server is None else (self._server.process.pid, *self._server.pids)

    async def ensure_workers(self, count: int) -> list[EngineWorker]:
        missing = count - len(self.workers)
        if missing > 0:
            try:
                server = self._server = self._server or ForkServer(self.fds)
                self.workers += await asyncio.gather(*(EngineWorker.start(server) for _ in range(missing)))
            except OSError as error:
                self.kill()
                raise BenchRefused(f"cannot start the storage workers: {error.strerror}") from error
            except BaseException:
                self.kill()
                raise
        return self.workers[:count]

    async def run_long_command(self, do: str, progress: Callable[[int], None], **fields: object) -> None:
        """Run a command of the first worker that reports its progress; it may take as long as it reports."""
        (worker,) = await self.ensure_workers(1)
        try:
            number = worker.send_request(do, **fields)
            while "done" not in (message := await worker.next_answer(number)):
                progress(int(message["written"]))
        except BaseException:
            self.kill()
            raise

    async def drop_caches(self, do: str, specs: Sequence[LoadSpec]) -> float:
        """Drop page caches with one worker for each spec; return the largest share (0..1) that stayed in memory."""
        workers = await self.ensure_workers(len(specs))
        try:
            asked = [worker.send_request(do, **spec) for worker, spec in zip(workers, specs, strict=True)]
            answers = await asyncio.gather(*(w.next_answer(n) for w, n in zip(workers, asked, strict=True)))
        except BaseException:
            self.kill()
            raise
        return max(float(answer["resident"]) for answer in answers)

    async def run_block(self, specs: Sequence[LoadSpec], lead_s: float) -> list[BlockReply]:
        """Run one window with one worker for each spec; all start at the same moment."""
        longest = max(max(spec["at_most_s"], spec["slices"][-1]) for spec in specs)
        return cast(list[BlockReply], await self.run_together_or_kill("block", specs, lead_s, longest))

    async def run_together_or_kill(
        self, do: str, specs: Sequence[LoadSpec], lead_s: float, longest: float
    ) -> list[dict[str, Any]]:
        """Run one worker for each spec; all start at the same moment and take `longest` seconds at most.

        Any error, or a cancel, kills all workers of the pool.
        """
        workers = await self.ensure_workers(len(specs))
        try:
            asked = [worker.send_request(do, **spec) for worker, spec in zip(workers, specs, strict=True)]
            await asyncio.gather(*(w.next_answer(n) for w, n in zip(workers, asked, strict=True)))
            start = time.perf_counter_ns() + int(lead_s * 1e9)
            for worker in workers:
                worker.send({"go": start})
            return await asyncio.gather(
                *(w.next_answer(n, longest + STUCK_S) for w, n in zip(workers, asked, strict=True))
            )
        except BaseException:
            self.kill()
            raise

    async def sync_files(self, fds: Sequence[int], seconds: float) -> bool:
        """Call fdatasync on these files in the first worker; return False where it takes longer
        than `seconds` (it goes on).
        """
        if not self.workers:
            return True
        number = self.workers[0].send_request("sync", fds=list(fds))
        try:
            await self.workers[0].next_answer(number, seconds)
        except WorkerFailed:
            return False
        return True

    def kill(self) -> None:
        """End all workers at once."""
        for worker in self.workers:
            worker.close()
        self.workers = []
        if self._server is not None:
            self._server.kill()
            self._dying.append(self._server)
            self._server = None

    async def close(self, seconds: float = 2.0) -> None:
        """End the workers and wait, for a limited time, until they are gone."""
        self.kill()
        until = time.monotonic() + seconds
        for server in self._dying:
            await server.wait_until_gone(max(0.0, until - time.monotonic()))
        self._dying = [server for server in self._dying if server.process.returncode is None]


class SharedWorkers:
    """One set of workers for all benches that are compared, so that differences between workers do
    not look like differences between variants.

    With a pool for each variant, one of two like directories streamed 20 to 30 % faster than the other in most runs,
    until the workers were started anew (physical pages, scheduling); with one pool for both they differed by 1 %.
    """

    def __init__(self) -> None:
        self.pool = WorkerPool(())

    async def restart_with_descriptors(self, fds: Sequence[int]) -> None:
        """Let the workers that start from now on inherit these descriptors as well; those that run are ended."""
        await self._renew_pool((*self.pool.fds, *fds))

    async def forget_descriptors(self, fds: Sequence[int]) -> None:
        await self._renew_pool(tuple(fd for fd in self.pool.fds if fd not in fds))

    async def _renew_pool(self, fds: tuple[int, ...]) -> None:
        await self.pool.close()
        self.pool = WorkerPool(fds)
