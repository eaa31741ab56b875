"""The scaling probe's operations in a directory: each does what it says, and stays within its names and bytes."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostdx.scenarios.contention.measurement.bench import ContentionBench
from hostdx.scenarios.contention.measurement.operations import (
    MAX_SIDE_BYTES,
    PRIVATE_BYTES,
    WRITE_BYTES,
    make_operation,
    make_shared_and_own_files,
)
from hostdx.scenarios.contention.plan import read_loads


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    make_shared_and_own_files(fd, 4)
    yield fd
    os.close(fd)


def sizes(place: Path) -> dict[str, int]:
    return {str(p.relative_to(place)): p.stat().st_size for p in place.rglob("*") if p.is_file()}


@pytest.mark.parametrize("load", [load.id for load in read_loads()])
def test_each_load_works_over_and_over_and_leaves_no_name_behind(
    load: str, folder: int, tmp_path: Path
) -> None:
    operation = make_operation(load, folder, 3, 4)
    operation.run_once()
    before = set(sizes(tmp_path))
    for _ in range(3 * operation.batch):
        operation.run_once()
    assert set(sizes(tmp_path)) == before and operation.each >= 1


def test_a_load_that_there_is_not(folder: int) -> None:
    with pytest.raises(ValueError):
        make_operation("nothing", folder, 0, 1)


@pytest.mark.parametrize(
    ("load", "workers", "bound"), [("private", 64, MAX_SIDE_BYTES), ("append", 4, PRIVATE_BYTES)]
)
def test_what_is_appended_stays_within_its_share(
    load: str, workers: int, bound: int, folder: int, tmp_path: Path
) -> None:
    operation = make_operation(load, folder, 0, workers)
    assert operation.limit is not None
    largest = 0
    for _ in range(bound // workers // WRITE_BYTES // operation.batch + 2):
        for _ in range(operation.batch):
            operation.run_once()
        largest = max(largest, *sizes(tmp_path).values())
        operation.limit()
    assert bound // workers // 2 < largest <= bound // workers + operation.batch * WRITE_BYTES
    assert sizes(tmp_path)[{"private": "own0/private", "append": "appended"}[load]] < bound // workers


@pytest.mark.real
@pytest.mark.parametrize("load", ["private", "append"])
async def test_short_points_leave_nothing_that_adds_up(load: str, tmp_path: Path) -> None:
    (tmp_path / "side").mkdir()
    side = os.open(tmp_path / "side", os.O_RDONLY | os.O_DIRECTORY)
    bench = await ContentionBench.start_in_directories([side], 2)
    try:
        # a worker that waits for a CPU meanwhile does nothing in ten milliseconds
        points = [await bench.measure_unqueued_point(load, 0, 2, 0.01) for _ in range(10)]
    finally:
        await bench.close()
        os.close(side)
    assert any(point.operations for point in points)
    assert [size for name, size in sizes(tmp_path / "side").items() if name not in ("file", "mapped")] in (
        [0],
        [0, 0],
    )
