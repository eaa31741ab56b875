"""The mixed loads on a small file: every role measures, writers keep their rate and bound, a cancel leaves nothing."""

import asyncio
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.engine.measured import BenchRefused, MeasurementInvalid
from hostdx.probes.files.private_directory import PrivateDirectory
from hostdx.probes.reading.host import Host
from hostdx.scenarios.iosched.measurement.mixed import MIXES, MixedBench, WorkerMix, file_sizes_of_mixes
from tests.fakes.held import open_private

MIX = {mix.id: mix for mix in MIXES}

MIB = 1 << 20


def make_bench(place: Path, rate: int | None = 8 * MIB, cap: int = 1 << 30) -> MixedBench:
    return MixedBench(Host(), open_private(place), 32 * MIB, 1, (), budget=WriteBudget(cap), write_rate=rate)


async def test_every_role_gives_its_metric_and_the_onset_stands_apart(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    mix = MIX["writers-reader"]
    try:
        await bench.prepare_files([mix])
        measured = await bench.measure_block(mix, 0.9, 0.3)
    finally:
        await bench.close()
    assert set(measured.values) == {"reader IOPS", "direct write", "buffered write"}
    assert all(value > 0 for value in measured.values.values())
    assert measured.onset is not None and set(measured.onset.values) == set(measured.values)
    assert measured.p50_ns and measured.device_bytes is None
    assert list(tmp_path.iterdir()) == []  # the files never had a name


async def test_a_spent_budget_refuses_the_block(tmp_path: Path) -> None:
    mix = MIX["writers-reader"]
    files = sum(file_sizes_of_mixes(32 * MIB, [mix]).values())
    bench = make_bench(tmp_path, cap=files + 4 * MIB)
    try:
        await bench.prepare_files([mix])
        with pytest.raises(MeasurementInvalid, match="write limit"):
            await bench.measure_block(mix, 1.0)
    finally:
        await bench.close()


async def test_files_that_do_not_fit_the_budget_are_not_written(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, cap=MIB)
    with pytest.raises(BenchRefused):
        await bench.prepare_files([MIX["readers"]])
    assert bench.budget.spent_bytes == 0


@pytest.mark.parametrize("name", ["readers", "streams", "ioprio", "cpu"])
async def test_loads_without_writers(tmp_path: Path, name: str) -> None:
    bench = make_bench(tmp_path)
    mix: WorkerMix = msgspec.structs.replace(MIX[name], block_s=0.6)
    try:
        await bench.prepare_files([mix])
        measured = await bench.measure_block(
            mix, 0.6
        )  # on a busy machine a role may not get a turn within 0.2 s
    finally:
        await bench.close()
    assert measured.operations > 0 and measured.onset is None
    if mix.advantage:
        high, low = measured.values["high IOPS"], measured.values["low IOPS"]
        assert measured.values[mix.advantage] == pytest.approx(high / low)


async def test_a_cancelled_block_ends_its_workers_and_the_next_one_works(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    mix = MIX["writers-reader"]
    try:
        await bench.prepare_files([mix])
        task = asyncio.ensure_future(bench.measure_block(mix, 30.0, 5.0))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert bench._pool.workers == []
        measured = await bench.measure_block(mix, 0.6)
        assert measured.values["reader IOPS"] > 0
    finally:
        await bench.close()


class BusyDevice(MixedBench):
    """A device with I/O in flight for as many looks; its counters move or stand still. A look takes no time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, looks: float, moving: bool) -> None:
        super().__init__(Host(), PrivateDirectory("/d", -1), MIB, 1, ("loop7",), budget=WriteBudget(MIB))
        self.looks, self.moving, self.looked, self.now = looks, moving, 0, 0.0

        async def advance(seconds: float) -> None:
            self.now += seconds

        monkeypatch.setattr(
            "hostdx.scenarios.iosched.measurement.mixed.asyncio", SimpleNamespace(sleep=advance)
        )
        monkeypatch.setattr(
            "hostdx.scenarios.iosched.measurement.mixed.time", SimpleNamespace(monotonic=lambda: self.now)
        )
        monkeypatch.setattr(
            "hostdx.scenarios.iosched.measurement.mixed.leaf_counters", lambda *_: [self.looked * self.moving]
        )

    def _first_leaf_in_flight(self) -> str:
        self.looked += 1
        return "loop7" if self.looked <= self.looks else ""


@pytest.mark.parametrize(
    ("moving", "part"), [(True, "others' I/O never pauses"), (False, "comes back.*hangs")]
)
async def test_nothing_goes_on_where_that_moment_does_not_come(
    monkeypatch: pytest.MonkeyPatch, moving: bool, part: str
) -> None:
    with pytest.raises(BenchRefused, match=f"^loop7: .*{part}"):
        await BusyDevice(monkeypatch, float("inf"), moving).wait_until_settled()


async def test_nothing_goes_on_where_what_was_written_does_not_arrive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = make_bench(tmp_path)

    async def never_synced(fd: int, seconds: float) -> bool:
        return False

    try:
        await bench.prepare_files([MIX["writers-reader"]])
        monkeypatch.setattr(bench._pool, "sync_files", never_synced)
        with pytest.raises(BenchRefused, match="did not reach the device within 30 s"):
            await bench.measure_block(MIX["writers-reader"], 0.3)
    finally:
        await bench.close()
