"""The storage engine with its real worker processes, on a small file in pytest's own directory."""

import asyncio
import errno
import os
import shutil
import signal
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hostdx.probes.engine import files
from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.engine.disk.storage import StorageBench
from hostdx.probes.engine.disk.trains import StorageBatches
from hostdx.probes.engine.measured import BenchRefused, MeasurementInvalid, WriteBudgetSpent
from hostdx.probes.engine.pool import SharedWorkers, WorkerFailed
from hostdx.probes.engine.workloads import IDS, engine_load
from hostdx.probes.reading.host import Host
from tests.every_case import every_case
from tests.fakes.held import open_private

SIZE = 16 << 20


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def worker_pids(bench: StorageBench) -> list[int]:
    server = bench._worker_pool._server
    return [] if server is None else [server.process.pid, *server.pids]


def only_places(directory: Path) -> bool:
    """The 16 directories, which go with the one that they lie in, and nothing in them."""
    return {path.relative_to(directory) for path in directory.rglob("*")} == {Path(str(n)) for n in range(16)}


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[StorageBench]:
    storage_bench = StorageBench(Host(), str(tmp_path), open_private(tmp_path), SIZE, 1, [])
    await storage_bench.prepare_files()
    yield storage_bench
    await storage_bench.close()


async def test_every_load_gives_its_metric(bench: StorageBench, tmp_path: Path) -> None:
    for name in IDS:
        load = engine_load(name)
        measured = await bench.measure_block(name, 0.05, min_operations=8)
        assert measured.values[load.metric] > 0
        assert measured.operations >= 8
        assert measured.bytes == (
            measured.operations * load.block_bytes if load.kind in ("read", "write") else 0
        )
        assert measured.seconds > 0 and measured.cpu_s > 0
        assert measured.p50_ns is not None and measured.p99_ns is not None
        assert measured.p50_ns <= measured.p99_ns
    await bench.finish_requests()
    assert only_places(tmp_path)


async def test_the_files_have_no_name_and_are_closed_with_it(bench: StorageBench, tmp_path: Path) -> None:
    fds = [bench.test_file(kind).fd for kind in ("read", "write")]
    assert all("(deleted)" in str(Path(f"/proc/self/fd/{fd}").readlink()) for fd in fds)
    await bench.measure_block("randread-4k-qd1", 0.02)
    pids = worker_pids(bench)
    assert len(pids) == 2
    await bench.close()
    assert not any(map(is_running, pids))
    assert only_places(tmp_path)
    await bench.close()


async def test_of_two_sides_the_one_that_fails_is_named(tmp_path: Path) -> None:
    """Somebody removes one of the two private directories under a train."""
    crew = SharedWorkers()
    places = [tmp_path / name for name in "AB"]
    for place in places:
        place.mkdir()
    benches = [StorageBench(Host(), str(p), open_private(p), SIZE, 1, [], crew=crew) for p in places]
    try:
        for bench in benches:
            await bench.prepare_files(workloads=["metadata"])
        trains = StorageBatches(dict(zip("AB", benches, strict=True)), "metadata")
        await trains.measure_batch([0, 1, 1, 0], 0.02)
        shutil.rmtree(places[1])
        with pytest.raises(WorkerFailed) as error:
            await trains.measure_batch([0, 1, 1, 0], 0.02)
        assert str(places[1]) in str(error.value) and str(places[0]) not in str(error.value)
        assert error.value.errno == errno.ENOENT
    finally:
        for bench in benches:
            await bench.close()


async def test_preparation_tells_how_far_it_is(tmp_path: Path) -> None:
    progress: list[tuple[int, int]] = []
    bench = StorageBench(Host(), str(tmp_path), None, SIZE, 1, [])
    try:
        await bench.prepare_files(
            lambda done, total: progress.append((done, total)), ["randread-4k-qd1", "fsync-4k-qd1"]
        )
        assert progress[-1] == (2 * SIZE,) * 2  # 16 places, with a MiB to be read and one to be written to
        assert [done for done, _ in progress] == sorted(done for done, _ in progress)
        assert bench.budget.spent_bytes == 2 * SIZE
        with pytest.raises(MeasurementInvalid, match="no directory of our own"):
            await bench.measure_block("metadata", 0.02)
    finally:
        await bench.close()


async def test_only_what_is_needed_is_made(tmp_path: Path) -> None:
    bench = StorageBench(Host(), str(tmp_path), None, SIZE, 1, [])
    try:
        await bench.prepare_files(workloads=["cpu"])
        assert (await bench.measure_block("cpu", 0.02, min_operations=1)).values["iterations/s"] > 0
        assert bench.budget.spent_bytes == 0
        with pytest.raises(MeasurementInvalid, match="no test file was prepared"):
            await bench.measure_block("randread-4k-qd1", 0.02)
    finally:
        await bench.close()


async def test_cancelling_ends_the_workers_at_once_and_the_next_block_has_new_ones(
    bench: StorageBench,
) -> None:
    task = asyncio.create_task(bench.measure_block("randread-4k-qd16", 60.0))
    while len(worker_pids(bench)) < 17:
        await asyncio.sleep(0.01)
    pids = worker_pids(bench)
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert worker_pids(bench) == []
    # killed with the cancelling: what is waited for here is only the scheduler
    until = time.monotonic() + 20
    while any(map(is_running, pids)) and time.monotonic() < until:
        await asyncio.sleep(0.005)
    assert not any(map(is_running, pids))
    assert (await bench.measure_block("randread-4k-qd1", 0.02)).operations > 0


async def test_a_killed_worker_is_one_clear_error(bench: StorageBench) -> None:
    task = asyncio.create_task(bench.measure_block("randread-4k-qd16", 60.0))
    while len(worker_pids(bench)) < 17:
        await asyncio.sleep(0.01)
    os.kill(worker_pids(bench)[5], signal.SIGKILL)
    with pytest.raises(WorkerFailed, match="a storage worker was killed"):
        await task
    assert worker_pids(bench) == []


async def test_a_worker_that_cannot_start_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = StorageBench(Host(), str(tmp_path), None, SIZE, 1, [])
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(BenchRefused, match=r"the storage workers ended \(status 1\)"):
        await bench.prepare_files(workloads=["randread-4k-qd1"])
    monkeypatch.setattr(sys, "executable", "/nonexistent")
    with pytest.raises(BenchRefused, match="cannot start the storage workers: No such file"):
        await bench.prepare_files(workloads=["randread-4k-qd1"])
    assert not any(bench._files)


@pytest.mark.disk
async def test_a_spent_budget_ends_writing_and_nothing_else(tmp_path: Path) -> None:
    budget = WriteBudget(SIZE + (108 << 20))
    bench = StorageBench(Host(), str(tmp_path), None, SIZE, 1, [], budget=budget)
    try:
        await bench.prepare_files()
        assert (await bench.measure_block("fsync-4k-qd1", 0.01, min_operations=1)).operations > 0
        budget.charge(52 << 20, None, "fsync-4k-qd1")
        with pytest.raises(WriteBudgetSpent, match="for this load, and a block of"):
            await bench.measure_block("fsync-4k-qd1", 0.02)
        with pytest.raises(
            WriteBudgetSpent, match=r"blocks of .* at full length need more"
        ):  # not begun to be broken off
            await bench.measure_block("write-1m-qd8", 0.5)
        assert (await bench.measure_block("randread-4k-qd1", 0.02)).operations > 0
    finally:
        await bench.close()
    poor = StorageBench(Host(), str(tmp_path), None, SIZE, 1, [], budget=WriteBudget(1 << 20))
    with pytest.raises(BenchRefused, match="write limit is reached"):
        await poor.prepare_files()


async def test_a_block_that_its_bytes_ended_is_measured_again_where_the_budget_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = StorageBench(Host(), str(tmp_path), None, SIZE, 1, [])
    allowed = [4096, 64 << 20]

    async def affordable_bytes(*_: object) -> int:
        return allowed.pop(0)

    monkeypatch.setattr(bench, "_max_window_write_bytes", affordable_bytes)
    try:
        await bench.prepare_files(workloads=["fsync-4k-qd1"])
        measured = await bench.measure_block("fsync-4k-qd1", 0.02, min_operations=2)
        assert measured.operations >= 2 and allowed == []
        allowed[:] = [4096] * 3
        with pytest.raises(WriteBudgetSpent, match="before its time"):
            await bench.measure_block("fsync-4k-qd1", 0.02, min_operations=2)
        assert allowed == []
    finally:
        await bench.close()


def open_refusing(number: int, flag: int) -> Any:
    """An open(2) of a file system that does not know one of the flags."""
    real = os.open

    def open_or_refuse(path: str, flags: int, *more: Any, **options: Any) -> int:
        if flags & flag == flag:
            raise OSError(number, os.strerror(number))
        return real(path, flags, *more, **options)

    return open_or_refuse


async def test_without_o_direct_it_is_buffered_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "open", open_refusing(errno.EINVAL, os.O_DIRECT))
    bench = StorageBench(Host(), str(tmp_path), None, SIZE, 1, [])
    try:
        await bench.prepare_files()
        assert not bench.test_file("read").direct
        assert any("buffered" in note for note in bench.result_notes)
        for name in ("randread-4k-qd1", "fsync-4k-qd1"):
            measured = await bench.measure_block(name, 0.02, min_operations=1)
            assert measured.operations > 0
            assert measured.remark.startswith("buffered")
    finally:
        await bench.close()


def test_without_o_tmpfile_it_is_unlinked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = open_private(tmp_path)
    monkeypatch.setattr(os, "open", open_refusing(errno.EOPNOTSUPP, os.O_TMPFILE))
    unnamed_file = files.make_unnamed_file(place.fd, str(tmp_path), 1 << 20)
    try:
        assert not unnamed_file.unnamed
        assert list(tmp_path.iterdir()) == []
        assert os.fstat(unnamed_file.fd).st_nlink == 0
    finally:
        os.close(unnamed_file.fd)


@every_case(
    ("number", "part"),
    [(errno.EACCES, "Permission denied"), (errno.EROFS, "Read-only file system"), (errno.EDQUOT, "quota")],
)
def test_a_file_that_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, part: str
) -> None:
    place = open_private(tmp_path)
    monkeypatch.setattr(os, "open", open_refusing(number, 0))
    with pytest.raises(BenchRefused, match=part) as error:
        files.make_unnamed_file(place.fd, str(tmp_path), 1 << 20)
    assert str(error.value).startswith(f"{tmp_path}: cannot make a test file: ")


async def test_quiescing_on_a_busy_device_is_bounded(
    bench: StorageBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hostdx.probes.engine.disk.storage.QUIET_AT_MOST_S", 0.05)
    bench.leaves = ("busy0",)
    bench._quiet_s = 0.05
    monkeypatch.setattr(bench.host, "read_file_text", lambda *_a, **_k: "       3        1")
    assert bench._requests_in_flight() == 4
    await asyncio.wait_for(bench.finish_requests(), 5)
    assert bench._quiet_s == 0.1


async def test_a_stream_ends_by_its_declared_bytes_and_says_so(tmp_path: Path) -> None:
    """On a fast disk half a second of it would write a GiB: always the same bytes, never fewer."""
    bench = StorageBench(Host(), str(tmp_path), None, SIZE, 1, [])
    load = msgspec.structs.replace(engine_load("write-1m-qd8"), most_bytes=32 << 20)
    try:
        await bench.prepare_files(workloads=["write-1m-qd8"])
        measured = await bench.measure_block(load, 4.0)
        assert measured.bytes == 32 << 20 and measured.seconds < 4.0
        assert "32 MiB" in measured.remark
    finally:
        await bench.close()
