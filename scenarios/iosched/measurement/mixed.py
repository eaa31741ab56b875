"""Runs the mixed loads: the storage engine's workers, several kinds of them at the same moment.

The files are unnamed and completely written with incompressible data; a read has a file of its own, so has each
kind of writer. Every block ends with fdatasync and with nothing in flight on the leaf devices.
"""

import asyncio
import fcntl
import os
import random
import time
from collections.abc import Sequence
from functools import partial
from typing import Literal, TypeAlias

import msgspec

from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.engine.disk.preparation import Progress, fill_files
from hostdx.probes.engine.files import TestFile, file_part_of_worker, make_unnamed_file
from hostdx.probes.engine.histogram import coarser_buckets
from hostdx.probes.engine.measured import (
    BenchRefused,
    Measured,
    MeasurementInvalid,
    ValueInWindow,
    served_by_cache_reason,
)
from hostdx.probes.engine.pool import WorkerPool
from hostdx.probes.engine.spec import BlockReply, LoadSpec
from hostdx.probes.engine.summary import block_cuts_s, combine_replies
from hostdx.probes.engine.workloads import UNIT, WRITTEN_AT_MOST, EngineLoad, escape_fio_directory, shell_line
from hostdx.probes.files.private_directory import PrivateDirectory
from hostdx.probes.files.safe_read import read_shipped_toml
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.diskstats import counter_growth, disk_bytes, leaf_counters
from hostdx.probes.system.disk.scheduler import read_inflight_reads_and_writes
from hostdx.probes.types import is_present

# The mixed loads that an I/O scheduler is judged by, as data (`mixes.toml`): several kinds of worker at the same time.
#
# What storage farms do and what starves: many random readers, two writers beside a small reader, several streams,
# readers of different priority.
File: TypeAlias = Literal["read", "direct", "buffered", "none"]


class WorkerRole(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Workers that do the same. `priority` is (class, level) of ioprio_set(2)."""

    load: EngineLoad
    file: File
    priority: tuple[int, int] | None = None


class WorkerMix(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Roles that run at the same time. `judged` names the metrics that get a verdict, the leading one first.

    `advantage` names a metric that is the ratio of the first role's rate to the second's.
    """

    id: str
    title: str
    why: str
    roles: tuple[WorkerRole, ...]
    block_s: float
    onset_s: float = 0.0
    advantage: str = ""
    control: bool = False

    @property
    def has_writers(self) -> bool:
        return any(role.load.kind == "write" for role in self.roles)

    @property
    def writer_count(self) -> int:
        return sum(role.load.workers for role in self.roles if role.load.kind == "write")

    @property
    def worker_count(self) -> int:
        return sum(role.load.workers for role in self.roles)


MIXES = read_shipped_toml(__file__, "mixes.toml", dict[str, tuple[WorkerMix, ...]])["mix"]


def file_sizes_of_mixes(size_bytes: int, mixes: Sequence[WorkerMix]) -> dict[File, int]:
    """The sizes of the files that these mixes need: one to read, one for each kind of writer."""
    wanted = {role.file for mix in mixes for role in mix.roles} - {"none"}
    write = max(UNIT, min(size_bytes // 4, WRITTEN_AT_MOST) // UNIT * UNIT)
    read = max(UNIT, size_bytes // UNIT * UNIT)
    order: tuple[File, ...] = ("read", "direct", "buffered")
    return {file: read if file == "read" else write for file in order if file in wanted}


def fio_command(mix: WorkerMix, size_bytes: int, directory: str, rate: int | None) -> str:
    """The fio command that runs the same jobs at the same time; none for the CPU."""
    sizes = file_sizes_of_mixes(size_bytes, [mix])
    words = [
        "fio",
        escape_fio_directory(directory),
        "--ioengine=psync",
        "--time_based",
        f"--runtime={mix.block_s:g}",
    ]
    words += ["--group_reporting", "--unlink=1"]
    for role in mix.roles:
        if role.file == "none":
            return ""
        load = role.load
        rw = load.kind if load.sequential else f"rand{load.kind}"
        words += [f"--name={load.id.replace(' ', '-')}", f"--rw={rw}", f"--bs={load.block_bytes}"]
        words += [f"--direct={int(role.file != 'buffered')}", f"--numjobs={load.workers}"]
        words += [f"--size={sizes[role.file]}"]
        if load.kind == "write":
            words += ["--refill_buffers", *([f"--rate={rate}"] if rate else [])]
        if role.priority:
            words += [f"--prioclass={role.priority[0]}", f"--prio={role.priority[1]}"]
    return shell_line(words)


COARSE = 1.125  # a reader that starves and races in one block fills hundreds of the fine ones
LEAD_S = 0.005
SETTLE_AT_MOST_S = 30.0  # a buffered writer may leave seconds of dirty pages on a slow disk
# Looked at every few milliseconds, also a busy device has a moment without I/O in flight; one that has none in this
# time is never switched.
SILENCE_AT_MOST_S = 30.0
LOOK_S = 0.004


class MixedBench:
    """One directory under test. Not for two tasks at once.

    private     the directory of our own that the files are made in; made, removed and closed by the caller.
    write_rate  bytes a second at most for each writer, so that the run keeps its write bound; None: unheld.
    leaves      kernel names of the devices below, for their counters.
    """

    def __init__(
        self,
        host: Host,
        private: PrivateDirectory,
        size_bytes: int,
        seed: int,
        leaves: Sequence[str],
        *,
        budget: WriteBudget,
        write_rate: int | None = None,
    ) -> None:
        self.host = host
        self.private = private
        self.directory = private.path
        self.size_bytes = size_bytes
        self.leaves = tuple(leaves)
        self.budget = budget
        self.write_rate = write_rate
        self._rng = random.Random(seed)
        self._files: dict[File, TestFile] = {}
        self._pool = WorkerPool(())
        self.last: tuple[int, int, float] | None = None  # of the last block: our bytes, others', seconds

    async def prepare_files(self, mixes: Sequence[WorkerMix], progress: Progress | None = None) -> None:
        """Makes and fills the files. Raises BenchRefused with one line; then nothing is left."""
        sizes = file_sizes_of_mixes(self.size_bytes, mixes)
        if refusal := self.budget.refusal_text(sum(sizes.values())):
            raise BenchRefused(f"{self.directory}: {refusal}")
        try:
            for file, size in sizes.items():
                self._files[file] = await asyncio.to_thread(
                    make_unnamed_file, self.private.fd, self.directory, size
                )
            self._pool = WorkerPool([file.fd for file in self._files.values()])
            laid = [(self.directory, file) for file in self._files.values()]
            moved = partial(disk_bytes, self.host, self.leaves, "write")
            await fill_files(self._pool, laid, self.budget, moved, progress)
            buffered = self._files.get("buffered")
            if buffered is not None and buffered.direct:
                _turn_direct_io_off(buffered.fd)
        except BaseException:
            await self.close()
            raise

    async def measure_block(self, mix: WorkerMix, seconds: float, onset_s: float = 0.0) -> Measured:
        """One block of all roles at once, its first `onset_s` apart, then fdatasync and silence on the device.

        Raises MeasurementInvalid (write bound spent, served by a cache), WorkerFailed where a worker died.
        """
        self.budget.check(self._expected_written_bytes(mix, seconds))
        ends = block_cuts_s(seconds, onset_s)
        specs = [self._worker_spec(role, n, ends) for role in mix.roles for n in range(role.load.workers)]
        before = self._read_and_written_bytes()
        replies = await self._pool.run_block(specs, LEAD_S + 0.0002 * len(specs))
        await self.wait_until_settled()
        moved = [counter_growth(a, b) for a, b in zip(before, self._read_and_written_bytes(), strict=True)]
        measured = self._combine_roles(mix, replies, ends, onset_s > 0, moved[0])
        read, written = (_bytes_of_kind(mix, replies, kind) for kind in ("read", "write"))
        foreign_bytes = sum(m for m in moved if m is not None) - read - written
        self.last = (read + written, max(0, foreign_bytes), seconds)
        if mix.has_writers:
            self.budget.charge(written, moved[1])
            # The guards reckon bytes by operations: beside writers at a rate of their own that tells nothing.
            measured = msgspec.structs.replace(measured, device_bytes=None)
        return measured

    def _expected_written_bytes(self, mix: WorkerMix, seconds: float) -> int:
        writers = sum(role.load.workers for role in mix.roles if role.load.kind == "write")
        rate = self.write_rate if self.write_rate is not None else 64 << 20
        return int(writers * rate * seconds)

    def _worker_spec(self, role: WorkerRole, index: int, ends: list[float]) -> LoadSpec:
        load = role.load
        spec: LoadSpec = {
            "kind": load.kind,
            "fd": -1,
            "seed": self._rng.getrandbits(48),
            "stretch": 0.0,
            "slices": ends,
            "least": 0,
            "most": None,
            "at_most_s": ends[-1],
            "priority": role.priority,
        }
        if role.file == "none":
            return spec
        file = self._files.get(role.file)
        if file is None:
            raise MeasurementInvalid(f"{self.directory}: no test file was prepared for {load.title}")
        buffered = role.file == "buffered"
        spec |= file_part_of_worker([file], index, load.workers, load.block_bytes, sequential=load.sequential)
        spec |= {"sync": False, "direct": file.direct and not buffered, "buffered": buffered}
        if load.kind == "write" and self.write_rate is not None:
            spec["rate"] = self.write_rate
        return spec

    def _combine_roles(
        self,
        mix: WorkerMix,
        replies: list[BlockReply],
        ends: list[float],
        onset: bool,
        read_by_device: int | None,
    ) -> Measured:
        """The first role leads: its operations, percentiles and histogram; every role gives its metric."""
        parts = [
            combine_replies(role.load, own, ends, onset, None) for role, own in _replies_by_role(mix, replies)
        ]
        read = _bytes_of_kind(mix, replies, "read")
        lead = msgspec.structs.replace(parts[0], bytes=read, device_bytes=read_by_device if read else None)
        if why := served_by_cache_reason(lead):
            raise MeasurementInvalid(why)
        merged = _merge_roles(mix, parts, lead)
        first = [p.onset for p in parts if p.onset is not None]
        if len(first) == len(parts):
            return msgspec.structs.replace(merged, onset=_merge_roles(mix, first, first[0]))
        return merged

    async def wait_until_settled(self) -> None:
        """fdatasync of every written file, then until nothing is in flight on the leaves.

        A writer under way must not be carried over into the next variant's block, and no scheduler is switched under
        I/O. Raises BenchRefused where that moment does not come: ours that hangs, or others' that never pauses.
        """
        for name in ("direct", "buffered"):
            file = self._files.get(name)
            if file is not None and not await self._pool.sync_files([file.fd], SETTLE_AT_MOST_S):
                raise BenchRefused(
                    f"{self.directory}: what was written did not reach the device within {SETTLE_AT_MOST_S:.0f} s: "
                    "it hangs or is very slow, and nothing more is measured or switched on it; see dmesg"
                )
        until = time.monotonic() + SILENCE_AT_MOST_S
        before = leaf_counters(self.host, self.leaves)
        while busy := self._first_leaf_in_flight():
            if time.monotonic() >= until:
                hangs = before is not None and before == leaf_counters(self.host, self.leaves)
                reason = "nothing of what is in flight comes back" if hangs else "others' I/O never pauses"
                after = "it hangs; see dmesg" if hangs else "try again when the device is quieter"
                raise BenchRefused(
                    f"{busy}: {reason} for {SILENCE_AT_MOST_S:.0f} s, so the scheduler is not switched; {after}"
                )
            await asyncio.sleep(LOOK_S)

    def _first_leaf_in_flight(self) -> str:
        """The first leaf that has something in flight; empty for none."""
        held = ((leaf, read_inflight_reads_and_writes(self.host, leaf)) for leaf in self.leaves)
        return next((leaf for leaf, now in held if is_present(now) and any(now)), "")

    def _read_and_written_bytes(self) -> list[int | None]:
        return [disk_bytes(self.host, self.leaves, kind) for kind in ("read", "write")]

    async def close(self) -> None:
        """Closes the files and ends the workers, which frees their space. May be called twice.

        In this order: who closes an unnamed file last waits until its blocks are freed, which on a device that does
        not answer is never. That is to be a worker's lot, which has been killed, and not ours.
        """
        files, self._files = self._files, {}
        for file in files.values():
            await asyncio.to_thread(os.close, file.fd)
        await self._pool.close()
        self._pool = WorkerPool(())


def _replies_by_role(mix: WorkerMix, replies: list[BlockReply]) -> list[tuple[WorkerRole, list[BlockReply]]]:
    out = []
    at = 0
    for role in mix.roles:
        out.append((role, replies[at : at + role.load.workers]))
        at += role.load.workers
    return out


def _bytes_of_kind(mix: WorkerMix, replies: list[BlockReply], kind: str) -> int:
    """Return what the workers of one direction moved in the whole block, its onset too."""
    pairs = _replies_by_role(mix, replies)
    return sum(r["n"] * role.load.block_bytes for role, own in pairs for r in own if role.load.kind == kind)


def _merge_roles(mix: WorkerMix, parts: list[Measured], lead: Measured) -> Measured:
    values = {name: value for part in parts for name, value in part.values.items()}
    if mix.advantage and len(parts) > 1:
        first, second = (next(iter(p.values.values())) for p in parts[:2])
        values[mix.advantage] = first / second if second > 0 else 0.0
    return msgspec.structs.replace(
        lead,
        values=values,
        cpu_s=sum(p.cpu_s for p in parts),
        within=_thinned_lead_values(lead),
        histogram=coarser_buckets(lead.histogram, COARSE),
        onset=None,
    )


def _thinned_lead_values(lead: Measured) -> list[ValueInWindow]:
    """The leading metric inside the block; a long one once a second, which is enough to see an onset fade."""
    own = [w for w in lead.within if w.series in lead.values]
    return own[1::2] if len(own) > 10 else own


def _turn_direct_io_off(fd: int) -> None:
    """The buffered writer goes through the page cache; the file was filled without it."""
    flags = fcntl.fcntl(fd, fcntl.F_GETFL)
    fcntl.fcntl(fd, fcntl.F_SETFL, flags & ~os.O_DIRECT)
