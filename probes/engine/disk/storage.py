"""The built-in storage engine: needs neither root nor fio.

One persistent process a worker, O_DIRECT into an aligned buffer, precomputed offsets, latencies kept. With threads
instead it reached 0.6 of fio's psync IOPS, with processes 0.94 to 1.03 (measured, design page).
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import msgspec

from hostdx.probes import units
from hostdx.probes.engine.disk.budget import PRESUMED_SYNCED, WriteBudget
from hostdx.probes.engine.disk.preparation import Progress, cannot_use_error, fill_files, open_directory
from hostdx.probes.engine.files import FileSet, TestFile, file_part_of_worker
from hostdx.probes.engine.loads.metadata import supports_links
from hostdx.probes.engine.measured import BenchRefused, Measured, MeasurementInvalid, WriteBudgetSpent
from hostdx.probes.engine.pool import SharedWorkers, WorkerFailed, WorkerPool
from hostdx.probes.engine.spec import BlockReply, LoadSpec
from hostdx.probes.engine.summary import block_cuts_s, combine_replies
from hostdx.probes.engine.workloads import (
    IDS,
    NAMES_AT_ONCE,
    EngineLoad,
    all_read_file_bytes,
    engine_load,
    prepared_bytes,
    read_and_written_file_bytes,
)
from hostdx.probes.engine.workloads import file_set_count as usual_places
from hostdx.probes.files.private_directory import PrivateDirectory
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.backing import served_by_memory_reason
from hostdx.probes.system.disk.diskstats import counter_growth, disk_bytes
from hostdx.probes.system.disk.failing import io_error_advice
from hostdx.probes.system.disk.scheduler import read_inflight_reads_and_writes
from hostdx.probes.types import is_present

LEAD_S = 0.002  # from "all are ready" to the common start
REHEARSAL_S = 0.05
REHEARSED_BYTES = 64 << 20  # written at most by it
LARGE_BYTES = 256 << 10  # writes from here on amplify little: a journal's commit is small beside them
# What can be decided with, as an experiment counts: a warm-up, then four groups of two blocks a bench.
FEWEST_BLOCKS = 9
MAX_TRIES = 3  # of a block that is faster than foreseen: each of them tells the pace anew
QUIET_AT_MOST_S = 2.0
BUSY_AT_MOST_S = 0.1  # once others were seen to keep the device busy, waiting for silence is no use


class StorageBench:
    """One directory under test; it implements what a variant needs. Not for two tasks at once.

    directory          what is measured, in words too.
    private            a directory of our own, made, removed and closed by the caller: each place is a directory in it
                       with its unnamed files (O_TMPFILE, else unlinked at once), where the metadata load works, too.
                       Without it the files are made in `directory`, and that load is not applicable.
    size_bytes         of all files together that are read, one in each place;
                       see `workloads.read_and_written_file_bytes`.
    seed               of the offsets.
    leaves             kernel names of the leaf devices ("vda"); empty: nothing is checked against counters.
    budget             shared by all benches of a run.
    crew               the workers, shared by all benches that are compared; without it, its own.
    places             how many (see `workloads.places`).
    links              the metadata load makes and deletes links where that works (see `engine.metadata.NameCycle`).
    stretch            a planted latency for tests: 0.2 makes every operation 20 % longer, but the control's; in trains
                       it is put into the account, in blocks it is waited for.
    """

    def __init__(
        self,
        host: Host,
        directory: str,
        private: PrivateDirectory | None,
        size_bytes: int,
        seed: int,
        leaves: Sequence[str],
        stretch: float = 0.0,
        *,
        budget: WriteBudget | None = None,
        crew: SharedWorkers | None = None,
        places: int = 0,
        links: bool = False,
    ) -> None:
        self.host = host
        self.directory = directory
        self.private = private
        self.size_bytes = all_read_file_bytes(size_bytes)
        self.leaves = tuple(leaves)
        self.in_memory = served_by_memory_reason(host, self.leaves)  # why no load reaches a disk here, or ""
        self.stretch = stretch
        self.budget = budget if budget is not None else WriteBudget()
        self.budget.benches += 1
        self.seed = seed
        self._rng = random.Random(seed)
        self.places = places or usual_places(self.size_bytes)
        self.links = links
        self._files = FileSet()
        self.crew = crew if crew is not None else SharedWorkers()
        self._rates: dict[str, float] = {}  # bytes a second, by load
        self._begun: set[str] = set()  # writing loads whose blocks are measured
        self._quiet_s = QUIET_AT_MOST_S

    @property
    def _worker_pool(self) -> WorkerPool:
        return self.crew.pool

    @property
    def result_notes(self) -> tuple[str, ...]:
        """Return the notes that belong beside every result of this directory."""
        notes = []
        if any(not file.direct for file in self._files):
            notes.append("buffered: the file system refuses O_DIRECT, so the page cache takes part")
        if any(self._files) and not self.leaves:
            notes.append("no device counters: whether reads reach the device could not be checked")
        return tuple(notes)

    def test_file(self, kind: str) -> TestFile:
        """Return the (first) test file that is "read" or "write". Raise IndexError before `prepare_files`."""
        return self._files.files_of_kind(kind)[0]

    async def prepare_files(self, progress: Progress | None = None, workloads: Sequence[str] = ()) -> None:
        """Make the test files of this bench alone; see `prepare_all`."""
        await self.prepare_all([self], progress, workloads)

    @staticmethod
    async def prepare_all(
        benches: Sequence[StorageBench], progress: Progress | None = None, workloads: Sequence[str] = ()
    ) -> None:
        """Make and fill the file sets of all benches with the files that `workloads` (default: all) need.

        The order is drawn over all benches so that none is always laid first, because a file's position on the disk
        decides how fast it is. `progress` is called on the event loop. Raise BenchRefused; then all benches are closed.
        """
        wanted = tuple(workloads) or IDS
        kinds: set[str] = {engine_load(workload).kind for workload in wanted}
        order = [(bench, number) for bench in benches for number in range(bench.places)]
        random.Random(benches[0].seed).shuffle(order)
        budget, host = benches[0].budget, benches[0].host
        leaves = tuple(dict.fromkeys(leaf for bench in benches for leaf in bench.leaves))
        try:
            if refusal := budget.refusal_text(
                sum(prepared_bytes(bench.size_bytes, wanted) for bench in benches)
            ):
                raise BenchRefused(f"{', '.join(bench.directory for bench in benches)}: {refusal}")
            for bench in benches:
                bench._files.reopen()
            laid: list[tuple[str, TestFile]] = []
            for bench, number in order:
                laying = asyncio.ensure_future(asyncio.to_thread(bench._create_file_set, number, kinds))
                try:
                    laid += [(bench.directory, file) for file in await asyncio.shield(laying)]
                except asyncio.CancelledError:  # what it makes must be there when it is cleared away
                    await asyncio.wait({laying}, timeout=QUIET_AT_MOST_S)
                    raise
            for bench in benches:
                await bench.crew.restart_with_descriptors(bench._inherited_fds())
            links = all(bench.links for bench in benches)  # a file system without links has none to make
            for bench in benches:
                bench.links = links
            await fill_files(
                benches[0].crew.pool, laid, budget, lambda: disk_bytes(host, leaves, "write"), progress
            )
        except BaseException:
            for bench in benches:
                await bench.close()
            raise

    def _create_file_set(self, number: int, kinds: set[str]) -> list[TestFile]:
        """Make one file set, with a file for each of these kinds of load. Raise BenchRefused."""
        if self._files.closed:  # by a run that was ended meanwhile
            return []
        sizes = zip(("read", "write"), read_and_written_file_bytes(self.size_bytes, self.places), strict=True)
        try:
            with self._open_file_set(number) as directory:
                return [
                    file
                    for kind, size in sizes
                    if kind in kinds
                    and (file := self._files.make_file(kind, directory, self.directory, size))
                ]
        except OSError as error:
            raise cannot_use_error(self.directory, error) from error

    @contextmanager
    def _open_file_set(self, number: int) -> Iterator[int]:
        """Yield a descriptor of the file set's directory, which is made where there is a directory of our own."""
        if self.private is None:
            with open_directory(self.directory) as directory:
                yield directory
            return
        with suppress(FileExistsError):
            os.mkdir(str(number), 0o700, dir_fd=self.private.fd)
        held = PrivateDirectory.open_last_part(self.private.fd, f"{self.private.path}/{number}")
        try:
            if self.links:
                self.links = supports_links(held.fd)
            yield held.fd
        finally:
            held.close()

    async def share_files_of(self, other: StorageBench) -> None:
        """Use the files of another bench instead of own ones, because two files need not be equally fast.

        (Measured on a virtual disk: synced writes to one of two like files were 8 % slower, to
        another one in each run.)
        """
        self._files.copy_from(other._files)
        self.places = other.places
        await self.crew.restart_with_descriptors(self._inherited_fds())

    async def measure_block(
        self, workload: str | EngineLoad, seconds: float, *, min_operations: int | None = None
    ) -> Measured:
        """Measure one window of a load, given by its id or as a load of the caller's own, of about `seconds`.

        It lasts until `min_operations` (default: the load's own) are done, but at most the load's
        `max_block_s`. Raise MeasurementInvalid where the load cannot run here, WriteBudgetSpent where
        the write limit is too small for a window of full length, WorkerFailed (a BenchRefused)
        where a worker died. Cancelling kills the workers.
        """
        load = workload if isinstance(workload, EngineLoad) else engine_load(workload)
        least = load.min_operations if min_operations is None else min_operations
        for _ in range(MAX_TRIES):
            most = await self._max_window_write_bytes(load, seconds, least)
            if (measured := await self._measure_unless_cut_short(load, seconds, least, most)) is not None:
                return measured
        raise WriteBudgetSpent("the write budget ended this block before its time")

    async def start_workers_and_rehearse(self, workload: str | EngineLoad) -> None:
        """Start the workers of a load, and learn how much a writing load writes; nothing is measured.

        Raise the same errors as `measure_block`.
        """
        load = workload if isinstance(workload, EngineLoad) else engine_load(workload)
        most = None
        if load.kind == "write":
            presumed = 1.0 if load.block_bytes >= LARGE_BYTES else PRESUMED_SYNCED
            self.budget.set_load_share(load.id, load.budget_share, presumed)
            self.budget.check(load.block_bytes * load.workers, load.id)
            most = min(REHEARSED_BYTES, self.budget.bytes_left_for(load.id))
        await self._measure_unless_cut_short(load, REHEARSAL_S, 1, most, rehearsal=True)

    async def _max_window_write_bytes(self, load: EngineLoad, seconds: float, least: int) -> int | None:
        """Return the most bytes that this window may write (None: it does not write). Raise
        WriteBudgetSpent where a full one is too much.

        The first window of a load is not begun where the fewest windows that can decide are not affordable.
        """
        if load.kind != "write":
            return None
        if load.id not in self._rates:
            await self.start_workers_and_rehearse(load)
        wanted = int(max(self._rates.get(load.id, 0.0) * seconds, least * load.block_bytes))
        wanted = min(wanted, load.most_bytes or wanted)
        if load.id not in self._begun:
            self.budget.check(wanted, load.id, FEWEST_BLOCKS * max(1, self.budget.benches))
            self._begun.add(load.id)
        self.budget.check(wanted, load.id)
        left = self.budget.bytes_left_for(load.id)
        return min(left, load.most_bytes or left)

    async def _measure_unless_cut_short(
        self, load: EngineLoad, seconds: float, least: int, most_bytes: int | None, *, rehearsal: bool = False
    ) -> Measured | None:
        """Measure one window. Return None where it was faster than the windows before, so that its
        bytes ended it, and the write limit allows another.
        """
        ends = block_cuts_s(seconds)
        at_most_s = max(seconds, load.max_block_s)
        most = None if most_bytes is None else max(1, most_bytes // load.block_bytes // load.workers)
        places = self._rng.sample(range(self.places), self.places)
        specs = [
            self._worker_spec(load, index, places, ends, least, most, at_most_s)
            for index in range(load.workers)
        ]
        device = self.device_bytes(load.kind)
        try:
            replies = await self._worker_pool.run_block(specs, LEAD_S + 0.0002 * load.workers)
        except WorkerFailed as error:
            raise WorkerFailed(
                f"{self.directory}, {load.id}: {error}{io_error_advice(error.errno, self.directory)}",
                error.errno,
            ) from error
        moved = counter_growth(device, self.device_bytes(load.kind))
        self._charge_write_and_note_rate(load, replies, moved)
        ended = most is not None and any(reply["n"] >= most for reply in replies)
        as_declared = load.most_bytes is not None and most_bytes == load.most_bytes
        if ended and most is not None and not rehearsal and not as_declared:
            self.budget.check(2 * most * load.block_bytes * load.workers, load.id)
            return None
        measured = combine_replies(load, replies, ends, False, moved)
        if ended and as_declared:
            words = f"ended by its {units.format_size(most_bytes or 0)} after {measured.seconds:.2f} s"
            remark = "; ".join(filter(None, (words, measured.remark)))
            measured = msgspec.structs.replace(measured, remark=remark)
        if all(file.direct for file in self._files.files_of_kind(load.kind)):
            return measured
        remark = "; ".join(filter(None, ("buffered: no O_DIRECT here", measured.remark)))
        return msgspec.structs.replace(measured, remark=remark)

    def _worker_spec(
        self,
        load: EngineLoad,
        index: int,
        places: Sequence[int],
        ends: list[float],
        least: int,
        most: int | None,
        at_most_s: float,
    ) -> LoadSpec:
        return self.load_spec(load, index, places) | {
            "seed": self._rng.getrandbits(48),
            "slices": ends,
            "least": -(-least // load.workers),
            "most": most,
            "at_most_s": at_most_s,
        }

    def load_spec(self, load: EngineLoad, index: int, places: Sequence[int]) -> LoadSpec:
        """Return what worker `index` of this load does in these file sets. Raise MeasurementInvalid where it cannot."""
        spec: LoadSpec = {"kind": load.kind, "fd": -1, "stretch": 0.0 if load.control else self.stretch}
        if load.kind == "metadata":
            if self.private is None:
                raise MeasurementInvalid(f"{self.directory}: no directory of our own to create files in")
            names: LoadSpec = {"names": NAMES_AT_ONCE, "links": self.links, "stem": self._rng.getrandbits(32)}
            return spec | names | {"fd": self.private.fd, "folder": str(places[0])}
        if load.kind == "cpu":
            return spec
        if self.in_memory:
            raise MeasurementInvalid(self.in_memory)
        if not self._files.files_of_kind(load.kind):
            raise MeasurementInvalid(f"{self.directory}: no test file was prepared for {load.id}")
        files = self._files.files_for_worker(load.kind, places)
        part = file_part_of_worker(files, index, load.workers, load.block_bytes, sequential=load.sequential)
        return spec | part | {"sync": load.sync, "direct": files[0].direct}

    def _charge_write_and_note_rate(
        self, load: EngineLoad, replies: Sequence[BlockReply], device_bytes: int | None
    ) -> None:
        if load.kind != "write":
            return
        our_bytes = sum(reply["n"] for reply in replies) * load.block_bytes
        self.budget.charge(our_bytes, device_bytes, load.id)
        spent = max(reply["ns"] for reply in replies) / 1e9
        if spent > 0:
            self._rates[load.id] = our_bytes / spent

    def device_bytes(self, kind: str) -> int | None:
        """Return the bytes that the disks counted in a load's direction; None without disks or counters."""
        if kind not in ("read", "write"):
            return None
        return disk_bytes(self.host, self.leaves, kind)

    async def finish_requests(self) -> None:
        """Call fdatasync on the written files, then wait until the disks have nothing in flight; at most 2 s.

        A device that other programs keep busy is never idle: that is found out once, and later waits are short.
        """
        until = time.monotonic() + QUIET_AT_MOST_S
        if written := self._files.take_written_descriptors():
            await self._worker_pool.sync_files(written, QUIET_AT_MOST_S)
        until = min(until, time.monotonic() + self._quiet_s)
        while self._requests_in_flight() > 0:
            if time.monotonic() >= until:
                self._quiet_s = BUSY_AT_MOST_S
                return
            await asyncio.sleep(0.002)

    def _requests_in_flight(self) -> int:
        """Return the number of requests under way on the disks (ABI/stable/sysfs-block: reads, writes)."""
        return sum(
            sum(now)
            for leaf in self.leaves
            if is_present(now := read_inflight_reads_and_writes(self.host, leaf))
        )

    async def close(self) -> None:
        """End the workers and close the files, which frees their space. It may be called twice."""
        await self.crew.forget_descriptors(self._inherited_fds())
        await asyncio.to_thread(self._files.close)

    def _inherited_fds(self) -> list[int]:
        """Return the descriptors that the workers inherit."""
        own = [self.private.fd] if self.private is not None else []
        return [*(file.fd for file in self._files), *own]
