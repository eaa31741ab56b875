"""What is foreign in a block, told from what is ours, and what disturbs: of made counters, and of recorded ones."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from probes.system.disk.diskstats import DiskCounters
from probes.system.processor.cpu_times import CpuTimes
from probes.system.processor.throttle import ThrottleCounters
from probes.system.pulse import HostCounters
from scenarios.contract.surroundings import MeasuredSurroundings
from scenarios.experiment.guards.interference import (
    Excess,
    OthersUse,
    Reading,
    compute_surroundings,
    foreign_bytes,
    foreign_operations,
    list_excesses,
    worth_repeating,
)
from scenarios.experiment.guards.thresholds import (
    REPEATED_BLOCKS,
    REPEATED_TRAINS,
    THRESHOLDS,
    threshold_of,
)
from tests.every_case import every_case

PAGE = 4096


def reads(rate: float, *, foreign: float = 0.0, each: float = 1.0, cpu: float = 0.1) -> MeasuredSurroundings:
    """Half a second of ours at `rate` operations a second; `foreign` operations of others; `each` of ours moves
    that many pages, of which it asked for one."""
    ours = int(rate / 2)
    requests = int(ours * each + foreign / 2)
    return MeasuredSurroundings(
        seconds=0.5,
        load="reads",
        cpu=cpu,
        users_cpu=cpu,
        full=min(1.0, 0.5 + cpu),
        steal=0.0,
        device_bytes=requests * PAGE,
        device_operations=requests,
        own_bytes=ours * PAGE,
        operations=ours,
        exact=each == 1,
    )


def excesses(series: Sequence[MeasuredSurroundings]) -> list[list[Excess]]:
    return [list_excesses(series[:at], now) for at, now in enumerate(series)]


def after(usual: list[MeasuredSurroundings], now: MeasuredSurroundings) -> list[str]:
    """What measuring again may help against."""
    return [found.kind for found in list_excesses(usual, now) if found.sudden]


def test_others_traffic_on_our_device_is_seen_even_while_ours_falls() -> None:
    assert after([reads(10_000)] * 6, reads(7_000, foreign=4_000)) == ["device"]


def test_the_first_train_of_a_load_is_judged_by_the_quiet_level_of_all_others() -> None:
    before = msgspec.structs.replace(reads(300), load="another")
    assert after([before], reads(10_000, foreign=4_000)) == ["device"]
    assert after([before], reads(10_000)) == []


@every_case("factor", [0.3, 0.8, 1.3, 3.0])
def test_a_faster_or_slower_block_of_ours_is_no_disturbance(factor: float) -> None:
    assert after([reads(10_000)] * 6, reads(10_000 * factor)) == []


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_what_our_own_writes_cause_in_a_journal_is_ours(factor: float) -> None:
    # btrfs moved 148 KiB for a 4 KiB fdatasync: 37 pages an operation
    synced = [reads(500, each=37)] * 6
    assert not any(list_excesses(synced[:at], reads(500 * factor, each=37)) for at in range(6))


def test_beside_our_own_writes_what_others_are_known_to_have_moved_counts_at_once() -> None:
    ours = reads(500, each=37)
    known = msgspec.structs.replace(
        ours, attributed=30 << 20, device_bytes=(ours.device_bytes or 0) + (30 << 20)
    )
    assert [one.kind for one in list_excesses([reads(500)], known)] == ["device"]
    elsewhere = msgspec.structs.replace(ours, attributed=0)
    assert list_excesses([reads(500)], elsewhere) == []
    assert foreign_bytes([], ours) == 0


@pytest.mark.parametrize("history", [0, 6])
def test_what_no_write_of_ours_can_cause_is_not_ours(history: int) -> None:
    """Where no process may be read, and from the first train of the load on."""
    ours = reads(500, each=37)
    beside = msgspec.structs.replace(ours, device_bytes=400 << 20)
    assert [one.kind for one in list_excesses([reads(500)] + [beside] * history, beside)] == ["device"]


def test_a_neighbour_that_is_always_there_is_told_and_not_measured_again() -> None:
    found = excesses([reads(9_000, foreign=5_000 + n) for n in range(20)])
    assert all([one.kind for one in each] == ["device"] for each in found)
    assert not any(one.sudden for each in found for one in each)
    assert [one.disturbance.figure for one in found[0]] == [pytest.approx(5_000 * PAGE)]


def test_what_ours_wrote_into_the_page_cache_comes_to_the_disk_later() -> None:
    buffered = MeasuredSurroundings(
        seconds=1.0, load="command", device_bytes=0, own_bytes=500 << 20, own_written=500 << 20
    )
    tail = MeasuredSurroundings(
        seconds=1.0, load="reads", device_bytes=400 << 20, device_written=400 << 20, exact=True
    )
    assert list_excesses([buffered], tail) == []
    assert [one.kind for one in list_excesses([], tail)] == ["device"]


def test_a_log_daemon_on_an_idle_disk_is_no_disturbance() -> None:
    assert list_excesses([reads(40)] * 6, reads(40, foreign=20)) == []


def test_operations_count_where_bytes_do_not_stand_out() -> None:
    streams = MeasuredSurroundings(
        seconds=0.5, device_bytes=500 << 20, own_bytes=500 << 20, device_operations=1000, operations=500
    )
    small = msgspec.structs.replace(streams, device_bytes=(500 << 20) + 4_000_000, device_operations=2000)
    assert after([streams] * 6, small) == ["device"]


@pytest.mark.parametrize("attributed", [None, 300 * PAGE])
def test_small_requests_all_along_are_few_bytes_and_told_all_the_same(attributed: int | None) -> None:
    now = msgspec.structs.replace(reads(1_000, foreign=600), attributed=attributed)
    assert foreign_operations(now) == 600
    found = [list_excesses([now] * seen, now) for seen in range(6)]
    assert [[(one.kind, one.sudden) for one in each] for each in found] == [[("device", False)]] * 6
    assert after([reads(1_000)], now) == ["device"]


def test_small_requests_that_no_process_made_are_the_kernels_and_may_be_for_us() -> None:
    checkpoint = msgspec.structs.replace(reads(1_000, foreign=600), attributed=10 * PAGE)
    assert list_excesses([], checkpoint) == []
    assert foreign_operations(msgspec.structs.replace(checkpoint, exact=False)) is None


def test_large_reads_of_ours_that_the_kernel_splits_are_no_requests_of_others() -> None:
    split = MeasuredSurroundings(
        seconds=1.0,
        device_bytes=100 << 20,
        own_bytes=100 << 20,
        operations=100,
        device_operations=800,
        exact=True,
    )
    assert list_excesses([], split) == []


def test_a_commit_of_the_journal_under_metadata_is_no_neighbour() -> None:
    usual = MeasuredSurroundings(
        seconds=1.0, load="metadata a", device_bytes=0, own_bytes=0, operations=10_000, uneven=True
    )
    commit = msgspec.structs.replace(usual, device_bytes=64 << 20, device_operations=900)
    assert list_excesses([usual] * 9, commit) == []
    assert [
        one.kind for one in list_excesses([usual] * 9, msgspec.structs.replace(commit, uneven=False))
    ] == ["device"]
    known = msgspec.structs.replace(commit, attributed=40 << 20)
    assert [one.kind for one in list_excesses([usual] * 9, known)] == ["device"]


def test_a_block_that_loads_no_device_has_no_device_guard() -> None:
    cpu_only = MeasuredSurroundings(seconds=0.5, cpu=0.1, full=0.6, steal=0.0, operations=100)
    assert list_excesses([cpu_only] * 6, cpu_only) == []


def test_cpu_of_others_is_measured_again_only_where_the_cpus_were_full() -> None:
    assert after([reads(10_000)] * 6, reads(10_000, cpu=0.5)) == ["cpu"]
    free = MeasuredSurroundings(seconds=0.5, cpu=0.5, users_cpu=0.5, full=0.7, steal=0.0)
    found = list_excesses(
        [MeasuredSurroundings(seconds=0.5, cpu=0.1, users_cpu=0.1, full=0.3, steal=0.0)] * 6, free
    )
    assert [(one.kind, one.sudden) for one in found] == [("cpu", False)]


def test_the_kernels_own_threads_may_work_for_us() -> None:
    """dm-crypt encrypts what we write in threads of the kernel: not told, as long as it is as much as usual."""
    encrypting = MeasuredSurroundings(seconds=0.5, cpu=0.6, users_cpu=0.02, full=0.95, steal=0.0)
    assert [list_excesses([encrypting] * n, encrypting) for n in range(5)] == [[]] * 5


@pytest.mark.parametrize(
    ("kind", "now"),
    [
        ("memory", MeasuredSurroundings(seconds=1.0, memory=0.2)),
        ("queue", MeasuredSurroundings(seconds=1.0, queue=6, full=1.0)),
    ],
)
def test_pressure_and_the_run_queue_are_told(kind: str, now: MeasuredSurroundings) -> None:
    assert [one.kind for one in list_excesses([], now)] == [kind]
    quiet = MeasuredSurroundings(seconds=1.0, memory=0.01, queue=1, full=1.0)
    assert list_excesses([], quiet) == []


@every_case(
    ("kind", "usual", "now"),
    [
        (
            "steal",
            MeasuredSurroundings(seconds=0.5, steal=0.02),
            MeasuredSurroundings(seconds=0.5, steal=0.10),
        ),
        ("quota", MeasuredSurroundings(seconds=0.5, quota=0.0), MeasuredSurroundings(seconds=0.5, quota=0.2)),
        (
            "frequency",
            MeasuredSurroundings(seconds=0.5, khz=3_400_000),
            MeasuredSurroundings(seconds=0.5, khz=2_000_000),
        ),
        ("heat", MeasuredSurroundings(seconds=0.5, heat=0), MeasuredSurroundings(seconds=0.5, heat=3)),
    ],
)
def test_what_holds_the_cpus_back_is_seen(
    kind: str, usual: MeasuredSurroundings, now: MeasuredSurroundings
) -> None:
    assert after([usual] * 6, now) == [kind]
    assert after([usual] * 6, usual) == []


def test_a_quota_that_always_holds_us_back_is_usual() -> None:
    held = MeasuredSurroundings(seconds=0.5, quota=0.4)
    assert after([held] * 6, held) == []


@pytest.mark.parametrize(("most", "bound"), [(REPEATED_BLOCKS, 10), (REPEATED_TRAINS, 50)])
def test_a_host_that_is_busy_one_block_in_three_is_not_measured_again_for_ever(
    most: tuple[float, float], bound: int
) -> None:
    rng = random.Random(1)
    busy = [rng.random() < 1 / 3 for _ in range(200)]
    found = excesses([reads(9_000, foreign=6_000.0 * one, cpu=0.6 if one else 0.1) for one in busy])
    assert [bool(each) for each in found] == busy  # each is told
    repeated = 0
    for judged, each in enumerate(found):
        repeated += worth_repeating(each, repeated, judged + 1, most)
    assert 1 <= repeated <= bound


def test_every_threshold_has_a_reason_and_stands_once() -> None:
    kinds = [rule.kind for rule in THRESHOLDS]
    assert len(set(kinds)) == len(kinds)
    for rule in THRESHOLDS:
        assert len(rule.reason) > 30 and rule.unit
        assert threshold_of(rule.kind) is rule


def recorded(name: str) -> list[MeasuredSurroundings]:
    """What the guards of a run saw (`python -m tests.measured.running.neighbours --keep`), but for early looks."""
    text = Path(__file__).parents[3] / "fixtures" / "surroundings" / f"{name}.jsonl"
    return [msgspec.json.decode(line, type=MeasuredSurroundings) for line in text.read_bytes().splitlines()]


def kinds(series: Sequence[MeasuredSurroundings]) -> list[set[str]]:
    return [{one.kind for one in found} for found in excesses(series)]


def test_in_a_recorded_quiet_run_only_what_really_ran_beside_it_is_told() -> None:
    """Seven loads, writes and metadata among them; a test suite began beside the fourth and fifth train."""
    found = kinds(recorded("quiet"))
    assert [number for number, each in enumerate(found) if each] == [3, 4]
    assert found[3] == found[4] == {"cpu"}


def test_a_recorded_neighbour_is_told_in_every_train_that_used_the_disk() -> None:
    """dd with fsync from before the run on, beside reads and synced writes; found from the first train on."""
    series = recorded("dd")
    assert [("device" in each) for each in kinds(series)] == [now.device_bytes is not None for now in series]


def test_a_recorded_neighbour_who_begins_later_is_told_from_then_on() -> None:
    """fio's random reads, five seconds after the run began: beside small operations, not beside streams of 1 GB/s."""
    series = recorded("fio")
    told = [now.load.split()[0] for now, each in zip(series, kinds(series), strict=True) if "device" in each]
    assert told == ["fsync-4k-qd1", "metadata", "metadata"]
    assert not any("device" in each for each in kinds(series)[:4])


@pytest.mark.parametrize("blind", [{"users_cpu": None}, {"users_cpu": 0.0, "hidden": True}])
def test_cpu_of_processes_that_cannot_be_read_is_told_and_not_measured_again(blind: dict[str, Any]) -> None:
    busy = msgspec.structs.replace(MeasuredSurroundings(seconds=1.0, cpu=0.6, full=1.0), **blind)
    [found] = list_excesses([busy], busy)
    assert (found.kind, found.sudden, found.disturbance.figure) == ("cpu", False, 0.6)
    assert found.disturbance.culprit is None
    assert list_excesses([busy], msgspec.structs.replace(busy, cpu=0.2)) == []


def test_more_tasks_find_a_cpu_where_there_are_more() -> None:
    ready = MeasuredSurroundings(seconds=1.0, queue=5, full=1.0)
    assert [one.kind for one in list_excesses([], msgspec.structs.replace(ready, cpus=8))] == ["queue"]
    assert list_excesses([], msgspec.structs.replace(ready, cpus=64)) == []
    assert [one.kind for one in list_excesses([], msgspec.structs.replace(ready, cpus=64, queue=8))] == [
        "queue"
    ]


def reading(time_s: float, bytes_: dict[str, int]) -> Reading:
    disks = {n: DiskCounters(1, b, 0, 0, 0, 0.0, 0.0) for n, b in bytes_.items()}
    return Reading(HostCounters(time_s, cpus=2, disks=disks), 0.0, ThrottleCounters())


def test_our_own_cpu_time_is_not_others() -> None:
    """Two CPUs for a second: 1.5 s of work, of which our processes had 1.0, and 0.1 s that the hypervisor took."""

    def reading(time_s: float, cpu: CpuTimes, ours_s: float) -> Reading:
        return Reading(HostCounters(time_s, cpu=cpu, cpus=2), ours_s, ThrottleCounters())

    before = reading(10.0, CpuTimes(5.0, 2.0, 13.0, 0.0, 0.0, 0.0, 0.0), 3.0)
    after = reading(11.0, CpuTimes(6.2, 2.3, 13.4, 0.0, 0.0, 0.0, 0.1), 4.0)
    now = compute_surroundings(before, after, None, (), others=OthersUse(0.2, None))
    assert (now.cpu, now.full, now.steal, now.users_cpu) == (0.25, 0.75, 0.05, 0.1)


@every_case(
    ("disks", "moved"),
    [
        ({"sdb": 100, "sdb1": 100}, 50),
        ({"nvme0n1": 100, "nvme0n1p1": 60, "nvme0n1p2": 40}, 50),
        ({"sdp": 100, "sdp1": 100, "dm-0": 100}, 50),
        ({"sdb": 60, "nvme0n1": 40}, 50),
        ({"vda1": 100}, 150),
    ],
)
def test_what_others_moved_on_other_disks_counts_once(disks: dict[str, int], moved: int) -> None:
    """150 bytes a second are attributed, on all disks; what the others moved is not on ours."""
    before, after = reading(0, dict.fromkeys(["vda", *disks], 0)), reading(1, {"vda": 900, **disks})
    now = compute_surroundings(before, after, None, ["vda"], others=OthersUse(0.0, 150.0))
    assert (now.attributed, now.cpus) == (moved, 2)


def test_what_nfs_moved_is_of_no_disk() -> None:
    """A neighbour who reads 140 of his 150 bytes a second from a server."""
    before, after = reading(0, {"vda": 0}), msgspec.structs.replace(reading(1, {"vda": 900}), nfs_bytes=140)
    assert compute_surroundings(before, after, None, ["vda"], others=OthersUse(0.0, 150.0)).attributed == 10


def test_cpu_of_the_kernel_for_our_loop_device_is_ours() -> None:
    idle, busy = CpuTimes(5.0, 2.0, 13.0, 0.0, 0.0, 0.0, 0.0), CpuTimes(6.2, 2.3, 13.5, 0.0, 0.0, 0.0, 0.0)
    before, after = (
        Reading(HostCounters(at, cpu=cpu, cpus=2), 3.0, ThrottleCounters())
        for at, cpu in ((10.0, idle), (11.0, busy))
    )
    cpus = [
        compute_surroundings(before, after, None, (), others=OthersUse(0.2, None, for_us=used)).cpu
        for used in (0.0, 0.5)
    ]
    assert cpus == [0.75, 0.5]


@every_case(("attributed", "neighbour", "told"), [(0, 0, []), (None, 0, ["device"]), (0, 9, ["device"])])
def test_what_a_file_system_on_our_loop_device_adds_is_ours(
    attributed: int | None, neighbour: int, told: list[str]
) -> None:
    """Blocks of 50 MiB; one of them moves 9 MiB more in three times as many requests. `neighbour`: of these MiB, what
    did not come through the loop device. Who moved them is not known where nobody may be read."""
    usual = MeasuredSurroundings(
        seconds=0.1, load="ior", device_bytes=50 << 20, device_operations=100, own_bytes=50 << 20,
        operations=25, beside=0, attributed=attributed,
    )  # fmt: skip
    now = msgspec.structs.replace(usual, device_bytes=59 << 20, device_operations=300, beside=neighbour << 20)
    assert [one.kind for one in list_excesses([usual] * 4, now)] == told


def test_requests_that_the_kernel_did_not_merge_are_nobodys() -> None:
    usual = MeasuredSurroundings(
        seconds=0.1,
        load="ior",
        device_bytes=50 << 20,
        device_operations=100,
        own_bytes=50 << 20,
        operations=25,
    )
    assert list_excesses([usual] * 4, msgspec.structs.replace(usual, device_operations=400)) == []


def test_what_comes_through_a_loop_device_is_known_by_its_own_counters() -> None:
    before, after = reading(0, {"vda": 100, "loop0": 0}), reading(1, {"vda": 1000, "loop0": 850})
    through = compute_surroundings(before, after, None, ["vda"], loops={"loop0", "loop1"})
    assert (through.device_bytes, through.beside) == (900, 50)
    assert compute_surroundings(before, after, None, ["vda"]).beside is None
    assert compute_surroundings(before, after, None, (), loops={"loop0"}).beside is None
