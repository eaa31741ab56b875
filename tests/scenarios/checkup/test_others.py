"""What others on the host take, and what a part of the checkup relays."""

from pathlib import Path

import msgspec
import pytest

from hostdx.app.recordings import store
from hostdx.app.recordings.reader import read_events
from hostdx.probes.system.pulse import HostRates
from hostdx.probes.system.running.cpu_users import SharedCpus
from hostdx.probes.system.running.culprit import BusyProcess
from hostdx.scenarios.checkup.others import HostUse, HostUseSampler
from hostdx.scenarios.checkup.ranking import answer_finding, beside_full_cpus, rank_items
from hostdx.scenarios.checkup.scenario import samples_of_event
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.results.result import Item
from tests.every_case import every_case
from tests.fakes.hosts.tree import Tree
from tests.fakes.run import FakeRun

IDLE = HostRates(1.0, 0.1, 0.02, 0.0, 0.0, 0.01, 0.0, 0.0, {"vda": (0.0, 4096.0, 0.01)})
HOGS = (("hog", 71, 1.0), ("hog", 72, 0.9), ("sshd", 9, 0.01))
WRITER = (("dd", 81, 2e8),)


def make_gap(used_cpus: float = 1.9, **more: object) -> HostUse:
    rates = msgspec.structs.replace(IDLE, **more)
    return HostUse(rates, 2, used_cpus, {"cpu": HOGS, "io": WRITER}, {71: "alice"})


def items_of(*gaps: HostUse) -> list[Item]:
    others = HostUseSampler(FakeRun())
    others.gaps = list(gaps)
    return others.items(["the disk"])


def test_who_keeps_the_cpus_busy_is_a_cause_with_all_its_processes() -> None:
    (item,) = items_of(make_gap(psi_cpu=0.5), make_gap(psi_cpu=0.6))
    assert item.state == "cause" and item.severity == "warning"
    for part in ("hog [71, 72]", "alice", "1.9", "55 %", "the disk"):
        assert part in item.words
    assert "sshd" not in item.words
    assert any("hog" in command for command in item.following[0].all_commands)


def test_as_many_busy_tasks_as_cpus_are_a_cause_though_none_waits() -> None:
    """Two loops on two CPUs: a checkup said only that its own figures were too low."""
    [item] = items_of(make_gap(psi_cpu=0.01))
    assert item.state == "cause" and item.pid == 71 and item.loss > 0
    assert "hog [71, 72]" in item.words and "2" in item.words
    assert items_of(make_gap(1.7, psi_cpu=0.01)) == []


def test_a_rating_beside_full_cpus_says_so_and_a_comparison_holds() -> None:
    rating, comparison = (Item(scenario="storage", state=s, words="the disk") for s in ("remark", "cleared"))
    assert beside_full_cpus(rating).words != rating.words and beside_full_cpus(comparison) == comparison


def test_what_was_measured_is_not_taken_back_when_it_ends() -> None:
    busy, idle = make_gap(psi_cpu=0.5), make_gap(psi_cpu=0.0)
    busy, idle = (msgspec.structs.replace(gap, used_cpus=cpus) for gap, cpus in ((busy, 1.3), (idle, 0.0)))
    at_7_s, at_9_s = (msgspec.structs.replace(busy, at_s=seconds) for seconds in (7.0, 9.0))
    assert items_of(at_7_s, idle, idle, idle) == []  # not in most of the looks
    [lasting], [ended] = items_of(at_7_s, at_9_s), items_of(at_7_s, at_9_s, idle)
    assert ended.state == lasting.state == "cause" and ended.words != lasting.words and "9 s" in ended.words


def test_a_disk_that_is_kept_busy_in_turns_is_a_cause_where_tasks_wait_for_it() -> None:
    """Writers that had to wait for busy CPUs, too, left it idle for a third of the time: nobody was named."""
    (disk,) = items_of(make_gap(0.3, psi_cpu=0.1, psi_io=0.6, devices={"vda": (0.0, 5e8, 0.67)}))
    assert "dd [81]" in disk.words and "60 %" in disk.words
    assert items_of(make_gap(0.3, psi_cpu=0.1, psi_io=None, devices={"vda": (0.0, 5e8, 0.67)})) == []


@every_case(
    "more",
    [
        {},
        {"psi_cpu": 0.1},
        {"devices": {"vda": (0.0, 2e8, 0.97)}},  # busy, and nobody waits for it
        {"psi_io": 0.9, "devices": {"vda": (0.0, 2e8, 0.4)}},
    ],
)
def test_an_idle_host_is_no_cause(more: dict[str, object]) -> None:
    assert items_of(make_gap(0.3, **more)) == []


def test_without_pressure_files_only_full_cpus_are_called() -> None:
    assert len(items_of(make_gap(psi_cpu=None))) == 1
    assert items_of(make_gap(1.2, psi_cpu=None)) == []


@pytest.mark.parametrize(("stopped", "share"), [(90, 0.9), (3, None)])
def test_our_own_quota_is_a_cause_with_the_share_of_the_checkups_own_periods(
    tmp_path: Path, stopped: int, share: float | None
) -> None:
    tree, group = Tree(tmp_path), "/sys/fs/cgroup/batch"
    tree.put("/proc/self/cgroup", "0::/batch")
    tree.put(f"{group}/cpu.max", "30000 100000")
    tree.put(f"{group}/cpu.stat", "nr_periods 500\nnr_throttled 500")
    host = tree.host()
    host.live = True
    others = HostUseSampler(FakeRun(host=host))
    assert others.quota_items() == []
    tree.put(f"{group}/cpu.stat", f"nr_periods 600\nnr_throttled {500 + stopped}")
    quota_items = others.quota_items(
        [Finding(id="host.cpu-quota", severity="warning", title="t", subject=group)]
    )
    assert [item.loss for item in quota_items] == ([share] if share else [])
    for item in quota_items:
        assert (item.state, item.about) == ("cause", (f"host.cpu-quota|{group}",))
        assert "batch" in item.words and "0.3" in item.words and "90 %" in item.words
        assert f"{group}/cpu.max" in item.following[0].command


def test_the_headline_of_a_busy_host_says_so() -> None:
    cleared = Item(scenario="storage", state="cleared", words="not the disk", severity="ok")
    finding = answer_finding(rank_items([*items_of(make_gap(psi_cpu=0.8)), cleared]))
    assert "hog" in finding.title and finding.severity == "warning" and finding.confidence == "measured"


def events_of(demo: str) -> list[ev.AnyEvent]:
    return list(read_events(store.resolve_recording(f"demo:{demo}")))


def test_slices_windows_and_samples_are_relayed_with_the_loads_title_and_unit() -> None:
    for demo, kind in (("storage", ev.SliceBatch), ("iosched", ev.Block), ("dstate", ev.SampleTaken)):
        events = events_of(demo)
        plan = next(e.plan for e in events if isinstance(e, ev.Planned))
        event = next(e for e in events if isinstance(e, kind))
        samples = samples_of_event(demo, plan, event, 7.0)
        assert samples and all(s.t == 7.0 and s.series.startswith(f"{demo}: ") for s in samples), demo
        if isinstance(event, ev.SliceBatch):
            load = next(w for w in plan.workloads if w.id == event.workload)
            assert {s.variant for s in samples} == {"A", "B"} and samples[0].unit == load.metrics[0].unit
            assert samples[0].series == f"storage: {load.title}"
    assert samples_of_event("null", None, event, 1.0)[0].series.startswith("null: ")


def test_nothing_else_is_relayed_and_no_plan_is_no_mistake() -> None:
    events = events_of("storage")
    batch = next(e for e in events if isinstance(e, ev.SliceBatch))
    assert samples_of_event("storage", None, batch, 1.0) == []
    others = [e for e in events if not isinstance(e, ev.SliceBatch | ev.Block | ev.SampleTaken)]
    assert others and not any(samples_of_event("storage", None, e, 1.0) for e in others)


def test_pinned_processes_that_share_a_cpu_are_a_cause_on_an_idle_host() -> None:
    """Two of 64 CPUs' worth of work waits for one CPU: the totals show 1.6 % of use."""
    shared = SharedCpus(
        cpus=frozenset({1}), processes=(BusyProcess(71, "hog", 0.5), BusyProcess(72, "hog", 0.5)),
        used_cpus=1.0, idle_cpus=0.9, cpus_elsewhere=frozenset({0}),
    )  # fmt: skip
    busy, idle = (msgspec.structs.replace(make_gap(0.3, psi_cpu=0.1), shared_cpus=s) for s in ((shared,), ()))
    [item] = items_of(busy, busy)
    assert item.state == "cause" and item.loss == 0.5
    assert "taskset -a -cp 0-1 71" in item.following[0].all_commands
    assert items_of(idle, busy) == []
