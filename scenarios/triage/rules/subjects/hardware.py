"""Rows about devices that are unfit, emulated or limited by a cloud, and about state that few files tell."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial

from hostdx.probes.number_text import parse_unsigned
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.block import BlockDevice, block_devices
from hostdx.probes.system.disk.diskstats import disk_counters
from hostdx.probes.system.disk.drive.transport import is_virtual_disk
from hostdx.probes.system.disk.mounts import read_mounts
from hostdx.probes.system.network.nic import read_nics
from hostdx.probes.system.virtualisation import read_virtualisation
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.triage.knowledge.hardware import (
    BoardEvent,
    CloudVolumeLimits,
    cloud_of_firmware_texts,
    emulated_device,
    known_board_event,
    unfit_disk_model_named,
)
from hostdx.scenarios.triage.rules.expression import Value
from hostdx.scenarios.triage.rules.table import SubjectRow

DMI = "/sys/class/dmi/id"


def model_rows(host: Host) -> list[SubjectRow]:
    """One row per disk whose model is in knowledge/unfit_disk_models.toml; `member`: of what array it is a part."""
    rows = []
    for disk in block_devices(host).values():
        model = unfit_disk_model_named(disk.model) if is_present(disk.model) and not disk.parent else None
        if model is not None:
            columns: dict[str, Value] = {
                "name": disk.name,
                "model": disk.model,
                "trait": model.trait,
                "unfit_for": model.unfit_for,
                "instead": model.instead,
                "effect": model.effect,
                "references": "; ".join(model.sources),
                "member": _array_or_pool_of(host, disk),
            }
            rows.append(SubjectRow(disk.name, columns, f"/sys/block/{disk.name}"))
    return rows


def _array_or_pool_of(host: Host, disk: BlockDevice) -> str | Absent:
    devices = block_devices(host)
    own = {disk.name, *(d.name for d in devices.values() if d.parent == disk.name)}
    for above in devices.values():
        if own & {*above.slaves}:
            if above.name.startswith("md"):
                return above.name
            if above.name in host.compute_once(_mapped_ceph_devices):
                return "Ceph"
    for folder in host.glob_paths("/sys/fs/btrfs/*/devices"):
        names = host.list_names(folder)
        if is_present(names) and len(names) > 1 and own & {*names}:
            return "a btrfs file system of several devices"
    for path in host.glob_paths("/sos_commands/zfs/zpool_status*"):
        text = host.read_file_text(path, 1 << 20)
        pool = re.search(r"^\s*pool: (\S+)", text, re.MULTILINE) if is_present(text) else None
        member = rf"^\s+(?:{'|'.join(map(re.escape, own))})\s+[A-Z]"
        if pool and is_present(text) and re.search(member, text, re.MULTILINE):
            return f"the ZFS pool {pool[1]}"
    return Absent("no array is known to use it", "unsupported")


def _mapped_ceph_devices(host: Host) -> frozenset[str]:
    """Mapped devices whose volume group is one that ceph-volume makes (`ceph--UUID-osd--block--UUID`)."""
    paths = host.glob_paths("/sys/block/dm-*/dm/name")
    return frozenset(
        path.split("/")[3]
        for path in paths
        if is_present(name := host.read_word(path)) and name.startswith("ceph--")
    )


def emulated_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per device of a guest that its hypervisor emulates in full (knowledge/emulated.toml)."""
    hypervisor = read_virtualisation(host).hypervisor
    if isinstance(hypervisor, Absent):
        return hypervisor
    drivers = [("card", c.name, c.driver) for c in host.compute_once(read_nics).values() if c.physical]
    for disk in block_devices(host).values():
        if not disk.parent and not disk.slaves and is_virtual_disk(disk.transport, disk.model):
            drivers.append(("disk", disk.name, _controller_driver(host, disk)))
    rows = []
    for kind, name, driver in drivers if hypervisor else ():
        device = emulated_device(kind, driver) if is_present(driver) else None
        if device is not None:
            folder = f"/sys/class/net/{name}" if kind == "card" else f"/sys/block/{name}"
            columns: dict[str, Value] = {
                "name": name,
                "driver": driver,
                "what": device.what,
                "instead": device.instead,
                "effect": device.effect,
                "hypervisor": hypervisor,
            }
            rows.append(SubjectRow(name, columns, folder))
    return rows


def _controller_driver(host: Host, disk: BlockDevice) -> str | Absent:
    """The driver of the PCI device that the disk hangs on."""
    folder = disk.path
    while folder.count("/") > 3:
        folder = folder.rsplit("/", 1)[0]
        if re.search(r"/[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$", folder):
            driver = host.read_link(f"{folder}/driver")
            return driver if isinstance(driver, Absent) else driver.rsplit("/", 1)[-1]
    return Absent("it hangs on no PCI device", "unsupported")


def volume_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per virtual disk: mean times of a request since boot in ns, and the cloud that may limit it."""
    counters = host.compute_once(disk_counters)
    if isinstance(counters, Absent):
        return counters
    cloud = host.compute_once(_cloud_by_firmware)
    rows = []
    for disk in block_devices(host).values():
        is_whole_disk = not disk.parent and not disk.slaves and disk.name in counters
        if not is_whole_disk or not is_virtual_disk(disk.transport, disk.model):
            continue
        counts = counters[disk.name]
        enough = counts.reads + counts.writes >= 1000
        few = Absent(f"{disk.name} has served too few requests")
        columns: dict[str, Value] = {
            "name": disk.name,
            "size": disk.size_bytes,
            "read_wait": counts.read_wait_s / counts.reads * 1e9 if enough and counts.reads else few,
            "write_wait": counts.write_wait_s / counts.writes * 1e9 if enough and counts.writes else few,
            "in_flight": counts.in_flight,
            "cloud": cloud.name if cloud else Absent("no cloud is known by the firmware's names"),
            "volume": cloud.volume if cloud else "a virtual disk",
            "limits": cloud.limits if cloud else "the hypervisor or the storage behind it may limit it",
            "advice": cloud.advice
            if cloud
            else "Ask whoever runs the hypervisor for limits and load of its storage",
        }
        rows.append(SubjectRow(disk.name, columns, f"/sys/block/{disk.name}"))
    return rows


def _cloud_by_firmware(host: Host) -> CloudVolumeLimits | None:
    names = (
        "sys_vendor",
        "product_name",
        "bios_version",
        "bios_vendor",
        "board_asset_tag",
        "chassis_asset_tag",
    )
    texts = [text for name in names if is_present(text := host.read_word(f"{DMI}/{name}"))]
    uuid = host.read_word("/sys/hypervisor/uuid")
    return cloud_of_firmware_texts((*texts, *((uuid,) if is_present(uuid) else ())))


def swap_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row: priorities of swap in memory (zram) and on disks (proc_swaps(5): the higher one is used first).

    `flash` and `rotating`: of the disks whose kind is known; `used` bytes lie on rotating ones.
    """
    text = host.read_file_text("/proc/swaps")
    if isinstance(text, Absent):
        return text
    areas = [line.split() for line in text.splitlines()[1:] if len(line.split()) == 5]
    memory = [int(words[4]) for words in areas if "zram" in words[0] and re.fullmatch(r"-?\d{1,9}", words[4])]
    disks = [
        int(words[4]) for words in areas if "zram" not in words[0] and re.fullmatch(r"-?\d{1,9}", words[4])
    ]
    columns: dict[str, Value] = {
        "zram": max(memory) if memory else Absent("no swap in memory", "unsupported"),
        "disk": max(disks) if disks else Absent("no swap on a disk", "unsupported"),
        "areas": len(areas),
    }
    by_kind: dict[bool, list[tuple[int, int, str]]] = {False: [], True: []}
    devices = block_devices(host)
    for name, _, _, used, priority in areas:
        device = devices.get(name.rpartition("/")[2])
        if device is None or "zram" in name or not re.fullmatch(r"-?\d{1,9}", priority):
            continue
        if isinstance(device.rotational, bool):
            by_kind[device.rotational].append((int(priority), parse_unsigned(used) or 0, name))
    for column, kind in (("flash", False), ("rotating", True)):
        known = by_kind[kind]
        columns[column] = max(known)[0] if known else Absent(f"no swap on a {column} disk", "unsupported")
        columns[f"{column}_name"] = max(known)[2] if known else ""
    columns["used"] = 1024 * sum(used for _, used, _ in by_kind[True])
    return [SubjectRow("", columns)]


def crypt_rows(host: Host) -> list[SubjectRow]:
    """One row per cipher of encrypted disks: the driver that the kernel chose for it (/proc/crypto: priority)."""
    crypts = [d for d in block_devices(host).values() if d.kind == "crypt"]
    text = host.read_file_text("/proc/crypto", 1 << 20)
    if not crypts or isinstance(text, Absent):
        return []
    best: dict[str, tuple[int, str]] = {}
    for block in text.split("\n\n"):
        fields = dict(re.findall(r"^(\w+)\s*: (.*)$", block, re.MULTILINE))
        name, priority = fields.get("name", ""), fields.get("priority", "")
        if (
            re.fullmatch(r"xts\(aes\)|cbc\(aes\)|essiv\(cbc\(aes\),sha256\)", name)
            and (rank := parse_unsigned(priority)) is not None
        ):
            best[name] = max(best.get(name, (0, "")), (rank, fields.get("driver", "")))
    return [
        SubjectRow(name, {"name": name, "driver": driver, "disks": len(crypts)})
        for name, (_, driver) in best.items()
    ]


MAX_EVENT_AGE_DAYS = 90
_COUNTED = (
    ("iptables", "/sos_commands/*/ip*tables_*", r"^\s*\d+[KMG]?\s+\d+[KMG]?\s|^-A "),
    ("nftables", "/sos_commands/*/nft_*list_ruleset*", r"^\t\t(?!type |policy |comment|elements)\S"),
    ("ipset", "/sos_commands/*/ipset_*", r"^\d+\.\d+\.\d+\.\d+"),
)


def ruleset_rows(host: Host) -> list[SubjectRow]:
    """One row per kind of captured firewall rules: `longest` counts the rules of the longest chain."""
    rows = []
    for kind, pattern, line in _COUNTED:
        for path in host.glob_paths(pattern) if not host.live else ():
            text = host.read_file_text(path, 32 << 20)
            if isinstance(text, Absent):
                continue
            chains: Counter[str] = Counter()
            chain = ""
            for rule_line in text.splitlines():
                head = re.match(r"Chain (\S+)|\tchain (\S+)|-A (\S+) ", rule_line)
                chain = next(filter(None, head.groups())) if head else chain
                chains[chain] += bool(re.match(line, rule_line))
            if sum(chains.values()):
                longest, count = chains.most_common(1)[0]
                columns: dict[str, Value] = {
                    "name": path.rpartition("/")[2],
                    "kind": kind,
                    "path": path,
                    "rules": sum(chains.values()),
                    "longest": count,
                    "chain": longest,
                }
                rows.append(SubjectRow(path.rpartition("/")[2], columns))
    return rows


def captured_failed_unit_rows(host: Host) -> list[SubjectRow]:
    """One row per unit of systemd that failed, as a sosreport lists them."""
    return [
        SubjectRow(unit, {"name": unit, "path": path, "about": about}, "")
        for unit, (path, about) in dict(_failed_units_with_source(host)).items()
    ]


def _failed_units_with_source(host: Host) -> Iterator[tuple[str, tuple[str, str]]]:
    for path in host.glob_paths("/sos_commands/systemd/systemctl_list-units*"):
        text = host.read_file_text(path, 4 << 20)
        line = r"^\W*([\w@.:\\-]+\.\w+)\s+loaded\s+failed\s+\S+\s*(.*)$"
        for unit, about in re.findall(line, text, re.MULTILINE) if is_present(text) else ():
            yield unit, (path, about.strip())


def _day_of_board_event(line: str) -> int:
    """Return the day since 2000, counting months of 31 days, of an event of the board's log; 0 without a date."""
    date = re.search(r"\b([01]\d)/([0-3]\d)/(?:20)?(\d\d) ", line)
    month, day, year = map(int, date.groups()) if date else (0, 0, 0)
    return year * 372 + month * 31 + day


def board_event_rows(host: Host) -> list[SubjectRow]:
    """One row per event of the board's captured log that knowledge/board_events.toml knows and nothing later takes
    back: `times`, and the last `line`. Events more than MAX_EVENT_AGE_DAYS older than the newest are left out.
    """
    newest = 0
    standing: dict[tuple[str, str], tuple[BoardEvent, str, list[str]]] = {}  # by sensor and event
    for path in host.glob_paths("/sos_commands/ipmitool/ipmitool*sel_*list*"):
        text = host.read_file_text(path, 8 << 20)
        for line in text.splitlines() if is_present(text) else ():
            words = [word.strip() for word in line.split("|")]
            at = next((n for n, word in enumerate(words) if word in ("Asserted", "Deasserted")), 0)
            if at < 3:
                continue
            newest = max(newest, _day_of_board_event(line))
            sensor, event = words[at - 2 : at]
            if words[at] == "Deasserted":
                standing.pop((sensor, event), None)
                continue
            for key, (known, _, _) in [*standing.items()]:
                if key[0] == sensor and known.ended_by and re.search(known.ended_by, event):
                    del standing[key]
            if (entry := known_board_event(f"{sensor}: {event}")) is not None:
                _, first_path, lines = standing.setdefault((sensor, event), (entry, path, []))
                lines += [" ".join(line.split())] if first_path == path else []
    rows = []
    for (sensor, event), (known, path, lines) in standing.items():
        if 0 < _day_of_board_event(lines[-1]) < newest - MAX_EVENT_AGE_DAYS:
            continue
        told = {"told": known.told, "advice": known.advice, "severity": known.severity}
        columns: dict[str, Value] = {"path": path, "times": len(lines), "line": lines[-1], **told}
        rows.append(SubjectRow(f"{sensor}, {event}", {"name": f"{sensor}, {event}", **columns}))
    return rows


def snapshot_rows(host: Host) -> list[SubjectRow]:
    """One row per volume that has snapshots of the old kind (device mapper `snapshot-origin`): how many."""
    devices = block_devices(host)
    is_asked = not host.live or host.answering_programs
    text = host.read_command("dmsetup", "table") if is_asked else Absent("no program was asked")
    counts: Counter[str] = Counter()
    if is_present(text):
        counts.update(re.findall(r": \d+ \d+ snapshot (\d+:\d+) ", text))
    names = {d.devno: d.label or d.name for d in devices.values()}
    return [
        SubjectRow(names.get(devno, devno), {"name": names.get(devno, devno), "snapshots": count})
        for devno, count in counts.items()
    ]


def search_rows(host: Host) -> list[SubjectRow]:
    """One row: network file systems that updatedb(8) walks through, as PRUNEFS and PRUNEPATHS leave them in."""
    text = host.read_file_text("/etc/updatedb.conf", 65536)
    table = read_mounts(host)
    if isinstance(text, Absent) or isinstance(table, Absent):
        return []

    def setting_words(name: str) -> set[str]:
        value_match = re.search(rf'^\s*{name}\s*=\s*"?([^"\n]*)', text, re.MULTILINE)
        return {word.lower() for word in value_match[1].split()} if value_match else set()

    kinds, paths = setting_words("PRUNEFS"), setting_words("PRUNEPATHS")
    remote = (
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "lustre",
        "ceph",
        "gpfs",
        "beegfs",
        "fuse.glusterfs",
        "fuse.sshfs",
        "afs",
    )
    walked = [
        mount.mountpoint
        for mount in table
        if mount.fstype in remote
        and mount.fstype.lower() not in kinds
        and not any(f"{mount.mountpoint}/".startswith(f"{path}/") for path in paths)
    ]
    return [SubjectRow("", {"walked": tuple(walked), "kinds": partial(_file_system_kinds, table, walked)})]


def _file_system_kinds(table: object, mountpoints: list[str]) -> Value:
    kinds = {mount.fstype for mount in table if mount.mountpoint in mountpoints}  # type: ignore[attr-defined]
    return " ".join(sorted(kinds))
