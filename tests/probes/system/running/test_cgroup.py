"""Limits of control groups: both versions, the smallest on the way to the root, and none told from unknown."""

from hostdx.probes.system.running.cgroup import Cgroup, read_cgroup
from hostdx.probes.types import Absent, is_present
from tests.fakes.hosts.tree import Tree

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
