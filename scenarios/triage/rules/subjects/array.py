"""Rows about what is built of disks: arrays, pools, snapshots, multipath devices."""

import re
from functools import partial

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.arrays import md_arrays, parse_thin_status, read_mdstat, thin_pool_under
from hostdx.probes.system.disk.block import block_devices, bottom_devices_of
from hostdx.probes.system.disk.mounts import read_mounts
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.triage.rules.expression import Value
from hostdx.scenarios.triage.rules.table import Reader, SubjectRow


def pool_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per thin pool of LVM: fill of data and metadata, 0..1 (root)."""
    pools: dict[str, SubjectRow] = {}
    for device in block_devices(host).values():
        if device.kind != "lvm" and not device.name.startswith("dm-"):
            continue
        pool = thin_pool_under(host, device.name)
        if pool is not None:
            columns: dict[str, Value] = {
                "name": pool.name,
                "data": pool.data,
                "metadata": pool.metadata,
                "mode": pool.mode,
                "lv": _volume_name(pool.name),
            }
            pools.setdefault(pool.name, SubjectRow(pool.name, columns))
    if not pools and not host.live:  # a sosreport without sysfs
        for name, kind, status in mapped_device_statuses(host):
            if kind == "thin-pool" and (parsed := parse_thin_status(f"thin-pool {status}")) is not None:
                label = name.removesuffix("-tpool")
                shares = dict(zip(("data", "metadata", "mode"), parsed, strict=True))
                pools[label] = SubjectRow(label, {"name": label, "lv": _volume_name(label), **shares})
        if not pools:
            pools = _thin_pools_of_lvs(host)
    return list(pools.values())


def _thin_pools_of_lvs(host: Host) -> dict[str, SubjectRow]:
    """By a sosreport's `lvs -a -o ...`: LV, VG, Attr (`t` first: lvs(8)), size, data and metadata in %."""
    pools: dict[str, SubjectRow] = {}
    for path in host.glob_paths("/sos_commands/lvm2/lvs_-a_-o_*"):
        text = host.read_file_text(path, 8 << 20)
        line = r"^\s*(\S+)\s+(\S+)\s+t\S{9}\s+\S+\s+([0-9]{1,3}\.[0-9]+)\s+([0-9]{1,3}\.[0-9]+)"
        for pool, group, data, metadata in re.findall(line, text, re.MULTILINE) if is_present(text) else ():
            name = f"{group}-{pool}"
            shares: dict[str, Value] = {"data": float(data) / 100, "metadata": float(metadata) / 100}
            columns = {"name": name, **shares, "lv": f"{group}/{pool}"}
            columns["mode"] = Absent("lvs does not report it", "unsupported")
            pools[name] = SubjectRow(name, columns)
    return pools


def _volume_name(mapped: str) -> Value:
    """`vg-my--pool-tpool` of the device mapper is the volume vg/my-pool (lvm2, lib/misc/lvm-string.c)."""
    parts = [part.replace("--", "-") for part in re.split(r"(?<!-)-(?!-)", mapped.removesuffix("-tpool"))]
    return "/".join(parts) if len(parts) == 2 else Absent(f"{mapped} is no name of LVM", "unsupported")


def btrfs_device_rows(host: Host) -> list[SubjectRow]:
    """One row per device of each btrfs file system (fs/btrfs/sysfs.c): `mounted`, a place where it is mounted."""
    table = read_mounts(host)
    rows = []
    for path in host.glob_paths("/sys/fs/btrfs/*/devinfo/*"):
        uuid = path.split("/")[4]
        names = host.list_names(f"/sys/fs/btrfs/{uuid}/devices")
        own = [m for m in table if m.fstype == "btrfs"] if is_present(table) else []
        places = [m.mountpoint for m in own if is_present(names) and m.source.rpartition("/")[2] in names]
        alone = len(host.glob_paths("/sys/fs/btrfs/*/devinfo")) == 1
        places = places or [m.mountpoint for m in own if alone]
        columns: dict[str, Value] = {
            "name": f"{uuid}/{path.rpartition('/')[2]}",
            "path": path,
            "uuid": uuid,
            "mounted": places[0] if places else Absent("where it is mounted is not known"),
            "devices": tuple(names) if is_present(names) else names,
        }
        rows.append(SubjectRow(f"{uuid}/{path.rpartition('/')[2]}", columns, path))
    return rows


def btrfs_volume_rows(host: Host) -> list[SubjectRow]:
    """One row per btrfs file system: `path` of its allocation, `unallocated`, the bytes of its devices that are in no
    chunk (fs/btrfs/sysfs.c: disk_total counts each copy), and `mounted`, a place where it is mounted.
    """
    places = {str(row["uuid"]): row["mounted"] for row in btrfs_device_rows(host)}
    rows = []
    for path in host.glob_paths("/sys/fs/btrfs/*/allocation"):
        uuid = path.split("/")[4]
        columns: dict[str, Value | Reader] = {
            "name": uuid,
            "path": path,
            "mounted": places.get(uuid, Absent("where it is mounted is not known")),
            "unallocated": partial(_unallocated_btrfs_bytes, host, path, f"/sys/fs/btrfs/{uuid}/devices"),
        }
        rows.append(SubjectRow(uuid, columns, path))
    return rows


def _unallocated_btrfs_bytes(host: Host, allocation: str, devices: str) -> Value:
    names = host.list_names(devices)
    if isinstance(names, Absent):
        return names
    sectors = [host.read_integer(f"{devices}/{name}/size") for name in names]
    chunks = [
        host.read_integer(f"{allocation}/{kind}/disk_total")
        for kind in ("data", "metadata", "system", "mixed")
    ]
    if not sectors or not all(map(is_present, sectors)):
        return Absent("the sizes of its devices are not known")
    return sum(n for n in sectors if is_present(n)) * 512 - sum(n for n in chunks if is_present(n))


# By target, the beginning of a status that is not the good one: Documentation/admin-guide/device-mapper/snapshot.rst,
# verity.rst ("V" or "C"), dm-integrity.rst (mismatches first), writecache.rst (an error number first), vdo.rst (the
# device, then its mode). The target `error` refuses every request.
_WRONG_STATUS = {
    "snapshot": r"Invalid|Overflow|Merge failed",
    "verity": r"C\b",
    "integrity": r"[1-9]",
    "writecache": r"-?[1-9]",
    "vdo": r"\S+ (?:read-only|recovering)\b",
    "error": r"",
}


def mapped_rows(host: Host) -> list[SubjectRow]:
    """One row per target of the device mapper that says how it is: `used` 0..1 of a snapshot, `bad`: it failed, lost a
    leg, or found data that are not what was written.
    """
    rows = []
    for name, kind, status in mapped_device_statuses(host):
        share = re.match(r"([0-9]{1,18})/([0-9]{1,18})", status)
        legs = (
            re.match(r"\S+ [0-9]+ (\w+)", status)
            if kind == "raid"
            else re.search(r" ([ADSRUF]+)(?: |$)", status)
        )
        lost = bool(legs and re.search(r"[DFSRU]", legs[1]))
        wrong = _WRONG_STATUS.get(kind)
        columns: dict[str, Value] = {
            "name": name,
            "kind": kind,
            "status": status,
            "used": int(share[1]) / int(share[2])
            if share and int(share[2])
            else Absent("it reports no fill"),
            "bad": lost if wrong is None else bool(re.match(wrong, status)),
        }
        if kind in ("raid", "mirror", *_WRONG_STATUS):
            rows.append(SubjectRow(name, columns))
    return rows


def mapped_device_statuses(host: Host) -> list[tuple[str, str, str]]:
    """`dmsetup status` (root): name, kind of target, and what the target says of itself."""
    if host.live and not host.glob_paths("/sys/block/dm-*"):
        return []
    text = host.read_command("dmsetup", "status")
    lines = re.findall(r"^(\S+): [0-9]+ [0-9]+ (\S+) ?(.*)$", text, re.MULTILINE) if is_present(text) else []
    return [(name, kind, status.strip()) for name, kind, status in lines]


def array_rows(host: Host) -> list[SubjectRow]:
    """One row per md array."""
    rows = []
    for array in md_arrays(host):
        base = f"/sys/block/{array.name}/md"
        columns = {
            "name": array.name,
            "level": array.level,
            "disks": array.disks,
            "missing": array.missing,
            "action": array.action,
            "mismatches": partial(host.read_integer, f"{base}/mismatch_cnt"),
            "stripe_cache": partial(host.read_integer, f"{base}/stripe_cache_size"),
            "bitmap": partial(host.read_word, f"{base}/bitmap/location"),
            "members": partial(bottom_devices_of, block_devices(host), array.name),
            "flash": partial(_is_all_flash_below, host, array.name),
        }
        rows.append(SubjectRow(array.name, columns, base))
    unread = Absent("sysfs was not captured", "captured")
    for name, missing, busy in () if host.live or rows else read_mdstat(host):  # of a sosreport
        columns_known = {"name": name, "missing": missing, "action": busy or "idle", "members": ()}
        others = ("level", "disks", "mismatches", "stripe_cache", "bitmap", "flash")
        rows.append(SubjectRow(name, dict.fromkeys(others, unread) | columns_known, "/proc/mdstat"))
    return rows


def _is_all_flash_below(host: Host, array: str) -> Value:
    """Return whether no disk below the array rotates."""
    devices = block_devices(host)
    spins = [devices[n].rotational for n in bottom_devices_of(devices, array) if n != array and n in devices]
    known_spins = [word for word in spins if is_present(word)]
    return (
        not any(known_spins)
        if known_spins and len(known_spins) == len(spins)
        else Absent("its disks are not known")
    )


def multipath_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per multipath device: paths by `multipath -ll`, else by sysfs. `groups` counts path groups; `body`:
    the lines of its groups and paths.
    """
    text = host.read_command("multipath", "-ll")
    if isinstance(text, Absent) and not host.live:
        older = host.read_command("multipath", "-v4", "-ll")
        text = older if is_present(older) else text
    maps = _parse_multipath(text) if is_present(text) else {}
    for device in block_devices(host).values():
        if device.kind != "multipath":
            continue
        states = {s: host.read_word(f"/sys/block/{s}/device/state") for s in device.slaves}
        kernel_bad = tuple(
            s for s, word in states.items() if word not in ("running", "live") and is_present(word)
        )
        maps.setdefault(device.label or device.name, {"failed": kernel_bad, "paths": len(device.slaves)})
        found = maps[device.label or device.name]
        found.setdefault("slaves", device.slaves)
        # By ALUA (drivers/scsi/device_handler/scsi_dh_alua.c); paths of the other controller in the group that is used
        kinds = {s: host.read_file_text(f"/sys/block/{s}/device/access_state", 64) for s in device.slaves}
        far = tuple(s for s, kind in kinds.items() if is_present(kind) and "non-optimized" in kind)
        if found.get("groups") == 1 and 0 < len(far) < len(kinds):
            found["far"] = far
    silent = text if isinstance(text, Absent) else Absent("not reported")
    unsaid: dict[str, Value] = {"paths": Absent("not reported"), "failed": (), "far": ()}
    unsaid |= dict.fromkeys(("groups", "policy", "alua", "priorities", "body"), silent)
    return [SubjectRow(name, {"name": name, **unsaid, **values}) for name, values in maps.items()]


def san_volume_rows(host: Host) -> list[SubjectRow]:
    """One row per volume of a SAN (its WWID) that several SCSI disks show: `disks`, whether multipath has them
    (`mapped`), and the file system or the device that uses one of them alone (`used_by`).

    A live host with neither Fibre Channel nor iSCSI is not asked.
    """
    devices = block_devices(host)
    table = read_mounts(host)
    disks_by_volume: dict[str, list[str]] = {}
    for name, disk in devices.items():
        is_remote = "/rport-" in disk.path or "/session" in disk.path
        if name.startswith("sd") and not disk.parent and (is_remote or not host.live):
            volume = host.read_word(f"/sys/block/{name}/device/wwid")
            if is_present(volume) and not volume.startswith("t10.ATA"):
                disks_by_volume.setdefault(volume, []).append(name)
    rows = []
    for volume, names in disks_by_volume.items():
        own = {*names, *(d.name for d in devices.values() if d.parent in names)}
        above = [d for d in devices.values() if own & {*d.slaves}]
        mounted = [m for m in table if m.source.removeprefix("/dev/") in own] if is_present(table) else []
        users = [m.mountpoint for m in mounted] + [d.label or d.name for d in above if d.kind != "multipath"]
        columns: dict[str, Value] = {
            "name": volume,
            "disks": tuple(names),
            "mapped": any(d.kind == "multipath" for d in above),
            "used_by": users[0] if users else Absent("nothing is known to use it", "unsupported"),
        }
        rows.append(SubjectRow(volume, columns))
    return rows


def _parse_multipath(text: str) -> dict[str, dict[str, Value]]:
    """multipath -ll: a map's line holds `dm-N`, its groups begin with `policy=`, its paths hold H:C:T:L."""
    maps: dict[str, dict[str, Value]] = {}
    current: dict[str, Value] | None = None
    for line in text.splitlines():
        head = re.match(r"([^\s|`]\S*)(?: \([^)]*\))? dm-[0-9]+ ", line + " ")
        if head:
            current = {"paths": 0, "failed": (), "groups": 0, "policy": "", "alua": False, "priorities": ()}
            maps[head[1]] = current
            current["body"] = ""
            continue
        if current is None:
            continue
        current["body"] += f"{line}\n"
        if "policy=" in line:
            current["groups"] += 1
            current["policy"] = (re.findall(r"policy='?([\w-]+)", line) or [""])[0]
            priority = re.search(r"\bprio=([0-9]{1,9})\b", line)
            kinds = {*current["priorities"], *([int(priority[1])] if priority else [])}
            current["priorities"] = tuple(sorted(kinds))
        elif path := re.search(r"[0-9]+:[0-9]+:[0-9]+:[0-9]+ +(\S+) +\S+ +(\w+) +(\w+) +(\w+)", line):
            current["paths"] += 1
            if path[2] == "failed" or path[3] in ("faulty", "shaky") or path[4] == "offline":
                current["failed"] = (*current["failed"], path[1])
        elif "hwhandler=" in line:
            current["alua"] = "alua" in line
    return maps
