"""Where a stuck task is stuck: the file system and the devices, told from its files, its name, its arguments.

No path is followed, only compared with the mount table: following one could hang as well.
"""

from __future__ import annotations

import re

import msgspec

from probes.host import Host
from probes.system.disk.block import device_name, layers, leaves
from probes.system.disk.mounts import IN_MEMORY, NETWORK, Mount, mounts, visible_mount
from probes.system.running.tasks import OpenFile, Task, files_of
from probes.types import Absent, present

# Kernel threads carry what they serve in their names (jbd2/sda1-8, xfsaild/dm-0, loop0, md0_raid1, flush-254:0).
_SERVES = re.compile(
    r"(?:jbd2/|xfs[a-z_-]*/|btrfs-[a-z-]+/|f2fs_\w+-|kcryptd/|dmcrypt_write/)(?P<path>[\w!.-]+?)(?:-\d+)?$"
    r"|(?P<whole>loop\d+|md\d+)(?:_\w+)?$"
    r"|flush-(?P<devno>\d+:\d+)"
)
# Nobody waits long for what lies in memory: /dev/zero among dd's arguments is not what it waits for.
_NEVER = IN_MEMORY | {"proc", "sysfs", "cgroup", "cgroup2", "devpts", "mqueue", "debugfs", "tracefs", "bpf"}


class MountedDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """`how` says what it was told from; `devices` are the leaves."""

    mountpoint: str = ""
    fstype: str = ""
    source: str = ""
    device: str = ""
    devices: tuple[str, ...] = ()
    how: str = ""
    layers: tuple[str, ...] = ()  # from `device` down to the leaves

    @property
    def network(self) -> bool:
        return self.fstype in NETWORK

    @property
    def text(self) -> str:
        """For a person: "/scratch (xfs, sdb)" or "sdb"."""
        inside = ", ".join(x for x in (self.fstype, *(self.devices or (self.source,))) if x)
        return f"{self.mountpoint} ({inside})" if self.mountpoint else ", ".join(self.devices) or self.source


def place_of(host: Host, task: Task) -> MountedDirectory | Absent:
    """The best told place: the file of the call that it sleeps in, its name, its files, its arguments."""
    files = files_of(host, task)
    table = mounts(host)
    if isinstance(table, Absent):
        return table
    for how in ("syscall", "name", "fd", "argument", "cwd"):
        if how == "name":
            served = _served(host, task, table)
            if served is not None:
                return served
            continue
        paths = _arguments(host, task) if how == "argument" else files
        for file in (f for f in paths if f.how == how):
            mount = visible_mount(table, file.path)
            if mount is None or mount.fstype in _NEVER:
                continue
            # Everybody has the root file system open or works in it: that says nothing.
            if how == "syscall" or mount.mountpoint != "/":
                return _at(host, mount, how)
    return Absent("its files do not show it (other users' tasks need root)", kind="permission")


def _at(host: Host, mount: Mount, how: str) -> MountedDirectory:
    name = device_name(host, mount.devno)
    return MountedDirectory(
        mountpoint=mount.mountpoint,
        fstype=mount.fstype,
        source=mount.source,
        device=name if present(name) else "",
        devices=leaves(host, name) if present(name) else (),
        how=how,
        layers=layers(host, name) if present(name) else (),
    )


def _served(host: Host, task: Task, table: tuple[Mount, ...]) -> MountedDirectory | None:
    """What a kernel thread works for, by its name; a program may call itself anything."""
    found = _SERVES.search(task.comm) if task.kernel_thread else None
    if not found:
        return None
    name = found["path"] or found["whole"] or ""
    if found["devno"]:
        named = device_name(host, found["devno"])
        name = named if present(named) else ""
    if not name or not host.exists(f"/sys/class/block/{name}"):
        return None
    # A loop device's own worker waits for the file system that its file lies on; the journal's thread of a file
    # system on the loop device waits for the loop device.
    backing = host.text(f"/sys/block/{name}/loop/backing_file") if found["whole"] else Absent("not a worker")
    if present(backing):
        below = visible_mount(table, backing)
        return _at(host, below, "name") if below is not None else None
    for mount in table:
        if mount.devno and device_name(host, mount.devno) == name:
            return _at(host, mount, "name")
    return MountedDirectory(device=name, devices=leaves(host, name), how="name", layers=layers(host, name))


def _arguments(host: Host, task: Task) -> tuple[OpenFile, ...]:
    """Absolute paths among the arguments (`of=/scratch/x` too). cmdline takes the task's memory lock: guarded."""
    text = host.text(f"/proc/{task.pid}/cmdline", 1 << 16, may_hang=True)
    if isinstance(text, Absent):
        return ()
    words = re.split(r"[\0\s]", text)
    paths = (w[w.index("/") :] for w in words if "/" in w and (w.startswith("/") or "=/" in w or ">/" in w))
    return tuple(OpenFile(path, "argument") for path in paths)
