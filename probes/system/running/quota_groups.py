"""The control groups of this host that have a CPU quota of their own (v1 and v2), and how often it stopped them."""

from collections import deque
from collections.abc import Iterable

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.mounts import Mount, read_mounts
from hostdx.probes.system.processor.throttle import find_quota_files, throttled_and_all_periods
from hostdx.probes.system.running.cgroup import (
    cgroup_folders,
    cpu_quota_of_group,
    find_group_folders,
    parse_proc_cgroup,
)
from hostdx.probes.system.running.job_identity import JobTarget
from hostdx.probes.types import Absent, is_present

CGROUPS = "/sys/fs/cgroup"
MAX_DEPTH = 4  # kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podX.slice/cri-containerd-Y.scope
MAX_GROUPS = 500  # each costs three small files: some ten ms in all


class QuotaGroup(msgspec.Struct, frozen=True, kw_only=True):
    """`cores`: quota over period; `stopped` of `periods`: since the group was made."""

    folder: str
    name: str  # below the mount, without a slash at its start
    cores: float
    stopped: int
    periods: int

    @property
    def stopped_share(self) -> float:
        return self.stopped / self.periods if self.periods > 0 else 0.0


def list_quota_groups(
    host: Host, without: frozenset[str] = frozenset()
) -> tuple[tuple[QuotaGroup, ...], bool]:
    """Those with a quota, the highest first, but for the folders `without`; and whether all groups were looked at."""
    folders, complete = find_group_folders_with(host, "cpu", ("cpu.max", "cpu.cfs_quota_us"))
    groups = (read_quota_group(host, root, folder) for root, folder in folders if folder not in without)
    return tuple(group for group in groups if group is not None), complete


def find_group_folders_with(
    host: Host, controller: str, files: tuple[str, ...]
) -> tuple[tuple[tuple[str, str], ...], bool]:
    """The groups with one of a controller's files, by hierarchy, the highest first; and whether all were looked at."""
    table = read_mounts(host)
    if is_present(table):
        roots = _hierarchy_mountpoints(table, controller)
    else:  # a captured tree without a mount table: where systemd mounts them
        first = f"{CGROUPS}/{controller}"
        roots = (first if host.path_exists(first) else CGROUPS,)
    waiting = deque((root, "", 0) for root in roots)
    folders: list[tuple[str, str]] = []
    while waiting:
        root, above, depth = waiting.popleft()
        names = host.list_subfolders(f"{root}{above}")
        for name in names if is_present(names) else ():
            path = f"{above}/{name}"
            if any(host.path_exists(f"{root}{path}/{file}") for file in files):
                if len(folders) >= MAX_GROUPS:
                    return tuple(folders), False
                folders.append((root, f"{root}{path}"))
            # a group without the controller has none below it that has it (cgroup-v2.rst, Top-down Constraint); of a
            # capture that has nothing of a group itself, those below may still be there
            elif host.live or host.path_exists(f"{root}{path}/cgroup.procs"):
                continue
            if depth + 1 < MAX_DEPTH:
                waiting.append((root, path, depth + 1))
    return tuple(folders), True


def find_job_quotas(host: Host, target: JobTarget) -> tuple[QuotaGroup, ...]:
    """The groups with a quota that a job is in: its own and those above it. A user's processes may be in any: none."""
    table = read_mounts(host)
    if isinstance(table, Absent) or target.kind == "user":
        return ()
    if target.kind == "cgroup":
        folders = cgroup_folders(host, target.value)
    else:
        text = host.read_file_text(f"/proc/{target.value}/cgroup", may_hang=True)
        groups = parse_proc_cgroup(text) if is_present(text) else {}
        chains = (
            find_group_folders(host, table, kind, groups[kind]) for kind in ("", "cpu") if kind in groups
        )
        folders = tuple(chain[0] for chain in chains if chain)
    quotas: dict[str, QuotaGroup] = {}
    for root in _hierarchy_mountpoints(table):
        for folder in (f for f in folders if f.startswith(f"{root}/")):
            while folder != root:
                if (quota := read_quota_group(host, root, folder)) is not None:
                    quotas[folder] = quota
                folder = folder.rpartition("/")[0]
    return tuple(quotas.values())


def own_quotas(host: Host) -> tuple[QuotaGroup, ...]:
    """Those of our own control group and of the ones above it."""
    quotas = (read_quota_group(host, CGROUPS, file.rpartition("/")[0]) for file in find_quota_files(host))
    return tuple(group for group in quotas if group is not None)


def most_throttled_quota(host: Host, earlier: Iterable[QuotaGroup]) -> QuotaGroup | None:
    """Return which of these was stopped in the largest share of its periods since then; None: none of them is there."""
    groups = [now for group in earlier if (now := quota_counts_since(host, group)) is not None]
    return max(groups, key=lambda group: (group.stopped_share, group.periods), default=None)


def quota_counts_since(host: Host, earlier: QuotaGroup) -> QuotaGroup | None:
    """Return what was counted since then, of the same group; None: it is gone."""
    counts = throttled_and_all_periods(host, earlier.folder)
    if counts is None:
        return None
    stopped, periods = max(0, counts[0] - earlier.stopped), max(0, counts[1] - earlier.periods)
    return msgspec.structs.replace(earlier, stopped=stopped, periods=periods)


def read_quota_group(host: Host, root: str, folder: str) -> QuotaGroup | None:
    cores, counts = cpu_quota_of_group(host, folder), throttled_and_all_periods(host, folder)
    if cores is None or counts is None:
        return None
    name = folder.removeprefix(f"{root}/")
    return QuotaGroup(folder=folder, name=name, cores=cores, stopped=counts[0], periods=counts[1])


def _hierarchy_mountpoints(table: tuple[Mount, ...], controller: str = "cpu") -> tuple[str, ...]:
    """Each hierarchy once, where it was mounted first: a container's tree may hold it again."""
    mountpoints: dict[tuple[str, str], str] = {}
    for m in table:
        if m.fstype == "cgroup2" or (m.fstype == "cgroup" and controller in m.options):
            mountpoints.setdefault((m.devno or m.mountpoint, m.root), m.mountpoint)
    return tuple(dict.fromkeys(mountpoints.values()))
