"""What a run promises beforehand: seconds that suffice, bytes that are kept, the pairs and loads asked for."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from probes.engine.disk.budget import MAX_WRITTEN_BYTES, WriteBudget
from probes.reading.host import Host
from probes.system.disk.topology import DirectoryPlacement, find_placement
from probes.types import Absent
from scenarios.contract.model import Options, UsageError
from scenarios.experiment.budget import Budget, Need, seconds_for_first
from scenarios.iosched import scheduler_setup as iosched_layout
from scenarios.iosched.measurement.mixes import files_bytes
from scenarios.iosched.plan import _format_needed_seconds, _left_out, _list_switch_effects
from scenarios.iosched.scenario import Iosched
from scenarios.iosched.scheduler_setup import (
    DEFAULT_BUDGET_S,
    MAX_PRESSING_BYTES,
    PRESSING_RATE,
    PairLoad,
    SchedulerSetup,
    layout,
    needed_seconds,
)
from scenarios.iosched.target import ScheduledDisks, find_scheduled_disks
from tests.fakes import FakeClock
from tests.scenarios.iosched.test_scenario import target_on, tree

SIZE = 1 << 30


@pytest.fixture
def planned(tmp_path, monkeypatch):  # type: ignore[no-untyped-def]
    """`layout` on a fake target: what the host would refuse is not the question here."""
    host = tree(tmp_path)

    class Fit:
        refusal = ""
        size_bytes = SIZE
        notes = ()
        placement = target_on(host).place

    monkeypatch.setattr(iosched_layout, "check_suitability", lambda *args, **more: Fit())
    monkeypatch.setattr(
        iosched_layout, "find_scheduled_disks", lambda host, directory, place: target_on(host)
    )
    monkeypatch.setattr(iosched_layout, "find_refusal", lambda *args, **more: "")

    def plan(**values: object) -> SchedulerSetup:
        return layout(host, Options({"dir": "/d", **values}, Iosched.options), has_root=True)  # type: ignore[dict-item]

    return plan


def test_the_default_budget_holds_one_pair_under_every_default_load(planned) -> None:  # type: ignore[no-untyped-def]
    found = planned(scheduler=["bfq"])
    assert [j.mix.id for j in found.jobs] == ["writers-reader", "cpu", "readers", "streams"]
    assert sum(needed_seconds(j.workload) for j in found.jobs) <= DEFAULT_BUDGET_S


def test_what_comes_first_leaves_the_others_their_fewest_groups(planned) -> None:  # type: ignore[no-untyped-def]
    waiting = [j.workload for j in planned(scheduler=["bfq"]).jobs]
    first = seconds_for_first(DEFAULT_BUDGET_S, [Need(needed_seconds(w)) for w in waiting])
    assert needed_seconds(waiting[0]) <= first
    assert DEFAULT_BUDGET_S - first >= sum(needed_seconds(w) for w in waiting[1:]) - 1e-6
    assert (
        seconds_for_first(300.0, [Need(needed_seconds(w)) for w in waiting]) == 300.0
    )  # too little for any other: then the first has it all


def written(found: SchedulerSetup, job: PairLoad, seconds: float) -> float:
    return job.write_rate * job.mix.writer_count * seconds


def test_the_writers_press_and_keep_the_bound_for_their_fewest_groups(planned) -> None:  # type: ignore[no-untyped-def]
    found = planned(scheduler=["bfq"])
    first = found.jobs[0]
    files = sum(files_bytes(SIZE, found.mixes).values())
    assert first.write_rate * 2 == pytest.approx(PRESSING_RATE, rel=0.05)
    assert files + written(found, first, needed_seconds(first.workload)) <= found.most_written
    assert MAX_WRITTEN_BYTES < found.most_written <= MAX_PRESSING_BYTES
    assert f"--rate={first.write_rate}" in first.workload.equivalent


def test_a_bound_that_is_asked_for_is_kept(planned) -> None:  # type: ignore[no-untyped-def]
    found = planned(scheduler=["bfq"], **{"most-written": 8 << 30})
    files = sum(files_bytes(SIZE, found.mixes).values())
    first = found.jobs[0]
    assert found.most_written == 8 << 30
    assert files + written(found, first, needed_seconds(first.workload)) <= 8 << 30
    wilder = planned(scheduler=["bfq"], **{"most-written": 96 << 30})
    assert wilder.jobs[0].write_rate > 5 * first.write_rate


def test_a_long_budget_does_not_thin_the_writers_out(planned) -> None:  # type: ignore[no-untyped-def]
    """More seconds, the same bytes: then they end with fewer groups, not with writers that press nobody."""
    found = planned(scheduler=["bfq"], budget=3600)
    assert found.jobs[0].write_rate * 2 == pytest.approx(PRESSING_RATE, rel=0.05)


def test_several_pairs_share_the_bound(planned) -> None:  # type: ignore[no-untyped-def]
    found = planned(scheduler=["bfq", "none"])
    files = sum(files_bytes(SIZE, found.mixes).values())
    pairs = [job for job in found.jobs if job.mix.has_writers]
    assert len(pairs) == 2
    assert files + sum(written(found, j, needed_seconds(j.workload)) for j in pairs) <= found.most_written


@pytest.mark.parametrize(
    "values", [{}, {"ioprio": True}, {"scheduler": ["bfq", "none"]}, {"load": ["write-streams"]}]
)
def test_the_default_budget_holds_everything_that_is_planned(planned, values: dict[str, object]) -> None:  # type: ignore[no-untyped-def]
    found = planned(**({"scheduler": ["bfq"]} | values))
    assert not found.unreached_jobs and found.needed_s <= found.budget_s
    assert sum(job.allotted_s for job in found.jobs) <= found.budget_s + 1e-6
    for job in found.jobs:
        assert job.allotted_s >= needed_seconds(job.workload) - 1e-6


def test_a_budget_that_is_too_short_names_what_is_not_measured(planned) -> None:  # type: ignore[no-untyped-def]
    found = planned(scheduler=["bfq", "none"], budget=480)
    assert {job.variant for job in found.unreached_jobs} == {"none"}
    left_out = _left_out(found, found.target)
    assert "eight random readers (none)" in left_out[0] and "not within 480 s" in left_out[0]
    named = float(left_out[0].split("--budget ")[1].split()[0])
    assert not planned(scheduler=["bfq", "none"], budget=named).unreached_jobs
    seconds = _format_needed_seconds(found)
    assert len(seconds) == 2 and "needs for bfq at least 471 s" in seconds[0]


@pytest.mark.parametrize("budget", [None, 480, 3600])
def test_the_bytes_let_every_reached_load_have_its_fewest_groups(planned, budget: float | None) -> None:  # type: ignore[no-untyped-def]
    """A load that the budget does not reach has no bytes planned, and must not take another's."""
    found = planned(scheduler=["bfq", "none"], **({"budget": budget} if budget else {}))
    clock = FakeClock()
    bench = SimpleNamespace(budget=WriteBudget(found.most_written))
    bench.budget.charge(sum(files_bytes(SIZE, found.mixes).values()), None)
    seconds = Budget(found.budget_s, clock)
    for number, job in enumerate(found.jobs):
        got = Iosched._share_seconds(seconds, found.jobs[number:], bench)  # type: ignore[arg-type]
        if not job.allotted_s:
            continue
        need = needed_seconds(job.workload)
        assert got >= need - 1e-6
        clock.advance(need)
        if job.mix.has_writers:
            bench.budget.charge(int(written(found, job, need)), None)


def test_only_a_hard_disk_gets_many_writers_by_itself(planned, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    assert "write-streams" not in {job.mix.id for job in planned(scheduler=["bfq"]).jobs}
    assert "eight sequential writers" in _left_out(planned(scheduler=["bfq"]), planned().target)[-1]
    monkeypatch.setattr(iosched_layout, "has_hard_disk", lambda found: True)
    found = planned(scheduler=["bfq"])
    (job,) = (j for j in found.jobs if j.mix.id == "write-streams")
    assert [m.name for m in job.workload.metrics if m.judged] == ["write MB/s"]
    assert job.workload.block_s == 15 and job.workload.onset_s == 5
    assert not found.unreached_jobs  # and the default budget grows with it


def test_what_is_not_compared_is_no_difference() -> None:
    assert len(_list_switch_effects(("mq-deadline", "none"))) == 1
    assert any("throttling" in line for line in _list_switch_effects(("mq-deadline", "bfq")))


def test_the_budget_that_the_refusal_names_starts_the_first_load_and_the_control(planned) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError, match="too short") as refused:
        planned(scheduler=["bfq"], budget=320)
    assert "471 for all" in str(refused.value)
    named = float(str(refused.value).split("--budget ")[1].split()[0])
    found = planned(scheduler=["bfq"], budget=named)
    first, control = found.jobs[0].workload, found.jobs[1].workload
    assert control.control
    seconds = seconds_for_first(
        named, [Need(needed_seconds(job.workload), job.mix.control) for job in found.jobs]
    )
    assert needed_seconds(first) <= seconds <= named - needed_seconds(control)
    assert {job.mix.id for job in found.unreached_jobs} == {"readers", "streams"}
    files = sum(files_bytes(SIZE, found.mixes).values())
    assert (
        files + written(found, found.jobs[0], needed_seconds(first)) <= found.most_written
    )  # nor do bytes end it


def test_pairs_come_one_after_the_other_and_are_told_apart(planned) -> None:  # type: ignore[no-untyped-def]
    found = planned(scheduler=["bfq", "none", "mq-deadline"], budget=1000)
    assert found.variants == ("bfq", "none")  # the current one is no variant
    ids = [j.workload.id for j in found.jobs]
    assert len(set(ids)) == len(ids) == 8
    assert [j.variant for j in found.jobs] == ["bfq"] * 4 + ["none"] * 4


def test_priorities_are_measured_when_asked_for(planned) -> None:  # type: ignore[no-untyped-def]
    found = planned(scheduler=["bfq"], ioprio=True, budget=600)
    last = found.jobs[-1].workload
    assert last.id == "ioprio" and last.metrics[0].name == "high/low" and last.metrics[0].judged
    assert not any(m.judged for m in last.metrics[1:])


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"scheduler": ["cfq"]}, "does not offer cfq"),
        ({"scheduler": ["bfq"], "budget": 60}, "too short"),
        ({"scheduler": ["bfq"], "load": ["nothing"]}, "no load nothing"),
    ],
)
def test_a_wrong_request_is_said(planned, values: dict[str, object], words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError, match=words):
        planned(**values)


def test_the_devices_class_chooses_where_nothing_is_asked_for(planned) -> None:  # type: ignore[no-untyped-def]
    # the fake target has no known device: then everything that is offered is worth a look
    assert planned(budget=2000).variants == ("none", "kyber", "bfq")


def multipath(root: Path, second: str = "[mq-deadline] none bfq") -> Host:
    """A multipath device over two paths, as request-based dm shows it: with a scheduler file of its own."""
    devices = root / "sys/devices/virtual/block"
    for name, number, scheduler in (
        ("dm-0", "253:0", "[none] mq-deadline bfq"),
        ("sda", "8:0", "[mq-deadline] kyber none bfq"),
        ("sdb", "8:16", second),
    ):
        queue = devices / name / "queue"
        queue.mkdir(parents=True)
        (queue / "scheduler").write_text(scheduler + "\n")
        (queue.parent / "dev").write_text(number + "\n")
        (queue.parent / "size").write_text("2000000\n")
        for place in ("sys/block", "sys/class/block"):
            (root / place).mkdir(parents=True, exist_ok=True)
            (root / place / name).symlink_to(f"/sys/devices/virtual/block/{name}")
        (root / "sys/dev/block").mkdir(parents=True, exist_ok=True)
        (root / "sys/dev/block" / number).symlink_to(f"../../devices/virtual/block/{name}")
    (devices / "dm-0/dm").mkdir()
    (devices / "dm-0/dm/uuid").write_text("mpath-3600508\n")
    slaves = devices / "dm-0/slaves"
    slaves.mkdir()
    for name in ("sda", "sdb"):
        (slaves / name).symlink_to(f"../../{name}")
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/mountinfo").write_text("30 1 253:0 / /data rw - xfs /dev/mapper/mp rw\n")
    return Host(str(root))


def _target(host: Host) -> ScheduledDisks | Absent:
    place = find_placement(host, "/data")
    assert isinstance(place, DirectoryPlacement)
    return find_scheduled_disks(host, "/data", place)


def test_multipath_is_followed_to_its_paths(tmp_path: Path) -> None:
    found = _target(multipath(tmp_path))
    assert isinstance(found, ScheduledDisks)
    assert found.leaf_names == ("sda", "sdb") and found.current == "mq-deadline"
    assert found.offered == ("mq-deadline", "none", "bfq")  # what both offer


def test_paths_that_differ_are_not_compared(tmp_path: Path) -> None:
    found = _target(multipath(tmp_path, "mq-deadline [none] bfq"))
    assert isinstance(found, Absent) and found.reason
