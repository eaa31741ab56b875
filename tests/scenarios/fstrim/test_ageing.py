"""New files for real, small and quick: complete, synced, bounded in bytes, gone after `delete`."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.engine.loads.metadata import NewFiles
from hostdx.probes.engine.measured import MeasurementInvalid
from hostdx.probes.reading.host import Host
from hostdx.scenarios.fstrim.ageing import STEP_BYTES, WORKERS, ChurnBench, least_churn_bytes
from tests.fakes.held import open_private

MIB = 1 << 20


def make_turns() -> itertools.cycle[list[memoryview]]:
    return itertools.cycle([[memoryview(b"x" * STEP_BYTES)]])


def test_files_are_new_and_complete(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        files = NewFiles(fd, 7, 4 * STEP_BYTES, STEP_BYTES, make_turns(), False)
        for number in range(10):
            files.write_piece(number)
        files.close_file()
        files.close_file()
    finally:
        os.close(fd)
    sizes = sorted(path.stat().st_size for path in tmp_path.iterdir())
    assert sizes == [2 * STEP_BYTES, 4 * STEP_BYTES, 4 * STEP_BYTES]


def test_two_blocks_never_write_into_the_same_file(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for mark in (1, 2):
            files = NewFiles(fd, mark, STEP_BYTES, STEP_BYTES, make_turns(), False)
            files.write_piece(0)
            files.close_file()
    finally:
        os.close(fd)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.fixture
def bench_directory(tmp_path: Path) -> Path:
    return tmp_path


async def test_a_block_ends_with_its_bytes_and_leaves_files(bench_directory: Path) -> None:
    budget = WriteBudget(64 * MIB)
    bench = ChurnBench(Host(), open_private(bench_directory), (), 1, budget)
    try:
        measured = await bench.measure_block(5.0, 4 * MIB)
        assert measured.bytes == 4 * MIB and measured.values["MB/s"] > 0
        entries = list(bench_directory.iterdir())
        assert sum(path.stat().st_size for path in entries) == 4 * MIB and len(entries) == WORKERS
        second = await bench.measure_block(5.0, 4 * MIB)
        assert second.bytes == 4 * MIB
        assert sum(path.stat().st_size for path in bench_directory.iterdir()) == 8 * MIB
        assert budget.spent_bytes == 8 * MIB
        assert await bench.delete() == 8 * MIB
        await bench.sync_until_free()
        assert list(bench_directory.iterdir()) == []
    finally:
        await bench.close()
        await bench.close()


async def test_a_spent_budget_writes_nothing_more(bench_directory: Path) -> None:
    bench = ChurnBench(Host(), open_private(bench_directory), (), 1, WriteBudget(least_churn_bytes() - 1))
    try:
        with pytest.raises(MeasurementInvalid, match="write limit is reached"):
            await bench.measure_block(1.0, MIB)
        assert list(bench_directory.iterdir()) == []
    finally:
        await bench.close()


def test_deleting_takes_folders_and_spares_what_links_point_to(tmp_path: Path) -> None:
    folder, other = tmp_path / "own", tmp_path / "other"
    (folder / "deep" / "er").mkdir(parents=True)
    other.mkdir()
    (other / "precious").write_text("x")
    (folder / "deep" / "er" / "f").write_bytes(b"12345")
    (folder / "link").symlink_to(other)
    (folder / "deep" / "file-link").symlink_to(other / "precious")
    assert sum(open_private(folder).delete_contents()) >= 5
    assert (other / "precious").read_text() == "x"
    assert list(folder.iterdir()) == []
