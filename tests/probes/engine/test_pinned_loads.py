"""Loads on chosen CPUs and nodes: realised as said or refused, and the chain walks where it says."""

import mmap
import os
from pathlib import Path

import pytest

from hostdx.probes.engine.loads import pinned_loads as engine
from hostdx.probes.engine.loads.memory_policy import MemoryNotPlaceable, bind_memory, count_pages_by_node
from hostdx.probes.engine.loads.pinned_loads import LINE, PointerChain, _successor_addresses
from hostdx.probes.engine.pool import WorkerFailed
from hostdx.probes.reading.process_stat import is_running
from hostdx.scenarios.numa.measurement.placement import PlacementBench, WorkerPlacement, WorkerSeat
from tests.needs import not_here
from tests.real.polled import happens

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
    assert engine.placed_buffer(near, 0) is engine.placed_buffer(near, 0)
    assert engine.placed_buffer(near, 0) is not engine.placed_buffer(far, 0)


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
        _, finish = engine.make_placed({"work": "integer", "cpus": [ALLOWED[0]]})
        monkeypatch.setattr(engine, "current_cpu", lambda: 77_777)
        with pytest.raises(OSError, match="ran on CPU 77777"):
            finish(1)
    finally:
        os.sched_setaffinity(0, before)
