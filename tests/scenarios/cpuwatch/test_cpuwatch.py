"""A job that asked for one core: what uses two is called, on a busy host too; what does not is not."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from hostdx.app.terminal.process import process_identity
from hostdx.probes.reading.host import Host
from hostdx.probes.system.running.cpu_users import CpuUsers
from hostdx.probes.system.running.job_identity import JobLook, JobTarget, JobUse, look_at_job
from hostdx.probes.system.running.quota_groups import QuotaGroup
from hostdx.probes.types import Absent
from hostdx.scenarios.contract.events import Found
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.model import OptionMap, RunRefused, UsageError
from hostdx.scenarios.cpuwatch import scenario
from hostdx.scenarios.cpuwatch.findings import WatchedJob, cpuwatch_findings
from hostdx.scenarios.cpuwatch.scenario import Cpuwatch, _find_busiest_target
from hostdx.scenarios.triage.cpus import priority
from hostdx.scenarios.triage.cpus.quota import throttling_sentence
from hostdx.scenarios.triage.cpus.usable import usable_cpus
from tests.fakes.clock import FakeClock
from tests.fakes.hosts.tree import Tree
from tests.fakes.run import FakeRun, conduct_fake

JOB = WatchedJob(words="job", target=JobTarget("pid", "131"), name="xz [131]")


def _uses(cores: Sequence[float], waited: float | None = 0.0, others: float | None = None) -> list[JobUse]:
    return [
        JobUse(
            seconds=1.0,
            cores=core_count,
            user_share=0.9,
            waited=waited,
            others_waited=others,
            migrations_per_s=None,
            moved=2,
            cpus=frozenset({0}),
            processes=1,
            threads=2,
        )
        for core_count in cores
    ]


@pytest.fixture
def host(tmp_path: Path) -> Host:
    tree = Tree(tmp_path)
    for n in range(4):
        tree.files(f"/sys/devices/system/cpu/cpu{n}/topology", core_cpus_list=n, package_cpus_list="0-3")
    return tree.host()


def _faults(host: Host, uses: list[JobUse], expect: float | None) -> list[Finding]:
    return list(cpuwatch_findings(host, usable_cpus(host), JOB, uses, expect))


def test_what_it_waits_for_counts_on_a_busy_host(host: Host) -> None:
    first, waits = _faults(host, _uses([0.3, 0.3, 0.4, 0.3], waited=1.7), 1.0)
    assert first.severity == "warning" and "0.33" in first.title
    assert waits.id == "cpuwatch.waits"


def test_others_that_wait(host: Host) -> None:
    findings = _faults(host, _uses([2.0] * 4, others=3.0), 1.0)
    assert [f.id for f in findings] == ["cpuwatch.cores", "cpuwatch.others"]


def test_within_what_it_asked_for(host: Host) -> None:
    [finding] = _faults(host, _uses([0.98, 1.0, 1.01, 0.99]), 1.0)
    assert finding.severity == "ok" and not finding.remedy
    [unsure] = _faults(host, _uses([0.5, 2.5, 0.4, 2.9]), 1.0)
    assert unsure.severity == "ok"  # the interval holds 1


@pytest.mark.parametrize(
    ("waited_share", "waited", "threads", "severity"),
    [
        (0.6, None, 2, "warning"),
        (0.6, None, 9, "notice"),  # more threads than CPUs: it may wait for itself
        (0.9, 0.3, 9, "warning"),
        (0.7, 0.75, 1, "notice"),  # it is the job that waited
        (0.02, 0.0, 2, "notice"),
        (None, 0.0, 2, "notice"),
    ],
)
def test_without_schedstats_the_pressure_tells_that_others_waited(
    host: Host, waited_share: float | None, waited: float | None, threads: int, severity: str
) -> None:
    uses = [msgspec.structs.replace(use, threads=threads) for use in _uses([0.99] * 4, waited=waited)]
    [cpuwatch_finding] = cpuwatch_findings(
        host, usable_cpus(host), msgspec.structs.replace(JOB, waited_share=waited_share), uses, None
    )
    assert cpuwatch_finding.severity == severity


def test_a_pinned_job_is_put_back_where_it_was(host: Host) -> None:
    """The undo was all CPUs of the host: it would have taken somebody's pin away."""
    assert host.root is not None
    job = WatchedJob(words="job", target=JobTarget("pid", "4711"))
    Tree(Path(host.root)).put("/proc/4711/status", "Name:\tjob\nCpus_allowed_list:\t1\n")
    finding = next(iter(cpuwatch_findings(host, usable_cpus(host), job, _uses([2.0] * 4, others=3.0), 1.0)))
    [undo] = {command for remedy in finding.remedy for command in remedy.undo if "taskset" in command}
    assert undo == "taskset -a -cp 1 4711"
    assert "/proc/4711/status" in {line.source for line in finding.evidence}


def test_nothing_is_advised_for_a_process_that_has_ended(host: Host) -> None:
    """Its number may be another process's by then."""
    uses = _uses([2.0] * 4, waited=0.5, others=3.0)
    job = msgspec.structs.replace(JOB, has_ended=True)
    for expect in (None, 1.0, 8.0):
        findings = list(cpuwatch_findings(host, usable_cpus(host), job, uses, expect))
        commands = [command for f in findings for remedy in f.remedy for command in remedy.commands]
        assert not [command for command in commands if command.startswith(("renice", "taskset"))]
    alive = cpuwatch_findings(host, usable_cpus(host), JOB, uses, 1.0)
    assert any("taskset" in c for f in alive for remedy in f.remedy for c in remedy.commands)


@pytest.mark.parametrize("target", [JobTarget("user", "alice"), JobTarget("cgroup", "/batch/job 7")])
def test_a_user_and_a_group_are_given_less_as_well(host: Host, target: JobTarget) -> None:
    job = WatchedJob(words="job", target=target)
    [cpuwatch_finding] = cpuwatch_findings(host, usable_cpus(host), job, _uses([2.0] * 4, others=3.0), None)
    first = cpuwatch_finding.remedy[0]
    assert first == (
        priority.user_priority_remedy("alice")
        if target.kind == "user"
        else priority.group_priority_remedy(host, "/sys/fs/cgroup/batch/job 7")
    )
    assert first.commands and bool(first.undo) == (target.kind == "user")  # there is no such group to read


def test_the_weight_that_a_group_had_comes_back(tmp_path: Path) -> None:
    host = Tree(tmp_path).put("/sys/fs/cgroup/batch/cpu.weight", "250\n").host()
    assert priority.group_priority_remedy(host, "/sys/fs/cgroup/batch").undo == (
        "echo 250 > /sys/fs/cgroup/batch/cpu.weight",
    )


def test_the_priority_that_it_had_comes_back(tmp_path: Path) -> None:
    host = (
        Tree(tmp_path)
        .put("/proc/131/stat", "131 (x ) z) R 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 25 5 1 0 9 0 0\n")
        .host()
    )
    assert priority.process_priority_remedy(host, 131, "xz").undo == ("renice -n 5 -p $(ls /proc/131/task)",)


@pytest.mark.parametrize("options", [{"pid": 1, "user": "root"}, {"user": "no such user"}])
def test_one_job_must_be_named(options: dict[str, str | int]) -> None:
    with pytest.raises(UsageError):
        Cpuwatch().prepare(Host(), OptionMap(options))


@pytest.mark.parametrize(
    ("used_s", "thread", "busiest"),
    [((0.5, 0.1), 0, "131"), ((0.25,) * 5, 0, ""), ((0.5, 0.1), 0x00200000, "")],
)
async def test_without_a_job_the_busiest_process_is_watched(
    tmp_path: Path, used_s: tuple[float, ...], thread: int, busiest: str
) -> None:
    """Not where it uses less than a quarter of what all use together, nor where it is a thread of the kernel."""
    tree = Tree(tmp_path)
    run = FakeRun(host=tree.host())
    monotonic = run.clock.sleep

    def put_times(uptime_s: int, factor: float) -> None:
        tree.put("/proc/uptime", f"{uptime_s}.00 0.00\n").put("/proc/stat", "cpu0 1 0 0 0\ncpu1 1 0 0 0\n")
        for n, seconds in enumerate(used_s):
            ticks = round(100 * seconds * factor)
            stat = f"{131 + n} (xz) R 2 0 0 0 -1 {thread} 0 0 0 0 {ticks} 0 0 0 9 0 0 0 5\n"
            tree.put(f"/proc/{131 + n}/stat", stat)

    async def sleep(seconds: float) -> None:
        await monotonic(seconds)
        put_times(102, 2.0)

    run.clock.sleep = sleep  # type: ignore[method-assign]
    put_times(100, 1.0)
    users = CpuUsers(run.host)
    target = await _find_busiest_target(run, users)
    assert (target.value if target is not None else "") == busiest
    if busiest:
        assert [user.process.rate for user in users.rank_users()] == pytest.approx([0.25, 0.05])


async def test_many_small_processes_are_watched_as_their_control_group(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    run = FakeRun(host=tree.host())
    monotonic = run.clock.sleep

    def put_times(uptime_s: int, ticks: int) -> None:
        tree.put("/proc/uptime", f"{uptime_s}.00 0.00\n").put("/proc/stat", "cpu0 1 0 0 0\ncpu1 1 0 0 0\n")
        for pid in range(131, 161):
            tree.put(f"/proc/{pid}/stat", f"{pid} (xz) R 1 0 0 0 -1 0 0 0 0 0 {ticks} 0 0 0 9 0 0 0 5\n")
            tree.put(f"/proc/{pid}/cgroup", "0::/job.slice/a\n" if pid < 151 else "0::/\n")

    async def sleep(seconds: float) -> None:
        await monotonic(seconds)
        put_times(102, 16)

    run.clock.sleep = sleep  # type: ignore[method-assign]
    put_times(100, 8)
    users = CpuUsers(run.host)
    assert await _find_busiest_target(run, users) == JobTarget("cgroup", "/job.slice/a")
    assert [user.process.rate for user in users.rank_users()] == pytest.approx([0.04] * 30)


async def test_a_job_that_is_not_there() -> None:
    with pytest.raises(RunRefused, match="no process of pid"):
        await conduct_fake(Cpuwatch(), FakeRun(host=Host(), options={"pid": 4_000_000}))


class Passing(FakeClock):
    """While time passes, the job's group is stopped by its quota in 90 of 100 periods."""

    def __init__(self, tree: Tree) -> None:
        super().__init__()
        self.tree = tree

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds)
        _quota_counts(self.tree, 4090, 4100)


def _quota_counts(tree: Tree, stopped: int, periods: int) -> None:
    tree.put(f"{BATCH}/cpu.stat", f"usage_usec 5\nnr_periods {periods}\nnr_throttled {stopped}\n")


BATCH = "/sys/fs/cgroup/batch.slice"


@pytest.mark.parametrize(
    "target", [{"cgroup": BATCH}, {"cgroup": "/batch.slice/job"}, {"pid": 131}, {"pid": 131, "expect": 1.0}]
)
async def test_the_quota_that_stopped_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: dict[str, str | float]
) -> None:
    """Counted in the watch, not since the group was made."""
    run = run_of_quota(tmp_path, monkeypatch, target)
    await conduct_fake(Cpuwatch(), run)
    finding = run.of(Found)[0].finding
    group = QuotaGroup(folder=BATCH, name="batch.slice", cores=0.75, stopped=90, periods=100)
    assert throttling_sentence(group) in finding.title and finding.severity == "warning"
    assert finding.remedy[0].undo == (f"echo '75000 100000' > {BATCH}/cpu.max",)


def run_of_quota(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: Mapping[str, str | float]
) -> FakeRun:
    """Return a run that is yet to be conducted, on a host whose job a quota stops in 90 of 100 periods."""
    tree = Tree(tmp_path)
    tree.put("/proc/self/mountinfo", "30 1 0:25 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    tree.put("/proc/131/cgroup", "0::/batch.slice/job\n").put(f"{BATCH}/job/cgroup.procs", "131\n")
    tree.files(BATCH, **{"cpu.max": "75000 100000", "cgroup.procs": ""})
    _quota_counts(tree, 4000, 4000)
    at = JobLook(at_s=1.0, processes={}, times={}, threads={}, others_waited_s=None)
    monkeypatch.setattr(scenario, "look_at_job", lambda host, target: at)
    monkeypatch.setattr(scenario, "compute_job_use", lambda before, after: _uses([0.74])[0])
    return FakeRun(host=tree.host(), clock=Passing(tree), options={**target, "seconds": 3.0})


@pytest.fixture
def busy() -> Iterator[int]:
    """Two processes that want a core each."""
    code = "import os, sys\npid = os.fork()\nsys.stdout.write('x'); sys.stdout.flush()\nwhile True: pass"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
    assert child.stdout is not None and child.stdout.read(2) == b"xx"
    yield child.pid
    os.killpg(child.pid, 9)
    child.wait()
    child.stdout.close()


async def test_an_idle_host_is_answered_too(host: Host) -> None:
    run = FakeRun(host=host, options={"seconds": 3.0})
    await conduct_fake(Cpuwatch(), run)
    findings = [e.finding for e in run.events if isinstance(e, Found)]
    assert [(f.id, f.severity, f.answers) for f in findings] == [("cpuwatch.host", "notice", True)]


async def test_a_stop_keeps_what_was_seen(host: Host) -> None:
    run = FakeRun(host=host, options={"seconds": 60.0})
    clock_sleep, sleeps = run.clock.sleep, 0

    async def sleep(seconds: float) -> None:
        nonlocal sleeps
        sleeps += 1
        if sleeps > 5:
            raise asyncio.CancelledError
        await clock_sleep(seconds)

    run.clock.sleep = sleep  # type: ignore[method-assign]
    with pytest.raises(asyncio.CancelledError):
        await conduct_fake(Cpuwatch(), run)
    assert [e.finding.id for e in run.events if isinstance(e, Found)] == ["cpuwatch.host"]


@pytest.mark.noisy("where the CPUs are full the job gets no more than it asked for", false_failures="0 of 4")
@pytest.mark.real("cpu")
async def test_a_planted_job(busy: int) -> None:
    from hostdx.app.run.runner import MonotonicClock

    run = FakeRun(host=Host(), clock=MonotonicClock(), options={"pid": busy, "expect": 1.0, "seconds": 3.0})
    await conduct_fake(Cpuwatch(), run)
    events = [e for e in run.events if getattr(e, "finding", None) is not None]
    first = events[0].finding  # type: ignore[union-attr]
    assert first.id == "cpuwatch.cores" and first.severity == "warning", first.title


def test_another_process_with_the_number_is_refused() -> None:
    """`--started` goes with `--pid`: the number alone may belong to a newer process."""
    me = process_identity()
    target = {"pid": str(me.pid), "started": me.start}
    assert Cpuwatch().prepare(Host(), OptionMap(target)).plan.steps
    with pytest.raises(RunRefused):
        Cpuwatch().prepare(Host(), OptionMap(target | {"started": me.start + 1}))
    with pytest.raises(UsageError):
        Cpuwatch().prepare(Host(), OptionMap({"started": me.start}))
    newer = JobTarget("pid", str(me.pid), me.start - 1)
    assert isinstance(look_at_job(Host(), newer), Absent)
