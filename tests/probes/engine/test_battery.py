"""Every load of the battery once, for real: it gives a rate, leaves no file, and a planted delay shows."""

import os
from pathlib import Path

import pytest

from hostdx.probes.engine.battery import BenchmarkSet
from hostdx.probes.engine.battery_loads import SLOTS, TURNS
from hostdx.probes.engine.loads.pinned_loads import SYSTEM_CALLS
from hostdx.probes.reading.host import Host
from tests.fakes.held import open_private


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
    monkeypatch.setattr("hostdx.probes.engine.battery.count_throttles", lambda host, files: (next(stops),))
    piece = {"n": 20, "q": 1e6, "ns": 100_000_000, "cpu": 0.02}
    battery = BenchmarkSet(Host(), None, None, 8 << 20, 1, (), [0])

    async def reply_with_piece(specs: object, lead_s: float) -> object:
        return [{"slices": [piece]}]

    monkeypatch.setattr(battery._crew.pool, "run_block", reply_with_piece)
    assert [
        (await battery.measure_slice("syscall", "one")).values["calls/s"] / SYSTEM_CALLS for _ in "ab"
    ] == [1000, 200]
