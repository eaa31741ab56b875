"""What lies under a stuck task: the files that it has open and where they are, and the devices below them."""

import re
from collections.abc import Mapping

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.block import (
    block_devices,
    bottom_devices_of,
    device_and_layers_below,
    device_name,
    devices_directly_below,
)
from hostdx.probes.system.disk.diskstats import DiskCounters
from hostdx.probes.system.disk.mounts import IN_MEMORY, NETWORK, Mount, find_visible_mount, read_mounts_now
from hostdx.probes.system.disk.scheduler import (
    count_hardware_queues,
    parse_active_and_offered,
    read_inflight_reads_and_writes,
)
from hostdx.probes.system.running.tasks import BlockedTask, OpenFile, find_open_files
from hostdx.probes.types import Absent, is_present

# Kernel threads carry what they serve in their names (jbd2/sda1-8, xfsaild/dm-0, loop0, md0_raid1, flush-254:0).
_SERVES = re.compile(
    r"(?:jbd2/|xfs[a-z_-]*/|btrfs-[a-z-]+/|f2fs_\w+-|kcryptd/|dmcrypt_write/)(?P<path>[\w!.-]+?)(?:-\d+)?$"
    r"|(?P<whole>loop\d+|md\d+)(?:_\w+)?$"
    r"|flush-(?P<devno>\d+:\d+)"
)
# Nobody waits long for what lies in memory: /dev/zero among dd's arguments is not what it waits for.
_NEVER = IN_MEMORY | {"proc", "sysfs", "cgroup", "cgroup2", "devpts", "mqueue", "debugfs", "tracefs", "bpf"}


class MountedDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """`method` says what it was told from; `devices` are the leaves."""

    mountpoint: str = ""
    fstype: str = ""
    source: str = ""
    device: str = ""
    devices: tuple[str, ...] = ()
    how: str = ""
    layers: tuple[str, ...] = ()  # from `device` down to the leaves

    @property
    def is_network(self) -> bool:
        return self.fstype in NETWORK

    @property
    def text(self) -> str:
        """For a person: "/scratch (xfs, sdb)" or "sdb"."""
        inside = ", ".join(x for x in (self.fstype, *(self.devices or (self.source,))) if x)
        return f"{self.mountpoint} ({inside})" if self.mountpoint else ", ".join(self.devices) or self.source


def directory_waited_for(host: Host, task: BlockedTask) -> MountedDirectory | Absent:
    """The best told place: the file of the call that it sleeps in, its name, its files, its arguments."""
    files = find_open_files(host, task)
    table = read_mounts_now(host)
    if isinstance(table, Absent):
        return table
    for method in ("syscall", "name", "fd", "argument", "cwd"):
        if method == "name":
            served = _mount_it_works_for(host, task, table)
            if served is not None:
                return served
            continue
        paths = _paths_in_arguments(host, task) if method == "argument" else files
        for file in (f for f in paths if f.how == method):
            mount = find_visible_mount(table, file.path)
            if mount is None or mount.fstype in _NEVER:
                continue
            # Everybody has the root file system open or works in it: that says nothing.
            if method == "syscall" or mount.mountpoint != "/":
                return _mounted_directory(host, mount, method)
    return Absent("its files do not show it (other users' tasks need root)", kind="permission")


def _mounted_directory(host: Host, mount: Mount, told_by: str) -> MountedDirectory:
    name = device_name(host, mount.devno)
    return MountedDirectory(
        mountpoint=mount.mountpoint,
        fstype=mount.fstype,
        source=mount.source,
        device=name if is_present(name) else "",
        devices=bottom_devices_of(block_devices(host), name) if is_present(name) else (),
        how=told_by,
        layers=device_and_layers_below(block_devices(host), name) if is_present(name) else (),
    )


def _mount_it_works_for(host: Host, task: BlockedTask, table: tuple[Mount, ...]) -> MountedDirectory | None:
    """Return what a kernel thread works for, by its name; a program may call itself anything."""
    name_match = _SERVES.search(task.comm) if task.kernel_thread else None
    if not name_match:
        return None
    name = name_match["path"] or name_match["whole"] or ""
    if name_match["devno"]:
        mapped_name = device_name(host, name_match["devno"])
        name = mapped_name if is_present(mapped_name) else ""
    if not name or not host.path_exists(f"/sys/class/block/{name}"):
        return None
    # A loop device's own worker waits for the file system that its file lies on; the journal's thread of a file
    # system on the loop device waits for the loop device.
    backing = (
        host.read_file_text(f"/sys/block/{name}/loop/backing_file")
        if name_match["whole"]
        else Absent("not a worker")
    )
    if is_present(backing):
        below = find_visible_mount(table, backing)
        return _mounted_directory(host, below, "name") if below is not None else None
    for mount in table:
        if mount.devno and device_name(host, mount.devno) == name:
            return _mounted_directory(host, mount, "name")
    devices = block_devices(host)
    return MountedDirectory(
        device=name,
        devices=bottom_devices_of(devices, name),
        how="name",
        layers=device_and_layers_below(devices, name),
    )


def _paths_in_arguments(host: Host, task: BlockedTask) -> tuple[OpenFile, ...]:
    """Absolute paths among the arguments (`of=/scratch/x` too). cmdline takes the task's memory lock: guarded."""
    text = host.read_file_text(f"/proc/{task.pid}/cmdline", 1 << 16, may_hang=True)
    if isinstance(text, Absent):
        return ()
    words = re.split(r"[\0\s]", text)
    paths = (w[w.index("/") :] for w in words if "/" in w and (w.startswith("/") or "=/" in w or ">/" in w))
    return tuple(OpenFile(path, "argument") for path in paths)


# The kernel counts a device's completions in /proc/diskstats; a disk that spins up or recovers a sector can be
# quiet for some seconds, so this is the least that is called stuck.
QUIET_S = 3.0


class DeviceState(msgspec.Struct, frozen=True, kw_only=True):
    """`driver_holds`: requests that the driver has (Absent: not readable); `quiet_s`: since the last completion.

    On blk-mq `read_inflight_reads_and_writes` counts only what has a driver tag (block/blk-mq.c,
    blk_mq_check_inflight). What waits above an idle driver is held by the scheduler, by a limit of a control group, or
    by a layer (multipath without a path): only a request has a tag of the scheduler, so
    `count_scheduler_requests` tells them apart where it is readable.
    `multipath`: a device of dm-multipath; `state`: what the SCSI layer says of the device ("running").
    """

    name: str
    quiet_s: float
    driver_holds: int | Absent
    scheduler: str | Absent
    hw_queues: int | Absent
    suspended: bool = False
    scheduler_holds: int | Absent = Absent("not read")
    offered: tuple[str, ...] = ()
    multipath: bool = False
    state: str = ""

    @property
    def is_driver_idle(self) -> bool:
        """The driver holds nothing now."""
        return is_present(self.driver_holds) and self.driver_holds == 0

    @property
    def holds_and_completes_nothing(self) -> bool:
        return self.quiet_s >= QUIET_S and is_present(self.driver_holds) and self.driver_holds > 0


class DeviceActivity:
    """Follows the completions of every device from sample to sample."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, float]] = {}
        self.quiet_s: dict[str, float] = {}
        self.held: dict[str, int] = {}

    def add(self, counters: Mapping[str, DiskCounters], now_s: float) -> None:
        for name, now in counters.items():
            done = now.total_operations + (now.discards or 0) + (now.flushes or 0)
            last_count = self._last.get(name)
            if last_count is None or last_count[0] != done:
                self._last[name] = last_count = (done, now_s)
            self.quiet_s[name] = now_s - last_count[1]
            self.held[name] = now.in_flight

    def device_state(self, host: Host, name: str) -> DeviceState:
        held = read_inflight_reads_and_writes(host, name)
        holds = held if isinstance(held, Absent) else sum(held)
        text = host.read_file_text(f"/sys/block/{name}/queue/scheduler")
        quiet_s = self.quiet_s.get(name, 0.0)
        uuid = host.read_file_text(f"/sys/block/{name}/dm/uuid")
        scsi = host.read_word(f"/sys/block/{name}/device/state")
        return DeviceState(
            name=name,
            quiet_s=quiet_s,
            driver_holds=holds,
            scheduler=parse_active_and_offered(text)[0] if is_present(text) else text,
            hw_queues=count_hardware_queues(host, name),
            suspended=is_suspended(host, name),
            scheduler_holds=count_scheduler_requests(host, name)
            if holds == 0 and quiet_s >= QUIET_S
            else Absent("read of a silent device only"),
            offered=parse_active_and_offered(text)[1] if is_present(text) else (),
            multipath=is_present(uuid) and uuid.startswith("mpath-"),
            state=scsi if is_present(scsi) else "",
        )

    def stuck_devices(self, host: Host) -> tuple[DeviceState, ...]:
        """Devices at the bottom that hold requests and complete none."""
        names = [n for n, held in self.held.items() if held > 0 and self.quiet_s.get(n, 0.0) >= QUIET_S]
        states = [
            self.device_state(host, n) for n in names if not devices_directly_below(block_devices(host), n)
        ]
        return tuple(s for s in states if s.holds_and_completes_nothing)


def is_suspended(host: Host, name: str) -> bool:
    """True for a device-mapper device that is suspended, and for an array that holds back a range of writes.

    `dmsetup suspend` or a snapshot being taken; Documentation/admin-guide/md.rst, suspend_lo and suspend_hi.
    """
    if host.read_file_text(f"/sys/block/{name}/dm/suspended") == "1":
        return True
    low, high = (host.read_integer(f"/sys/block/{name}/md/suspend_{end}") for end in ("lo", "hi"))
    return is_present(low) and is_present(high) and high > low


def count_scheduler_requests(host: Host, name: str) -> int | Absent:
    """Requests with a tag of the scheduler (block/blk-mq-debugfs.c, sched_tags; lib/sbitmap.c, busy=).

    Needs root and debugfs. The file is read behind the queue's lock, which a switch under way may hold.
    """
    held: list[int] = []
    for path in host.glob_paths(f"/sys/kernel/debug/block/{name}/hctx*/sched_tags"):
        text = host.read_file_text(path, may_hang=True)
        if isinstance(text, Absent):
            return text
        held.append(sum(int(n) for n in re.findall(r"^busy=([0-9]{1,19})$", text, re.MULTILINE)))
    return sum(held) if held else Absent("debugfs shows no tags of a scheduler", kind="missing")
