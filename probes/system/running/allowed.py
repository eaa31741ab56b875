"""What this process may use of the CPUs and memory nodes: affinity and cpuset. A container sees all and gets a part."""

import re

import msgspec

from hostdx.probes.cpu_list import parse_cpu_list
from hostdx.probes.number_text import parse_unsigned
from hostdx.probes.reading.host import Host, compute_once_per_host
from hostdx.probes.system.processor.topology import read_cpu_list, read_cpu_topology
from hostdx.probes.system.running.cgroup import read_cgroup
from hostdx.probes.types import Absent, is_present

_STATUS = "/proc/self/status"
_SYS_ADMIN = 1 << 21  # CAP_SYS_ADMIN (linux/capability.h)


class AllowedResources(msgspec.Struct, frozen=True, kw_only=True):
    """`cpus` and `nodes` by the kernel's own answer (affinity and cpuset already intersected).

    `quota_cores` is the smallest CPU quota of our control groups (1.5 is one and a half CPUs), None for no limit.
    """

    cpus: frozenset[int] | Absent
    nodes: frozenset[int] | Absent
    quota_cores: float | Absent | None


def may_administer(host: Host) -> bool:
    """Return whether this process has CAP_SYS_ADMIN: what a trim and a network namespace ask for."""
    status = host.read_file_text(_STATUS)
    match = re.search(r"^CapEff:\s*([0-9a-fA-F]+)$", status, re.MULTILINE) if is_present(status) else None
    return match is not None and bool(int(match[1], 16) & _SYS_ADMIN)


@compute_once_per_host
def read_allowed_resources(host: Host) -> AllowedResources:
    """Of the process that asks; in a captured tree of the one that captured it."""
    text = host.read_file_text(_STATUS, 1 << 16)
    group = read_cgroup(host)
    cpus, nodes = _parse_status_list(text, "Cpus_allowed_list"), _parse_status_list(text, "Mems_allowed_list")
    return AllowedResources(
        cpus=cpus if is_present(cpus) else _read_own_cpuset(host, "cpus") or cpus,
        nodes=nodes if is_present(nodes) else _read_own_cpuset(host, "mems") or nodes,
        quota_cores=group if isinstance(group, Absent) else group.cpu_cores,
    )


def listed_in_status(text: str | Absent, name: str) -> str:
    """Return `0-3,8` of a line of /proc/PID/status (proc_pid_status(5)); empty where it was not read."""
    match = re.search(rf"^{name}:\s*(\S+)", text, re.MULTILINE) if is_present(text) else None
    return match[1] if match else ""


def _parse_status_list(text: str | Absent, name: str) -> frozenset[int] | Absent:
    if isinstance(text, Absent):
        return text
    listed = listed_in_status(text, name)
    values = parse_cpu_list(listed) if listed else None
    return (
        values
        if is_present(values) and values
        else Absent(f"{_STATUS} reports no {name}", "missing", _STATUS)
    )


def _read_own_cpuset(host: Host, resource_name: str) -> frozenset[int] | None:
    """From the cpuset of the process, in trees that hold no status: cpuset(7), and cgroups that mount it."""
    path, table = host.read_file_text("/proc/self/cpuset", 4096), host.read_file_text("/proc/mounts", 1 << 20)
    if isinstance(path, Absent) or isinstance(table, Absent):
        return None
    below = path.strip().strip("/")
    for line in table.splitlines():
        words = line.split()
        if len(words) < 4 or not (words[2] in ("cpuset", "cgroup2") or "cpuset" in words[3].split(",")):
            continue
        folder = "/".join(part for part in (words[1].rstrip("/"), below) if part)
        for name in (
            f"cpuset.{resource_name}.effective",
            f"cpuset.effective_{resource_name}",
            f"cpuset.{resource_name}",
            resource_name,
        ):
            text = host.read_file_text(f"{folder}/{name}", 1 << 16)
            members = parse_cpu_list(text) if is_present(text) and text.strip() else None
            if members:
                return members
    return None


# Which CPUs are taken by processes that were pinned: their affinity is less than all CPUs that are online.
#
# Kernel threads are pinned by the thousand and are no jobs; they have no memory of their own (no VmSize in status). A
# mask that leaves out only isolated CPUs is what isolcpus= gives to everybody.
MAX_PROCESSES = 50_000


def find_pinned_cpus(host: Host, excluded: frozenset[int] = frozenset()) -> frozenset[int]:
    """Of every pinned process that can be seen, but for those in `excluded`."""
    online = read_cpu_topology(host).online
    usual = online - (read_cpu_list(host, "isolated") or frozenset())
    names = host.list_names("/proc")
    pinned_cpus: set[int] = set()
    pids = [pid for name in (names if is_present(names) else ()) if (pid := parse_unsigned(name)) is not None]
    for pid in pids[:MAX_PROCESSES]:
        text = host.read_file_text(f"/proc/{pid}/status", 1 << 16) if pid not in excluded else ""
        listed = listed_in_status(text, "Cpus_allowed_list")
        cpus = parse_cpu_list(listed) if listed else None
        if cpus and is_present(text) and "VmSize:" in text and not cpus & online >= usual:
            pinned_cpus |= cpus & online
    return frozenset(pinned_cpus)
