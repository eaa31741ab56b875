"""A job's use of the CPUs between two looks: threads, reaped children, waits; and who is pinned where."""

from pathlib import Path

import pytest

from hostdx.probes.system.processor.cpu_times import CpuTimes, read_cpu_times
from hostdx.probes.system.processor.power import mean_watts, read_power_packages
from hostdx.probes.system.running.allowed import find_pinned_cpus
from hostdx.probes.system.running.job_identity import JobLook, JobTarget, job_look, job_use
from hostdx.probes.types import Absent, is_present
from tests.fakes.hosts.tree import Tree


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
    look = job_look(tree.host(), target)
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
    assert job_use(before, _look_at(tree, JobTarget("pid", "10"), 51.0)).cores == pytest.approx(1.0)


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
        assert isinstance(job_look(tree.host(), target), Absent)


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
