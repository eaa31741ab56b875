"""The built-in storage engine: needs neither root nor fio.

One persistent process a worker, O_DIRECT into an aligned buffer, precomputed offsets, latencies kept. With threads
instead it reached 0.6 of fio's psync IOPS, with processes 0.94 to 1.03 (measured, design page).
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import msgspec

from probes.bench.budget import PRESUMED_SYNCED, WriteBudget
from probes.bench.engine.files import FileSet, TestFile, in_turn, part_of
from probes.bench.engine.neighbours import Neighbours, Room
from probes.bench.engine.pool import Crew, Pool, WorkerFailed
from probes.bench.engine.summary import slice_ends, summed
from probes.bench.measured import BenchRefused, Measured, NotApplicable, Spent
from probes.bench.preparation import Progress, cannot_use, fill, opened
from probes.bench.workloads import (
    IDS,
    NAMES_AT_ONCE,
    Load,
    file_bytes,
    load_of,
    prepared_bytes,
    write_files,
)
from probes.host import Host
from probes.private_directory import PrivateDirectory
from probes.system.disk.diskstats import leaf_counters
from probes.system.disk.failing import whose_error
from probes.system.disk.scheduler import inflight
from probes.types import Absent, present

LEAD_S = 0.002  # from "all are ready" to the common start
REHEARSAL_S = 0.05
REHEARSED_BYTES = 64 << 20  # written at most by it
LARGE_BYTES = 256 << 10  # writes from here on amplify little: a journal's commit is small beside them
# What can be decided with, as an experiment counts: a warm-up, then four groups of two blocks a bench.
FEWEST_BLOCKS = 9
MOST_TRIES = 3  # of a block that is faster than foreseen: each of them tells the pace anew
QUIET_AT_MOST_S = 2.0
BUSY_AT_MOST_S = 0.1  # once others were seen to keep the device busy, waiting for silence is no use


class StorageBench:
    """One directory under test; it implements what an arm needs. Not for two tasks at once.

    directory          what is measured, in words too.
    private            a directory of our own, made, removed and closed by the caller: the unnamed files are made in
                       it (O_TMPFILE, else unlinked at once), and the metadata load works in it. Without it they are
                       made in `directory`, and that load is not applicable.
    size_bytes         of the file that is read; those that are written to are `write_files(size_bytes)`.
    seed               of the offsets.
    leaves             kernel names of the leaf devices ("vda"); empty: nothing is checked against counters.
    budget             shared by all benches of a run.
    read_leaves        where reads must show, if not in the leaves (`probes.system.disk.backing`); absent: read loads
                       are not applicable, for that reason.
    crew               the workers, shared by all benches that are compared; without it, its own.
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
        read_leaves: Sequence[str] | Absent | None = None,
        crew: Crew | None = None,
    ) -> None:
        self.host = host
        self.directory = directory
        self.private = private
        self.size_bytes = file_bytes(size_bytes)
        self.leaves = tuple(leaves)
        self.read_leaves = self.leaves if read_leaves is None else read_leaves
        self.stretch = stretch
        self.budget = budget if budget is not None else WriteBudget()
        self.budget.benches += 1
        self.seed = seed
        self._rng = random.Random(seed)
        self._files = FileSet(self._rng)
        self._room: Room | None = None
        self.crew = crew if crew is not None else Crew()
        self._rates: dict[str, float] = {}  # bytes a second, by load
        self._begun: set[str] = set()  # writing loads whose blocks are measured
        self._quiet_s = QUIET_AT_MOST_S

    @property
    def _pool(self) -> Pool:
        return self.crew.pool

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be said beside every result of this directory."""
        notes = []
        if any(not file.direct for file in self._files):
            notes.append("buffered: the file system refuses O_DIRECT, so the page cache takes part")
        if any(self._files) and not self.leaves:
            notes.append("no device counters: whether reads reach the device could not be checked")
        return tuple(notes)

    def file(self, kind: str) -> TestFile:
        """The (first) test file that is "read" or "write"; IndexError before `prepare`."""
        return self._files.of(kind)[0]

    def next_files(self, load: Load, count: int) -> list[int]:
        """The numbers of the files that this load should use next (see `FileSet.next`)."""
        return self._files.next(load.kind, count)

    def use_files(self, load: Load, numbers: Sequence[int]) -> list[int]:
        """Those that another bench drew (see `FileSet.use`)."""
        return self._files.use(load.kind, numbers)

    async def prepare(self, progress: Progress | None = None, workloads: Sequence[str] = ()) -> None:
        """Makes and fills the files that `workloads` (default: all) need. Raises BenchRefused; then all is closed.

        `progress` is called on the event loop. One bench after the other: they share the write budget's counters.
        """
        await self.lay_out([self], workloads)
        await self.fill(progress)

    @staticmethod
    async def lay_out(benches: Sequence[StorageBench], workloads: Sequence[str] = ()) -> None:
        """Makes the files of all benches in turn (see `FileSet.laying`). Raises BenchRefused; then all are closed."""
        try:
            beside = Neighbours()
            for bench in benches:
                await asyncio.to_thread(bench._settle, beside if len(benches) > 1 else None)
            await asyncio.to_thread(in_turn, [bench.laying(beside, workloads) for bench in benches])
        except BaseException:
            for bench in benches:
                await bench.close()
            raise

    def _settle(self, neighbours: Neighbours | None) -> None:
        """Opens, in a directory below its own that lies beside the other sides' if there are. Raises BenchRefused."""
        self._files.open()
        if neighbours is not None and self.private is not None and self._room is None:
            try:
                self._room = neighbours.room(self.private)
            except OSError as error:
                raise cannot_use(self.directory, error) from error

    @property
    def _fd(self) -> int | None:
        """Where it makes its files."""
        return self._room.fd if self._room else self.private.fd if self.private else None

    def laying(self, neighbours: Neighbours, workloads: Sequence[str] = ()) -> Iterator[None]:
        """Makes the files step by step. Raises BenchRefused."""
        wanted = tuple(workloads) or IDS
        if refusal := self.budget.refusal(prepared_bytes(self.size_bytes, wanted)):
            raise BenchRefused(f"{self.directory}: {refusal}")
        kinds = {load_of(workload).kind for workload in wanted}
        with opened(self.directory) if self._fd is None else nullcontext(self._fd) as directory:
            yield from self._files.laying(
                directory,
                self.directory,
                self.size_bytes if "read" in kinds else 0,
                write_files(self.size_bytes) if "write" in kinds else (),
                neighbours,
            )

    async def fill(self, progress: Progress | None = None) -> None:
        """Writes every block of the files. Raises BenchRefused; then all is closed."""
        try:
            await self.crew.join(self._fds())
            await fill(self.directory, self._pool, list(self._files), self._spent_filling(), progress)
        except BaseException:
            await self.close()
            raise

    def _spent_filling(self) -> Callable[[int], None]:
        seen = self.device_bytes("write")

        def spend(written: int) -> None:
            nonlocal seen
            self.budget.spend(written, self._moved("write", seen))
            seen = self.device_bytes("write")

        return spend

    async def share(self, other: StorageBench) -> None:
        """The very files of another bench, in the place of files of its own: two files need not be equally fast.

        (Measured on a virtual disk: synced writes to one of two like files 8 % slower, run for run another one.)
        """
        self._files.copy_from(other._files)
        await self.crew.join(self._fds())

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
        first `onset_s` are reported apart. Raises NotApplicable where the load cannot run here, Spent where the write
        budget does not hold for a block of full length, WorkerFailed (a BenchRefused) where a worker died. Cancelling
        kills the workers at once; the next block starts new ones.
        """
        load = workload if isinstance(workload, Load) else load_of(workload)
        least = load.min_operations if min_operations is None else min_operations
        for _ in range(MOST_TRIES):
            most = await self._affordable(load, seconds, least)
            if (measured := await self._measured(load, seconds, onset_s, least, most)) is not None:
                return measured
        raise Spent("the write budget ended this block before its time")

    async def ready(self, workload: str | Load) -> None:
        """Starts the workers of a load, and learns how much a writing one writes; nothing is measured.

        Raises as `block` does.
        """
        load = workload if isinstance(workload, Load) else load_of(workload)
        most = None
        if load.kind == "write":
            presumed = 1.0 if load.block_bytes >= LARGE_BYTES else PRESUMED_SYNCED
            self.budget.begin(load.id, load.budget_share, presumed)
            self.budget.check(load.block_bytes * load.workers, load.id)
            most = min(REHEARSED_BYTES, self.budget.left_for(load.id))
        await self._measured(load, REHEARSAL_S, 0.0, 1, most, rehearsal=True)

    async def _affordable(self, load: Load, seconds: float, least: int) -> int | None:
        """The most bytes that this block may write (None: it does not write); Spent where a full one is too much.

        The first one of a load is not begun where the fewest blocks that can decide are not affordable.
        """
        if load.kind != "write":
            return None
        if load.id not in self._rates:
            await self.ready(load)
        wanted = int(max(self._rates.get(load.id, 0.0) * seconds, least * load.block_bytes))
        wanted = min(wanted, load.most_bytes or wanted)
        if load.id not in self._begun:
            self.budget.check(wanted, load.id, FEWEST_BLOCKS * max(1, self.budget.benches))
            self._begun.add(load.id)
        self.budget.check(wanted, load.id)
        left = self.budget.left_for(load.id)
        return min(left, load.most_bytes or left)

    async def _measured(
        self,
        load: Load,
        seconds: float,
        onset_s: float,
        least: int,
        most_bytes: int | None,
        *,
        rehearsal: bool = False,
    ) -> Measured | None:
        """None: it was faster than the blocks before it, so that its bytes ended it; the budget holds for another."""
        ends = slice_ends(seconds, onset_s)
        at_most_s = max(seconds, load.max_block_s)
        most = None if most_bytes is None else max(1, most_bytes // load.block_bytes // load.workers)
        (number,) = self.next_files(load, 1)
        specs = [
            self._spec(load, index, number, ends, least, most, at_most_s) for index in range(load.workers)
        ]
        device = self.device_bytes(load.kind)
        try:
            replies = await self._pool.block(specs, LEAD_S + 0.0002 * load.workers)
        except WorkerFailed as error:
            raise WorkerFailed(
                f"{self.directory}, {load.id}: {error}{whose_error(self.directory, error.errno)}", error.errno
            ) from error
        moved = self._moved(load.kind, device)
        self._account(load, replies, moved)
        ended = most is not None and any(reply["n"] >= most for reply in replies)
        as_declared = load.most_bytes is not None and most_bytes == load.most_bytes
        if ended and most is not None and not rehearsal and not as_declared:
            self.budget.check(2 * most * load.block_bytes * load.workers, load.id)
            return None
        measured = summed(load, replies, ends, len(ends) > 1 and ends[0] == onset_s, moved)
        if ended and as_declared:
            words = f"ended by its {(most_bytes or 0) >> 20} MiB after {measured.seconds:.2f} s"
            remark = "; ".join(filter(None, (words, measured.remark)))
            measured = msgspec.structs.replace(measured, remark=remark)
        if all(file.direct for file in self._files.of(load.kind)):
            return measured
        remark = "; ".join(filter(None, ("buffered: no O_DIRECT here", measured.remark)))
        return msgspec.structs.replace(measured, remark=remark)

    def _spec(
        self,
        load: Load,
        index: int,
        number: int,
        ends: list[float],
        least: int,
        most: int | None,
        at_most_s: float,
    ) -> dict[str, Any]:
        return self.side(load, index, number) | {
            "seed": self._rng.getrandbits(48),
            "slices": ends,
            "least": -(-least // load.workers),
            "most": most,
            "at_most_s": at_most_s,
        }

    def side(self, load: Load, index: int, number: int) -> dict[str, Any]:
        """What worker `index` of this load does in this directory, on file `number` (see `next_files`).

        Raises NotApplicable where it cannot.
        """
        spec: dict[str, Any] = {
            "kind": load.kind,
            "fd": -1,
            "stretch": 0.0 if load.control else self.stretch,
        }
        if load.kind == "metadata":
            if self._fd is None:
                raise NotApplicable(f"{self.directory}: no directory of our own to create files in")
            return spec | {"fd": self._fd, "names": NAMES_AT_ONCE}
        if load.kind == "cpu":
            return spec
        if load.kind == "read" and isinstance(self.read_leaves, Absent):
            raise NotApplicable(self.read_leaves.reason)
        if not (files := len(self._files.of(load.kind))):
            raise NotApplicable(f"{self.directory}: no test file was prepared for {load.id}")
        sharers = load.workers
        if load.sequential:  # a file for each worker, as far as there are some
            number, index, sharers = (number + index) % files, index // files, -(-load.workers // files)
        file = self._files.serve(load.kind, number)
        part = part_of(file, index, sharers, load.block_bytes, sequential=load.sequential)
        return spec | part | {"sync": load.sync, "direct": file.direct}

    def _account(self, load: Load, replies: Sequence[dict[str, Any]], moved: int | None) -> None:
        if load.kind != "write":
            return
        ours = sum(reply["n"] for reply in replies) * load.block_bytes
        self.budget.spend(ours, moved, load.id)
        spent = max(reply["ns"] for reply in replies) / 1e9
        if spent > 0:
            self._rates[load.id] = ours / spent

    def device_bytes(self, kind: str) -> int | None:
        """The leaves' own count of bytes in a load's direction; None without leaves or counters."""
        leaves = self.read_leaves if kind == "read" else self.leaves
        if kind not in ("read", "write") or isinstance(leaves, Absent):
            return None
        found = leaf_counters(self.host, leaves)
        return (
            None if found is None else sum(c.read_bytes if kind == "read" else c.write_bytes for c in found)
        )

    def _moved(self, kind: str, before: int | None) -> int | None:
        now = self.device_bytes(kind)
        return None if now is None or before is None else max(0, now - before)

    async def quiesce(self) -> None:
        """fdatasync of what was written, then until the leaves have nothing in flight; at most 2 s.

        A device that others keep busy is never silent: that is found out once, and later waits are short.
        """
        until = time.monotonic() + QUIET_AT_MOST_S
        if written := self._files.take_written():
            await self._pool.sync(written, QUIET_AT_MOST_S)
        until = min(until, time.monotonic() + self._quiet_s)
        while self._in_flight() > 0:
            if time.monotonic() >= until:
                self._quiet_s = BUSY_AT_MOST_S
                return
            await asyncio.sleep(0.002)

    def _in_flight(self) -> int:
        """Requests under way on the leaves (Documentation/ABI/stable/sysfs-block: reads, writes)."""
        return sum(sum(now) for leaf in self.leaves if present(now := inflight(self.host, leaf)))

    async def close(self) -> None:
        """Ends the workers and closes the files, which frees their space. May be called twice."""
        await self.crew.leave(self._fds())
        await asyncio.to_thread(self._files.close)
        room, self._room = self._room, None
        if room is not None:
            room.remove()

    def _fds(self) -> list[int]:
        """What the workers inherit."""
        own = [self._fd] if self._fd is not None else []
        return [*(file.fd for file in self._files), *own]
