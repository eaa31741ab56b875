"""Others' waiting told from ours, on scripted counters."""

import pytest

from hostdx.probes.engine.disk.foreign_latency import ForeignWait, our_wait_s
from hostdx.probes.engine.measured import Measured
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent


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
    assert watch.sample(0.5, "read", 1000, 1.0) == pytest.approx(4.0)


def test_without_knowing_what_is_usual_nothing_is_said(disk: Disk) -> None:
    watch = ForeignWait(disk, ["sda"])
    disk.moves(writes=50, write_ms=100)
    assert watch.sample(5.0, "read", 0, 0.0) is None


def test_our_waiting_is_the_sum_of_the_histogram() -> None:
    assert our_wait_s(Measured(seconds=1, values={}, histogram=[(1_000_000, 3), (2_000_000, 1)])) == 0.005
