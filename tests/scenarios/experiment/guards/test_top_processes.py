"""Who is named: the one of the disturbed block, at a bounded cost."""

import os
from pathlib import Path

import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent, AbsentKind
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import InterferenceCulprit
from hostdx.scenarios.experiment.guards import top_processes
from hostdx.scenarios.experiment.guards.thresholds import LOOK_SHARE, NAMED_AFTER_S
from hostdx.scenarios.experiment.guards.top_processes import CulpritSearch
from tests.fakes import FakeClock, FakeRun
from tests.fakes.hosts.processes import host_at, process


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
    search.in_gap()
    machine.charge(NAMED_AFTER_S)
    search.in_gap()


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
        search.in_gap()
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


def test_root_is_told_nothing_where_the_culprit_was_found(
    machine: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    machine.readable = {"rsync"}
    machine.charge(0, rsync=0, hidden=0)
    run, search = search_culprits(machine, "vda")
    look_long_enough(machine, search)
    machine.charge(0.5, {"rsync": 20_000_000})
    assert culprit_text(search, "device") == "rsync [20], 40 MB/s"
    assert run.of(ev.Note) == []


def test_nobody_is_named_by_looks_of_less_than_two_seconds(machine: Processes) -> None:
    machine.readable = {"rsync", "hog"}
    machine.charge(0, rsync=0, hog=0)
    _, search = search_culprits(machine, "vda")
    search.in_gap()
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
    search.in_gap()
    for _ in range(8):
        machine.charge(0.5, steady=40)
        search.in_gap()
    machine.charge(0.1, moment=10, steady=2)
    assert culprit_text(search, "cpu", 0.5) == ""
    machine.charge(0.5, steady=40)
    assert culprit_text(search, "cpu", 0.5) == "steady [20], 0.8 CPUs"


def test_io_that_is_nobodys_is_said(machine: Processes) -> None:
    machine.readable = {"mine"}
    machine.charge(0, mine=0)
    run, search = search_culprits(machine, "vda")
    assert search.culprit_of_kind("device") is None  # nothing to compare with yet
    search.in_gap()
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
    search.in_gap()
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
