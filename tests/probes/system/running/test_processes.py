"""Processes, tasks, their control groups and their jobs."""

import os
import re
from pathlib import Path

import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.system.processor.cpu_times import CpuTimes, read_cpu_times
from hostdx.probes.system.processor.power import mean_watts, read_power_packages
from hostdx.probes.system.running import processes
from hostdx.probes.system.running.allowed import find_pinned_cpus
from hostdx.probes.system.running.cgroup import Cgroup, read_cgroup
from hostdx.probes.system.running.job_identity import JobLook, JobTarget, compute_job_use, look_at_job
from hostdx.probes.system.running.processes import own_process_family, read_process_table
from hostdx.probes.types import Absent, is_present
from tests.fakes.hosts.processes import host_at, process
from tests.fakes.hosts.tree import Tree


def test_a_name_may_hold_parentheses_and_more(tmp_path: Path) -> None:
    process(tmp_path, 20, "backup) R (x", 650)
    entry = read_process_table(host_at(tmp_path, 100), io=False).processes[20]
    assert (entry.name, entry.state, entry.parent, entry.cpu_s) == ("backup) R (x", "S", 1, 6.5)


class Stuck(Host):
    """A live host whose processes in D state do not answer."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def list_names(self, path: str, *, may_hang: bool = False) -> tuple[str, ...] | Absent:
        return (str(os.getpid()), str(os.getppid()))

    def read_file_text(
        self, path: str, limit_bytes: int = 1 << 20, *, may_hang: bool = False
    ) -> str | Absent:
        if not may_hang:
            return super().read_file_text(path, limit_bytes)
        self.asked += 1
        return Absent("did not answer", "timeout", path)


def test_after_one_that_hangs_no_other_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    read = processes._read_small_file

    def read_as_waiting(host: Host, path: str) -> bytes | Absent:
        data = read(host, path)
        return data if isinstance(data, Absent) else re.sub(rb"\) [A-Z] ", b") D ", data, count=1)

    monkeypatch.setattr(processes, "_read_small_file", read_as_waiting)
    host = Stuck()
    process_table = read_process_table(host, io=True)
    assert (host.asked, process_table.hung, process_table.unreadable) == (1, True, 0)
    assert [p.io for p in process_table.processes.values()] == [None, None]
    assert read_process_table(host, io=True, waiting=False).hung
    assert host.asked == 1


def test_the_app_above_us_is_no_other_and_the_shell_above_it_is(tmp_path: Path) -> None:
    process(tmp_path, 5, "bash", 10, children="10")
    process(tmp_path, 10, "hostdx", 100, parent=5, children="11 14")
    process(tmp_path, 11, "python3", 50, parent=10, children="13")
    process(tmp_path, 13, "python3", 25, parent=11)
    process(tmp_path, 14, "viewer", 25, parent=10)
    for pid, program in ((5, "bash"), (10, "python3.11"), (11, "python3.11"), (13, "python3.11")):
        (tmp_path / f"proc/{pid}/exe").symlink_to(f"/usr/bin/{program}")
    assert set(own_process_family(Host(str(tmp_path)), 13)) == {10, 11, 13, 14}
    (tmp_path / "proc/10/exe").unlink()  # another user's: not readable, so not ours
    assert set(own_process_family(Host(str(tmp_path)), 13)) == {11, 13}


V2 = "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"
V1 = "\n".join(
    f"{40 + n} 20 0:{30 + n} {{root}} /sys/fs/cgroup/{name} rw - cgroup cgroup rw,{name}"
    for n, name in enumerate(("cpu,cpuacct", "memory", "blkio", "cpuset"))
)
HOST = "20 1 8:1 / / rw - ext4 /dev/sda1 rw"


def read(tree: Tree) -> Cgroup:
    cgroup = read_cgroup(tree.host())
    assert is_present(cgroup), cgroup
    return cgroup


def put_version_2(tree: Tree, path: str = "/user.slice/job.scope") -> Tree:
    tree.put("/proc/self/mountinfo", f"{HOST}\n{V2}\n").put("/proc/self/cgroup", f"0::{path}\n")
    return tree.put("/sys/fs/cgroup/cgroup.controllers", "cpu io memory")


def test_the_smallest_of_two_quotas_holds(tree: Tree) -> None:
    group = "/sys/fs/cgroup/user.slice"
    put_version_2(tree).put(f"{group}/job.scope/cpu.max", "400000 100000\n").put(
        f"{group}/cpu.max", "150000 100000\n"
    )
    assert read(tree).cpu_cores == 1.5
    tree.put(f"{group}/job.scope/cpu.max", "50000 100000\n")
    assert read(tree).cpu_cores == 0.5


def test_version_1_without_limits(tree: Tree) -> None:
    first(tree, "/batch")
    tree.files("/sys/fs/cgroup/cpu,cpuacct/batch", **{"cpu.cfs_quota_us": -1, "cpu.cfs_period_us": 100000})
    tree.files("/sys/fs/cgroup/memory/batch", **{"memory.limit_in_bytes": 9223372036854771712})
    limits = read(tree)
    assert (limits.cpu_cores, limits.memory_bytes) == (None, None)


def first(tree: Tree, path: str, root: str = "/") -> Tree:
    tree.put("/proc/self/mountinfo", f"{HOST}\n{V1.format(root=root)}\n")
    return tree.put(
        "/proc/self/cgroup", f"4:memory:{path}\n3:cpu,cpuacct:{path}\n2:blkio:{path}\n1:cpuset:{path}\n"
    )


def test_nothing_to_read_says_why(tree: Tree) -> None:
    assert isinstance(read_cgroup(tree.host()), Absent)
    tree.put("/proc/self/cgroup", "0::/x\n")
    assert isinstance(read_cgroup(tree.host()), Absent)
    tree.put("/proc/self/mountinfo", HOST)
    limits = read(tree)
    assert isinstance(limits.cpu_cores, Absent) and isinstance(limits.memory_bytes, Absent)


def _stat_line(pid: int, parent: int, user: int, system: int, children: int = 0, cpu: int = 0) -> str:
    fields = ["S", str(parent), *["0"] * 9, str(user), str(system), str(children), "0"]
    fields += ["0"] * 4 + ["100"] + ["0"] * 16 + [str(cpu)] + ["0"] * 13
    return f"{pid} (a) b) {' '.join(fields)}\n"


def _process(tree: Tree, pid: int, parent: int, user: int, system: int, **more: int) -> None:
    waited = more.pop("waited_ms", 0)
    moves = more.pop("moves", 0)
    stat = _stat_line(pid, parent, user, system, **more)
    tree.put(f"/proc/{pid}/stat", stat)
    tree.put(f"/proc/{pid}/status", "Name:\tx\nUid:\t1000\t1000\t1000\t1000\n")
    folder = f"/proc/{pid}/task/{pid}"
    tree.put(f"{folder}/stat", stat).put(f"{folder}/schedstat", f"5 {waited * 1_000_000} 9\n")
    tree.put(f"{folder}/sched", f"se.nr_migrations   :   {moves}\n")


def _look_at(tree: Tree, target: JobTarget, uptime: float) -> JobLook:
    tree.put("/proc/uptime", f"{uptime} 1\n")
    look = look_at_job(tree.host(), target)
    assert is_present(look)
    return look


def test_a_child_that_was_reaped_counts_once(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    _process(tree, 10, 1, 0, 0)
    _process(tree, 11, 10, 300, 0)
    before = _look_at(tree, JobTarget("pid", "10"), 50.0)
    for path in sorted((tmp_path / "proc/11").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    (tmp_path / "proc/11").rmdir()
    _process(tree, 10, 1, 0, 0, children=400)  # 3 s of which were used before the first look
    assert compute_job_use(before, _look_at(tree, JobTarget("pid", "10"), 51.0)).cores == pytest.approx(1.0)


def test_a_user_and_a_group(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    _process(tree, 10, 1, 0, 0)
    _process(tree, 11, 1, 0, 0)
    tree.put("/proc/11/status", "Uid:\t7\t7\t7\t7\n")
    tree.put("/sys/fs/cgroup/a/cgroup.procs", "10\n").put("/sys/fs/cgroup/a/b/cgroup.procs", "11\n")
    assert set(_look_at(tree, JobTarget("user", "7"), 1.0).processes) == {11}
    assert set(_look_at(tree, JobTarget("cgroup", "/a"), 1.0).processes) == {10, 11}
    for target in (
        JobTarget("pid", "99"),
        JobTarget("cgroup", "/none"),
        JobTarget("user", "5"),
        JobTarget("pid", "x"),
    ):
        assert isinstance(look_at_job(tree.host(), target), Absent)


def test_who_is_pinned(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    for n in range(4):
        tree.files(f"/sys/devices/system/cpu/cpu{n}/topology", core_cpus_list=n)
    for pid, cpus, memory in ((5, "0-1", True), (6, "0-3", True), (7, "2", False), (8, "3", True)):
        size = "VmSize: 1 kB\n" if memory else ""
        tree.put(f"/proc/{pid}/status", f"Name:\tjob\n{size}Cpus_allowed_list:\t{cpus}\n")
    assert find_pinned_cpus(tree.host(), frozenset({8})) == {0, 1}


def test_times_of_each_cpu(tmp_path: Path) -> None:
    tree = Tree(tmp_path).put(
        "/proc/stat", "cpu 9 9 9 9 9 9 9 9 9\ncpu3 100 0 50 700 100 20 10 30 0 0\nctxt 4\n"
    )
    cpu_times = read_cpu_times(tree.host())
    assert is_present(cpu_times) and set(cpu_times) == {3}
    assert cpu_times[3] == CpuTimes(1.0, 0.5, 7.0, 1.0, 0.2, 0.1, 0.3)
    assert (cpu_times[3].tasks_s, cpu_times[3].busy_s, cpu_times[3].total_s) == pytest.approx(
        (1.5, 1.8, 10.1)
    )


def test_power_with_a_counter_that_wraps(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    zone = "/sys/class/powercap/intel-rapl:0"
    tree.files(zone, name="package-0", energy_uj=9_000_000, max_energy_range_uj=10_000_000)
    tree.files(zone, constraint_0_power_limit_uw=120_000_000)
    tree.files("/sys/class/powercap/intel-rapl:0:0", name="core")
    before = read_power_packages(tree.host())
    tree.files(zone, energy_uj=4_000_000)
    after = read_power_packages(tree.host())
    assert is_present(before) and is_present(after) and len(before) == 1 and before[0].limit_w == 120.0
    assert mean_watts(before[0], after[0], 2.0) == 2.5
