"""Trains of the storage engine: what is counted, how near the write limit they go, and where the files lie."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from probes.engine.disk.budget import WriteBudget
from probes.engine.disk.storage import StorageBench
from probes.engine.disk.trains import StorageBatches
from probes.engine.files import FileSet, TestFile, part_of
from probes.engine.measured import BenchRefused, WriteBudgetSpent
from probes.engine.pool import SharedWorkers, WorkerPool
from probes.engine.workloads import MIB, load_of, place_bytes
from probes.reading.host import Host
from tests.every_case import every_case
from tests.fakes.held import held

STREAM = "write-1m-qd8"
SIZE = 256 * MIB
ABBA = (0, 1, 1, 0)


@pytest.fixture
async def sides(tmp_path: Path) -> AsyncIterator[dict[str, StorageBench]]:
    """Two directories under one budget, with the files for streamed writes."""
    crew, budget = SharedWorkers(), WriteBudget(2 << 30)
    made = {}
    for variant in "AB":
        (tmp_path / variant).mkdir()
        made[variant] = StorageBench(
            Host(), str(tmp_path / variant), None, SIZE, 1, [], crew=crew, budget=budget, places=64
        )
    benches = list(made.values())
    try:
        await StorageBench.prepare_all(benches, workloads=[STREAM])
        yield made
    finally:
        for bench in benches:
            await bench.close()


async def test_a_train_is_begun_only_where_its_clock_ends_the_slices(sides: dict[str, StorageBench]) -> None:
    """Near the write limit slices of two operations a worker, where the clock gave six, scattered twice as much."""
    trains = StorageBatches(sides, STREAM)
    await trains.start_workers()
    expected = trains._bytes_per_s * 0.02 * len(ABBA)
    budget, room, begun, refused = next(iter(sides.values())).budget, [0], 0, 0
    budget.left_for = lambda load: room[0]  # type: ignore[method-assign]
    for tenths in range(1, 40):
        room[0] = int(expected * tenths / 10)
        try:
            most = trains._most_operations(len(ABBA), 0.02, 1, True)
        except WriteBudgetSpent:
            refused += 1
            continue
        begun += 1
        assert most is not None
        assert (most + 2) * trains.load.workers * len(ABBA) * trains.load.block_bytes > 1.4 * expected
    assert begun > 10 and refused > 5


async def test_what_is_done_and_not_counted_is_paid_for(sides: dict[str, StorageBench]) -> None:
    trains = StorageBatches(sides, STREAM)
    await trains.start_workers()
    bench = next(iter(sides.values()))
    before = bench.budget.spent_bytes
    train = await trains.measure_batch(ABBA, 0.01)
    uncounted = trains.load.workers * len(ABBA) * trains.load.block_bytes
    assert bench.budget.spent_bytes - before == sum(train.operations) * trains.load.block_bytes + uncounted


async def test_a_group_stays_in_one_pair_of_places(
    sides: dict[str, StorageBench], monkeypatch: pytest.MonkeyPatch
) -> None:
    trains = StorageBatches(sides, STREAM)
    assert trains.places == 16  # of four files each, which streams go through at once
    original, sent = trains._crew.pool.run_together, []

    async def recorded(do: str, specs: Any, *more: Any) -> Any:
        sent.append(specs)
        return await original(do, specs, *more)

    monkeypatch.setattr(trains._crew.pool, "run_together", recorded)
    order, visited = ABBA * 5, [7, 3, 7, 0, 15]
    train = await trains.measure_batch(order, 0.005, places=[place for place in visited for _ in ABBA])
    numbers = {
        (variant, file.fd): number
        for variant, bench in sides.items()
        for number, file in enumerate(bench._files.files_of_kind("write"))
    }
    for spec in sent[-1]:
        assert len(spec["sides"]) == 2 * len(set(visited))  # a place that comes again is the same one
        for at, one in enumerate(spec["order"]):
            fds = spec["sides"][one]["fds"]
            place = visited[at // len(ABBA)]
            assert {numbers["AB"[order[at]], fd] // 4 for fd in fds} == {place}
    everybody = [spec["sides"][sent[-1][0]["order"][0]]["fds"] for spec in sent[-1]]
    assert {numbers["A", fd] for fds in everybody for fd in fds} == {28, 29, 30, 31}
    assert train.order == list(order)
    for number, side in enumerate(train.sides):  # told by side, whatever the place
        own = sum(n for n, one in zip(train.operations, order, strict=True) if one == number)
        assert side.operations == own == sum(count for _, count in side.histogram)


async def test_without_places_each_round_is_in_another_one_and_both_sides_in_the_same(
    sides: dict[str, StorageBench], monkeypatch: pytest.MonkeyPatch
) -> None:
    trains, seen = StorageBatches(sides, STREAM), []
    original = trains._side_specs

    def spied(worker: int, visited: Sequence[tuple[int, int]]) -> Any:
        seen.append(visited)
        return original(worker, visited)

    monkeypatch.setattr(trains, "_side_specs", spied)
    await trains.measure_batch([0, 1] * 6, 0.005)
    places = Counter(place for _, place in seen[-1])
    assert len(places) == 6 and set(places.values()) == {2}


async def test_places_are_made_and_filled_in_an_order_drawn_over_all_sides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose files were all laid after the other's differed by 4 % as a set."""
    laid: list[tuple[str, str]] = []
    filled: list[int] = []
    fd_of: dict[int, str] = {}
    original = FileSet.lay_file

    def lay(self: FileSet, kind: str, directory: int, shown: str, size_bytes: int) -> TestFile | None:
        place = Path(f"/proc/self/fd/{directory}").readlink()
        laid.append((Path(shown).name, place.name))
        assert place.parent == Path(shown)
        if (file := original(self, kind, directory, shown, size_bytes)) is not None:
            fd_of[file.fd] = Path(shown).name
        return file

    async def fill(self: WorkerPool, do: str, progress: Any, **what: Any) -> None:
        assert do == "fill"
        filled.append(what["fd"])

    monkeypatch.setattr(FileSet, "lay_file", lay)
    monkeypatch.setattr(WorkerPool, "run_long", fill)

    async def order(seed: int) -> tuple[list[tuple[str, str]], list[str]]:
        laid.clear()
        filled.clear()
        crew, budget, benches = SharedWorkers(), WriteBudget(8 << 30), []
        for variant in "AB":
            (tmp_path / f"{seed}" / variant).mkdir(parents=True, exist_ok=True)
            directory = tmp_path / f"{seed}" / variant
            benches.append(
                StorageBench(
                    Host(),
                    str(directory),
                    held(directory),
                    SIZE,
                    seed,
                    [],
                    budget=budget,
                    crew=crew,
                    places=64,
                )
            )
        try:
            await StorageBench.prepare_all(benches, workloads=["randread-4k-qd1", STREAM])
        finally:
            for bench in benches:
                await bench.close()
                assert bench.private is not None
                bench.private.close()
        return list(laid), [fd_of[fd] for fd in filled]

    found = {seed: await order(seed) for seed in range(6)}
    for made, written in found.values():
        assert Counter(made) == {(side, str(n)): 2 for side in "AB" for n in range(64)}
        assert [side for side, _ in made] == written
        halves = [side for side, _ in made[: len(made) // 2]]
        assert 0.2 < halves.count("A") / len(halves) < 0.8  # 64 of 128 drawn: outside in one of 10^9
        for side in "AB":
            assert [n for one, n in made if one == side] != sorted(
                (n for one, n in made if one == side), key=int
            )
    assert len({side for made, _ in found.values() for side, _ in made[:1]}) == 2  # neither side always first
    assert found[1] == await order(1) != found[2]


async def test_what_is_asked_for_beyond_the_bytes_lays_nothing(tmp_path: Path) -> None:
    bench = StorageBench(Host(), str(tmp_path), held(tmp_path), SIZE, 1, [], budget=WriteBudget(SIZE - 1))
    with pytest.raises(BenchRefused):
        await bench.prepare_files(workloads=["randread-4k-qd1"])
    assert not list(bench._files) and not list(tmp_path.iterdir())


async def test_nothing_is_laid_where_the_bytes_hold_for_one_side_only(tmp_path: Path) -> None:
    budget, crew, benches = WriteBudget(SIZE + SIZE // 2), SharedWorkers(), []
    for variant in "AB":
        (tmp_path / variant).mkdir()
        place = held(tmp_path / variant)
        benches.append(
            StorageBench(Host(), str(tmp_path / variant), place, SIZE, 1, [], budget=budget, crew=crew)
        )
    with pytest.raises(BenchRefused):
        await StorageBench.prepare_all(benches, workloads=["randread-4k-qd1"])
    assert not any(list((tmp_path / variant).iterdir()) for variant in "AB")


@every_case("mib", [32, 64, 96, 104, 128, 160, 224, 256, 480, 512, 1024])
def test_workers_of_a_stream_are_spread_over_the_files_of_a_place(mib: int, tmp_path: Path) -> None:
    bench = StorageBench(Host(), str(tmp_path), None, mib * MIB, 1, [])
    for load in map(load_of, ("read-1m-qd8", STREAM)):
        trains = StorageBatches({"A": bench, "B": bench}, load)
        size = place_bytes(bench.size_bytes, bench.places)[load.kind == "write"]
        files = [TestFile(fd=n, bytes=size, direct=True, unnamed=True) for n in range(trains._together)]
        parts = [part_of(files, n, load.workers, MIB, sequential=True) for n in range(load.workers)]
        assert all(part["first"] % MIB == 0 and part["length"] % MIB == 0 for part in parts)
        assert all(part["length"] >= MIB and part["first"] + part["length"] <= size for part in parts)
        begin = Counter((part["fds"][0], part["first"] // MIB + part["start"]) for part in parts)
        assert len(begin) == min(load.workers, len(files) * size // MIB)
        assert max(begin.values()) - min(begin.values()) <= 1
        assert all(part["start"] * MIB < part["length"] for part in parts)
        assert trains.places * trains._together == bench.places


@every_case("workers", [1, 3, 8, 16])
@every_case("count", [1, 2, 5, 8, 12, 64])
def test_in_sequence_no_two_workers_share_a_block_where_there_are_enough(count: int, workers: int) -> None:
    files = [TestFile(fd=n, bytes=16 * MIB, direct=True, unnamed=True) for n in range(count)]
    taken: Counter[tuple[int, int]] = Counter()
    for index in range(workers):
        part = part_of(files, index, workers, MIB, sequential=True)
        blocks = range(part["first"] // MIB, (part["first"] + part["length"]) // MIB)
        taken.update((fd, block) for fd in part["fds"] for block in blocks)
        everywhere = part_of(files, index, workers, MIB, sequential=False)
        assert sorted(everywhere["fds"]) == list(range(count)) and everywhere["length"] == 16 * MIB
        assert everywhere["fds"][0] == index % count  # not all on one file at once
    assert set(taken.values()) == {1}
    assert {fd for fd, _ in taken} == set(range(count))


def test_what_is_closed_lays_nothing(tmp_path: Path) -> None:
    place = held(tmp_path)
    files = FileSet()
    assert files.lay_file("read", place.fd, str(tmp_path), MIB) is not None
    files.close()
    assert files.lay_file("read", place.fd, str(tmp_path), MIB) is None
    assert not list(files) and not list(tmp_path.iterdir())
    place.close()


async def test_a_preparation_that_is_cancelled_makes_no_further_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its thread goes on for a while; the directory may be gone by then, and its descriptor another one."""
    made, resume, ended = threading.Event(), threading.Event(), threading.Event()
    original, began = StorageBench._lay_place, [0]

    def lay(self: StorageBench, number: int, kinds: set[str]) -> list[TestFile]:
        began[0] += 1
        if began[0] == 3:
            made.set()
            resume.wait(20)
        try:
            return original(self, number, kinds)
        finally:
            if began[0] >= 3:
                ended.set()

    monkeypatch.setattr(StorageBench, "_lay_place", lay)
    bench = StorageBench(Host(), str(tmp_path), held(tmp_path), SIZE, 1, [])
    task = asyncio.create_task(bench.prepare_files(workloads=[STREAM]))
    await asyncio.to_thread(made.wait, 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    before = {path.name for path in tmp_path.iterdir()}
    resume.set()
    await asyncio.to_thread(ended.wait, 20)
    await asyncio.sleep(0.1)
    assert len(before) == 2 and {path.name for path in tmp_path.iterdir()} == before
    assert not list(bench._files)
