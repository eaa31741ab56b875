"""A train in a worker: order, what is counted, what a slice holds, and workers that wait for each other."""

import copy
import itertools
import os
import threading
import time
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hostdx.probes.engine import histogram
from hostdx.probes.engine.loads.metadata import LINKED
from hostdx.probes.engine.operations import WorkerState
from hostdx.probes.engine.slices import SliceBarrier, operations_by_quarter, run_slice_batch
from tests.every_case import every_case

CPU = {"kind": "cpu", "stretch": 0.0}


def make_spec(**change: Any) -> dict[str, Any]:
    return {
        "seed": 1,
        "sides": [CPU, CPU],
        "order": [0, 1, 1, 0],
        "slice_s": 0.005,
        "onset_s": 0.0,
        "lead": False,
        "quarters": True,
        "most": None,
        "place": 0,
        "crew": 1,
    } | change


def run_slices(**change: Any) -> dict[str, Any]:
    return run_slice_batch(make_spec(**change), WorkerState(), SliceBarrier(), time.perf_counter_ns)


def test_every_slice_is_counted_with_the_time_that_its_operations_took() -> None:
    worker = WorkerState()
    reply = run_slice_batch(make_spec(), worker, SliceBarrier(), time.perf_counter_ns)
    assert worker.rate == pytest.approx(sum(reply["n"]) / sum(reply["ns"]) * 1e9)
    assert len(reply["n"]) == len(reply["ns"]) == len(reply["cpu"]) == len(reply["waited"]) == 4
    assert all(count >= 1 for count in reply["n"])
    assert all(
        ns > 0 for ns in reply["ns"]
    )  # a slice that begins late on a busy machine is shorter than asked for
    by_side = [sum(count for _, count in histogram) for histogram in reply["h"]]
    assert by_side == [reply["n"][0] + reply["n"][3], reply["n"][1] + reply["n"][2]]


def test_a_slice_holds_no_more_operations_than_its_bytes_allow() -> None:
    assert all(1 <= count <= 2 for count in run_slices(most=2, slice_s=0.02)["n"])
    assert run_slices(most=0, slice_s=0.02)["n"] == [1] * 4


def test_a_planted_latency_is_exact_in_the_account(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count(0, 1000)
    monkeypatch.setattr(time, "perf_counter_ns", lambda: next(ticks))
    reply = run_slices(sides=[CPU, CPU | {"stretch": 0.1}], order=[0, 1, 1, 0], most=3)
    plain = reply["ns"][0]
    assert reply["n"] == [3] * 4
    assert reply["ns"] == [plain, round(plain * 1.1), round(plain * 1.1), plain]
    latency = [[number for number, _ in histogram] for histogram in reply["h"]]
    assert latency == [list(histogram.bucket_latencies([ns])) for ns in (1000, 1100)]


def test_what_comes_before_the_onsets_end_does_not_count() -> None:
    reply = run_slices(slice_s=0.02, onset_s=0.019, most=3)
    assert all(1 <= count <= 3 for count in reply["n"])
    assert sum(sum(count for _, count in histogram) for histogram in reply["h"]) == sum(reply["n"])


def test_of_several_workers_the_first_operation_of_each_slice_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ticks = itertools.count(0, 1000)
    monkeypatch.setattr(time, "perf_counter_ns", lambda: next(ticks))
    plain, led = run_slices(most=3), run_slices(most=3, lead=True)
    assert plain["n"] == led["n"] == [3] * 4
    assert plain["ns"] == led["ns"]
    assert (plain["uncounted"], led["uncounted"]) == (0, 4)
    assert sum(sum(count for _, count in histogram) for histogram in led["h"]) == 12


def test_both_sides_work_in_their_own_file(tmp_path: Path) -> None:
    sides, fds = [], []
    for name in "ab":
        path = tmp_path / name
        path.write_bytes(bytes(64 << 10))
        fd = os.open(path, os.O_RDWR)
        fds.append(fd)
        sides.append(
            {
                "kind": "write",
                "fds": [fd],
                "first": 0,
                "start": 0,
                "length": 64 << 10,
                "block_bytes": 4096,
                "sequential": True,
                "sync": False,
                "direct": False,
                "buffered": True,
                "rate": None,
                "stretch": 0.0,
            }
        )
    reply = run_slices(sides=sides, order=[0, 1, 0], most=3, slice_s=0.5)
    for fd in fds:
        os.close(fd)
    assert reply["n"] == [3, 3, 3]
    written = [sum(any(block) for block in blocks_of(tmp_path / name)) for name in "ab"]
    assert written == [6, 3]  # one after the other, over the slices


def blocks_of(path: Path) -> Iterator[bytes]:
    data = path.read_bytes()
    return (data[at : at + 4096] for at in range(0, len(data), 4096))


@every_case(
    ("latencies", "expected"),
    [
        ([10] * 8, [2, 2, 2, 2]),
        ([40], [0.25] * 4),
        ([10, 10, 20], [1, 1, 0.5, 0.5]),
        ([1, 1, 1, 1, 4, 4, 4], [4, 1, 1, 1]),
    ],
)
def test_operations_in_each_fourth_of_a_slice(latencies: list[int], expected: list[float]) -> None:
    assert operations_by_quarter(array("q", latencies)) == pytest.approx(expected)


@every_case("links", [False, True])
@every_case(("slice_s", "most"), [(0.0001, None), (0.003, None), (0.02, 1), (0.02, 7)])
def test_a_slice_holds_whole_cycles_of_create_stat_delete(
    tmp_path: Path, slice_s: float, most: int | None, links: bool
) -> None:
    """Else a slice holds the creating of one side and the next one the stat of the other."""
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    names: dict[str, Any] = {"kind": "metadata", "fd": fd, "names": 4, "links": links, "stretch": 0.0}
    for name in "01":
        (tmp_path / name).mkdir()
        (tmp_path / name / LINKED).touch()
    sides = [names | {"folder": name, "stem": number} for number, name in enumerate("01")]
    try:
        reply = run_slices(sides=sides, order=[0, 1, 1, 0, 1, 0, 0, 1], slice_s=slice_s, most=most)
    finally:
        os.close(fd)
    assert len(reply["n"]) == 8
    assert all(count >= 12 and count % 12 == 0 for count in reply["n"])
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["0", "1", LINKED, LINKED]


def test_nobody_begins_before_everybody_has_ended() -> None:
    """Three workers as threads: who is slow holds the others up, and nobody takes another one's start."""
    shared, rounds, crew = SliceBarrier(), 60, 3
    inside = [0] * rounds
    early: list[int] = []
    lock = threading.Lock()

    def do_rounds(place: int) -> None:
        turn = copy.copy(shared)  # each process has its own turn, and the same pipes
        turn.reset_turn()
        for number in range(rounds):
            start = turn.wait(place, crew, time.perf_counter_ns() + 10**12)
            with lock:
                inside[number] += 1
                if not start or any(count < crew for count in inside[:number]):
                    early.append(number)

    threads = [threading.Thread(target=do_rounds, args=(place,), daemon=True) for place in range(crew)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert inside == [crew] * rounds and not early
