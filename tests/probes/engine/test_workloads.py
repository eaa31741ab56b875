"""The loads as data: what they are called, how large their files are, which command would measure the same."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes import units
from probes.engine.disk.size import SHARE_OF_FREE, SMALLEST, choose_size, largest_size
from probes.engine.measured import BenchRefused
from probes.engine.workloads import (
    IDS,
    LOADS,
    UNIT,
    file_bytes,
    fio_equivalent,
    load_of,
    prepared_bytes,
    write_file_bytes,
)
from tests.every_case import every_case
from tests.needs import needs, program

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


def test_an_unknown_load_is_named() -> None:
    with pytest.raises(KeyError, match="randread-4k-qd2"):
        load_of("randread-4k-qd2")


@given(st.integers(0, 4 * GIB))
def test_files_divide_into_whole_blocks_for_every_worker(size: int) -> None:
    for found in (file_bytes(size), write_file_bytes(size)):
        assert found >= UNIT
        assert found % UNIT == 0
    assert write_file_bytes(size) <= 256 << 20


@every_case("workload", [i for i in IDS if load_of(i).kind in ("read", "write")])
def test_the_fio_line_says_what_the_load_is(workload: str) -> None:
    load = load_of(workload)
    words = dict(
        w.lstrip("-").partition("=")[::2] for w in shlex.split(fio_equivalent(workload, GIB, "/data/x y"))[1:]
    )
    assert words["numjobs"] == str(load.workers)
    assert words["bs"] == f"{load.block_bytes // 1024}k"
    assert words["direct"] == "1" and words["ioengine"] == "psync"
    assert (words["directory"], words["filename"]) == ("/data/x y", "hostdx.fio")
    assert ("fdatasync" in words) == load.sync
    whole = write_file_bytes(GIB) if load.kind == "write" else GIB
    assert int(words["size"]) * (load.workers if load.sequential else 1) == whole


@needs(program("fio"))
@pytest.mark.parametrize("workload", [i for i in IDS if load_of(i).kind in ("read", "write")])
def test_fio_understands_its_line(workload: str, tmp_path: Path) -> None:
    line = shlex.split(fio_equivalent(workload, GIB, str(tmp_path)))
    done = subprocess.run([*line, "--parse-only"], capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stderr


def test_metadata_has_mdtest_and_the_cpu_nobody() -> None:
    assert fio_equivalent("metadata", GIB, "/d").startswith("mdtest ")
    assert fio_equivalent("cpu", GIB, "/d") == ""


def test_only_what_is_needed_is_prepared() -> None:
    assert prepared_bytes(GIB, ["cpu", "metadata"]) == 0
    assert prepared_bytes(GIB, ["randread-4k-qd1"]) == GIB


@given(st.integers(0, 1 << 45))
def test_sizes_leave_95_percent_of_the_free_space_alone(free: int) -> None:
    size = largest_size(free)
    assert size == 0 or SMALLEST <= size <= GIB
    assert prepared_bytes(size) <= free * SHARE_OF_FREE or not size


def test_the_largest_that_fits_is_taken() -> None:
    assert choose_size("/d", 1 << 40) == GIB
    assert choose_size("/d", 1 << 40, 300 << 20) == file_bytes(300 << 20)
    assert choose_size("/d", 0, None, ["cpu"]) == SMALLEST


@every_case(
    ("free", "wanted", "says"),
    [
        (GIB, None, "too little space: needs 1.56 GiB free .*, has 1 GiB"),
        (100 * GIB, 2 * GIB, "--size 2 GiB is too large"),
        (100 * GIB, 1 << 20, "--size 1 MiB is too small"),
    ],
)
def test_a_size_that_does_not_fit_is_one_line(free: int, wanted: int | None, says: str) -> None:
    with pytest.raises(BenchRefused, match=says) as caught:
        choose_size("/data", free, wanted)
    assert str(caught.value).startswith("/data: ")
    assert "\n" not in str(caught.value)


@every_case(
    ("size", "said"),
    [
        (1, "1 B"),
        (5 << 10, "5 KiB"),
        (64 << 20, "64 MiB"),
        (1717986918, "1.6 GiB"),
        (99999 << 30, "97.7 TiB"),
    ],
)
def test_sizes_are_said_in_the_unit_that_fits(size: int, said: str) -> None:
    assert units.format_size(size) == said
    if size < 64 << 20:
        with pytest.raises(BenchRefused, match=f"--size {said} is too small"):
            choose_size("/x", 1 << 40, size)
