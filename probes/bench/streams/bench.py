"""Streams between disk and network from the runner's side: trains of slices, and what they cost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import msgspec

from probes.bench.disk.budget import WriteBudget
from probes.bench.disk.preparation import Progress, fill
from probes.bench.engine.files import FileSet, TestFile
from probes.bench.engine.pool import Pool
from probes.bench.line_child import LineChild
from probes.bench.measured import BenchRefused, Measured, NotApplicable, Train
from probes.bench.streams.messages import (
    Answer,
    Counted,
    Failed,
    Open,
    Ready,
    Request,
    Side,
    Slice,
    Slices,
    answers,
)
from probes.bench.streams.peer import CHUNK
from probes.host import Host
from probes.private_directory import PrivateDirectory
from probes.system.disk.diskstats import grown, moved_bytes

METRIC = "MB/s"
START_S, ANSWER_S = 30.0, 70.0
FROM_DEVICE = 0.95  # of what was read must show in its counters
LINE_BYTES = 4 << 20


class Cost(msgspec.Struct, kw_only=True):
    """Of all slices of one side: what `Slice` tells, summed; the shares are weighed by seconds.

    host_cpu_s: of this host, with the peer's where it runs here.
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

    def add(self, one: Slice, *, local_peer: bool) -> None:
        self.seconds += one.seconds
        self.bytes += one.bytes
        self.disk_bytes += one.read + one.written
        self.cpu_s += one.cpu_s
        self.peer_cpu_s += one.peer_cpu_s
        self.host_cpu_s += one.cpu_s + (one.peer_cpu_s if local_peer else 0.0)
        self.busy_s += one.busy * one.seconds
        self.softirq_s += one.softirq * one.seconds
        self.worker_s += one.worker * one.seconds
        self.sends += one.sends
        self.copied += one.copied
        if one.memory is not None:
            self.memory_bytes = (self.memory_bytes or 0.0) + one.memory

    @property
    def cpu_s_per_gb(self) -> float:
        return self.cpu_s / self.bytes * 1e9 if self.bytes else 0.0


class StreamBench:
    """`prepare` makes the files, `open` the connections; `close` ends all of it. Not for two tasks at once."""

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
        self._pool = Pool(())
        self._child: LineChild | None = None
        self.local_peer = True
        self.costs: dict[Side, Cost] = {}

    async def prepare(self, progress: Progress | None) -> None:
        """Raises BenchRefused."""
        laid = await asyncio.to_thread(self._lay)
        self._pool = Pool(tuple(file.fd for file in self._files))

        def written() -> int | None:
            return moved_bytes(self.host, self.leaves, "write")

        await fill(self._pool, [(self.private.path, file) for file in laid], self.budget, written, progress)
        await self._pool.close()

    def _lay(self) -> list[TestFile]:
        self._files.begin()
        wanted = [kind for kind in self._kinds for _ in range(self.streams)]
        laid = [(kind, self.file_bytes) for kind in wanted]
        files = self._files.lay_all(laid, self.private.fd, self.private.path)
        self.direct = all(file.direct for file in files)
        return files

    async def open(self, name: str, request: Open) -> Ready:
        """`request` without what this bench knows. Raises BenchRefused."""
        by_kind = {kind: [file.fd for file in self._files.of(kind)] for kind in ("read", "write")}
        reads, writes = by_kind["read"] or by_kind["write"], by_kind["write"] or by_kind["read"]
        self.local_peer = request.where != "peer"
        fds = tuple(dict.fromkeys((*reads, *writes)))
        self._child = await LineChild.start("probes.bench.streams.station", name, fds, LINE_BYTES)
        whole = msgspec.structs.replace(
            request, read_fds=tuple(reads), write_fds=tuple(writes), file_bytes=self.file_bytes
        )  # fmt: skip
        ready = await self._ask(whole, START_S)
        assert isinstance(ready, Ready)
        return ready

    async def train(
        self,
        sides: Sequence[Side],
        order: Sequence[int],
        slice_s: float,
        onset_s: float = 0.0,
        load: str = "",
    ) -> Train:
        """Raises NotApplicable where reads came from memory, WriteBudgetSpent, BenchRefused."""
        before = self._moved()
        began = time.perf_counter()
        most_s = max(10.0, 4 * slice_s * len(order))
        request = Slices(
            sides=list(sides), order=list(order), slice_s=slice_s, onset_s=onset_s, most_s=most_s
        )
        counted = await self._ask(request, most_s + ANSWER_S)
        assert isinstance(counted, Counted)
        took = time.perf_counter() - began
        read, written = (grown(a, b) for a, b in zip(before, self._moved(), strict=True))
        ours = sum(one.read for one in counted.slices), sum(one.written for one in counted.slices)
        if ours[1]:
            self.budget.spend(ours[1], written, load)
        if ours[0] and read is not None and read < FROM_DEVICE * ours[0]:
            raise NotApplicable(f"served by a cache: the device read {read / ours[0]:.0%} of what was read")
        moved = None if read is None or written is None else read + written
        return self._train(sides, order, slice_s, counted.slices, took, moved)

    def _moved(self) -> tuple[int | None, int | None]:
        if not self.leaves:
            return None, None
        return moved_bytes(self.host, self.leaves, "read"), moved_bytes(self.host, self.leaves, "write")

    def _train(
        self, sides: Sequence[Side], order: Sequence[int], slice_s: float, slices: Sequence[Slice],
        took: float, moved: int | None,
    ) -> Train:  # fmt: skip
        done = list(order[: len(slices)])
        costs = [Cost() for _ in sides]
        for number, one in zip(done, slices, strict=True):
            costs[number].add(one, local_peer=self.local_peer)
            self.costs.setdefault(sides[number], Cost()).add(one, local_peer=self.local_peer)
        return Train(
            seconds=took,
            slice_s=slice_s,
            order=done,
            values={METRIC: [_rate(one.bytes, one.seconds) for one in slices]},
            lengths=[one.seconds for one in slices],
            operations=[one.operations for one in slices],
            quarters=[[q / 1e6 for q in one.quarters] for one in slices],
            sides=[
                Measured(
                    seconds=cost.seconds,
                    values={METRIC: _rate(cost.bytes, cost.seconds)},
                    operations=cost.bytes // CHUNK,
                    bytes=cost.disk_bytes,  # what the guards hold against the devices' counters
                    cpu_s=cost.host_cpu_s,
                )
                for cost in costs
            ],
            device_bytes=moved if any(cost.disk_bytes for cost in costs) else None,
        )

    async def close(self) -> None:
        """Ends the process, its peer, its namespaces and the connections; frees the files."""
        if self._child is not None:
            await self._child.end()
            self._child = None
        await self._pool.close()
        self._files.close()

    async def _ask(self, request: Request, seconds: float) -> Answer:
        assert self._child is not None
        try:
            line = await self._child.ask(request, seconds)
        except TimeoutError:
            raise BenchRefused(f"the streams did not answer for {seconds:.0f} s") from None
        if not line:
            raise BenchRefused("the process that streams has ended")
        answer: Answer = answers.decode(line)
        if isinstance(answer, Failed):
            raise (NotApplicable if answer.kind == "not applicable" else BenchRefused)(answer.reason)
        return answer


def _rate(count: int, seconds: float) -> float:
    return count / seconds / 1e6 if seconds > 0 else 0.0
