"""Others' waiting told from ours, on scripted counters."""

from __future__ import annotations

import pytest

from probes.engine.disk.foreign_latency import ForeignWait, our_wait_s
from probes.engine.measured import Measured
from probes.reading.host import Host
from probes.types import Absent


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
    found = ForeignWait(disk, ["sda"])
    disk.moves(100, 1, 100, 2)
    found.learn_usual_wait()
    return found


def test_while_we_read_every_write_is_theirs(disk: Disk, watch: ForeignWait) -> None:
    disk.moves(reads=10_000, read_ms=0.1, writes=20, write_ms=5)
    assert watch.sample(0.5, "read", 10_000, 1.0) == pytest.approx(2.5)


def test_three_seconds_in_a_row_stop_the_run(disk: Disk, watch: ForeignWait) -> None:
    for _ in range(5):
        disk.moves(writes=20, write_ms=5)
        watch.sample(0.5, "read", 0, 0.0)
        watch.learn_usual_wait()
    assert watch.stopped == ""
    disk.moves(writes=20, write_ms=5)
    watch.sample(0.5, "read", 0, 0.0)
    assert "sda" in watch.stopped and "2.5 times" in watch.stopped and "3 s" in watch.stopped


@pytest.mark.parametrize("calmer", [{"writes": 20, "write_ms": 3.9}, {}])
def test_one_block_without_begins_it_anew(disk: Disk, watch: ForeignWait, calmer: dict[str, float]) -> None:
    for block in range(12):
        disk.moves(**(calmer if block == 5 else {"writes": 20, "write_ms": 5}))
        watch.sample(0.5, "read", 0, 0.0)
        assert bool(watch.stopped) == (block >= 11)


def test_in_our_own_direction_theirs_are_what_is_left(disk: Disk, watch: ForeignWait) -> None:
    disk.moves(reads=1000, read_ms=1)
    disk.moves(reads=500, read_ms=4)
    assert watch.sample(0.5, "read", 1000, 1.0) == pytest.approx(4.0)


def test_but_only_where_they_are_enough_to_be_told_from_ours(disk: Disk, watch: ForeignWait) -> None:
    disk.moves(reads=1000, read_ms=1)
    disk.moves(reads=200, read_ms=9)
    assert watch.sample(0.5, "read", 1000, 1.0) is None


def test_requests_that_we_cannot_count_hide_theirs(disk: Disk, watch: ForeignWait) -> None:
    disk.moves(writes=1000, write_ms=9)
    assert watch.sample(0.5, "write", None, 1.0) is None


def test_the_cpu_load_moves_nothing_of_ours(disk: Disk, watch: ForeignWait) -> None:
    disk.moves(reads=10, read_ms=3, writes=10, write_ms=2)
    assert watch.sample(0.5, None, None, 0.0) == pytest.approx(3.0)


def test_nobody_there_is_nobody_waiting(disk: Disk, watch: ForeignWait) -> None:
    disk.moves(writes=2, write_ms=500)
    assert watch.sample(5.0, "read", 0, 0.0) is None
    assert watch.stopped == ""


def test_without_knowing_what_is_usual_nothing_is_said(disk: Disk) -> None:
    watch = ForeignWait(disk, ["sda"])
    disk.moves(writes=50, write_ms=100)
    assert watch.sample(5.0, "read", 0, 0.0) is None


def test_tenths_of_a_millisecond_stop_nobody(disk: Disk) -> None:
    watch = ForeignWait(disk, ["sda"])
    disk.moves(writes=1000, write_ms=0.1)
    watch.learn_usual_wait()
    disk.moves(writes=1000, write_ms=0.5)
    assert watch.sample(5.0, "read", 0, 0.0) == pytest.approx(5.0)
    assert watch.stopped == ""


def test_a_device_without_counters_is_never_judged(disk: Disk) -> None:
    watch = ForeignWait(disk, ["nvme9n1"])
    watch.learn_usual_wait()
    disk.moves(writes=50, write_ms=100)
    assert watch.sample(5.0, "read", 0, 0.0) is None
    assert ForeignWait(disk, []).sample(5.0, "read", 0, 0.0) is None


def test_our_waiting_is_the_sum_of_the_histogram() -> None:
    assert our_wait_s(Measured(seconds=1, values={}, histogram=[(1_000_000, 3), (2_000_000, 1)])) == 0.005
