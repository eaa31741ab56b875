"""Limits of control groups: both versions, the smallest on the way to the root, and none told from unknown."""

from __future__ import annotations

from probes.system.running.cgroup import Cgroup, IoLimit, read_cgroup
from probes.types import Absent, is_present
from tests.fakes.hosts.tree import Tree

V2 = "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"
V1 = "\n".join(
    f"{40 + n} 20 0:{30 + n} {{root}} /sys/fs/cgroup/{name} rw - cgroup cgroup rw,{name}"
    for n, name in enumerate(("cpu,cpuacct", "memory", "blkio", "cpuset"))
)
HOST = "20 1 8:1 / / rw - ext4 /dev/sda1 rw"


def read(tree: Tree) -> Cgroup:
    found = read_cgroup(tree.host())
    assert is_present(found), found
    return found


def second(tree: Tree, path: str = "/user.slice/job.scope") -> Tree:
    tree.put("/proc/self/mountinfo", f"{HOST}\n{V2}\n").put("/proc/self/cgroup", f"0::{path}\n")
    return tree.put("/sys/fs/cgroup/cgroup.controllers", "cpu io memory")


def test_version_2_takes_the_smallest_on_the_way_up(tree: Tree) -> None:
    inner, outer = "/sys/fs/cgroup/user.slice/job.scope", "/sys/fs/cgroup/user.slice"
    second(tree).put(f"{inner}/cpu.max", "max 100000\n").put(f"{outer}/cpu.max", "150000 100000\n")
    tree.put(f"{inner}/memory.max", "2147483648\n").put(f"{outer}/memory.max", "4294967296\n")
    tree.put(f"{inner}/io.max", "8:16 rbps=2097152 wbps=max riops=max wiops=120\n").put(f"{outer}/io.max", "")
    tree.put(f"{inner}/cpuset.cpus.effective", "0-1,4\n")
    it = read(tree)
    assert (it.version, it.path, it.cpu_cores, it.memory_bytes) == (
        "v2",
        "/user.slice/job.scope",
        1.5,
        2 << 30,
    )
    assert it.io == (
        IoLimit("8:16", "rbps", 2097152, inner, "io.max"),
        IoLimit("8:16", "wiops", 120, inner, "io.max"),
    )
    assert it.cpus == {0, 1, 4}


def test_the_smallest_of_two_quotas_holds(tree: Tree) -> None:
    group = "/sys/fs/cgroup/user.slice"
    second(tree).put(f"{group}/job.scope/cpu.max", "400000 100000\n").put(
        f"{group}/cpu.max", "150000 100000\n"
    )
    assert read(tree).cpu_cores == 1.5
    tree.put(f"{group}/job.scope/cpu.max", "50000 100000\n")
    assert read(tree).cpu_cores == 0.5


def test_version_1_without_limits(tree: Tree) -> None:
    first(tree, "/batch")
    tree.files("/sys/fs/cgroup/cpu,cpuacct/batch", **{"cpu.cfs_quota_us": -1, "cpu.cfs_period_us": 100000})
    tree.files("/sys/fs/cgroup/memory/batch", **{"memory.limit_in_bytes": 9223372036854771712})
    it = read(tree)
    assert (it.cpu_cores, it.memory_bytes) == (None, None)


def test_version_2_without_limits(tree: Tree) -> None:
    second(tree).put("/sys/fs/cgroup/user.slice/job.scope/cpu.max", "max 100000").put(
        "/sys/fs/cgroup/user.slice/job.scope/memory.max", "max"
    )
    it = read(tree)
    assert (it.cpu_cores, it.memory_bytes, it.io) == (None, None, ())
    assert isinstance(it.cpus, Absent)


def test_numbers_of_five_thousand_digits_are_none(tree: Tree) -> None:
    """int() refuses them; a captured tree may hold anything."""
    group, many = "/sys/fs/cgroup/user.slice/job.scope", "9" * 5000
    second(tree).put(f"{group}/cpu.max", f"{many} {many}\n").put(f"{group}/memory.max", f"{many}\n")
    tree.put(f"{group}/io.max", f"8:16 rbps={many}\n")
    found = read(tree)
    assert (found.cpu_cores, found.memory_bytes, found.io) == (None, None, ())


def test_version_2_in_the_root_group(tree: Tree) -> None:
    it = read(second(tree, "/"))
    assert (it.cpu_cores, it.memory_bytes, it.path) == (None, None, "/")


def first(tree: Tree, path: str, root: str = "/") -> Tree:
    tree.put("/proc/self/mountinfo", f"{HOST}\n{V1.format(root=root)}\n")
    return tree.put(
        "/proc/self/cgroup", f"4:memory:{path}\n3:cpu,cpuacct:{path}\n2:blkio:{path}\n1:cpuset:{path}\n"
    )


def test_version_1(tree: Tree) -> None:
    first(tree, "/batch/job")
    tree.files(
        "/sys/fs/cgroup/cpu,cpuacct/batch/job", **{"cpu.cfs_quota_us": -1, "cpu.cfs_period_us": 100000}
    )
    tree.files("/sys/fs/cgroup/cpu,cpuacct/batch", **{"cpu.cfs_quota_us": 50000, "cpu.cfs_period_us": 100000})
    tree.files("/sys/fs/cgroup/memory/batch/job", **{"memory.limit_in_bytes": 9223372036854771712})
    tree.files("/sys/fs/cgroup/memory/batch", **{"memory.limit_in_bytes": 1073741824})
    tree.put("/sys/fs/cgroup/blkio/batch/job/blkio.throttle.read_bps_device", "8:0 1048576\n8:16 2\n")
    tree.put("/sys/fs/cgroup/cpuset/batch/job/cpuset.effective_cpus", "2-3\n")
    it = read(tree)
    assert (it.version, it.cpu_cores, it.memory_bytes) == ("v1", 0.5, 1 << 30)
    assert [(limit.devno, limit.what, limit.value) for limit in it.io] == [
        ("8:0", "rbps", 1048576),
        ("8:16", "rbps", 2),
    ]
    assert it.cpus == {2, 3}


def test_version_1_in_a_container_without_a_namespace(tree: Tree) -> None:
    """There the mount shows the container's part, while the path still begins at the top."""
    first(tree, "/docker/abc", root="/docker/abc")
    tree.files("/sys/fs/cgroup/memory", **{"memory.limit_in_bytes": 536870912})
    assert read(tree).memory_bytes == 512 << 20


def test_both_versions_at_once(tree: Tree) -> None:
    lines = f"{HOST}\n{V1.format(root='/')}\n30 20 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    tree.put("/proc/self/mountinfo", lines).put("/sys/fs/cgroup/unified/cgroup.procs")
    tree.put("/proc/self/cgroup", "4:memory:/a\n0::/\n")
    tree.files("/sys/fs/cgroup/memory/a", **{"memory.limit_in_bytes": 4096})
    it = read(tree)
    assert (it.version, it.memory_bytes) == ("hybrid", 4096)


def test_nothing_to_read_says_why(tree: Tree) -> None:
    assert isinstance(read_cgroup(tree.host()), Absent)
    tree.put("/proc/self/cgroup", "0::/x\n")
    assert isinstance(read_cgroup(tree.host()), Absent)
    tree.put("/proc/self/mountinfo", HOST)
    it = read(tree)
    assert isinstance(it.cpu_cores, Absent) and isinstance(it.memory_bytes, Absent)
