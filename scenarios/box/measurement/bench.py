"""IO500's corners with the built-in engine: one block of a corner after the other, in the order that IO500 has.

Every block of writes makes new files (the same ones, cut off before), every read is of files that were written
completely and lie in no page cache; names are made, asked, found, read and deleted cycle by cycle.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from collections.abc import Mapping
from typing import NamedTuple

from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.engine.disk.flush import flush_file_system
from hostdx.probes.engine.disk.preparation import Progress, fill_files
from hostdx.probes.engine.files import FileSet, TestFile
from hostdx.probes.engine.measured import BenchRefused, Measured, MeasurementInvalid, served_by_cache_reason
from hostdx.probes.engine.pool import WorkerFailed, WorkerPool
from hostdx.probes.engine.spec import BlockReply, LoadSpec
from hostdx.probes.files.private_directory import PrivateDirectory
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.diskstats import counter_growth, disk_bytes
from hostdx.probes.system.disk.failing import io_error_advice
from hostdx.scenarios.box.measurement.corner import (
    BY_ID,
    CORNERS,
    EASY_BYTES,
    FOUND,
    HARD_FILE_BYTES,
    BoxTest,
    Side,
)

TARGET_S = 0.4  # of a block
LONGEST_S = 20.0  # after it a block of reads or writes is ended, however little it moved
LEAD_S = 0.002
FLUSH_S = 60.0
RESIDENT = 0.01  # share of the pages that may lie in memory before a read
MIN_NAMES, MAX_NAMES = 25, 20_000  # of a worker, on each side; a run begins with the least
SLOWEST_S = 1.0  # that the names of a cycle may take in a corner that is slower than making them
FIRST_RECORDS = {"easy": 4, "hard": 64}  # of a worker
MIN_RECORDS = 2
LISTED_S = 3.0  # that listing what is beside our directory may take
MIN_PASS_S, MAX_PASSES = 0.1, 100  # of stat and find
CYCLES = 12  # at least as many must fit into what may be written


class DirectoryListing(NamedTuple):
    """Names in the directory that was given, and how long listing them took; `is_complete`: to the end."""

    entries: int = 0
    seconds: float = 0.0
    is_complete: bool = True


class ReadsServedByCache(MeasurementInvalid):
    """What would be read lies in this host's memory."""


class BoxBench:
    """One directory. Not for two tasks at once.

    private      a directory of our own below it, made, removed and closed by the caller.
    leaves       kernel names of the disks below; empty: reads are checked against the page cache alone.
    size_bytes   of the files that are read, on each side; a block writes at most half of it on each.
    max_files   of files that all workers may make in a cycle, on each side (free inodes).
    stretch      a planted latency for tests, by corner: 1.0 makes every operation twice as long.
    """

    def __init__(
        self,
        host: Host,
        private: PrivateDirectory,
        leaves: tuple[str, ...],
        size_bytes: int,
        workers: int,
        seed: int,
        budget: WriteBudget,
        *,
        max_files: int = MAX_NAMES,
        stretch: Mapping[str, float] | None = None,
    ) -> None:
        self.host, self.private, self.leaves = host, private, leaves
        self.size_bytes, self.workers, self.seed, self.budget = size_bytes, workers, seed, budget
        self.max_files = min(MAX_NAMES, max_files // workers)
        self.stretch = dict(stretch or {})
        self.direct = False
        self.surrounding_names = DirectoryListing()
        self._files = FileSet()
        self._pool = WorkerPool(())
        self._rates: dict[str, float] = {}  # operations a second of all workers, by corner
        self._at: dict[str, int] = {}  # the record that a worker reads next, by corner
        self._created_names: dict[Side, list[int]] = {}  # names of each worker in this cycle
        self._held = 0  # records of each worker in the shared file
        self._cycle = 0
        self._since_ns = 0
        self._fixed: dict[str, int] = {}

    @property
    def file_count(self) -> int:
        """Return the number of files of the last cycle, on both sides together."""
        return sum(sum(counts) for counts in self._created_names.values())

    async def prepare_files(self, progress: Progress | None) -> None:
        """Make and fill the files that are read. Raise BenchRefused with one line; `close` frees all of it."""
        self.surrounding_names = await asyncio.to_thread(_count_names_beside, self.private.fd)
        laid = await asyncio.to_thread(self._lay_files)
        self._pool = WorkerPool((*(file.fd for file in self._files), self.private.fd))

        def written_bytes() -> int | None:
            return disk_bytes(self.host, self.leaves, "write")

        shared = self._files.files_of_kind("read hard")
        files_with_directory = [(self.private.path, file) for file in laid if file not in shared]
        await fill_files(self._pool, files_with_directory, self.budget, written_bytes, progress)
        for file in (*self._files.files_of_kind("read hard"), *self._files.files_of_kind("write hard")):
            # 47,008 is no multiple of a sector: these go through the page cache from now on
            fcntl.fcntl(file.fd, fcntl.F_SETFL, fcntl.fcntl(file.fd, fcntl.F_GETFL) & ~os.O_DIRECT)
        await self._pool.ensure_workers(self.workers)
        await self._write_shared_file()

    async def _write_shared_file(self) -> None:
        """As ior-hard writes it: how its records lie on the disk is a part of how fast they are read."""
        corner = BY_ID["ior-hard-write"]
        count = self.size_bytes // (corner.record_bytes * self.workers)
        self.budget.check(count * self.workers * corner.record_bytes)
        [file] = self._files.files_of_kind("read hard")
        common = self._common_spec(corner) | {
            "slices": [10 * LONGEST_S],
            "at_most_s": 10 * LONGEST_S,
            "stretch": 0.0,
        }
        try:
            replies = await self._pool.run_block(
                [common | self._piece_spec(corner, file.fd, rank, 0, count) for rank in range(self.workers)],
                LEAD_S,
            )
        except WorkerFailed as why:
            raise self._refusal_of_failure(why) from why
        self._held = min(reply["n"] for reply in replies)
        self.budget.charge(sum(reply["n"] for reply in replies) * corner.record_bytes, None)

    def _refusal_of_failure(self, why: WorkerFailed) -> BenchRefused:
        return BenchRefused(f"{self.private.path}: {why}{io_error_advice(why.errno, self.private.path)}")

    def _lay_files(self) -> list[TestFile]:
        self._files.reopen()
        each = max(EASY_BYTES, self.size_bytes // self.workers // EASY_BYTES * EASY_BYTES)
        shared_bytes = -(-self.size_bytes // 4096) * 4096
        wanted = [("read easy", each)] * self.workers + [("read hard", shared_bytes)]
        wanted += [("write easy", 0)] * self.workers + [("write hard", 0)]
        files = self._files.create_files(wanted, self.private.fd, self.private.path)
        self.direct = all(file.direct for file in self._files.files_of_kind("write easy"))
        return [file for file in files if file.bytes]

    def _folder_name_of_cycle(self, side: Side, rank: int) -> str:
        """A new one in each cycle, as mdtest has them."""
        return f"hard.{self._cycle}" if side == "hard" else f"easy.{self._cycle}.{rank}"

    def begin_cycle(self, cycle: int, *, last_pilot: bool) -> None:
        """Begin a cycle. After the last pilot every window keeps its size, as the interval is over equal windows."""
        self._cycle = cycle
        self._created_names = {}
        self._since_ns = time.time_ns() - 10**9
        self._fixed = {} if cycle == 0 or last_pilot else self._fixed

    async def measure_block(self, corner: BoxTest) -> Measured:
        """Measure one window of a test. Raise MeasurementInvalid, WriteBudgetSpent, WorkerFailed."""
        specs = self._worker_specs(corner)
        our_bytes = sum(spec["most"] or 0 for spec in specs) * corner.record_bytes
        if corner.operation in ("write", "create"):
            self.budget.check(our_bytes)
        if corner.operation in ("read", "open"):
            await self._drop_cached_reads(corner, specs)
        kind = "read" if corner.operation == "read" else "write"
        before = disk_bytes(self.host, self.leaves, kind) if self.leaves and corner.moves_bytes else None
        try:
            replies = await self._pool.run_block(specs, LEAD_S)
        except WorkerFailed as why:
            raise self._refusal_of_failure(why) from why
        after = disk_bytes(self.host, self.leaves, kind) if before is not None else None
        each = self.file_count if corner.operation == "find" else 1
        measured = _measured_block(corner, replies, each, counter_growth(before, after))
        self._charge_and_note_block(corner, specs, replies, measured)
        if corner.operation == "read" and (cached := served_by_cache_reason(measured)):
            raise ReadsServedByCache(f"cached: {cached}")
        return measured

    def _charge_and_note_block(
        self, corner: BoxTest, specs: list[LoadSpec], replies: list[BlockReply], measured: Measured
    ) -> None:
        if measured.seconds > 0:
            self._rates[corner.id] = measured.operations / measured.seconds
        if corner.operation in ("write", "create"):
            self.budget.charge(measured.bytes, measured.device_bytes if corner.moves_bytes else None)
        if corner.operation == "create":
            self._created_names[corner.difficulty] = [reply["n"] for reply in replies]
        if corner.operation == "read":
            self._at[corner.id] = self._at.get(corner.id, 0) + max(spec["most"] or 0 for spec in specs)

    def _common_spec(self, corner: BoxTest) -> LoadSpec:
        return {
            "kind": "corner", "corner": corner.operation, "seed": self.seed + self._cycle, "slices": [LONGEST_S],
            "at_most_s": LONGEST_S, "stretch": self.stretch.get(corner.id, 0.0), "block_bytes": corner.record_bytes,
        }  # fmt: skip

    def _worker_specs(self, corner: BoxTest) -> list[LoadSpec]:
        common = self._common_spec(corner)
        if corner.moves_bytes:
            return [{**common, **self._records_spec(corner, rank)} for rank in range(self.workers)]
        if corner.operation == "find":
            folders = [self._folder_name_of_cycle("easy", rank) for rank in range(self.workers)] + [
                self._folder_name_of_cycle("hard", 0)
            ]
            passes = self._pass_count(corner, self.file_count)
            common |= {
                "fds": [self.private.fd],
                "folders": folders,
                "wanted": FOUND,
                "since_ns": self._since_ns,
            }
            return [{**common, "block_bytes": HARD_FILE_BYTES, "least": passes, "most": passes}]
        side = corner.difficulty
        new = [self._names_per_worker(corner)] * self.workers
        made_by = new if corner.operation == "create" else self._created_names[side]
        passes = self._pass_count(corner, sum(made_by)) if corner.operation == "stat" else 1
        common |= {"slices": [10 * LONGEST_S], "at_most_s": 10 * LONGEST_S}
        return [
            {
                **common, "fds": [self.private.fd], "folders": [self._folder_name_of_cycle(side, rank)], "names": count,
                "stem": f"{self._cycle}.{rank}", "least": passes * count, "most": passes * count,
            }
            for rank, count in enumerate(made_by)
        ]  # fmt: skip

    def _records_spec(self, corner: BoxTest, rank: int) -> LoadSpec:
        """Its file or its records of the shared one; reads are of what the next worker's are, as ior's -C."""
        files = self._files.files_of_kind(f"{corner.operation} {corner.difficulty}")
        turned = (rank + 1) % self.workers if corner.operation == "read" else rank
        file = files[turned % len(files)]
        count = self._records_per_worker(corner)
        at = 0
        if corner.operation == "read":
            held = self._held if corner.difficulty == "hard" else file.bytes // corner.record_bytes
            count = min(count, held)
            at = self._at.get(corner.id, 0)
            if at + count > held:
                at = self._at[corner.id] = 0
        return self._piece_spec(corner, file.fd, turned, at, count)

    def _piece_spec(self, corner: BoxTest, fd: int, rank: int, first_record: int, count: int) -> LoadSpec:
        """From its record `first_record` on: of a file of its own, or every so many-th of the shared one."""
        size, hard = corner.record_bytes, corner.difficulty == "hard"
        stride = size * (self.workers if hard else 1)
        first = first_record * stride + (rank * size if hard else 0)
        return {"fds": [fd], "first": first, "stride": stride, "least": count, "most": count}

    def _records_per_worker(self, corner: BoxTest) -> int:
        """Records of a worker in a block."""
        if corner.id not in self._fixed:
            rate = self._rates.get(corner.id)
            wanted = FIRST_RECORDS[corner.difficulty] if rate is None else int(rate * TARGET_S / self.workers)
            of_all = self.size_bytes // 2
            if corner.operation == "write":
                of_all = min(of_all, self.budget.left_bytes // (2 * CYCLES))
            most = of_all // (corner.record_bytes * self.workers)
            self._fixed[corner.id] = max(MIN_RECORDS, min(wanted, most))
        return self._fixed[corner.id]

    def _names_per_worker(self, corner: BoxTest) -> int:
        """Files of a worker: as many as are made in `TARGET_S` and deleted, asked or read in `SLOWEST_S`."""
        if corner.id not in self._fixed:
            of_side = [
                other
                for other in CORNERS
                if other.difficulty == corner.difficulty and other.operation in ("delete", "stat", "open")
            ]
            rates = [self._rates[other.id] * SLOWEST_S for other in of_side if other.id in self._rates]
            create_rate = self._rates.get(corner.id)
            wanted = 0 if create_rate is None else int(min(create_rate * TARGET_S, *rates) / self.workers)
            self._fixed[corner.id] = max(1, min(max(MIN_NAMES, wanted), self.max_files))
        return self._fixed[corner.id]

    def _pass_count(self, corner: BoxTest, names: int) -> int:
        """Return how often what changes nothing goes through the names: a few thousand take milliseconds."""
        rate = self._rates.get(corner.id, 0.0)
        return max(1, min(MAX_PASSES, int(rate * MIN_PASS_S / max(1, names))))

    async def _drop_cached_reads(self, corner: BoxTest, specs: list[LoadSpec]) -> None:
        """Nothing of what is read next may lie in the page cache. Raises Cached."""
        try:
            if corner.operation == "read":
                fds = sorted({fd for spec in specs for fd in spec["fds"]})
                share = await self._pool.drop_caches("drop", [{"fds": fds}])
            else:
                await flush_file_system(self.private, FLUSH_S)
                share = await self._pool.drop_caches("drop names", specs)
        except WorkerFailed as why:
            raise ReadsServedByCache(
                f"cached: whether pages are in memory cannot be told here ({why})"
            ) from why
        if share > RESIDENT:
            raise ReadsServedByCache(f"cached: {100 * share:.0f} % of the pages stayed in this host's memory")

    async def wait_until_settled(self) -> None:
        """Wait, for a limited time, until all written data are on the device."""
        await flush_file_system(self.private, FLUSH_S)

    async def close(self) -> None:
        """End the workers and close the files; named files are removed with the private directory."""
        await self._pool.close()
        await asyncio.to_thread(self._files.close)


def _count_names_beside(private: int) -> DirectoryListing:
    """Of the directory above ours: the names alone, at most so long."""
    began, entries = time.monotonic(), 0
    fd = os.open("..", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=private)
    try:
        with os.scandir(fd) as names:
            for _ in names:
                entries += 1
                if entries % 1000 == 0 and time.monotonic() - began > LISTED_S:
                    return DirectoryListing(entries, time.monotonic() - began, False)
    except OSError:  # may be written to and not be listed
        return DirectoryListing()
    finally:
        os.close(fd)
    return DirectoryListing(entries, time.monotonic() - began)


def _measured_block(
    corner: BoxTest, replies: list[BlockReply], pass_files: int, device_bytes: int | None
) -> Measured:
    """Everybody's operations over the time of the slowest, as ior and mdtest have it. `pass_files`: files of a pass."""
    seconds = max(reply["ns"] for reply in replies) / 1e9
    operations = pass_files * sum(reply["n"] for reply in replies)
    moved = operations * corner.record_bytes
    value = (moved if corner.moves_bytes else operations) / seconds if seconds > 0 else 0.0
    return Measured(
        seconds=seconds,
        values={corner.metric_name: value},
        operations=operations,
        bytes=moved,
        device_bytes=device_bytes,
        cpu_s=sum(piece["cpu"] for reply in replies for piece in reply["slices"]),
    )
