"""Rows about devices that are unfit, emulated or limited by a cloud, and about state that few files tell."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial

from probes.host import Host
from probes.number_text import whole
from probes.system.disk.block import BlockDevice, block_devices
from probes.system.disk.diskstats import disk_counters
from probes.system.disk.drive.transport import virtual
from probes.system.disk.mounts import mounts
from probes.system.network.nic import nics
from probes.system.virtualisation import virtualisation
from probes.types import Absent, present
from scenarios.knowledge.hardware import Cloud, cloud_of, disk_model, emulated_device
from scenarios.rules.expression import Value
from scenarios.rules.table import SubjectRow

DMI = "/sys/class/dmi/id"


def model_rows(host: Host) -> list[SubjectRow]:
    """One row per disk whose model is in knowledge/disk_models.toml; `member`: of what array it is a part."""
    rows = []
    for disk in block_devices(host).values():
        known = disk_model(disk.model) if present(disk.model) and not disk.parent else None
        if known is not None:
            columns: dict[str, Value] = {
                "name": disk.name,
                "model": disk.model,
                "trait": known.trait,
                "unfit_for": known.unfit_for,
                "instead": known.instead,
                "effect": known.effect,
                "references": "; ".join(known.sources),
                "member": _member_of(host, disk),
            }
            rows.append(SubjectRow(disk.name, columns, f"/sys/block/{disk.name}"))
    return rows


def _member_of(host: Host, disk: BlockDevice) -> str | Absent:
    known = block_devices(host)
    own = {disk.name, *(d.name for d in known.values() if d.parent == disk.name)}
    for above in known.values():
        if own & {*above.slaves}:
            if above.name.startswith("md"):
                return above.name
            if above.name in host.once(_ceph_volumes):
                return "Ceph"
                return "Ceph"
    for folder in host.glob("/sys/fs/btrfs/*/devices"):
        names = host.listing(folder)
        if present(names) and len(names) > 1 and own & {*names}:
            return "a btrfs file system of several devices"
    for path in host.glob("/sos_commands/zfs/zpool_status*"):
        text = host.text(path, 1 << 20)
        pool = re.search(r"^\s*pool: (\S+)", text, re.MULTILINE) if present(text) else None
        member = rf"^\s+(?:{'|'.join(map(re.escape, own))})\s+[A-Z]"
        if pool and present(text) and re.search(member, text, re.MULTILINE):
            return f"the ZFS pool {pool[1]}"
    return Absent("no array is known to use it", "unsupported")


def _ceph_volumes(host: Host) -> frozenset[str]:
    """Mapped devices whose volume group is one that ceph-volume makes (`ceph--UUID-osd--block--UUID`)."""
    paths = host.glob("/sys/block/dm-*/dm/name")
    return frozenset(
        path.split("/")[3] for path in paths if present(name := host.word(path)) and name.startswith("ceph--")
    )


def emulated_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per device of a guest that its hypervisor emulates in full (knowledge/emulated.toml)."""
    hypervisor = virtualisation(host).hypervisor
    if isinstance(hypervisor, Absent):
        return hypervisor
    found = [("card", card.name, card.driver) for card in host.once(nics).values() if card.physical]
    for disk in block_devices(host).values():
        if not disk.parent and not disk.slaves and virtual(disk.transport, disk.model):
            found.append(("disk", disk.name, _controller_driver(host, disk)))
    rows = []
    for kind, name, driver in found if hypervisor else ():
        known = emulated_device(kind, driver) if present(driver) else None
        if known is not None:
            folder = f"/sys/class/net/{name}" if kind == "card" else f"/sys/block/{name}"
            columns: dict[str, Value] = {
                "name": name,
                "driver": driver,
                "what": known.what,
                "instead": known.instead,
                "effect": known.effect,
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
            driver = host.link(f"{folder}/driver")
            return driver if isinstance(driver, Absent) else driver.rsplit("/", 1)[-1]
    return Absent("it hangs on no PCI device", "unsupported")


def volume_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per virtual disk: mean times of a request since boot in ns, and the cloud that may limit it."""
    counters = host.once(disk_counters)
    if isinstance(counters, Absent):
        return counters
    cloud = host.once(_cloud)
    rows = []
    for disk in block_devices(host).values():
        whole = not disk.parent and not disk.slaves and disk.name in counters
        if not whole or not virtual(disk.transport, disk.model):
            continue
        one = counters[disk.name]
        enough = one.reads + one.writes >= 1000
        few = Absent(f"{disk.name} has served too few requests")
        columns: dict[str, Value] = {
            "name": disk.name,
            "size": disk.size_bytes,
            "read_wait": one.read_wait_s / one.reads * 1e9 if enough and one.reads else few,
            "write_wait": one.write_wait_s / one.writes * 1e9 if enough and one.writes else few,
            "in_flight": one.in_flight,
            "cloud": cloud.name if cloud else Absent("no cloud is known by the firmware's names"),
            "volume": cloud.volume if cloud else "a virtual disk",
            "limits": cloud.limits if cloud else "the hypervisor or the storage behind it may limit it",
            "advice": cloud.advice
            if cloud
            else "Ask whoever runs the hypervisor for limits and load of its storage",
        }
        rows.append(SubjectRow(disk.name, columns, f"/sys/block/{disk.name}"))
    return rows


def _cloud(host: Host) -> Cloud | None:
    names = (
        "sys_vendor",
        "product_name",
        "bios_version",
        "bios_vendor",
        "board_asset_tag",
        "chassis_asset_tag",
    )
    texts = [text for name in names if present(text := host.word(f"{DMI}/{name}"))]
    uuid = host.word("/sys/hypervisor/uuid")
    return cloud_of((*texts, *((uuid,) if present(uuid) else ())))


def swap_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row: priorities of swap in memory (zram) and on disks (proc_swaps(5): the higher one is used first)."""
    text = host.text("/proc/swaps")
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
    return [SubjectRow("", columns)]


def crypt_rows(host: Host) -> list[SubjectRow]:
    """One row per cipher of encrypted disks: the driver that the kernel chose for it (/proc/crypto: priority)."""
    crypts = [d for d in block_devices(host).values() if d.kind == "crypt"]
    text = host.text("/proc/crypto", 1 << 20)
    if not crypts or isinstance(text, Absent):
        return []
    best: dict[str, tuple[int, str]] = {}
    for block in text.split("\n\n"):
        fields = dict(re.findall(r"^(\w+)\s*: (.*)$", block, re.MULTILINE))
        name, priority = fields.get("name", ""), fields.get("priority", "")
        if (
            re.fullmatch(r"xts\(aes\)|cbc\(aes\)|essiv\(cbc\(aes\),sha256\)", name)
            and (rank := whole(priority)) is not None
        ):
            best[name] = max(best.get(name, (0, "")), (rank, fields.get("driver", "")))
    return [
        SubjectRow(name, {"name": name, "driver": driver, "disks": len(crypts)})
        for name, (_, driver) in best.items()
    ]


_COUNTED = (
    ("iptables", "/sos_commands/*/ip*tables_*", r"^\s*\d+[KMG]?\s+\d+[KMG]?\s|^-A "),
    ("nftables", "/sos_commands/*/nft_*list_ruleset*", r"^\t\t(?!type |policy |comment|elements)\S"),
    ("ipset", "/sos_commands/*/ipset_*", r"^\d+\.\d+\.\d+\.\d+"),
)


def ruleset_rows(host: Host) -> list[SubjectRow]:
    """One row per kind of captured firewall rules: `longest` counts the rules of the longest chain."""
    rows = []
    for kind, pattern, line in _COUNTED:
        for path in host.glob(pattern) if not host.live else ():
            text = host.text(path, 32 << 20)
            if isinstance(text, Absent):
                continue
            chains: Counter[str] = Counter()
            chain = ""
            for told in text.splitlines():
                head = re.match(r"Chain (\S+)|\tchain (\S+)|-A (\S+) ", told)
                chain = next(filter(None, head.groups())) if head else chain
                chains[chain] += bool(re.match(line, told))
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


def unit_rows(host: Host) -> list[SubjectRow]:
    """One row per unit of systemd that failed, as a sosreport lists them."""
    return [
        SubjectRow(unit, {"name": unit, "path": path, "about": about}, "")
        for unit, (path, about) in dict(_failed_units(host)).items()
    ]


def _failed_units(host: Host) -> Iterator[tuple[str, tuple[str, str]]]:
    for path in host.glob("/sos_commands/systemd/systemctl_list-units*") if not host.live else ():
        text = host.text(path, 4 << 20)
        line = r"^\W*([\w@.:\\-]+\.\w+)\s+loaded\s+failed\s+\S+\s*(.*)$"
        for unit, about in re.findall(line, text, re.MULTILINE) if present(text) else ():
            yield unit, (path, about.strip())


def snapshot_rows(host: Host) -> list[SubjectRow]:
    """One row per volume that has snapshots of the old kind (device mapper `snapshot-origin`): how many."""
    known = block_devices(host)
    text = host.command("dmsetup", "table") if not host.live else Absent("a live host is not asked")
    found: Counter[str] = Counter()
    if present(text):
        found.update(re.findall(r": \d+ \d+ snapshot (\d+:\d+) ", text))
    names = {d.devno: d.label or d.name for d in known.values()}
    return [
        SubjectRow(names.get(devno, devno), {"name": names.get(devno, devno), "snapshots": count})
        for devno, count in found.items()
    ]


def search_rows(host: Host) -> list[SubjectRow]:
    """One row: network file systems that updatedb(8) walks through, as PRUNEFS and PRUNEPATHS leave them in."""
    text = host.text("/etc/updatedb.conf", 65536)
    table = mounts(host)
    if isinstance(text, Absent) or isinstance(table, Absent):
        return []

    def words(name: str) -> set[str]:
        found = re.search(rf'^\s*{name}\s*=\s*"?([^"\n]*)', text, re.MULTILINE)
        return {word.lower() for word in found[1].split()} if found else set()

    kinds, paths = words("PRUNEFS"), words("PRUNEPATHS")
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
    return [SubjectRow("", {"walked": tuple(walked), "kinds": partial(_kinds_of, table, walked)})]


def _kinds_of(table: object, walked: list[str]) -> Value:
    kinds = {mount.fstype for mount in table if mount.mountpoint in walked}  # type: ignore[attr-defined]
    return " ".join(sorted(kinds))
