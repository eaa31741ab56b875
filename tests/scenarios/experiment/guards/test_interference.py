"""Interference and the processes behind it."""

import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.diskstats import DiskCounters
from hostdx.probes.system.processor.cpu_times import CpuTimes
from hostdx.probes.system.processor.throttle import ThrottleCounters
from hostdx.probes.system.pulse import HostCounters
from hostdx.probes.types import Absent, AbsentKind
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import InterferenceCulprit
from hostdx.scenarios.contract.surroundings import MeasuredSurroundings
from hostdx.scenarios.experiment.guards import top_processes
from hostdx.scenarios.experiment.guards.interference import (
    HostReading,
    InterferenceExcess,
    OthersUse,
    compute_surroundings,
    foreign_operations_per_s,
    is_worth_repeating,
    list_excesses,
)
from hostdx.scenarios.experiment.guards.thresholds import (
    LOOK_SHARE,
    NAMED_AFTER_S,
    REPEATED_BLOCKS,
    REPEATED_TRAINS,
)
from hostdx.scenarios.experiment.guards.top_processes import CulpritSearch
from tests.every_case import every_case
from tests.fakes import FakeClock, FakeRun
from tests.fakes.hosts.processes import host_at, process

PAGE = 4096


def reads(rate: float, *, foreign: float = 0.0, each: float = 1.0, cpu: float = 0.1) -> MeasuredSurroundings:
    """Half a second of ours at `rate` operations a second; `foreign` operations of others; `each` of ours moves
    that many pages, of which it asked for one."""
    operations = int(rate / 2)
    requests = int(operations * each + foreign / 2)
    return MeasuredSurroundings(
        seconds=0.5,
        load="reads",
        cpu=cpu,
        users_cpu=cpu,
        full=min(1.0, 0.5 + cpu),
        steal=0.0,
        device_bytes=requests * PAGE,
        device_operations=requests,
        own_bytes=operations * PAGE,
        operations=operations,
        exact=each == 1,
    )


def excesses_of(series: Sequence[MeasuredSurroundings]) -> list[list[InterferenceExcess]]:
    return [list_excesses(series[:at], now) for at, now in enumerate(series)]


def sudden_kinds(usual: list[MeasuredSurroundings], now: MeasuredSurroundings) -> list[str]:
    """What measuring again may help against."""
    return [excess.kind for excess in list_excesses(usual, now) if excess.sudden]


def test_a_neighbour_that_is_always_there_is_told_and_not_measured_again() -> None:
    lists = excesses_of([reads(9_000, foreign=5_000 + n) for n in range(20)])
    assert all([excess.kind for excess in block] == ["device"] for block in lists)
    assert not any(excess.sudden for block in lists for excess in block)
    assert [excess.disturbance.figure for excess in lists[0]] == [pytest.approx(5_000 * PAGE)]


def test_what_ours_wrote_into_the_page_cache_comes_to_the_disk_later() -> None:
    buffered = MeasuredSurroundings(
        seconds=1.0, load="command", device_bytes=0, own_bytes=500 << 20, own_written=500 << 20
    )
    tail = MeasuredSurroundings(
        seconds=1.0, load="reads", device_bytes=400 << 20, device_written=400 << 20, exact=True
    )
    assert list_excesses([buffered], tail) == []
    assert [excess.kind for excess in list_excesses([], tail)] == ["device"]


@pytest.mark.parametrize("attributed", [None, 300 * PAGE])
def test_small_requests_all_along_are_few_bytes_and_told_all_the_same(attributed: int | None) -> None:
    now = msgspec.structs.replace(reads(1_000, foreign=600), attributed=attributed)
    assert foreign_operations_per_s(now) == 600
    lists = [list_excesses([now] * count, now) for count in range(6)]
    assert [[(item.kind, item.sudden) for item in block] for block in lists] == [[("device", False)]] * 6
    assert sudden_kinds([reads(1_000)], now) == ["device"]


def test_small_requests_that_no_process_made_are_the_kernels_and_may_be_for_us() -> None:
    checkpoint = msgspec.structs.replace(reads(1_000, foreign=600), attributed=10 * PAGE)
    assert list_excesses([], checkpoint) == []
    assert foreign_operations_per_s(msgspec.structs.replace(checkpoint, exact=False)) is None


def test_a_commit_of_the_journal_under_metadata_is_no_neighbour() -> None:
    usual = MeasuredSurroundings(
        seconds=1.0, load="metadata a", device_bytes=0, own_bytes=0, operations=10_000, uneven=True
    )
    commit = msgspec.structs.replace(usual, device_bytes=64 << 20, device_operations=900)
    assert list_excesses([usual] * 9, commit) == []
    assert [
        excess.kind for excess in list_excesses([usual] * 9, msgspec.structs.replace(commit, uneven=False))
    ] == ["device"]
    attributed = msgspec.structs.replace(commit, attributed=40 << 20)
    assert [excess.kind for excess in list_excesses([usual] * 9, attributed)] == ["device"]


def test_cpu_of_others_is_measured_again_only_where_the_cpus_were_full() -> None:
    assert sudden_kinds([reads(10_000)] * 6, reads(10_000, cpu=0.5)) == ["cpu"]
    free = MeasuredSurroundings(seconds=0.5, cpu=0.5, users_cpu=0.5, full=0.7, steal=0.0)
    excesses = list_excesses(
        [MeasuredSurroundings(seconds=0.5, cpu=0.1, users_cpu=0.1, full=0.3, steal=0.0)] * 6, free
    )
    assert [(excess.kind, excess.sudden) for excess in excesses] == [("cpu", False)]


@pytest.mark.parametrize(
    ("kind", "now"),
    [
        ("memory", MeasuredSurroundings(seconds=1.0, memory=0.2)),
        ("queue", MeasuredSurroundings(seconds=1.0, queue=6, full=1.0)),
    ],
)
def test_pressure_and_the_run_queue_are_told(kind: str, now: MeasuredSurroundings) -> None:
    assert [excess.kind for excess in list_excesses([], now)] == [kind]
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
    assert sudden_kinds([usual] * 6, now) == [kind]
    assert sudden_kinds([usual] * 6, usual) == []


@pytest.mark.parametrize(("limits", "bound"), [(REPEATED_BLOCKS, 10), (REPEATED_TRAINS, 50)])
def test_a_host_that_is_busy_one_block_in_three_is_not_measured_again_for_ever(
    limits: tuple[float, float], bound: int
) -> None:
    rng = random.Random(1)
    busy = [rng.random() < 1 / 3 for _ in range(200)]
    excesses = excesses_of([reads(9_000, foreign=6_000.0 * b, cpu=0.6 if b else 0.1) for b in busy])
    assert [bool(block) for block in excesses] == busy  # each is told
    repeated = 0
    for number, block in enumerate(excesses):
        repeated += is_worth_repeating(block, repeated, number + 1, limits)
    assert 1 <= repeated <= bound


def read_surroundings(name: str) -> list[MeasuredSurroundings]:
    """What the guards of a run saw (`python -m tests.measured.running.neighbours --keep`), but for early looks."""
    text = Path(__file__).parents[3] / "fixtures" / "surroundings" / f"{name}.jsonl"
    return [msgspec.json.decode(line, type=MeasuredSurroundings) for line in text.read_bytes().splitlines()]


def kinds(series: Sequence[MeasuredSurroundings]) -> list[set[str]]:
    return [{excess.kind for excess in excesses} for excesses in excesses_of(series)]


def test_a_recorded_neighbour_is_told_in_every_train_that_used_the_disk() -> None:
    """dd with fsync from before the run on, beside reads and synced writes; found from the first train on."""
    series = read_surroundings("dd")
    assert [("device" in row) for row in kinds(series)] == [now.device_bytes is not None for now in series]


def test_a_recorded_neighbour_who_begins_later_is_told_from_then_on() -> None:
    """fio's random reads, five seconds after the run began: beside small operations, not beside streams of 1 GB/s."""
    series = read_surroundings("fio")
    loads = [now.load.split()[0] for now, row in zip(series, kinds(series), strict=True) if "device" in row]
    assert loads == ["fsync-4k-qd1", "metadata", "metadata"]
    assert not any("device" in row for row in kinds(series)[:4])


@pytest.mark.parametrize("blind", [{"users_cpu": None}, {"users_cpu": 0.0, "hidden": True}])
def test_cpu_of_processes_that_cannot_be_read_is_told_and_not_measured_again(blind: dict[str, Any]) -> None:
    busy = msgspec.structs.replace(MeasuredSurroundings(seconds=1.0, cpu=0.6, full=1.0), **blind)
    [excess] = list_excesses([busy], busy)
    assert (excess.kind, excess.sudden, excess.disturbance.figure) == ("cpu", False, 0.6)
    assert excess.disturbance.culprit is None
    assert list_excesses([busy], msgspec.structs.replace(busy, cpu=0.2)) == []


def reading(time_s: float, bytes_: dict[str, int]) -> HostReading:
    disks = {n: DiskCounters(1, b, 0, 0, 0, 0.0, 0.0) for n, b in bytes_.items()}
    return HostReading(HostCounters(time_s, cpus=2, disks=disks), 0.0, ThrottleCounters())


def test_our_own_cpu_time_is_not_others() -> None:
    """Two CPUs for a second: 1.5 s of work, of which our processes had 1.0, and 0.1 s that the hypervisor took."""

    def reading(time_s: float, cpu: CpuTimes, ours_s: float) -> HostReading:
        return HostReading(HostCounters(time_s, cpu=cpu, cpus=2), ours_s, ThrottleCounters())

    before = reading(10.0, CpuTimes(5.0, 2.0, 13.0, 0.0, 0.0, 0.0, 0.0), 3.0)
    after = reading(11.0, CpuTimes(6.2, 2.3, 13.4, 0.0, 0.0, 0.0, 0.1), 4.0)
    now = compute_surroundings(before, after, None, (), others=OthersUse(0.2, None))
    assert (now.cpu, now.full, now.steal, now.users_cpu) == (0.25, 0.75, 0.05, 0.1)


@every_case(
    ("disks", "rate"),
    [
        ({"sdb": 100, "sdb1": 100}, 50),
        ({"nvme0n1": 100, "nvme0n1p1": 60, "nvme0n1p2": 40}, 50),
        ({"sdp": 100, "sdp1": 100, "dm-0": 100}, 50),
        ({"sdb": 60, "nvme0n1": 40}, 50),
        ({"vda1": 100}, 150),
    ],
)
def test_what_others_moved_on_other_disks_counts_once(disks: dict[str, int], rate: int) -> None:
    """150 bytes a second are attributed, on all disks; what the others moved is not on ours."""
    before, after = reading(0, dict.fromkeys(["vda", *disks], 0)), reading(1, {"vda": 900, **disks})
    now = compute_surroundings(before, after, None, ["vda"], others=OthersUse(0.0, 150.0))
    assert (now.attributed, now.cpus) == (rate, 2)


def test_what_nfs_moved_is_of_no_disk() -> None:
    """A neighbour who reads 140 of his 150 bytes a second from a server."""
    before, after = reading(0, {"vda": 0}), msgspec.structs.replace(reading(1, {"vda": 900}), nfs_bytes=140)
    assert compute_surroundings(before, after, None, ["vda"], others=OthersUse(0.0, 150.0)).attributed == 10


def test_what_comes_through_a_loop_device_is_known_by_its_own_counters() -> None:
    before, after = reading(0, {"vda": 100, "loop0": 0}), reading(1, {"vda": 1000, "loop0": 850})
    through = compute_surroundings(before, after, None, ["vda"], loops={"loop0", "loop1"})
    assert (through.device_bytes, through.beside) == (900, 50)
    assert compute_surroundings(before, after, None, ["vda"]).beside is None
    assert compute_surroundings(before, after, None, (), loops={"loop0"}).beside is None


class Processes:
    """What some processes have used by now, as a tree; two CPUs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = FakeClock()
        self.ticks: dict[str, int] = {}
        self.bytes: dict[str, int] = {}
        self.readable: set[str] = set()
        (root / "proc").mkdir()
        (root / "proc/stat").write_text("cpu 0 0 0 0\ncpu0 0 0 0 0\ncpu1 0 0 0 0\n")
        self.host = host_at(root, 1000)

    def charge(self, seconds: float, io: dict[str, int] | None = None, **ticks: int) -> None:
        self.clock.advance(seconds)
        for name, more in ticks.items():
            self.ticks[name] = self.ticks.get(name, 0) + more
        for name, more in (io or {}).items():
            self.bytes[name] = self.bytes.get(name, 0) + more
        for pid, (name, count) in enumerate(self.ticks.items(), start=20):
            text = f"read_bytes: {self.bytes.get(name, 0)}\nwrite_bytes: 0\n"
            kernel = 0x00200000 if name.startswith("k") else 0  # PF_KTHREAD
            process(self.root, pid, name, count, io=text if name in self.readable else None, flags=kernel)
        host_at(self.root, 1000 + self.clock.now())


@pytest.fixture
def machine(tmp_path: Path) -> Processes:
    return Processes(tmp_path)


def search_culprits(machine: Processes, *devices: str) -> tuple[FakeRun, CulpritSearch]:
    run = FakeRun(host=machine.host, clock=machine.clock)
    return run, CulpritSearch(run, devices)


def look_long_enough(machine: Processes, search: CulpritSearch) -> None:
    """Look now and again after as long as a name needs."""
    search.look_in_gap()
    machine.charge(NAMED_AFTER_S)
    search.look_in_gap()


def culprit_text(search: CulpritSearch, kind: str, cpu_share: float = 0.0) -> str:
    culprit = search.culprit_of_kind(kind, cpu_share)
    return "" if culprit is None else culprit.culprit_sentence


class SlowHost(Host):
    """Every look takes its time, the `slower`th one longer."""

    def __init__(self, root: Path, clock: FakeClock, cost_s: float) -> None:
        super().__init__(str(root))
        self.clock, self.cost_s, self.looks, self.slower = clock, cost_s, 0, -1

    def list_names(self, path: str, *, may_hang: bool = False) -> tuple[str, ...] | Absent:
        self.looks += path == "/proc"
        self.clock.advance(self.cost_s * (20 if self.looks == self.slower else 1))
        return super().list_names(path)


@pytest.mark.parametrize(("cost_s", "every"), [(0.002, 1), (0.1, 10)])
def test_looks_take_a_small_share_of_the_time(machine: Processes, cost_s: float, every: int) -> None:
    host = SlowHost(machine.root, machine.clock, cost_s)
    search = CulpritSearch(FakeRun(host=host, clock=machine.clock), ())
    for _ in range(100):
        search.look_in_gap()
        machine.clock.advance(0.5)
    assert abs(host.looks - 100 / every) <= 1
    assert host.looks * cost_s / machine.clock.now() <= LOOK_SHARE * 1.01


@pytest.mark.parametrize(("user", "advice"), [(1000, "as root (sudo hostdx"), (0, "on the host itself")])
def test_what_root_would_add_is_said_once(
    machine: Processes, monkeypatch: pytest.MonkeyPatch, user: int, advice: str
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    machine.readable = {"mine"}
    machine.charge(0, mine=0, hidden=0)
    run, search = search_culprits(machine, "vda", "vdb")
    look_long_enough(machine, search)
    for _ in range(3):
        machine.charge(0.5, {"hidden": 90_000_000})
        culprit = search.culprit_of_kind("device")
        assert culprit == InterferenceCulprit(
            devices=("vda", "vdb"), unnamed="another user's" if user else "unreadable"
        )
    machine.charge(0.5, {"mine": 20_000_000})
    assert culprit_text(search, "device") == "mine [20], 40 MB/s"
    [note] = run.of(ev.Note)
    assert "for 1 of 2 processes" in note.text
    assert advice in note.text


def test_nobody_is_named_by_looks_of_less_than_two_seconds(machine: Processes) -> None:
    machine.readable = {"rsync", "hog"}
    machine.charge(0, rsync=0, hog=0)
    _, search = search_culprits(machine, "vda")
    search.look_in_gap()
    names = []
    for _ in range(10):
        machine.charge(0.4, {"rsync": 20_000_000}, hog=40)
        by_kind = search.culprits_by_kind(["cpu", "device"], 0.5)
        names.append((by_kind["cpu"].name if "cpu" in by_kind else "", by_kind["device"].name))
        assert names[-1][1] or by_kind["device"].unnamed == "brief"
    assert names == [("", "")] * 4 + [("hog", "rsync")] * 6


def test_who_was_busiest_for_a_moment_only_is_not_named(machine: Processes) -> None:
    machine.charge(0, steady=0, moment=0)
    _, search = search_culprits(machine)
    search.look_in_gap()
    for _ in range(8):
        machine.charge(0.5, steady=40)
        search.look_in_gap()
    machine.charge(0.1, moment=10, steady=2)
    assert culprit_text(search, "cpu", 0.5) == ""
    machine.charge(0.5, steady=40)
    assert culprit_text(search, "cpu", 0.5) == "steady [20], 0.8 CPUs"


def test_io_that_is_nobodys_is_said(machine: Processes) -> None:
    machine.readable = {"mine"}
    machine.charge(0, mine=0)
    run, search = search_culprits(machine, "vda")
    assert search.culprit_of_kind("device") is None  # nothing to compare with yet
    search.look_in_gap()
    machine.charge(0.5)
    assert culprit_text(search, "device").startswith("seen on vda only")
    assert run.of(ev.Note) == []
    assert search.culprit_of_kind("steal") is None


@pytest.mark.parametrize(
    ("cause", "unnamed"), [("container", "contained"), ("permission", "another user's"), (None, "ended")]
)
def test_a_user_is_sent_to_root_only_where_root_sees_more(
    machine: Processes, monkeypatch: pytest.MonkeyPatch, cause: AbsentKind | None, unnamed: str
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    hidden = None if cause is None else Absent("hidden", cause)
    monkeypatch.setattr(top_processes, "explain_hidden_tasks", lambda _: hidden)
    machine.readable = {"mine"}
    machine.charge(0, mine=0)
    _, search = search_culprits(machine, "vda")
    search.look_in_gap()
    machine.charge(0.5)
    culprit = search.culprit_of_kind("device")
    assert culprit is not None and culprit.unnamed == unnamed


WORKERS = (
    "kworker/u8:7-loop0",
    "kworker/0:1-xfs-inodegc/loop0",
    "kworker/u8:0+flush-7:0",
    "kjournal/loop0-8",
)


@pytest.mark.parametrize("name", WORKERS)
def test_the_kernel_works_for_us_on_our_own_loop_device(machine: Processes, name: str) -> None:
    for loops, cpus, expected in ((["loop0"], 0.8, ""), (["loop1"], 0.0, f"{name} [20], 0.8 CPUs")):
        machine.charge(0, **{name: 0})
        search = CulpritSearch(FakeRun(host=machine.host, clock=machine.clock), (), loops)
        look_long_enough(machine, search)
        machine.charge(0.5, **{name: 40})
        use = search.use_after_block()
        assert use is not None and use.for_us == pytest.approx(cpus)
        assert culprit_text(search, "cpu", 0.4) == expected
