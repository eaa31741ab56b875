"""Trains of slices, their bytes and foreign latency."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.engine.disk.foreign_latency import ForeignWait, our_wait_s
from hostdx.probes.engine.disk.storage import StorageBench
from hostdx.probes.engine.disk.trains import StorageBatches
from hostdx.probes.engine.files import FileSet, TestFile
from hostdx.probes.engine.measured import BenchRefused, Measured, WriteBudgetSpent
from hostdx.probes.engine.pool import SharedWorkers
from hostdx.probes.engine.workloads import MIB
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent
from tests.fakes.held import open_private

STREAM = "write-1m-qd8"
SIZE = 256 * MIB
ABBA = (0, 1, 1, 0)


@pytest.fixture
async def sides(tmp_path: Path) -> AsyncIterator[dict[str, StorageBench]]:
    """Two directories under one budget, with the files for streamed writes."""
    crew, budget = SharedWorkers(), WriteBudget(2 << 30)
    by_variant = {}
    for variant in "AB":
        (tmp_path / variant).mkdir()
        by_variant[variant] = StorageBench(
            Host(), str(tmp_path / variant), None, SIZE, 1, [], crew=crew, budget=budget, places=64
        )
    benches = list(by_variant.values())
    try:
        await StorageBench.prepare_all(benches, workloads=[STREAM])
        yield by_variant
    finally:
        for bench in benches:
            await bench.close()


async def test_a_train_is_begun_only_where_its_clock_ends_the_slices(sides: dict[str, StorageBench]) -> None:
    """Near the write limit slices of two operations a worker, where the clock gave six, scattered twice as much."""
    trains = StorageBatches(sides, STREAM)
    await trains.start_workers_and_rehearse()
    expected = trains._bytes_per_s * 0.02 * len(ABBA)
    budget, room, begun, refused = next(iter(sides.values())).budget, [0], 0, 0
    budget.bytes_left_for = lambda load: room[0]  # type: ignore[method-assign]
    for tenths in range(1, 40):
        room[0] = int(expected * tenths / 10)
        try:
            limit = trains._max_operations_per_part(len(ABBA), 0.02, 1, True)
        except WriteBudgetSpent:
            refused += 1
            continue
        begun += 1
        assert limit is not None
        assert (limit + 2) * trains.load.workers * len(ABBA) * trains.load.block_bytes > 1.4 * expected
    assert begun > 10 and refused > 5


async def test_what_is_asked_for_beyond_the_bytes_lays_nothing(tmp_path: Path) -> None:
    bench = StorageBench(
        Host(), str(tmp_path), open_private(tmp_path), SIZE, 1, [], budget=WriteBudget(SIZE - 1)
    )
    with pytest.raises(BenchRefused):
        await bench.prepare_files(workloads=["randread-4k-qd1"])
    assert not list(bench._files) and not list(tmp_path.iterdir())


def test_what_is_closed_lays_nothing(tmp_path: Path) -> None:
    place = open_private(tmp_path)
    files = FileSet()
    assert files.make_file("read", place.fd, str(tmp_path), MIB) is not None
    files.close()
    assert files.make_file("read", place.fd, str(tmp_path), MIB) is None
    assert not list(files) and not list(tmp_path.iterdir())
    place.close()


async def test_a_preparation_that_is_cancelled_makes_no_further_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its thread goes on for a while; the directory may be gone by then, and its descriptor another one."""
    third_begun, resume, ended = threading.Event(), threading.Event(), threading.Event()
    original, began = StorageBench._create_file_set, [0]

    def lay_and_wait(self: StorageBench, number: int, kinds: set[str]) -> list[TestFile]:
        began[0] += 1
        if began[0] == 3:
            third_begun.set()
            resume.wait(20)
        try:
            return original(self, number, kinds)
        finally:
            if began[0] >= 3:
                ended.set()

    monkeypatch.setattr(StorageBench, "_create_file_set", lay_and_wait)
    monkeypatch.setattr("hostdx.probes.engine.disk.storage.QUIET_AT_MOST_S", 0.2)
    bench = StorageBench(Host(), str(tmp_path), open_private(tmp_path), SIZE, 1, [])
    task = asyncio.create_task(bench.prepare_files(workloads=[STREAM]))
    await asyncio.to_thread(third_begun.wait, 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    before = {path.name for path in tmp_path.iterdir()}
    resume.set()
    await asyncio.to_thread(ended.wait, 20)
    await asyncio.sleep(0.1)
    assert len(before) == 2 and {path.name for path in tmp_path.iterdir()} == before
    assert not list(bench._files)


class Disk(Host):
    """One disk whose counters the test moves."""

    def __init__(self) -> None:
        super().__init__("/")
        self.n = {"reads": 0, "read_ms": 0, "writes": 0, "write_ms": 0}

    def moves(self, reads: int = 0, read_ms: float = 0, writes: int = 0, write_ms: float = 0) -> None:
        """`*_ms` is what each request waited."""
        self.n["reads"] += reads
        self.n["read_ms"] += round(reads * read_ms)
        self.n["writes"] += writes
        self.n["write_ms"] += round(writes * write_ms)

    def read_file_text(
        self, path: str, limit_bytes: int = 1 << 20, *, may_hang: bool = False
    ) -> str | Absent:
        n = self.n
        return f"   8  0 sda {n['reads']} 0 0 {n['read_ms']} {n['writes']} 0 0 {n['write_ms']} 0 0 0\n"


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def watch(disk: Disk) -> ForeignWait:
    """Others usually write 100 requests of 2 ms and read 100 of 1 ms."""
    foreign_wait = ForeignWait(disk, ["sda"])
    disk.moves(100, 1, 100, 2)
    foreign_wait.learn_usual_wait()
    return foreign_wait


def test_in_our_own_direction_theirs_are_what_is_left(disk: Disk, watch: ForeignWait) -> None:
    disk.moves(reads=1000, read_ms=1)
    disk.moves(reads=500, read_ms=4)
    assert watch.others_slowdown(0.5, "read", 1000, 1.0) == pytest.approx(4.0)


def test_without_knowing_what_is_usual_nothing_is_said(disk: Disk) -> None:
    watch = ForeignWait(disk, ["sda"])
    disk.moves(writes=50, write_ms=100)
    assert watch.others_slowdown(5.0, "read", 0, 0.0) is None


def test_our_waiting_is_the_sum_of_the_histogram() -> None:
    assert our_wait_s(Measured(seconds=1, values={}, histogram=[(1_000_000, 3), (2_000_000, 1)])) == 0.005
