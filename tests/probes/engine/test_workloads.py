"""Loads, their directories and the commands that measure the same."""

import errno
import mmap
import os
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostdx.probes.engine.battery import BenchmarkSet
from hostdx.probes.engine.battery_loads import SLOTS, TURNS
from hostdx.probes.engine.disk.size import SHARE_OF_FREE, SMALLEST, choose_test_bytes, largest_test_bytes
from hostdx.probes.engine.disk.storage import StorageBench
from hostdx.probes.engine.disk.trains import StorageBatches
from hostdx.probes.engine.loads import pinned_loads as engine
from hostdx.probes.engine.loads.memory_policy import MemoryNotPlaceable, bind_memory, count_pages_by_node
from hostdx.probes.engine.loads.pinned_loads import LINE, SYSTEM_CALLS, PointerChain, _successor_addresses
from hostdx.probes.engine.measured import BenchRefused
from hostdx.probes.engine.pool import SharedWorkers, WorkerFailed
from hostdx.probes.engine.workloads import (
    IDS,
    LOADS,
    UNIT,
    all_read_file_bytes,
    all_written_file_bytes,
    engine_load,
    escape_fio_directory,
    fio_command,
    prepared_bytes,
    shell_line,
)
from hostdx.probes.reading.host import Host
from hostdx.probes.reading.process_stat import is_running
from hostdx.scenarios.numa.measurement.placement import PlacementBench, WorkerPlacement, WorkerSeat
from tests.every_case import every_case
from tests.fakes.held import open_private
from tests.needs import not_here
from tests.real.polled import happens

GIB = 1 << 30


def test_the_order_is_the_one_of_importance_with_the_control_early_enough() -> None:
    assert IDS == (
        "randread-4k-qd1",
        "randread-4k-qd16",
        "fsync-4k-qd1",
        "cpu",
        "metadata",
        "read-1m-qd8",
        "write-1m-qd8",
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
        w.lstrip("-").partition("=")[::2] for w in shlex.split(fio_command(workload, GIB, "/data/x y"))[1:]
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


async def test_every_load_gives_a_rate_and_leaves_nothing(tmp_path: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    battery = BenchmarkSet(Host(), None, open_private(tmp_path), 8 << 20, 1, (), [cpu, cpu])
    try:
        await battery.prepare_files()
        for turn in TURNS:
            for slot in SLOTS:
                for load in turn:
                    measured = await battery.measure_slice(load, slot)
                    (value,) = measured.values.values()
                    assert value > 0 and measured.operations > 0, (load, slot)
        assert list(tmp_path.iterdir()) == []
    finally:
        await battery.close()


async def test_a_planted_delay_shows(tmp_path: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    plain, slowed = (
        BenchmarkSet(Host(), None, None, 8 << 20, 1, (), [cpu], stretch=s) for s in ({}, {"syscall": 9.0})
    )
    try:
        rates = [(await b.measure_slice("syscall", "one")).values["calls/s"] for b in (plain, slowed)]
        assert rates[1] < rates[0] / 2  # ten times as long
    finally:
        await plain.close()
        await slowed.close()


async def test_a_slice_that_a_quota_stopped_counts_what_was_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operations of which most are quick: the quartile does not see the stops."""
    stops = iter((0, 0, 0, 1))
    monkeypatch.setattr("hostdx.probes.engine.battery.quota_throttles", lambda host, files: (next(stops),))
    piece = {"n": 20, "q": 1e6, "ns": 100_000_000, "cpu": 0.02}
    battery = BenchmarkSet(Host(), None, None, 8 << 20, 1, (), [0])

    async def reply_with_piece(specs: object, lead_s: float) -> object:
        return [{"slices": [piece]}]

    monkeypatch.setattr(battery._crew.pool, "run_block", reply_with_piece)
    assert [
        (await battery.measure_slice("syscall", "one")).values["calls/s"] / SYSTEM_CALLS for _ in "ab"
    ] == [1000, 200]


@given(st.lists(st.text(alphabet=st.characters(blacklist_characters="\0", max_codepoint=0x2FF)), min_size=1))
def test_what_is_printable_is_quoted_as_ever_and_the_rest_is_one_line(words: list[str]) -> None:
    line = shell_line(words)
    assert line.isprintable()
    if all(word.isprintable() for word in words):
        assert line == shlex.join(words)


def test_colons_are_escaped() -> None:
    assert escape_fio_directory("/dev/pci-0000:06:00.0") == "--directory=/dev/pci-0000\\:06\\:00.0"


SIZE = 16 << 20


async def test_every_place_has_files_of_its_own_and_gets_its_turn(tmp_path: Path) -> None:
    bench = StorageBench(Host(), str(tmp_path), open_private(tmp_path), 4 * SIZE, 1, [])
    try:
        await bench.prepare_files(workloads=["fsync-4k-qd1", "randread-4k-qd1"])
        write, read = engine_load("fsync-4k-qd1"), engine_load("randread-4k-qd1")
        by_kind = {kind: bench._files.files_of_kind(kind) for kind in ("read", "write")}
        assert {kind: [file.bytes for file in files] for kind, files in by_kind.items()} == {
            "read": [4 << 20] * 16,
            "write": [1 << 20] * 16,
        }
        laid = [[folder_of(file.fd) for file in files] for files in by_kind.values()]
        assert laid[0] == laid[1] and {path.parent for path in laid[0]} == {tmp_path}
        assert {path.name for path in laid[0]} == {str(number) for number in range(16)}
        fds = [file.fd for file in by_kind["write"]]
        assert sorted(bench._worker_spec(write, 0, range(16), [0.1], 1, None, 1.0)["fds"]) == sorted(
            fds
        )  # a block: all of them
        assert (
            sorted(bench._files.take_written_descriptors()) == sorted(fds)
            and bench._files.take_written_descriptors() == []
        )
        assert bench.load_spec(read, 0, [7])["fds"] == [by_kind["read"][7].fd]
        trains = StorageBatches({"A": bench, "B": bench}, write)
        assert trains.places == 16
        train = await trains.measure_batch([0, 1, 1, 0, 1, 0, 0, 1], 0.02, places=[3] * 4 + [11] * 4)
        assert train.order == [0, 1, 1, 0, 1, 0, 0, 1]
        assert sum(train.operations) == sum(side.operations for side in train.sides) > 0
        assert [sum(n for _, n in side.histogram) for side in train.sides] == [
            side.operations for side in train.sides
        ]
        assert sorted(bench._files.take_written_descriptors()) == sorted([fds[3], fds[11]])
    finally:
        await bench.close()


def folder_of(fd: int) -> Path:
    return Path(f"/proc/self/fd/{fd}").readlink().parent


@pytest.mark.parametrize("works", [True, False])
async def test_all_sides_make_links_or_none_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, works: bool
) -> None:
    """A side on a file system without links cannot: then files are made on all of them."""
    original, refused = os.link, "B" if not works else ""

    def link_or_refuse(*names: Any, src_dir_fd: int, dst_dir_fd: int) -> None:
        if refused and Path(f"/proc/self/fd/{src_dir_fd}").readlink().parent.name == refused:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))
        original(*names, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(os, "link", link_or_refuse)
    crew, benches = SharedWorkers(), []
    for name in "AB":
        (tmp_path / name).mkdir()
        place = open_private(tmp_path / name)
        benches.append(StorageBench(Host(), str(tmp_path / name), place, SIZE, 1, [], crew=crew, links=True))
    try:
        await StorageBench.prepare_all(benches, workloads=["metadata"])
        assert [bench.load_spec(engine_load("metadata"), 0, [3])["links"] for bench in benches] == [works] * 2
        trains = StorageBatches(dict(zip("AB", benches, strict=True)), "metadata")
        assert (await trains.measure_batch([0, 1, 1, 0], 0.01)).order == [0, 1, 1, 0]
        assert (await benches[0].measure_block("metadata", 0.02, min_operations=1)).operations > 0
    finally:
        for bench in benches:
            await bench.close()


ALLOWED = sorted(os.sched_getaffinity(0))


def _map(size: int) -> mmap.mmap:
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def test_successors_are_those_of_the_formula() -> None:
    for lines in (4, 256, 4096):
        addresses = memoryview(_successor_addresses(lines, 0x7F0000001000)).cast("Q")
        assert [(a - 0x7F0000001000) // LINE for a in addresses] == [
            (line * 0x5851F42D + 0x2545F491) % lines for line in range(lines)
        ]


def test_another_layout_of_the_tree_is_refused() -> None:
    chain = PointerChain(_map(1 << 14))
    chain._words[2::8] = memoryview(bytes(8 * chain.lines)).cast("Q")  # no right child anywhere
    with pytest.raises(OSError, match="does not walk a chain"):
        chain.walk_chain(3)


def test_each_store_has_buffers_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_buffers", {})
    near, far = ({"node": None, "bytes": engine.MIB, "store": store} for store in ("near", "far"))
    assert engine.kept_node_buffer(near, 0) is engine.kept_node_buffer(near, 0)
    assert engine.kept_node_buffer(near, 0) is not engine.kept_node_buffer(far, 0)


def test_memory_on_a_node_that_is_there_and_on_one_that_is_not() -> None:
    nodes = [int(p.name[4:]) for p in Path("/sys/devices/system/node").glob("node[0-9]*")]
    if not nodes:
        not_here("this kernel has no NUMA support")
    area = _map(1 << 20)
    try:
        bind_memory(area, nodes[0])
    except MemoryNotPlaceable as error:
        not_here(str(error))
    area[:: mmap.PAGESIZE] = bytes(len(area) // mmap.PAGESIZE)
    assert count_pages_by_node(area).keys() == {nodes[0]}
    with pytest.raises(MemoryNotPlaceable, match="cannot be placed"):
        bind_memory(_map(1 << 20), 900)


@pytest.mark.real("cpu")
@pytest.mark.parametrize(
    "work", ["integer", "floating", "large-numbers", "hash", "copy", "chase", "clock", "own-cache"]
)
async def test_every_load_runs_where_it_is_put(work: str) -> None:
    bench = PlacementBench(1)
    try:
        seat = WorkerPlacement("one", "", (WorkerSeat((ALLOWED[-1],)),))
        measured = await bench.measure_slice(work, seat, 0.005, size_bytes=1 << 20)
        assert measured.rate > 0 and measured.calm_rate > 0 and measured.cpu_per_operation_s is not None
        assert os.sched_getaffinity(bench.all_pids[-1]) == {ALLOWED[-1]}
        await bench.forget_buffers()
    finally:
        await bench.close()


@pytest.mark.real("cpu")
@pytest.mark.parametrize("work", ["loopback-stream", "loopback-ask"])
async def test_both_ends_of_a_connection_are_where_they_are_put(work: str) -> None:
    bench = PlacementBench(1)
    try:
        for peer in (ALLOWED[0], ALLOWED[-1], ALLOWED[0]):
            measured = await bench.measure_slice(
                work, WorkerPlacement("one", "", (WorkerSeat((ALLOWED[0],), peer=(peer,)),)), 0.005
            )
            assert measured.rate > 0
            worker = bench.all_pids[-1]
            (partner,) = Path(f"/proc/{worker}/task/{worker}/children").read_text().split()
            assert os.sched_getaffinity(int(partner)) == {peer}
            assert os.sched_getaffinity(worker) == {ALLOWED[0]}
        with pytest.raises(WorkerFailed):
            await bench.measure_slice(
                work, WorkerPlacement("gone", "", (WorkerSeat((ALLOWED[0],), peer=(100_000,)),)), 0.005
            )
    finally:
        await bench.close()
    assert happens(lambda: not is_running(int(partner)))


@pytest.mark.real("cpu")
async def test_a_placement_that_cannot_be_is_refused() -> None:
    bench = PlacementBench(1)
    try:
        with pytest.raises(WorkerFailed):
            await bench.measure_slice(
                "integer", WorkerPlacement("gone", "", (WorkerSeat((100_000,)),)), 0.005
            )
    finally:
        await bench.close()


def test_a_worker_that_ran_elsewhere_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.sched_getaffinity(0)
    try:
        _, finish = engine.make_placed_operation({"work": "integer", "cpus": [ALLOWED[0]]})
        monkeypatch.setattr(engine, "current_cpu", lambda: 77_777)
        with pytest.raises(OSError, match="ran on CPU 77777"):
            finish(1)
    finally:
        os.sched_setaffinity(0, before)
