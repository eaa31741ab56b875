"""The storage scenario for real: on a loop-mounted ext4, with the real engine, in a few seconds."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hostdx.app.run.runner import MonotonicClock
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.block import block_devices
from hostdx.probes.system.disk.topology import find_placement
from hostdx.probes.types import Json, is_present
from hostdx.scenarios.checkup.parts import choose_directories
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.model import OptionMap, RunRefused, UsageError
from hostdx.scenarios.experiment.files.places import compared_directory
from hostdx.scenarios.experiment.wording import explain_verdict
from hostdx.scenarios.fstrim.scenario import Fstrim
from hostdx.scenarios.iosched.scenario import Iosched
from hostdx.scenarios.storage.results import Levels
from hostdx.scenarios.storage.scenario import Storage
from hostdx.scenarios.storage.targets import list_differences, list_known_findings, make_variant
from tests.fakes import FakeRun
from tests.fakes.run import conduct_fake
from tests.needs import LOOP, need, not_here
from tests.real.own_disk import detach_loop, unmount

pytestmark = pytest.mark.real  # disks of its own; no figure is compared with another


@contextmanager
def mounted_file(mib: int, *options: str) -> Iterator[str]:
    """A new ext4 of so many MiB in a file, mounted by a loop device made with `options`; gone afterwards."""
    need(LOOP)
    with tempfile.TemporaryDirectory(prefix="hostdx-test-", dir="/var/tmp") as folder:
        image, mountpoint = Path(folder, "image"), Path(folder, "mounted")
        mountpoint.mkdir()
        with image.open("wb") as file:
            file.truncate(mib << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=1", str(image)], check=True)
        done = subprocess.run(
            ["losetup", "--find", "--show", *options, str(image)], capture_output=True, text=True
        )
        if done.returncode:
            not_here(f"a loop device cannot be made here: {done.stderr.strip()}")
        device = done.stdout.strip()
        try:
            subprocess.run(["mount", device, str(mountpoint)], check=True)
            try:
                yield str(mountpoint)
            finally:
                unmount(mountpoint)
        finally:
            detach_loop(device, image)
    assert str(mountpoint) not in Path("/proc/self/mountinfo").read_text()


@pytest.fixture(scope="module")
def disk() -> Iterator[str]:
    with mounted_file(4096, "--direct-io=on") as folder:
        yield folder


def block_leaves(directory: str) -> tuple[str, ...]:
    placement = find_placement(Host(), directory)
    return placement.leaves if is_present(placement) else ()


def run_of(scenario: Storage, directories: list[str], budget: float) -> FakeRun:
    options: dict[str, Json] = {"dir": list(directories), "budget": budget, "size": 64 << 20}
    return FakeRun(seed=7, host=Host(), clock=MonotonicClock(), options=options, declared=scenario.options)


async def test_one_directory_is_measured_and_nothing_is_left(disk: str) -> None:
    run = run_of(Storage(only=("randread-4k-qd1", "fsync-4k-qd1", "metadata")), [disk], 9)
    await conduct_fake(Storage(only=("randread-4k-qd1", "fsync-4k-qd1", "metadata")), run)
    [levels] = run.of(Levels)
    assert {level.workload for level in levels.value} == {"randread-4k-qd1", "fsync-4k-qd1", "metadata"}
    assert all(level.median > 0 for level in levels.value)
    assert [f.finding.id for f in run.of(ev.Found)][-1] == "storage.levels"
    assert sorted(Path(disk).iterdir()) == [Path(disk, "lost+found")]


async def test_two_directories_of_one_disk_give_verdicts_with_all_their_parts(disk: str) -> None:
    pair = [str(Path(disk, name)) for name in ("a", "b")]
    for path in pair:
        Path(path).mkdir()
    scenario = Storage(only=("fsync-4k-qd1",))
    run = run_of(scenario, pair, 10)
    try:
        await conduct_fake(scenario, run)
        [verdict] = run.of(ev.RunVerdict)
        assert (verdict.workload, verdict.baseline, verdict.variant) == ("fsync-4k-qd1", "A", "B")
        assert verdict.scope and explain_verdict(verdict)
        trains = [train for train in run.of(ev.SliceBatch) if train.phase == "steady"]
        assert trains and all(train.variants == ["A", "B"] for train in trains)
        assert all(train.device_bytes is not None and train.device_bytes > 0 for train in trains)
        assert [list(Path(p).iterdir()) for p in pair] == [[], []]
        assert len(run.applied) == len(run.reverted) == 2
    finally:
        for path in pair:
            shutil.rmtree(path)


def test_a_mount_with_sync_is_told_of_the_run_that_measures_it_and_chosen_by_a_checkup() -> None:
    with mounted_file(4096, "--direct-io=on") as folder:
        subprocess.run(["mount", "-o", "remount,sync", folder], check=True)
        host = Host()
        places = [
            (path, place) for path in ("/var/tmp", folder) if is_present(place := find_placement(host, path))
        ]
        plain, synced = (compared_directory(block_devices(host), "AB"[n], *at) for n, at in enumerate(places))
        assert "storage.mount-options" in {
            finding.id for finding in list_known_findings(host, [plain, synced])
        }
        assert "storage.mount-options" not in {finding.id for finding in list_known_findings(host, [plain])}
        assert folder in choose_directories(host, OptionMap({})).suspects
        assert any(
            "sync" in words
            for words in list_differences([make_variant(host, plain), make_variant(host, synced)])
        )


def test_the_plan_says_what_will_be_written_and_writes_nothing(disk: str) -> None:
    plan = Storage().prepare(Host(), run_of(Storage(), [disk], 120).options).plan
    assert not plan.refusal
    assert [writes.bytes for writes in plan.writes] == [8 << 30]
    assert plan.digest == Storage().prepare(Host(), run_of(Storage(), [disk], 120).options).plan.digest
    assert sorted(Path(disk).iterdir()) == [Path(disk, "lost+found")]


async def test_no_space_is_one_line_and_refused() -> None:
    with mounted_file(100) as folder:
        scenario = Storage()
        options: dict[str, Json] = {"dir": [folder]}
        run = FakeRun(host=Host(), clock=MonotonicClock(), options=options, declared=scenario.options)
        with pytest.raises(RunRefused, match="too little space") as error:
            await conduct_fake(scenario, run)
        assert "\n" not in str(error.value) and "name " in str(error.value)


async def test_a_loop_device_without_direct_io_wins_nothing(tmp_path: Path) -> None:
    """Neither reads nor writes, beside another directory or alone; and no scheduler or trim is measured on it."""
    if not block_leaves("/var/tmp"):
        not_here("/var/tmp lies on no device with counters")
    scenario = Storage(only=("randread-4k-qd1", "write-1m-qd8"))
    with (
        tempfile.TemporaryDirectory(prefix="hostdx-test-", dir="/var/tmp") as plain,
        mounted_file(4096, "--direct-io=off") as cached,
    ):
        run = run_of(scenario, [plain, cached], 15)
        await conduct_fake(scenario, run)
        single = run_of(scenario, [cached], 8)
        await conduct_fake(scenario, single)
        plans = [
            scenario.prepare(
                Host(), FakeRun(host=Host(), options={"dir": cached}, declared=scenario.options).options
            ).plan
            for scenario in (Iosched(), Fstrim())
        ]
    verdicts = run.of(ev.RunVerdict)
    assert [(v.verdict, v.ratio) for v in verdicts] == [("not applicable", None)] * 2
    assert all("loop" in (v.reason or "") for v in verdicts) and run.of(ev.Note)
    assert not single.of(ev.Block)
    assert ["loop" in plan.refusal for plan in plans] == [True, True], [plan.refusal for plan in plans]


@pytest.mark.parametrize(
    ("directory", "reason"),
    [
        ("/dev/shm", "memory"),
        ("/nonexistent-hostdx", "does not exist"),
        ("/proc", "is on proc"),
        ("/etc/hostname", "not a directory"),
    ],
)
async def test_bad_directories_are_refused_in_one_line(directory: str, reason: str) -> None:
    scenario = Storage()
    options: dict[str, Json] = {"dir": [directory]}
    run = FakeRun(host=Host(), clock=MonotonicClock(), options=options, declared=scenario.options)
    with pytest.raises(RunRefused, match=reason) as error:
        await conduct_fake(scenario, run)
    assert "\n" not in str(error.value)
    assert run.applied == []


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"pid": [2**22 + 7]}, "no such process"),
        ({"cgroup": "nobody/has/this"}, "no control group nobody/has/this"),
    ],
)
def test_a_job_that_is_not_there_is_told_before_anything_is_measured(
    options: dict[str, Json], reason: str
) -> None:
    scenario = Storage()
    run = FakeRun(host=Host(), options=options | {"dir": ["/var/tmp"]}, declared=scenario.options)
    assert reason in scenario.prepare(Host(), run.options).plan.refusal


def test_the_least_budget_is_said(disk: str) -> None:
    pair = ["/var/tmp", disk]
    scenario = Storage()
    with pytest.raises(UsageError, match=r"give --budget (\d+)") as error:
        scenario.prepare(Host(), run_of(scenario, pair, 3).options)
    need = int(str(error.value).split("--budget ")[1].split()[0])
    assert scenario.prepare(Host(), run_of(scenario, pair, need).options).plan.measuring_s == need


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"dir": ["/var/tmp", "/var/tmp"]}, "twice"),
        ({"dir": ["/var/tmp", "/var/./tmp/"]}, "twice"),
        ({"dir": ["/var/tmp"], "budget": 1}, "too short"),
        ({"dir": ["/var/tmp"], "pid": [1], "cgroup": "x"}, "two jobs"),
    ],
)
def test_wrong_requests_are_usage(options: dict[str, Json], reason: str) -> None:
    scenario = Storage()
    run = FakeRun(host=Host(), options=options, declared=scenario.options)
    with pytest.raises(UsageError, match=reason):
        scenario.prepare(Host(), run.options)
