"""The watch as a whole: on a captured tree with a clock that does not wait, and on a really frozen file system."""

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostdx.app.run.runner import MonotonicClock
from hostdx.probes.reading.host import Host
from hostdx.probes.system.running.tasks import BlockedTask
from hostdx.probes.types import Absent
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.model import OptionMap, UsageError
from hostdx.scenarios.contract.rule import FactUnreadable
from hostdx.scenarios.dstate.location import directory_waited_for
from hostdx.scenarios.dstate.results import TasksInDResult
from hostdx.scenarios.dstate.rules import find_tasks_stuck_in_d
from hostdx.scenarios.dstate.scenario import Dstate
from tests.every_case import every_case
from tests.fakes import FakeRun
from tests.fakes.run import conduct_fake
from tests.needs import KERNEL_THREADS, LOOP, need, needs, not_here, program
from tests.real.loop_disk import LoopDisk
from tests.real.own_disk import detach_loop, sh, unmount


def make_host(root: Path, *processes: tuple[int, str, str, str]) -> Host:
    for pid, comm, state, wchan in processes:
        folder = root / "proc" / str(pid) / "task" / str(pid)
        folder.mkdir(parents=True)
        rest = ["1"] * 50
        rest[5], rest[16], rest[18] = "0", "1", str(pid)
        for place in (folder, folder.parent.parent):
            (place / "stat").write_text(f"{pid} ({comm}) {state} {' '.join(rest)}\n")
            (place / "wchan").write_text(wchan)
    (root / "proc").mkdir(exist_ok=True)
    (root / "proc/self").mkdir()
    (root / "proc/self/mountinfo").write_text(
        "20 1 8:2 / / rw - ext4 /dev/sda2 rw\n"
        "30 20 8:17 / /data rw - xfs /dev/sdb1 rw\n"
        "31 20 0:44 / /nfs rw - nfs4 srv:/export rw\n"
        "32 20 0:5 / /dev rw - devtmpfs devtmpfs rw\n"
    )
    return Host(str(root))


def watch(host: Host, **options: float) -> FakeRun:
    run = FakeRun(host=host, options=options, declared=Dstate.options)
    asyncio.run(conduct_fake(Dstate(), run))
    return run


def test_nothing_is_well_where_tasks_are_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = Absent("other users' tasks are hidden: run as root", "permission", "/proc")
    monkeypatch.setattr("hostdx.probes.system.running.tasks.explain_hidden_tasks", lambda host: hidden)
    run = watch(make_host(tmp_path, (1, "init", "S", "0")), seconds=5)
    (event,) = run.of(ev.Found)
    assert (event.finding.id, event.finding.severity) == ("dstate.none", "notice")
    assert hidden.reason in event.finding.evidence[-1].text
    (absent,) = run.of(ev.AbsentFact)[-1:]
    assert (absent.name, absent.reason) == ("of other users", hidden.reason)
    with pytest.raises(FactUnreadable, match="are hidden"):
        list(find_tasks_stuck_in_d(run.host))


def test_a_storm_stays_readable(tmp_path: Path) -> None:
    host = make_host(tmp_path, *((n, f"w{n}", "D", "io_schedule") for n in range(100, 400)))
    run = watch(host, seconds=8)
    assert len([g for g in run.of(ev.Guard) if g.kind == "stuck"]) <= 20
    assert run.of(ev.Found)[-1].finding.title.startswith("300 ")
    host.close()


def test_no_proc_is_absent_and_ends(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    run = watch(Host(str(tmp_path)), seconds=5)
    assert "in D" in {a.name for a in run.of(ev.AbsentFact)}
    assert not run.of(ev.Found)


def test_the_plan_changes_nothing() -> None:
    plan = Dstate().prepare(Host(), OptionMap({"seconds": 30}, Dstate.options)).plan
    assert not plan.actions and not plan.writes and not plan.needs_consent and plan.seconds == 30
    with pytest.raises(UsageError):
        Dstate().prepare(Host(), OptionMap({"seconds": -1}, Dstate.options))


@every_case(
    ("comm", "cmdline", "mountpoint", "way"),
    [
        ("touch", "touch\0/data/x\0", "/data", "argument"),
        ("dd", "dd\0if=/dev/zero\0of=/data/y\0", "/data", "argument"),
        ("sh", "sh\0-c\0echo >/nfs/z\0", "/nfs", "argument"),
    ],
)
def test_a_place_is_told_from_the_arguments(
    tmp_path: Path, comm: str, cmdline: str, mountpoint: str, way: str
) -> None:
    host = make_host(tmp_path, (20, comm, "D", "x"))
    (tmp_path / "proc/20/cmdline").write_text(cmdline)
    place = directory_waited_for(host, BlockedTask(20, 20, comm, 20, False, "x", 1))
    assert not isinstance(place, Absent)
    assert (place.mountpoint, place.how) == (mountpoint, way)
    host.close()


def test_a_loop_devices_worker_waits_for_the_file_below(tmp_path: Path) -> None:
    host = make_host(tmp_path, (20, "kworker/u8:4+loop3", "D", "percpu_rwsem_wait"))
    folder = tmp_path / "sys/block/loop3/loop"
    folder.mkdir(parents=True)
    (folder / "backing_file").write_text("/data/image\n")
    (tmp_path / "sys/class/block").mkdir(parents=True)
    (tmp_path / "sys/class/block/loop3").symlink_to("../../block/loop3")
    place = directory_waited_for(
        host, BlockedTask(20, 20, "kworker/u8:4+loop3", 20, True, "percpu_rwsem_wait", 1)
    )
    assert not isinstance(place, Absent)
    assert (place.mountpoint, place.how) == ("/data", "name")
    host.close()


def test_a_journal_on_a_loop_device_waits_for_that_device(tmp_path: Path) -> None:
    """jbd2/loop6-8 is the journal of what is mounted from loop6, not the worker that serves its image."""
    host = make_host(tmp_path, (20, "jbd2/loop6-8", "D", "jbd2_journal_commit_transaction"))
    with (tmp_path / "proc/self/mountinfo").open("a") as table:
        table.write("40 20 7:6 / /image rw - ext4 /dev/loop6 rw\n")
    folder = tmp_path / "sys/devices/virtual/block/loop6"
    (folder / "loop").mkdir(parents=True)
    (folder / "loop/backing_file").write_text("/data/image\n")
    (folder / "dev").write_text("7:6\n")
    for place in ("block", "class/block", "dev/block"):
        (tmp_path / "sys" / place).mkdir(parents=True)
        name = "7:6" if place == "dev/block" else "loop6"
        (tmp_path / "sys" / place / name).symlink_to("/sys/devices/virtual/block/loop6")
    place = directory_waited_for(host, BlockedTask(20, 20, "jbd2/loop6-8", 20, True, "x", 1))
    assert not isinstance(place, Absent)
    assert (place.mountpoint, place.device, place.devices) == ("/image", "loop6", ("loop6",))
    host.close()


def test_the_limits_of_a_stuck_tasks_control_group_are_read(tmp_path: Path) -> None:
    host = make_host(tmp_path, (20, "dd", "D", "io_schedule"))
    with (tmp_path / "proc/self/mountinfo").open("a") as table:
        table.write("50 20 0:60 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n")
    (tmp_path / "proc/20/task/20/cwd").symlink_to("/data/x")
    (tmp_path / "proc/20/cgroup").write_text("4:blkio:/slow\n")
    slow = tmp_path / "sys/fs/cgroup/blkio/slow"
    slow.mkdir(parents=True)
    (slow / "blkio.throttle.write_bps_device").write_text("8:17 1024\n")
    folder = tmp_path / "sys/devices/virtual/block/sdb1"
    folder.mkdir(parents=True)
    (folder / "dev").write_text("8:17\n")
    (folder / "inflight").write_text("0 0\n")
    for place, name in (("block", "sdb1"), ("class/block", "sdb1"), ("dev/block", "8:17")):
        (tmp_path / "sys" / place).mkdir(parents=True)
        (tmp_path / "sys" / place / name).symlink_to("/sys/devices/virtual/block/sdb1")
    finding = watch(host, seconds=20).of(ev.Found)[-1].finding
    assert (finding.id, finding.confidence) == ("dstate.throttled", "hint")
    assert any("wbps 1024" in e.text and "sdb1" in e.text for e in finding.evidence)
    host.close()


def test_stacks_and_pressure_are_recorded(tmp_path: Path) -> None:
    host = make_host(tmp_path, (20, "dd", "D", "io_schedule"))
    (tmp_path / "proc/20/task/20/stack").write_text("[<0>] io_schedule+0x1/0x2\n[<0>] bio_wait+0x3/0x4\n")
    (tmp_path / "proc/pressure").mkdir()
    for name in ("cpu", "io", "memory"):
        text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=5000000\n"
        (tmp_path / "proc/pressure" / name).write_text(text)
    run = watch(host, seconds=5)
    *_, stuck_tasks = run.of(TasksInDResult)  # the list at the end; before it the table as it stood
    assert stuck_tasks.value[0].stack == ("io_schedule", "bio_wait")
    evidence = run.of(ev.Found)[-1].finding.evidence
    assert any(e.text == "dd (20): io_schedule <- bio_wait" and e.source.endswith("/stack") for e in evidence)
    series = {s.series for s in run.of(ev.SampleTaken)}
    assert {"psi io", "psi cpu", "psi memory"} <= series
    host.close()


def test_the_root_file_system_says_nothing(tmp_path: Path) -> None:
    host = make_host(tmp_path, (20, "sh", "D", "x"))
    (tmp_path / "proc/20/task/20/cwd").symlink_to("/home/me")
    assert isinstance(directory_waited_for(host, BlockedTask(20, 20, "sh", 20, False, "x", 1)), Absent)
    host.close()


@pytest.fixture
def frozen(tmp_path: Path) -> Iterator[Path]:
    """A file system of our own on a loop device, frozen; thawed and gone afterwards. Its speed is nothing measured."""
    need(LOOP, program("fsfreeze"))
    image, mountpoint = tmp_path / "image", tmp_path / "frozen"
    mountpoint.mkdir()
    with image.open("wb") as file:
        file.truncate(64 << 20)
    try:
        loop = sh("losetup", "-f", "--show", str(image))
    except (OSError, subprocess.CalledProcessError) as error:
        not_here(f"no loop device can be made here: {error}")
    try:
        sh("mkfs.ext4", "-q", loop)
        sh("mount", loop, str(mountpoint))
        try:
            sh("fsfreeze", "-f", str(mountpoint))
            try:
                yield mountpoint
            finally:
                subprocess.run(["fsfreeze", "-u", str(mountpoint)], check=False, capture_output=True)
        finally:
            unmount(mountpoint)
    finally:
        detach_loop(loop, image)
    assert str(mountpoint) not in Path("/proc/self/mountinfo").read_text()


@pytest.mark.real
@needs(KERNEL_THREADS)
def test_a_device_that_completes_nothing_is_told_from_a_frozen_file_system(frozen: Path) -> None:
    """A loop device whose file lies on a file system that is frozen while a write is under way."""
    sh("fsfreeze", "-u", str(frozen))
    with LoopDisk(frozen, "40M") as disk:
        sh("fsfreeze", "-f", str(frozen))
        target = disk.directory / "out"
        arguments = ["dd", "if=/dev/zero", f"of={target}", "bs=1M", "count=4", "oflag=direct"]
        with subprocess.Popen(arguments, stderr=subprocess.DEVNULL) as blocked:
            try:
                run = FakeRun(
                    host=Host(),
                    clock=MonotonicClock(),  # type: ignore[arg-type]
                    options={"seconds": 6.5},
                    declared=Dstate.options,
                )
                asyncio.run(conduct_fake(Dstate(), run))
            finally:
                sh("fsfreeze", "-u", str(frozen))
        run.host.close()
        finding_by_id = {f.finding.id: f.finding for f in run.of(ev.Found)}
        assert finding_by_id["dstate.device"].subject == disk.device
        assert any(f"dd ({blocked.pid})" in e.text for e in finding_by_id["dstate.device"].evidence)
        assert finding_by_id["dstate.frozen"].subject == str(frozen)  # what the device itself waits for


@pytest.mark.real
def test_a_task_on_a_really_frozen_file_system_is_caught(frozen: Path) -> None:
    with subprocess.Popen(["touch", str(frozen / "x")]) as blocked:
        try:
            run = FakeRun(
                host=Host(),
                clock=MonotonicClock(),
                options={"seconds": 4.5},
                declared=Dstate.options,  # type: ignore[arg-type]
            )
            asyncio.run(conduct_fake(Dstate(), run))
        finally:
            sh("fsfreeze", "-u", str(frozen))
    run.host.close()
    assert blocked.returncode == 0
    finding_by_id = {f.finding.id: f.finding for f in run.of(ev.Found)}
    assert finding_by_id["dstate.frozen"].subject == str(frozen)
    assert f"touch ({blocked.pid})" in finding_by_id["dstate.frozen"].title
    assert any(f"fsfreeze -u {frozen}" in r.commands for r in finding_by_id["dstate.frozen"].remedy)
