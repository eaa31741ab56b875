"""The control groups of this host that have a CPU quota of their own (v1 and v2), and how often it stopped them."""

from __future__ import annotations

from collections import deque

import msgspec

from probes.host import Host
from probes.system.cgroup import cpu_quota
from probes.system.disk.mounts import mounts
from probes.system.throttle import quota_counts
from probes.types import Absent, present

DEEPEST = 4  # kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podX.slice/cri-containerd-Y.scope
MOST_GROUPS = 500  # each costs three small files: some ten ms in all


class QuotaGroup(msgspec.Struct, frozen=True, kw_only=True):
    """`cores`: quota over period; `stopped` of `periods`: since the group was made."""

    folder: str
    name: str  # below the mount, without a slash at its start
    cores: float
    stopped: int
    periods: int

    @property
    def share(self) -> float:
        return self.stopped / self.periods if self.periods > 0 else 0.0


def quota_groups(host: Host, without: frozenset[str] = frozenset()) -> tuple[tuple[QuotaGroup, ...], bool]:
    """Those with a quota, the highest first, but for the folders `without`; and whether all groups were looked at."""
    table = mounts(host)
    if isinstance(table, Absent):
        return (), True
    roots = dict.fromkeys(
        m.mountpoint for m in table if m.fstype == "cgroup2" or (m.fstype == "cgroup" and "cpu" in m.options)
    )
    waiting = deque((root, "", 0) for root in roots)
    found: dict[str, QuotaGroup] = {}
    looked = 0
    while waiting:
        root, above, depth = waiting.popleft()
        names = host.subfolders(f"{root}{above}")
        for name in names if present(names) else ():
            path = f"{above}/{name}"
            folder = f"{root}{path}"
            # a group without the controller has none below it that has it (cgroup-v2.rst, Top-down Constraint)
            if not any(host.exists(f"{folder}/{file}") for file in ("cpu.max", "cpu.cfs_quota_us")):
                continue
            if looked >= MOST_GROUPS:
                return tuple(found.values()), False
            looked += 1
            if depth + 1 < DEEPEST:
                waiting.append((root, path, depth + 1))
            cores = cpu_quota(host, folder) if folder not in without else None
            if cores is not None and (counts := quota_counts(host, folder)) is not None:
                found[folder] = QuotaGroup(
                    folder=folder, name=path[1:], cores=cores, stopped=counts[0], periods=counts[1]
                )
    return tuple(found.values()), True
