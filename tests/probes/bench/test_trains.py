"""Trains of the storage engine: what is counted, how near the write limit they go, and where the files lie."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from probes.bench.budget import WriteBudget
from probes.bench.engine import files, neighbours
from probes.bench.engine.neighbours import Neighbours
from probes.bench.engine.pool import Crew
from probes.bench.measured import Spent
from probes.bench.storage import StorageBench
from probes.bench.trains import StorageTrains
from probes.bench.workloads import MIB, load_of
from probes.host import Host

STREAM = "write-1m-qd8"
SIZE = 256 * MIB
ABBA = (0, 1, 1, 0)


@pytest.fixture
async def sides(tmp_path: Path) -> AsyncIterator[dict[str, StorageBench]]:
    """Two directories under one budget, with the files for streamed writes."""
    crew, budget = Crew(), WriteBudget(2 << 30)
    made = {}
    for variant in "AB":
        (tmp_path / variant).mkdir()
        made[variant] = StorageBench(
            Host(), str(tmp_path / variant), None, SIZE, 1, [], crew=crew, budget=budget
        )
    benches = list(made.values())
    try:
        await StorageBench.lay_out(benches, [STREAM])
        for bench in benches:
            await bench.fill()
        yield made
    finally:
        for bench in benches:
            await bench.close()


async def test_a_train_is_begun_only_where_its_clock_ends_the_slices(sides: dict[str, StorageBench]) -> None:
    """Near the write limit slices of two operations a worker, where the clock gave six, scattered twice as much."""
    trains = StorageTrains(sides, STREAM)
    await trains.ready()
    expected = trains._bytes_per_s * 0.02 * len(ABBA)
    budget, room, begun, refused = next(iter(sides.values())).budget, [0], 0, 0
    budget.left_for = lambda load: room[0]  # type: ignore[method-assign]
    for tenths in range(1, 40):
        room[0] = int(expected * tenths / 10)
        try:
            most = trains._most_operations(len(ABBA), 0.02, 1, True)
        except Spent:
            refused += 1
            continue
        begun += 1
        assert most is not None
        assert (most + 2) * trains.load.workers * len(ABBA) * trains.load.block_bytes > 1.4 * expected
    assert begun > 10 and refused > 5


async def test_what_is_done_and_not_counted_is_paid_for(sides: dict[str, StorageBench]) -> None:
    trains = StorageTrains(sides, STREAM)
    await trains.ready()
    bench = next(iter(sides.values()))
    before = bench.budget.spent_bytes
    train = await trains.train(ABBA, 0.01)
    uncounted = trains.load.workers * len(ABBA) * trains.load.block_bytes
    assert bench.budget.spent_bytes - before == sum(train.operations) * trains.load.block_bytes + uncounted


async def test_both_sides_of_a_round_write_to_files_of_one_number_and_each_worker_to_its_own(
    sides: dict[str, StorageBench], monkeypatch: pytest.MonkeyPatch
) -> None:
    trains = StorageTrains(sides, STREAM)
    pool = trains._crew.pool
    original, sent = pool.together, []

    async def recorded(do: str, specs: Any, *more: Any) -> Any:
        sent.append(specs)
        return await original(do, specs, *more)

    monkeypatch.setattr(pool, "together", recorded)
    await trains.train(ABBA * 5, 0.005)
    numbers = {
        (variant, file.fd): number
        for variant, bench in sides.items()
        for number, file in enumerate(bench._files.of("write"))
    }
    order = ABBA * 5
    served = []
    for at, one in enumerate(sent[-1][0]["order"]):
        parts = [spec["sides"][one] for spec in sent[-1]]
        served.append([(numbers["AB"[order[at]], part["fd"]], part["first"]) for part in parts])
    assert served[::2] == served[1::2]
    assert all(len(set(workers)) == trains.load.workers for workers in served)
    assert all(before != after for before, after in pairwise(served[::2]))


def test_files_are_made_in_turn_and_the_written_ones_lie_between_what_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid: list[tuple[str, int, int, int]] = []
    names: dict[int, tuple[str, int]] = {}
    original = files._open

    def opened(directory: int, direct: bool, unnamed: bool) -> int:
        fd = original(directory, direct, unnamed)
        variant = Path(f"/proc/self/fd/{directory}").readlink().name
        names[fd] = variant, sum(name == variant for name, _ in names.values())
        return fd

    monkeypatch.setattr(files, "_open", opened)
    monkeypatch.setattr(files, "reserve", lambda fd, start, length: laid.append((*names[fd], start, length)))
    monkeypatch.setattr(neighbours, "begins_at", lambda fd: None)
    made, beside = [], Neighbours()
    for variant in "AB":
        (tmp_path / variant).mkdir()
        made.append(StorageBench(Host(), str(tmp_path / variant), None, SIZE, 1, []))
    try:
        files.in_turn([bench.laying(beside, [STREAM, "randread-4k-qd1"]) for bench in made])
    finally:
        for bench in made:
            bench._files.close()
    written = [one for one in laid if one[1] > 0]
    assert len(written) == 2 * 8 * 8 and {length for *_, length in written} == {MIB}
    assert all(
        {one[0], other[0]} == set("AB") for one, other in zip(written[::2], written[1::2], strict=True)
    )
    assert [one[1:] for one in written[::2]] == [one[1:] for one in written[1::2]]
    assert [(number, start // MIB) for _, number, start, _ in written[::2]] == [
        (number, mib) for number in range(1, 9) for mib in range(8)
    ]
    assert [
        start // MIB for side, number, start, length in laid if (side, number) == ("B", 0) and length > MIB
    ] == [32 * part for part in range(8)]


@pytest.mark.parametrize("mib", [32, 64, 96, 104, 128, 160, 224, 256, 480, 512])
def test_each_worker_of_a_stream_has_whole_blocks_of_its_own_whatever_the_number_of_files(
    tmp_path: Path, mib: int
) -> None:
    bench = StorageBench(Host(), str(tmp_path), None, mib * MIB, 1, [])
    try:
        files.in_turn([bench.laying(Neighbours(), [STREAM])])
        load = load_of(STREAM)
        for number in range(len(bench._files.of("write"))):
            parts = [bench.side(load, index, number) for index in range(load.workers)]
            assert all(part["first"] % MIB == 0 and part["length"] % MIB == 0 for part in parts)
            assert all(part["length"] >= MIB for part in parts)
            assert len({(part["fd"], part["first"]) for part in parts}) == load.workers
    finally:
        bench._files.close()


def test_what_is_closed_before_its_first_step_lays_nothing(tmp_path: Path) -> None:
    bench = StorageBench(Host(), str(tmp_path), None, SIZE, 1, [])
    steps = bench.laying(Neighbours(), [STREAM])
    bench._files.close()
    files.in_turn([steps])
    assert not list(bench._files)
