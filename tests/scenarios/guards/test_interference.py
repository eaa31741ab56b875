"""What is foreign in a block, told from what is ours, and what is beyond the usual."""

from __future__ import annotations

import random

import pytest

from scenarios.guards.interference import Surroundings, Usual
from scenarios.guards.thresholds import THRESHOLDS, threshold

PAGE = 4096


def reads(rate: float, *, foreign: float = 0.0, each: float = 1.0, cpu: float = 0.1) -> Surroundings:
    """Half a second of ours at `rate` operations a second; `foreign` operations of others; `each` of ours moves
    that many pages."""
    ours = int(rate / 2)
    requests = int(ours * each + foreign / 2)
    return Surroundings(
        seconds=0.5,
        cpu=cpu,
        full=min(1.0, 0.5 + cpu),
        steal=0.0,
        device_bytes=requests * PAGE,
        device_operations=requests,
        operations=ours,
    )


def after(usual: list[Surroundings], now: Surroundings) -> list[str]:
    known = Usual()
    for block in usual:
        known.judge(block)
    return [found.kind for found in known.judge(now)]


def test_others_traffic_on_our_device_is_seen_even_while_ours_falls() -> None:
    assert after([reads(10_000)] * 6, reads(7_000, foreign=4_000)) == ["device"]


@pytest.mark.parametrize("factor", [0.3, 0.8, 1.3, 3.0])
def test_a_faster_or_slower_block_of_ours_is_no_disturbance(factor: float) -> None:
    assert after([reads(10_000)] * 6, reads(10_000 * factor)) == []


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_what_our_own_writes_cause_in_a_journal_is_ours(factor: float) -> None:
    # btrfs moved 148 KiB for a 4 KiB fdatasync: 37 pages an operation
    assert after([reads(500, each=37)] * 6, reads(500 * factor, each=37)) == []


def test_a_neighbour_that_is_always_there_is_usual() -> None:
    assert after([reads(9_000, foreign=5_000)] * 6, reads(9_000, foreign=5_400)) == []


def test_a_log_daemon_on_an_idle_disk_is_no_disturbance() -> None:
    assert after([reads(40)] * 6, reads(40, foreign=20)) == []


def test_operations_count_where_bytes_do_not_stand_out() -> None:
    streams = Surroundings(seconds=0.5, device_bytes=500 << 20, device_operations=1000, operations=500)
    small = Surroundings(
        seconds=0.5, device_bytes=(500 << 20) + 4_000_000, device_operations=2000, operations=500
    )
    assert after([streams] * 6, small) == ["device"]


def test_a_block_that_loads_no_device_has_no_device_guard() -> None:
    cpu_only = Surroundings(seconds=0.5, cpu=0.1, full=0.6, steal=0.0, operations=100)
    assert after([cpu_only] * 6, cpu_only) == []


def test_cpu_of_others_counts_only_where_the_cpus_are_full() -> None:
    assert after([reads(10_000)] * 6, reads(10_000, cpu=0.5)) == ["cpu"]
    idle = Surroundings(seconds=0.5, cpu=0.5, full=0.7, steal=0.0)
    assert after([Surroundings(seconds=0.5, cpu=0.1, full=0.3, steal=0.0)] * 6, idle) == []


@pytest.mark.parametrize(
    ("kind", "usual", "now"),
    [
        ("steal", Surroundings(seconds=0.5, steal=0.02), Surroundings(seconds=0.5, steal=0.10)),
        ("quota", Surroundings(seconds=0.5, quota=0.0), Surroundings(seconds=0.5, quota=0.2)),
        ("frequency", Surroundings(seconds=0.5, khz=3_400_000), Surroundings(seconds=0.5, khz=2_000_000)),
        ("heat", Surroundings(seconds=0.5, heat=0), Surroundings(seconds=0.5, heat=3)),
    ],
)
def test_what_holds_the_cpus_back_is_seen(kind: str, usual: Surroundings, now: Surroundings) -> None:
    assert after([usual] * 6, now) == [kind]
    assert after([usual] * 6, usual) == []


def test_a_quota_that_always_holds_us_back_is_usual() -> None:
    held = Surroundings(seconds=0.5, quota=0.4)
    assert after([held] * 6, held) == []


def test_a_host_that_is_busy_one_block_in_three_is_not_measured_again_for_ever() -> None:
    rng = random.Random(1)
    known = Usual()
    flagged = 0
    for _ in range(200):
        busy = rng.random() < 1 / 3
        flagged += bool(known.judge(reads(9_000, foreign=6_000 if busy else 0, cpu=0.6 if busy else 0.1)))
    assert 1 <= flagged <= 10  # one block in twenty
    assert known.beyond["device"] > 40  # but it is known, and told where nothing could be decided


def test_nothing_is_judged_before_there_is_a_usual() -> None:
    assert after([reads(10_000)] * 2, reads(10_000, foreign=50_000)) == []


def test_every_threshold_has_a_reason_and_stands_once() -> None:
    kinds = [rule.kind for rule in THRESHOLDS]
    assert len(set(kinds)) == len(kinds)
    for rule in THRESHOLDS:
        assert len(rule.reason) > 30 and rule.unit
        assert threshold(rule.kind) is rule
