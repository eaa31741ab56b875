"""Rows about /etc/fstab against what is mounted, about file systems that hide others, and about volume groups that are
not seen.
"""

import re
from functools import partial
from typing import Literal

from hostdx.probes.reading.host import Host
from hostdx.probes.reading.patterns import lazy_pattern
from hostdx.probes.system.disk.block import block_devices, bottom_devices_of
from hostdx.probes.system.disk.mounts import (
    NETWORK,
    Mount,
    find_visible_mount,
    read_mounts,
    unescape_mount_text,
)
from hostdx.probes.system.disk.topology import device_behind
from hostdx.probes.system.disk.trim.trim_jobs import FSTAB
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.contract.knowledge_file import KnowledgeEntry, load_entries
from hostdx.scenarios.triage.rules.expression import Value
from hostdx.scenarios.triage.rules.table import SubjectRow


class MountOption(KnowledgeEntry, frozen=True, forbid_unknown_fields=True):
    """`fstypes` and `option`: regular expressions for the whole word; `cost` and `advice`: sentences; `remount`: the
    option that a remount takes in its place.
    """

    fstypes: str
    option: str
    severity: Literal["notice", "warning"]
    cost: str
    advice: str
    source: str
    remount: str = ""


def mount_option_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per mounted file system and option of knowledge/mount_options.toml that it has."""
    table = read_mounts(host)
    if isinstance(table, Absent):
        return table
    rows: dict[tuple[str, str], SubjectRow] = {}  # a file system that is mounted at many places has one
    for entry in load_entries("mount_options", "mount_option", MountOption).entries:
        for mount in table:
            matching_options = [o for o in mount.options if re.fullmatch(entry.option, o)]
            if not matching_options or not re.fullmatch(entry.fstypes, mount.fstype):
                continue
            columns: dict[str, Value] = {
                "name": f"{mount.mountpoint} ({matching_options[0]})",
                "mountpoint": mount.mountpoint,
                "fstype": mount.fstype,
                "option": matching_options[0],
                "severity": entry.severity,
                "cost": entry.cost,
                "advice": entry.advice,
                "remount": entry.remount or Absent("a remount does not change it", "unsupported"),
                "basis": entry.source,
            }
            rows.setdefault((mount.source, entry.option), SubjectRow(str(columns["name"]), columns))
    return [*rows.values()]


def fstab_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per file system of /etc/fstab: its `options`, whether it is `mounted`, its options now (`live`), what
    lies `below` its place, and the real path of its disk in sysfs (`disk_path`).
    """
    text, table = host.read_file_text(FSTAB), read_mounts(host)
    if isinstance(text, Absent):
        return text
    if isinstance(table, Absent):
        return table
    rows = []
    for line in text.splitlines():
        fields = [unescape_mount_text(field) for field in line.split()]
        if len(fields) < 3 or fields[0].startswith("#") or not fields[1].startswith("/"):
            continue
        place = fields[1].rstrip("/") or "/"
        mount = _last_mount_at(table, place)
        # a link in its path
        if mount is None and is_present(real := host.resolve_path(place, may_hang=True)):
            mount = _last_mount_at(table, real)
        below = find_visible_mount(table, place.rpartition("/")[0] or "/")
        columns: dict[str, Value] = {
            "name": place,
            "source": fields[0],
            "fstype": fields[2],
            "options": tuple(fields[3].split(",")) if len(fields) > 3 else ("defaults",),
            "mounted": mount is not None,
            "automatic": any(m.mountpoint == place and m.fstype == "autofs" for m in table),
            "live": mount.options if mount else Absent(f"{place} is not mounted", "unsupported"),
            "below": below.mountpoint if below else Absent("no mount table"),
            "disk_path": partial(_sysfs_path_of_disk, host, mount.source if mount else fields[0]),
        }
        rows.append(SubjectRow(place, columns, FSTAB))
    return rows


def _last_mount_at(table: tuple[Mount, ...], place: str) -> Mount | None:
    return next((m for m in reversed(table) if m.mountpoint == place and m.fstype != "autofs"), None)


def _sysfs_path_of_disk(host: Host, source: str) -> Value:
    """The real path in sysfs of the first disk below a device."""
    device, devices = device_behind(host, source), block_devices(host)
    if isinstance(device, Absent):
        return device
    leaves = [name for name in bottom_devices_of(devices, device) if name in devices]
    return devices[leaves[0]].path if leaves else Absent(f"what lies below {device} is not known")


def hidden_mount_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per file system of a disk or a server over which another one is mounted, at the same place."""
    table = read_mounts(host)
    if isinstance(table, Absent):
        return table
    below: dict[int, Mount] = {m.id: m for m in table if m.devno and _is_data_mount(m)}
    rows = []
    for upper in table:
        lower = below.get(upper.parent)
        if lower is None or lower.mountpoint != upper.mountpoint or lower.devno == upper.devno:
            continue
        columns: dict[str, Value] = {
            "name": upper.mountpoint,
            "lower": lower.source,
            "lower_type": lower.fstype,
            "upper": upper.source,
            "upper_type": upper.fstype,
        }
        rows.append(SubjectRow(upper.mountpoint, columns))
    return rows


def _is_data_mount(mount: Mount) -> bool:
    return mount.mountpoint != "/" and (mount.source.startswith("/dev/") or mount.fstype in (*NETWORK, "zfs"))


LVM_DEVICES = "/etc/lvm/devices/system.devices"
_PHYSICAL_VOLUME = lazy_pattern(r'\bid = "([\w-]{38})"\s+device = "([^"\n]*)"')


def volume_group_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per volume group of /etc/lvm/backup, where LVM keeps a list of devices (lvmdevices(8)): `unlisted` are
    its physical volumes, by their former names, that the list lacks; `active`: one of its volumes is there.
    """
    listed = host.read_file_text(LVM_DEVICES)
    if isinstance(listed, Absent):
        return listed
    names = [host.read_file_text(path) for path in host.glob_paths("/sys/block/dm-*/dm/name")]
    rows = []
    for path in host.glob_paths("/etc/lvm/backup/*"):
        backup = host.read_file_text(path)
        if isinstance(backup, Absent):
            continue
        group = path.rpartition("/")[2]
        unlisted = tuple(
            device
            for identity, device in _PHYSICAL_VOLUME.findall(backup)
            if f"PVID={identity.replace('-', '')}" not in listed
        )
        mapped = f"{group.replace('-', '--')}-"
        is_active = any(is_present(name) and name.startswith(mapped) for name in names)
        columns: dict[str, Value] = {"name": group, "unlisted": unlisted, "active": is_active}
        rows.append(SubjectRow(group, columns, path))
    return rows
