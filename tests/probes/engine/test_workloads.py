"""The loads as data: what they are called, how large their files are, which command would measure the same."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostdx.probes.engine.disk.size import SHARE_OF_FREE, SMALLEST, choose_test_bytes, largest_test_bytes
from hostdx.probes.engine.measured import BenchRefused
from hostdx.probes.engine.workloads import (
    IDS,
    LOADS,
    UNIT,
    all_read_file_bytes,
    all_written_file_bytes,
    engine_load,
    fio_equivalent,
    prepared_bytes,
)
from tests.every_case import every_case

GIB = 1 << 30


def test_the_order_is_the_one_of_importance_and_ends_with_the_control() -> None:
    assert IDS == (
        "randread-4k-qd1",
        "randread-4k-qd16",
        "fsync-4k-qd1",
        "metadata",
        "read-1m-qd8",
        "write-1m-qd8",
        "cpu",
    )
    assert [load.id for load in LOADS if load.control] == ["cpu"]


@given(st.integers(0, 4 * GIB))
def test_files_divide_into_whole_blocks_for_every_worker(size: int) -> None:
    for size_of_file in (all_read_file_bytes(size), all_written_file_bytes(size)):
        assert size_of_file >= UNIT
        assert size_of_file % UNIT == 0
    assert all_written_file_bytes(size) <= 256 << 20


@every_case("workload", [i for i in IDS if engine_load(i).kind in ("read", "write")])
def test_the_fio_line_says_what_the_load_is(workload: str) -> None:
    load = engine_load(workload)
    words = dict(
        w.lstrip("-").partition("=")[::2] for w in shlex.split(fio_equivalent(workload, GIB, "/data/x y"))[1:]
    )
    assert words["numjobs"] == str(load.workers)
    assert words["bs"] == f"{load.block_bytes // 1024}k"
    assert words["direct"] == "1" and words["ioengine"] == "psync"
    assert (words["directory"], words["filename"]) == ("/data/x y", "hostdx.fio")
    assert ("fdatasync" in words) == load.sync
    total = all_written_file_bytes(GIB) if load.kind == "write" else GIB
    assert int(words["size"]) * (load.workers if load.sequential else 1) == total


@given(st.integers(0, 1 << 45))
def test_sizes_leave_95_percent_of_the_free_space_alone(free: int) -> None:
    size = largest_test_bytes(free)
    assert size == 0 or SMALLEST <= size <= GIB
    assert prepared_bytes(size) <= free * SHARE_OF_FREE or not size


@every_case(
    ("free", "size", "part"),
    [
        (GIB, None, "too little space: needs 1.56 GiB free .*, has 1 GiB"),
        (100 * GIB, 2 * GIB, "--size 2 GiB is too large"),
        (100 * GIB, 1 << 20, "--size 1 MiB is too small"),
    ],
)
def test_a_size_that_does_not_fit_is_one_line(free: int, size: int | None, part: str) -> None:
    with pytest.raises(BenchRefused, match=part) as error:
        choose_test_bytes("/data", free, size)
    assert str(error.value).startswith("/data: ")
    assert "\n" not in str(error.value)
