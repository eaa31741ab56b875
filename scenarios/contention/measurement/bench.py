"""The scaling probe from the runner's side: a point is one load by so many workers for a moment."""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from hostdx.probes.children.line_child import LineChild
from hostdx.probes.engine.command.supervised import KernelLockWaits
from hostdx.probes.engine.measured import BenchRefused
from hostdx.probes.files.rights import KILLED
from hostdx.probes.profile.wait_samples import WaitSample

ANSWER_S = 150.0  # two mkfs, or a point whose workers hang
LINE_BYTES = 1 << 20
MAX_QUEUED_SHARE = 0.95  # of the time: what is left is no longer a measurement


class _WorkerCounts(msgspec.Struct, frozen=True):
    operations: int = 0
    seconds: float = 0.0
    queued_s: float = 0.0
    user_s: float = 0.0
    system_s: float = 0.0
    switches: int = 0
    error: str = ""


class _PointReply(msgspec.Struct, frozen=True):
    error: str = ""
    workers: tuple[_WorkerCounts, ...] = ()
    waits: tuple[WaitSample, ...] = ()
    stalled_s: dict[str, float] = {}
    locks: KernelLockWaits | None = None


class ScalingPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The throughput of one number of workers. Operations, user_s, system_s and (voluntary) switches are of all
    workers in `seconds`.

    rate: operations/s with a CPU for each worker, at most all CPUs. Time in which they waited for a CPU is left out,
    because other programs take CPUs at one moment and not at the next.
    queued: the share (0..1) of their time in which they waited for a CPU.
    stalled: the share (0..1) of the time in which some task of the host waited, by resource (PSI); waits: sampled.
    """

    rate: float
    operations: int
    seconds: float
    queued: float = 0.0
    user_s: float = 0.0
    system_s: float = 0.0
    switches: int = 0
    stalled: dict[str, float] = {}
    waits: tuple[WaitSample, ...] = ()
    locks: KernelLockWaits | None = None

    @property
    def is_starved(self) -> bool:
        """Return whether the workers had next to no CPU, so that no rate can be told."""
        return not self.operations or self.queued >= MAX_QUEUED_SHARE


class ContentionBench:
    """Measures workers on shared structures. `name`: the process name that the undo journal knows, where it holds
    mounts.
    """

    def __init__(self, child: LineChild) -> None:
        self._child = child

    @classmethod
    async def on_memory_disks(cls, name: str, kinds: Sequence[str], workers: int) -> ContentionBench:
        """Return a bench with a file system of each kind on a loop device in memory. Raise BenchRefused."""
        return await cls._start_server(name, (), {"do": "memory", "kinds": list(kinds), "workers": workers})

    @classmethod
    async def start_in_directories(cls, fds: Sequence[int], workers: int) -> ContentionBench:
        """Return a bench below empty directories of our own. Raise BenchRefused."""
        return await cls._start_server("-", fds, {"do": "directories", "fds": list(fds), "workers": workers})

    @classmethod
    async def _start_server(cls, name: str, fds: Sequence[int], first: dict[str, object]) -> ContentionBench:
        bench = cls(
            await LineChild.start("hostdx.scenarios.contention.measurement.server", name, fds, LINE_BYTES)
        )
        try:
            await bench._send_request(first)
        except BaseException:
            await bench.close()
            raise
        return bench

    async def measure_unqueued_point(
        self, load: str, side: int, workers: int, seconds: float, *, locks: bool = False
    ) -> ScalingPoint:
        """Measure so many workers for `seconds`; time in which they queued for a CPU is left out of the rate.

        `locks`: also the waits for the kernel's locks, which takes time of its own. Raise BenchRefused.
        """
        reply = await self._send_request(
            {
                "do": "point",
                "load": load,
                "side": side,
                "workers": workers,
                "seconds": seconds,
                "locks": locks,
            }
        )
        wrong = next((worker.error for worker in reply.workers if worker.error), "")
        if wrong or len(reply.workers) != workers:
            raise BenchRefused(wrong or "a worker of the scaling probe died")
        took = max(worker.seconds for worker in reply.workers)
        operations = sum(worker.operations for worker in reply.workers)
        worker_seconds = sum(worker.seconds for worker in reply.workers)
        queued = min(sum(worker.queued_s for worker in reply.workers), MAX_QUEUED_SHARE * worker_seconds)
        return ScalingPoint(
            rate=operations / (worker_seconds - queued) * min(workers, len(os.sched_getaffinity(0))),
            operations=operations,
            seconds=took,
            queued=queued / worker_seconds,
            user_s=sum(worker.user_s for worker in reply.workers),
            system_s=sum(worker.system_s for worker in reply.workers),
            switches=sum(worker.switches for worker in reply.workers),
            stalled={name: min(1.0, max(0.0, s / took)) for name, s in reply.stalled_s.items()},
            waits=reply.waits,
            locks=reply.locks,
        )

    async def close(self) -> None:
        """End the child process, its workers and its mounts."""
        await self._child.end()

    async def _send_request(self, request: dict[str, object]) -> _PointReply:
        try:
            line = await self._child.send_request(request, ANSWER_S)
        except TimeoutError:
            raise BenchRefused(
                f"the scaling probe did not answer for {ANSWER_S:.0f} s: a file system hangs"
            ) from None
        if not line:
            raise BenchRefused(f"the scaling probe's process was {KILLED}")
        reply = msgspec.json.decode(line, type=_PointReply)
        if reply.error:
            raise BenchRefused(reply.error)
        return reply
