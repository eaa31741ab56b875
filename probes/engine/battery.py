"""The battery: many small loads in fine slices, by the storage engine's workers.

Each slice lasts some hundredths of a second and all loads take turns, so that every figure spreads
over the whole run: what disturbs the host for some seconds falls on all of them alike.
"""

import os
import random
from collections.abc import Sequence

import msgspec

from hostdx.probes.engine.battery_loads import (
    CALL_SLICE_S,
    CALLS,
    DISK_SLICE_S,
    FILES,
    MIN_FILES_PER_SLICE,
    PROCESSES,
    SLOTS,
    CallLoad,
    Slot,
    disk_loads,
)
from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.engine.disk.preparation import Progress
from hostdx.probes.engine.disk.storage import StorageBench
from hostdx.probes.engine.measured import Measured, MeasurementInvalid
from hostdx.probes.engine.pool import SharedWorkers, WorkerPool
from hostdx.probes.engine.spec import BlockReply, LoadSpec
from hostdx.probes.engine.workloads import MIB, EngineLoad
from hostdx.probes.files.private_directory import PrivateDirectory
from hostdx.probes.reading.host import Host
from hostdx.probes.system.processor.throttle import find_quota_files, quota_throttles

LEAD_S = 0.002
COPIED_BYTES = 256 * MIB  # by all workers together: more than the caches of a socket hold
MIN_COPIED_BYTES = 2 * MIB
MAX_COPIED_BYTES = 32 * MIB  # a worker
MAX_FILES_PER_SLICE = 20_000
PROGRAMS = ("/bin/true", "/usr/bin/true")
DISK_KINDS = ("randread-4k-qd1", "fsync-4k-qd1")  # of the engine's own loads: what makes it write both files


class BenchmarkSet:
    """The benchmark set on one host, with a directory for its disk loads.

    cpus: the CPUs that it may use.
    stretch: longer operations on purpose, for tests: by load id, the share.
    directory: where the disk's test files are made; None: neither disk nor file loads.
    private: a directory of our own, made and removed by the caller.
    """

    def __init__(
        self,
        host: Host,
        directory: str | None,
        private: PrivateDirectory | None,
        size_bytes: int,
        seed: int,
        leaves: Sequence[str],
        cpus: Sequence[int],
        *,
        budget: WriteBudget | None = None,
        stretch: dict[str, float] | None = None,
    ) -> None:
        self.cpus = tuple(cpus)
        self.stretch = dict(stretch or {})
        self._private = private
        self._rng = random.Random(seed)
        self._crew = SharedWorkers()
        self._processes = WorkerPool(())
        self._names_fd: int | None = None
        self._files: dict[Slot, list[int]] = {}  # how many each worker made and has not deleted
        self._host, self._quotas = host, find_quota_files(host)
        self._program = next((p for p in PROGRAMS if os.access(p, os.X_OK)), "")
        self._disk = (
            StorageBench(host, directory, private, size_bytes, seed, leaves, budget=budget, crew=self._crew)
            if directory is not None
            else None
        )
        self._loads: dict[tuple[str, Slot], EngineLoad] = {
            (load.id, slot): load for slot in SLOTS for load in disk_loads(self.worker_count(slot))
        }

    def worker_count(self, slot: Slot) -> int:
        return 1 if slot == "one" else len(self.cpus)

    @property
    def disk_notes(self) -> tuple[str, ...]:
        return self._disk.result_notes if self._disk is not None else ()

    async def prepare_files(self, progress: Progress | None = None) -> None:
        """Write the test files. Raise BenchRefused."""
        if self._private is not None:
            self._names_fd = os.dup(self._private.fd)
            await self._crew.restart_with_descriptors([self._names_fd])
        if self._disk is not None:
            await self._disk.prepare_files(progress, DISK_KINDS)

    async def measure_slice(self, load: str, slot: Slot) -> Measured:
        """Measure one slice of a load. Raise MeasurementInvalid where it cannot run, WriteBudgetSpent, and
        BenchRefused.
        """
        call = next((c for c in CALLS if c.id == load), None)
        if call is not None:
            return await self._measure_call(call, slot)
        if self._disk is None:
            raise MeasurementInvalid("no directory to measure in")
        wanted = self._loads[load, slot]
        # The write budget reckons by load: one and all CPUs write at different rates.
        renamed = msgspec.structs.replace(wanted, id=f"{load} {slot}")
        measured = await self._disk.measure_block(renamed, DISK_SLICE_S, min_operations=1)
        await self._disk.finish_requests()
        return measured

    async def _measure_call(self, call: CallLoad, slot: Slot) -> Measured:
        count = self.worker_count(slot)
        if call.call in FILES and self._names_fd is None:
            raise MeasurementInvalid("no directory of our own to create files in")
        if call.call == "exec" and not self._program:
            raise MeasurementInvalid(f"none of {', '.join(PROGRAMS)} is there")
        pool = self._processes if call.call in PROCESSES else self._crew.pool
        specs = [self._worker_call_spec(call, slot, index, count) for index in range(count)]
        if call.call in ("stat", "delete") and not all(spec["most"] != 0 for spec in specs):
            raise MeasurementInvalid("no file was created")
        before = quota_throttles(self._host, self._quotas)
        replies = await pool.run_block(specs, LEAD_S + 0.0002 * count)
        held = quota_throttles(self._host, self._quotas) != before
        if call.call == "create":
            self._files[slot] = [int(reply["n"]) for reply in replies]
        elif call.call == "delete":
            self._files.pop(slot, None)
        return _sum_quartile_rates(call, replies, quota=held)

    def _worker_call_spec(self, call: CallLoad, slot: Slot, index: int, count: int) -> LoadSpec:
        most: int | None = None
        if call.call == "create":
            most = MAX_FILES_PER_SLICE // count
        elif call.call == "delete":
            created_counts = self._files.get(slot, [])
            most = created_counts[index] if index < len(created_counts) else 0
        elif call.call == "stat" and not self._files.get(slot):
            most = 0
        return {
            "kind": "call",
            "call": call.call,
            "seed": self._rng.getrandbits(48),
            "stretch": self.stretch.get(call.id, 0.0),
            "slices": [CALL_SLICE_S],
            "least": -(-MIN_FILES_PER_SLICE // count) if call.call == "create" else 1,
            "most": most,
            "at_most_s": 20 * CALL_SLICE_S,
            "fd": self._names_fd if self._names_fd is not None else -1,
            "cpu": self.cpus[index % len(self.cpus)],
            "program": self._program,
            "bytes": max(MIN_COPIED_BYTES, min(MAX_COPIED_BYTES, COPIED_BYTES // count // MIB * MIB)),
        }

    async def close(self) -> None:
        """End the workers and close the files. It may be called twice."""
        await self._processes.close()
        if self._disk is not None:
            await self._disk.close()
        await self._crew.pool.close()
        fd, self._names_fd = self._names_fd, None
        if fd is not None:
            os.close(fd)


def _sum_quartile_rates(call: CallLoad, replies: Sequence[BlockReply], *, quota: bool) -> Measured:
    """Return the sum of the workers' rates at their lower quartiles. With `quota` (a CPU quota) the rate includes the
    quota's stops, because no other process is in the way and this is what the host gives.
    """
    pieces = [piece for reply in replies for piece in reply["slices"]]
    if quota:
        rate = sum(1e9 * piece["n"] / piece["ns"] for piece in pieces if piece["ns"] > 0)
    else:
        rate = sum(1e9 / piece["q"] for piece in pieces if piece["q"] > 0)
    value = rate * call.bytes / 1e6 if call.unit == "MB/s" else rate * call.calls
    operations = sum(int(piece["n"]) for piece in pieces)
    return Measured(
        seconds=max(piece["ns"] for piece in pieces) / 1e9,
        values={call.unit: value},
        operations=operations * call.calls,
        bytes=operations * call.bytes,
        cpu_s=sum(piece["cpu"] for piece in pieces),
    )


def own_affinity() -> tuple[int, ...]:
    """Return the CPUs that this process may run on (cpuset, taskset)."""
    return tuple(sorted(os.sched_getaffinity(0)))
