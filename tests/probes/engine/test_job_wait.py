"""How long a job waits: on scripted /proc and cgroup files with a clock that does not wait, and once for real."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent
from hostdx.scenarios.storage.measurement.io_delay import JobIoWait, RealClock, measure_job_wait
from tests.fakes.hosts.tree import Tree

HZ = os.sysconf("SC_CLK_TCK")


class SteppedClock(RealClock):
    def __init__(self) -> None:
        self.time = 100.0

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += seconds


class Scripted(Host):
    """A captured tree in which some files are functions of the time."""

    def __init__(
        self, tree: Tree, clock: SteppedClock, files: dict[str, Callable[[float], str | Absent]]
    ) -> None:
        super().__init__(str(tree.root))
        self.clock, self.files = clock, files

    def read_file_text(
        self, path: str, limit_bytes: int = 1 << 20, *, may_hang: bool = False
    ) -> str | Absent:
        file = self.files.get(path)
        return super().read_file_text(path, limit_bytes) if file is None else file(self.clock.time - 100.0)


def stat_line(pid: int, state: str = "S", parent: int = 1, ticks: int = 0, name: str = "job") -> str:
    fields = ["0"] * 50
    fields[0], fields[1], fields[39] = state, str(parent), str(ticks)
    return f"{pid} ({name}) {' '.join(fields)}"


def process(tree: Tree, pid: int, **more: int | str) -> None:
    text = stat_line(pid, **more)  # type: ignore[arg-type]
    tree.put(f"/proc/{pid}/stat", text).put(f"/proc/{pid}/task/{pid}/stat", text)


def present(wait: JobIoWait | Absent) -> JobIoWait:
    assert isinstance(wait, JobIoWait), wait
    return wait


async def test_delay_accounting_gives_the_share(tree: Tree) -> None:
    process(tree, 7)
    tree.files("/proc/sys/kernel", task_delayacct=1)
    clock = SteppedClock()
    path = "/proc/7/task/7/stat"
    host = Scripted(tree, clock, {path: lambda t: stat_line(7, ticks=int(0.3 * t * HZ))})
    wait = present(await measure_job_wait(host, pids=[7], seconds=5, clock=clock))
    assert wait.share == pytest.approx(0.3, abs=0.02)
    assert wait.ci95 is not None and wait.ci95[0] <= 0.3 <= wait.ci95[1]
    assert wait.source.startswith("delay accounting")
    assert (wait.samples, wait.processes, wait.remark) == (100, 1, "")


async def test_where_it_is_off_states_are_looked_at(tree: Tree) -> None:
    process(tree, 7)
    tree.files("/proc/sys/kernel", task_delayacct=0)
    clock = SteppedClock()
    path = "/proc/7/task/7/stat"
    host = Scripted(tree, clock, {path: lambda t: stat_line(7, "D" if t % 1 < 0.25 else "R")})
    wait = present(await measure_job_wait(host, pids=[7], seconds=8, clock=clock))
    assert wait.share == pytest.approx(0.25, abs=0.05)
    assert wait.source.startswith("state D")
    assert "kernel.task_delayacct=0" in wait.remark


async def test_a_job_older_than_the_accounting_is_looked_at(tree: Tree) -> None:
    process(tree, 7)
    tree.files("/proc/sys/kernel", task_delayacct=1)
    clock = SteppedClock()
    host = Scripted(tree, clock, {"/proc/7/task/7/stat": lambda _t: stat_line(7, "D")})
    wait = present(await measure_job_wait(host, pids=[7], seconds=3, clock=clock))
    assert wait.share == 1.0
    assert wait.remark and "delay accounting" not in wait.source


async def test_one_waiting_process_of_the_family_is_enough(tree: Tree) -> None:
    process(tree, 7, state="R")
    process(tree, 8, parent=7, state="D", name="child) D (")
    process(tree, 9, parent=8, state="S")
    process(tree, 10, parent=1, state="D")
    tree.put("/proc/cmdline", "quiet nodelayacct")
    wait = present(await measure_job_wait(tree.host(), pids=[7], seconds=2, clock=SteppedClock()))
    assert (wait.share, wait.processes) == (1.0, 3)
    assert "nodelayacct" in wait.remark


async def test_a_job_that_never_waits_is_bounded_by_what_could_be_seen(tree: Tree) -> None:
    process(tree, 7, state="R")
    tree.files("/proc/sys/kernel", task_delayacct=0)
    wait = present(await measure_job_wait(tree.host(), pids=[7], seconds=10, clock=SteppedClock()))
    assert wait.share == 0.0
    assert wait.ci95 is not None
    assert wait.ci95 == pytest.approx((0.0, 3 / 200))


async def test_no_such_process(tree: Tree) -> None:
    job = await measure_job_wait(tree.host(), pids=[7], seconds=5, clock=SteppedClock())
    assert isinstance(job, Absent) and job.kind == "missing"


def group(tree: Tree, version: str, root: str = "/sys/fs/cgroup") -> str:
    tree.put("/proc/self/mountinfo", f"30 1 0:26 / {root} rw - {version} {version} rw\n")
    folder = f"{root}/batch.slice/job.scope"
    tree.put(f"{folder}/cgroup.procs", "7\n").put(f"{folder}/inner/cgroup.procs", "8\n")
    return folder


@pytest.mark.parametrize(
    "name", ["/batch.slice/job.scope", "batch.slice/job.scope/", "/sys/fs/cgroup/batch.slice/job.scope"]
)
async def test_a_group_s_pressure(tree: Tree, name: str) -> None:
    folder = group(tree, "cgroup2")
    clock = SteppedClock()
    psi = "some avg10=0.00 avg60=0.00 avg300=0.00 total={}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
    host = Scripted(tree, clock, {f"{folder}/io.pressure": lambda t: psi.format(int(40_000 * t))})
    wait = present(await measure_job_wait(host, cgroup=name, seconds=5, clock=clock))
    assert wait.share == pytest.approx(0.04, abs=1e-5)
    assert wait.source == f"{folder}/io.pressure"
    assert (wait.samples, wait.processes) == (5, 2)


async def test_without_pressure_its_processes_are_looked_at(tree: Tree) -> None:
    folder = group(tree, "cgroup2")
    process(tree, 8, state="D")
    refused = Absent("EOPNOTSUPP: boot with psi=1", "unsupported")
    host = Scripted(tree, SteppedClock(), {f"{folder}/io.pressure": lambda _t: refused})
    wait = present(await measure_job_wait(host, cgroup="batch.slice/job.scope", seconds=2, clock=host.clock))
    assert wait.share == 1.0
    assert refused.reason in wait.remark


async def test_version_one_has_processes_only(tree: Tree) -> None:
    group(tree, "cgroup", "/sys/fs/cgroup/blkio")
    process(tree, 7, state="R")
    wait = present(
        await measure_job_wait(tree.host(), cgroup="batch.slice/job.scope", seconds=2, clock=SteppedClock())
    )
    assert wait.source.startswith("state D")


@pytest.mark.parametrize("name", ["nope", "../../../proc", "batch.slice/../../.."])
async def test_a_group_that_is_none(tree: Tree, name: str) -> None:
    group(tree, "cgroup2")
    job = await measure_job_wait(tree.host(), cgroup=name, seconds=2, clock=SteppedClock())
    assert isinstance(job, Absent) and job.kind == "missing"


READER = """
import mmap, os, time
fd = os.open({path!r}, os.O_RDONLY | os.O_DIRECT)
page = mmap.mmap(-1, 1 << 20)
print(flush=True)
while True:
    os.preadv(fd, [page], 0)
"""


@pytest.mark.noisy("on full CPUs a reader waits for these instead of the disk", false_failures="0 of 4")
@pytest.mark.real("cpu")
async def test_a_real_reader_waits_and_a_sleeper_does_not(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(1 << 20))
    os.sync()
    reader = subprocess.Popen([sys.executable, "-c", READER.format(path=str(path))], stdout=subprocess.PIPE)
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        assert reader.stdout is not None
        reader.stdout.readline()
        reading = present(await measure_job_wait(Host(), pids=[reader.pid], seconds=2))
        sleeping = present(await measure_job_wait(Host(), pids=[sleeper.pid], seconds=2))
    finally:
        for child in (reader, sleeper):
            child.kill()
            child.communicate()
    assert reading.share > 0.2
    assert sleeping.share < 0.2
