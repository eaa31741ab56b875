"""The built-in storage engine: needs neither root nor fio.

One persistent process a worker, O_DIRECT into an aligned buffer, precomputed offsets, latencies kept. With threads
instead it reached 0.6 of fio's psync IOPS, with processes 0.94 to 1.03 (measured, design page).
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec

from probes.bench.budget import WriteBudget
from probes.bench.cache import cache_check
from probes.bench.files import TestFile, open_unnamed
from probes.bench.measured import BenchRefused, Measured, NotApplicable
from probes.bench.pool import Pool, WorkerFailed
from probes.bench.summary import slice_ends, summed
from probes.bench.workloads import (
    IDS,
    NAMES_AT_ONCE,
    Load,
    file_bytes,
    load_of,
    prepared_bytes,
    write_file_bytes,
)
from probes.host import Host
from probes.system.diskstats import disk_counters
from probes.types import Absent

__all__ = ["Progress", "StorageBench", "cache_check"]

Progress: TypeAlias = Callable[[int, int], None]  # bytes written so far, bytes to write

LEAD_S = 0.002  # from "all are ready" to the common start
QUIET_AT_MOST_S = 2.0
BUSY_AT_MOST_S = 0.1  # once others were seen to keep the device busy, waiting for silence is no use


class StorageBench:
    """One directory under test; it implements what an arm needs. Not for two tasks at once.

    directory          where the unnamed files are made (O_TMPFILE, else unlinked at once).
    private_directory  a directory of our own, made and removed by the caller: the metadata load works in it. Without
                       it that load is not applicable.
    size_bytes         of the file that is read; the other one is `write_file_bytes(size_bytes)`.
    seed               of the offsets.
    leaves             kernel names of the leaf devices ("vda"); empty: nothing is checked against counters.
    budget             shared by all benches of a run.
    stretch            a planted latency for tests: 0.2 makes every operation 20 % longer.
    """

    def __init__(
        self,
        host: Host,
        directory: str,
        private_directory: str | None,
        size_bytes: int,
        seed: int,
        leaves: Sequence[str],
        stretch: float = 0.0,
        *,
        budget: WriteBudget | None = None,
    ) -> None:
        self.host = host
        self.directory = directory
        self.private_directory = private_directory
        self.size_bytes = file_bytes(size_bytes)
        self.leaves = tuple(leaves)
        self.stretch = stretch
        self.budget = budget if budget is not None else WriteBudget()
        self.budget.benches += 1
        self._rng = random.Random(seed)
        self._files: dict[str, TestFile] = {}
        self._names_fd: int | None = None
        self._pool = Pool(())
        self._rates: dict[str, float] = {}  # bytes a second, by load
        self._quiet_s = QUIET_AT_MOST_S

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be said beside every result of this directory."""
        notes = []
        if any(not file.direct for file in self._files.values()):
            notes.append("buffered: the file system refuses O_DIRECT, so the page cache takes part")
        if self._files and not self.leaves:
            notes.append("no device counters: whether reads reach the device could not be checked")
        return tuple(notes)

    def file(self, kind: str) -> TestFile:
        """The open test file that is "read" or "write"; KeyError before `prepare`."""
        return self._files[kind]

    async def prepare(self, progress: Progress | None = None, workloads: Sequence[str] = ()) -> None:
        """Makes and fills the files that `workloads` (default: all) need. Raises BenchRefused.

        `progress` is called on the event loop. One bench after the other: they share the write budget's counters.
        """
        wanted = tuple(workloads) or IDS
        kinds = {load_of(workload).kind for workload in wanted}
        total = prepared_bytes(self.size_bytes, wanted)
        if refusal := self.budget.refusal(total):
            raise BenchRefused(f"{self.directory}: {refusal}")
        sizes = {"read": self.size_bytes, "write": write_file_bytes(self.size_bytes)}
        where = self.private_directory or self.directory
        try:
            for kind in ("read", "write"):
                if kind in kinds:
                    self._files[kind] = await asyncio.to_thread(open_unnamed, where, sizes[kind])
            if "metadata" in kinds and self.private_directory is not None:
                self._names_fd = os.open(self.private_directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fds = [file.fd for file in self._files.values()]
            self._pool = Pool([*fds, *([self._names_fd] if self._names_fd is not None else [])])
            await self._fill(progress, total)
        except OSError as error:
            await self.close()
            raise BenchRefused(f"{self.directory}: {error.strerror}; name another --dir") from error
        except BaseException:
            await self.close()
            raise

    async def _fill(self, progress: Progress | None, total: int) -> None:
        finished = 0
        for file in self._files.values():

            def tell(written: int, before: int = finished) -> None:
                if progress is not None:
                    progress(before + written, total)

            device = self._device_bytes("write")
            try:
                await self._pool.long("fill", tell, fd=file.fd, bytes=file.bytes)
            except WorkerFailed as error:
                raise BenchRefused(
                    f"{self.directory}: writing the test file of {file.bytes >> 20} MiB failed: {error}; "
                    "free some space, or name another --dir"
                ) from error
            self.budget.spend(file.bytes, self._moved("write", device))
            finished += file.bytes

    async def block(
        self,
        workload: str | Load,
        seconds: float,
        *,
        onset_s: float = 0.0,
        min_operations: int | None = None,
    ) -> Measured:
        """One block of a load, by its id or one of your own, of about `seconds`.

        It lasts until `min_operations` (default: the load's own) are done, at most the load's `max_block_s`. Its
        first `onset_s` are reported apart. Raises NotApplicable where the write budget is spent or the load cannot
        run here, WorkerFailed (a BenchRefused) where a worker died. Cancelling kills the workers at once; the next
        block starts new ones.
        """
        load = workload if isinstance(workload, Load) else load_of(workload)
        least = load.min_operations if min_operations is None else min_operations
        most, seconds, least = self._bounded(load, seconds, least)
        ends = slice_ends(seconds, onset_s)
        at_most_s = max(seconds, load.max_block_s)
        specs = [self._spec(load, index, ends, least, most, at_most_s) for index in range(load.workers)]
        device = self._device_bytes(load.kind)
        try:
            replies = await self._pool.block(specs, LEAD_S + 0.0002 * load.workers)
        except WorkerFailed as error:
            raise WorkerFailed(f"{self.directory}, {load.id}: {error}", error.errno) from error
        moved = self._moved(load.kind, device)
        self._account(load, replies, moved)
        measured = summed(load, replies, ends, len(ends) > 1 and ends[0] == onset_s, moved)
        file = self._files.get(load.kind)
        if file is None or file.direct:
            return measured
        remark = "; ".join(filter(None, ("buffered: no O_DIRECT here", measured.remark)))
        return msgspec.structs.replace(measured, remark=remark)

    def _bounded(self, load: Load, seconds: float, least: int) -> tuple[int | None, float, int]:
        """The most operations a worker, and the seconds and fewest operations that keep a block within its bytes."""
        if load.kind != "write":
            return None, seconds, least
        allowed = self.budget.a_block(load.id, load.budget_share)
        ours = max(load.block_bytes * load.workers, min(load.most_bytes or allowed, allowed))
        rate = self._rates.get(load.id, 0.0)
        if rate > 0:
            seconds = min(seconds, ours / rate)
        if refusal := self.budget.refusal(min(ours, int(rate * seconds)) if rate > 0 else ours, load.id):
            raise NotApplicable(refusal)
        # Half as much again: what ends the block is its time, so that all workers stop together.
        most = max(1, ours * 3 // 2 // load.block_bytes // load.workers)
        return most, seconds, min(least, ours // load.block_bytes)

    def _spec(
        self, load: Load, index: int, ends: list[float], least: int, most: int | None, at_most_s: float
    ) -> dict[str, Any]:
        spec: dict[str, Any] = {
            "kind": load.kind,
            "fd": -1,
            "seed": self._rng.getrandbits(48),
            "stretch": self.stretch,
            "slices": ends,
            "least": -(-least // load.workers),
            "most": most,
            "at_most_s": at_most_s,
        }
        if load.kind == "metadata":
            if self._names_fd is None:
                raise NotApplicable(f"{self.directory}: no directory of our own to create files in")
            return spec | {"fd": self._names_fd, "names": NAMES_AT_ONCE}
        if load.kind == "cpu":
            return spec
        file = self._files.get(load.kind)
        if file is None:
            raise NotApplicable(f"{self.directory}: no test file was prepared for {load.id}")
        length = file.bytes // load.workers if load.sequential else file.bytes
        return spec | {
            "fd": file.fd,
            "first": index * length if load.sequential else 0,
            "length": length,
            "block_bytes": load.block_bytes,
            "sequential": load.sequential,
            "sync": load.sync,
            "direct": file.direct,
        }

    def _account(self, load: Load, replies: Sequence[dict[str, Any]], moved: int | None) -> None:
        if load.kind != "write":
            return
        ours = sum(reply["n"] for reply in replies) * load.block_bytes
        self.budget.spend(ours, moved, load.id)
        spent = max(reply["ns"] for reply in replies) / 1e9
        if spent > 0:
            self._rates[load.id] = ours / spent

    def _device_bytes(self, kind: str) -> int | None:
        """The leaves' own count of bytes in a load's direction; None without leaves or counters."""
        if kind not in ("read", "write") or not self.leaves:
            return None
        counters = disk_counters(self.host)
        if isinstance(counters, Absent) or not all(leaf in counters for leaf in self.leaves):
            return None
        found = [counters[leaf] for leaf in self.leaves]
        return sum(c.read_bytes if kind == "read" else c.write_bytes for c in found)

    def _moved(self, kind: str, before: int | None) -> int | None:
        now = self._device_bytes(kind)
        return None if now is None or before is None else max(0, now - before)

    async def quiesce(self) -> None:
        """fdatasync of what was written, then until the leaves have nothing in flight; at most 2 s.

        A device that others keep busy is never silent: that is found out once, and later waits are short.
        """
        until = time.monotonic() + QUIET_AT_MOST_S
        if file := self._files.get("write"):
            await self._pool.sync(file.fd, QUIET_AT_MOST_S)
        until = min(until, time.monotonic() + self._quiet_s)
        while self._in_flight() > 0:
            if time.monotonic() >= until:
                self._quiet_s = BUSY_AT_MOST_S
                return
            await asyncio.sleep(0.002)

    def _in_flight(self) -> int:
        """Requests under way on the leaves (Documentation/ABI/stable/sysfs-block: reads, writes)."""
        total = 0
        for leaf in self.leaves:
            text = self.host.text(f"/sys/class/block/{leaf}/inflight")
            if isinstance(text, str):
                total += sum(int(word) for word in text.split() if word.isdigit())
        return total

    async def close(self) -> None:
        """Ends the workers and closes the files, which frees their space. May be called twice."""
        await self._pool.close()
        fds = [file.fd for file in self._files.values()]
        if self._names_fd is not None:
            fds.append(self._names_fd)
        self._files, self._names_fd = {}, None
        self._pool = Pool(())
        for fd in fds:
            await asyncio.to_thread(os.close, fd)
