"""The corners' bench on file systems of our own: what it makes, reads and refuses, what a planted latency does."""

import asyncio
import mmap
import os
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hostdx.probes.engine import residency
from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.engine.measured import WriteBudgetSpent
from hostdx.probes.reading.host import Host
from hostdx.scenarios.box.measurement.bench import BoxBench, ReadsServedByCache
from hostdx.scenarios.box.measurement.corner import BY_ID, CORNERS, HARD_BYTES
from tests.fakes.held import open_private
from tests.needs import one_always
from tests.real.trim_disk import TrimDisk

pytestmark = [pytest.mark.real]

SIZE = 32 << 20
WORKERS = 2


@pytest.fixture(params=one_always("ext4", "xfs", "btrfs"))
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TrimDisk]:
    with TrimDisk(tmp_path, request.param, 2) as trim_disk:
        yield trim_disk


@asynccontextmanager
async def prepared_bench(
    disk: TrimDisk, stretch: Mapping[str, float] | None = None, budget: WriteBudget | None = None
) -> AsyncIterator[BoxBench]:
    place = Path(tempfile.mkdtemp(prefix="own", dir=disk.mountpoint))  # of mode 0700
    private = open_private(place)
    bench = BoxBench(
        Host(), private, (disk.device,), SIZE, WORKERS, 1, budget or WriteBudget(), stretch=stretch
    )
    try:
        await bench.prepare_files(None)
        yield bench
    finally:
        await bench.close()
        private.close()


async def measure_cycles(bench: BoxBench, count: int) -> dict[str, list[float]]:
    rates: dict[str, list[float]] = {}
    for cycle in range(count):
        bench.begin_cycle(cycle, last_pilot=cycle == 1)
        for corner in CORNERS:
            measured = await bench.measure_block(corner)
            rates.setdefault(corner.id, []).append(measured.values[corner.metric_name])
            assert measured.seconds > 0 and measured.operations > 0
            if corner.moves_bytes and corner.operation == "read":
                assert measured.device_bytes is not None
                assert measured.device_bytes >= 0.95 * measured.bytes
    return rates


def test_every_block_of_a_corner_is_of_one_size_and_all_names_are_deleted(disk: TrimDisk) -> None:
    async def measure_twice() -> None:
        async with prepared_bench(disk) as bench:
            rates = await measure_cycles(bench, 2)
            assert all(min(values) > 0 for values in rates.values())
            paths = [path for path in disk.mountpoint.glob("own*/**/*") if path.is_file()]
            assert paths == []  # what was made in a cycle is deleted in it; large files have no names

    asyncio.run(measure_twice())


def test_a_file_that_was_just_read_is_dropped_and_one_that_is_held_is_refused(
    disk: TrimDisk, tmp_path: Path
) -> None:
    path = disk.mountpoint / "file"
    path.write_bytes(os.urandom(HARD_BYTES * 40))
    fd = os.open(path, os.O_RDWR)
    try:
        os.fsync(fd)
        os.pread(fd, HARD_BYTES * 40, 0)
        assert residency.resident_share(fd) > 0.9
        assert residency.drop_pages_and_get_resident_share(fd) < 0.01
        with mmap.mmap(
            fd, 0, prot=mmap.PROT_READ
        ) as mapped:  # such pages stay; dirty ones somebody's sync may clean
            assert len(mapped[:]) == HARD_BYTES * 40
            assert residency.drop_pages_and_get_resident_share(fd) > 0.9
    finally:
        os.close(fd)


def test_reads_of_pages_that_cannot_be_dropped_are_refused_ten_of_ten(disk: TrimDisk) -> None:
    async def read_mapped() -> None:
        async with prepared_bench(disk) as bench:
            bench.begin_cycle(0, last_pilot=False)
            [file] = bench._files.files_of_kind("read hard")
            refused = 0
            # what is mapped stays in memory (what is dirty only until the kernel has written it)
            with mmap.mmap(file.fd, os.fstat(file.fd).st_size, mmap.MAP_SHARED, mmap.PROT_READ) as mapped:
                for _ in range(10):
                    assert sum(mapped[:: mmap.PAGESIZE]) > 0
                    try:
                        await bench.measure_block(BY_ID["ior-hard-read"])
                    except ReadsServedByCache:
                        refused += 1
            assert refused == 10
            assert (await bench.measure_block(BY_ID["ior-hard-read"])).operations > 0

    asyncio.run(read_mapped())


@pytest.mark.parametrize("corner", one_always("ior-hard-write", "mdtest-hard-write"))
def test_a_planted_latency_is_in_that_corner_and_in_no_other_one(disk: TrimDisk, corner: str) -> None:
    async def measure_planted(planted: Mapping[str, float]) -> Mapping[str, list[float]]:
        async with prepared_bench(disk, planted) as bench:
            return await measure_cycles(bench, 3)

    # against the same corner without it: how far hard lies from easy is the file system's own
    usual = asyncio.run(measure_planted({}))
    corners = ("ior-hard-write", "mdtest-hard-write")
    rates = asyncio.run(measure_planted({corner: 30.0}))
    slower = {other: max(usual[other]) / max(rates[other]) for other in corners}
    assert max(corners, key=lambda other: slower[other]) == corner and slower[corner] > 2


def test_no_block_is_written_that_the_budget_has_not(disk: TrimDisk) -> None:
    async def spend_budget() -> None:
        budget = WriteBudget(2 * SIZE + (1 << 20))
        async with prepared_bench(disk, budget=budget) as bench:
            bench.begin_cycle(0, last_pilot=False)
            with pytest.raises(WriteBudgetSpent):
                for _ in range(10):
                    await bench.measure_block(BY_ID["ior-easy-write"])
            assert budget.spent_bytes <= 2 * SIZE + (1 << 20)

    asyncio.run(spend_budget())
