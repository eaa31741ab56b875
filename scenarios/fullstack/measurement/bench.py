"""Streams between disk and network from the runner's side: trains of slices, and what they cost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import msgspec

from hostdx.probes.children.line_child import LineChild
from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.engine.disk.preparation import Progress, fill_files
from hostdx.probes.engine.files import FileSet, TestFile
from hostdx.probes.engine.measured import BenchRefused, Measured, MeasuredBatch, MeasurementInvalid
from hostdx.probes.engine.pool import WorkerPool
from hostdx.probes.files.private_directory import PrivateDirectory
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.diskstats import counter_growth, disk_bytes
from hostdx.scenarios.fullstack.measurement.messages import (
    Answer,
    CountedSlices,
    MeasureSlices,
    OpenStreams,
    Request,
    SliceJob,
    StreamsFailed,
    StreamSlice,
    StreamsReady,
    answers,
)
from hostdx.scenarios.fullstack.measurement.peer import CHUNK

METRIC = "MB/s"
START_S, ANSWER_S = 30.0, 70.0
FROM_DEVICE = 0.95  # of what was read must show in its counters
LINE_BYTES = 4 << 20


class StreamCost(msgspec.Struct, kw_only=True):
    """The sums of what `StreamSlice` holds, over all slices of one side; shares are weighted by seconds.

    host_cpu_s: of this host, with the peer's where the peer runs here.
    """

    seconds: float = 0.0
    bytes: int = 0
    disk_bytes: int = 0
    cpu_s: float = 0.0
    peer_cpu_s: float = 0.0
    host_cpu_s: float = 0.0
    busy_s: float = 0.0
    softirq_s: float = 0.0
    worker_s: float = 0.0
    sends: int = 0
    copied: int = 0
    memory_bytes: float | None = None

    def add(self, piece: StreamSlice, *, local_peer: bool) -> None:
        self.seconds += piece.seconds
        self.bytes += piece.bytes
        self.disk_bytes += piece.read + piece.written
        self.cpu_s += piece.cpu_s
        self.peer_cpu_s += piece.peer_cpu_s
        self.host_cpu_s += piece.cpu_s + (piece.peer_cpu_s if local_peer else 0.0)
        self.busy_s += piece.busy * piece.seconds
        self.softirq_s += piece.softirq * piece.seconds
        self.worker_s += piece.worker * piece.seconds
        self.sends += piece.sends
        self.copied += piece.copied
        if piece.memory is not None:
            self.memory_bytes = (self.memory_bytes or 0.0) + piece.memory

    @property
    def cpu_s_per_gb(self) -> float:
        return self.cpu_s / self.bytes * 1e9 if self.bytes else 0.0


class StreamBench:
    """Streams between disks and a peer. `prepare_files` makes the files, `open` the connections; `close` ends both.
    Not for two tasks at once.
    """

    def __init__(
        self, host: Host, private: PrivateDirectory, leaves: tuple[str, ...], size_bytes: int, streams: int,
        budget: WriteBudget, directions: Sequence[str],
    ) -> None:  # fmt: skip
        """size_bytes: of all files together. directions: `out` reads files, `in` writes some."""
        self.host, self.private, self.leaves, self.budget = host, private, leaves, budget
        kinds = [kind for kind, way in (("read", "out"), ("write", "in")) if way in directions]
        self._kinds, self.streams = kinds, streams
        self.file_bytes = max(8 * CHUNK, size_bytes // (len(kinds) * streams) // CHUNK * CHUNK)
        self.direct = False
        self._files = FileSet()
        self._pool = WorkerPool(())
        self._child: LineChild | None = None
        self.local_peer = True
        self.costs: dict[SliceJob, StreamCost] = {}

    async def prepare_files(self, progress: Progress | None) -> None:
        """Make the files. Raise BenchRefused."""
        laid = await asyncio.to_thread(self._lay_files)
        self._pool = WorkerPool(tuple(file.fd for file in self._files))

        def written_bytes() -> int | None:
            return disk_bytes(self.host, self.leaves, "write")

        await fill_files(
            self._pool, [(self.private.path, file) for file in laid], self.budget, written_bytes, progress
        )
        await self._pool.close()

    def _lay_files(self) -> list[TestFile]:
        self._files.reopen()
        wanted = [kind for kind in self._kinds for _ in range(self.streams)]
        laid = [(kind, self.file_bytes) for kind in wanted]
        files = self._files.create_files(laid, self.private.fd, self.private.path)
        self.direct = all(file.direct for file in files)
        return files

    async def open(self, name: str, request: OpenStreams) -> StreamsReady:
        """Open the connections; `request` lacks what this bench knows itself. Raise BenchRefused."""
        by_kind = {kind: [file.fd for file in self._files.files_of_kind(kind)] for kind in ("read", "write")}
        reads, writes = by_kind["read"] or by_kind["write"], by_kind["write"] or by_kind["read"]
        self.local_peer = request.where != "peer"
        fds = tuple(dict.fromkeys((*reads, *writes)))
        self._child = await LineChild.start(
            "hostdx.scenarios.fullstack.measurement.station", name, fds, LINE_BYTES
        )
        complete_request = msgspec.structs.replace(
            request, read_fds=tuple(reads), write_fds=tuple(writes), file_bytes=self.file_bytes
        )  # fmt: skip
        ready = await self._send_request(complete_request, START_S)
        assert isinstance(ready, StreamsReady)
        return ready

    async def measure_batch(
        self,
        sides: Sequence[SliceJob],
        order: Sequence[int],
        slice_s: float,
        onset_s: float = 0.0,
        load: str = "",
    ) -> MeasuredBatch:
        """Measure slices of these sides. Raise MeasurementInvalid where reads came from memory, WriteBudgetSpent,
        BenchRefused.
        """
        before = self._read_and_written_bytes()
        began = time.perf_counter()
        most_s = max(10.0, 4 * slice_s * len(order))
        request = MeasureSlices(
            sides=list(sides), order=list(order), slice_s=slice_s, onset_s=onset_s, most_s=most_s
        )
        counted = await self._send_request(request, most_s + ANSWER_S)
        assert isinstance(counted, CountedSlices)
        took = time.perf_counter() - began
        read, written = (
            counter_growth(a, b) for a, b in zip(before, self._read_and_written_bytes(), strict=True)
        )
        our_bytes = (
            sum(piece.read for piece in counted.slices),
            sum(piece.written for piece in counted.slices),
        )
        if our_bytes[1]:
            self.budget.charge(our_bytes[1], written, load)
        if our_bytes[0] and read is not None and read < FROM_DEVICE * our_bytes[0]:
            raise MeasurementInvalid(
                f"served by a cache: the device read {read / our_bytes[0]:.0%} of what was read"
            )
        moved = None if read is None or written is None else read + written
        return self._batch_from_slices(sides, order, slice_s, counted.slices, took, moved)

    def _read_and_written_bytes(self) -> tuple[int | None, int | None]:
        if not self.leaves:
            return None, None
        return disk_bytes(self.host, self.leaves, "read"), disk_bytes(self.host, self.leaves, "write")

    def _batch_from_slices(
        self, sides: Sequence[SliceJob], order: Sequence[int], slice_s: float, slices: Sequence[StreamSlice],
        took: float, moved: int | None,
    ) -> MeasuredBatch:  # fmt: skip
        done = list(order[: len(slices)])
        costs = [StreamCost() for _ in sides]
        for number, piece in zip(done, slices, strict=True):
            costs[number].add(piece, local_peer=self.local_peer)
            self.costs.setdefault(sides[number], StreamCost()).add(piece, local_peer=self.local_peer)
        return MeasuredBatch(
            seconds=took,
            slice_s=slice_s,
            order=done,
            values={METRIC: [_millions_per_second(piece.bytes, piece.seconds) for piece in slices]},
            lengths=[piece.seconds for piece in slices],
            operations=[piece.operations for piece in slices],
            quarters=[[q / 1e6 for q in piece.quarters] for piece in slices],
            sides=[
                Measured(
                    seconds=cost.seconds,
                    values={METRIC: _millions_per_second(cost.bytes, cost.seconds)},
                    operations=cost.bytes // CHUNK,
                    bytes=cost.disk_bytes,  # what the guards hold against the devices' counters
                    cpu_s=cost.host_cpu_s,
                )
                for cost in costs
            ],
            device_bytes=moved if any(cost.disk_bytes for cost in costs) else None,
        )

    async def close(self) -> None:
        """End the process, its peer, its namespaces and the connections, and free the files."""
        if self._child is not None:
            await self._child.end()
            self._child = None
        await self._pool.close()
        self._files.close()

    async def _send_request(self, request: Request, seconds: float) -> Answer:
        assert self._child is not None
        try:
            line = await self._child.send_request(request, seconds)
        except TimeoutError:
            raise BenchRefused(f"the streams did not answer for {seconds:.0f} s") from None
        if not line:
            raise BenchRefused("the process that streams has ended")
        answer: Answer = answers.decode(line)
        if isinstance(answer, StreamsFailed):
            raise (MeasurementInvalid if answer.kind == "not applicable" else BenchRefused)(answer.reason)
        return answer


def _millions_per_second(count: int, seconds: float) -> float:
    return count / seconds / 1e6 if seconds > 0 else 0.0
