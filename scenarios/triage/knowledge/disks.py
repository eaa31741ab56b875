"""What a disk should give: by its class, by its link, and what its maker rates it for in bytes written."""

import re

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.block import BlockDevice
from hostdx.probes.system.disk.drive.transport import is_virtual_disk
from hostdx.probes.types import is_present
from hostdx.scenarios.contract.knowledge_file import KnowledgeEntry, load_entries

_FILL_BYTES_PER_S = 200e6
DMI = "/sys/class/dmi/id"
TELLS_THE_CLOUD = ("sys_vendor", "product_name", "chassis_asset_tag")
EXCEEDED = 1.1  # of a link's payload rate: reckoned without all of its overhead, so a little more is nothing


class DiskClass(KnowledgeEntry, frozen=True):
    """A class of disks: [low, high] of what they usually give, by workload id. Wide: a hint, never a verdict."""

    transport: str
    rotational: bool
    title: str
    source: str
    ranges: dict[str, tuple[float, float]]
    fastest_sync_us: float = 0.0  # of a synced write; 0: not known


class VolumeCap(msgspec.Struct, frozen=True):
    """A cap by the volume's size: max(least, base + per_gib * GiB), at most `most`."""

    most: float
    base: float = 0.0
    per_gib: float = 0.0
    least: float = 0.0


class CloudDisk(KnowledgeEntry, frozen=True):
    """A cloud's virtual disk with its published caps. `gib`: sizes above the first and up to the second have them."""

    title: str
    machine: str
    model: str
    iops: VolumeCap
    mb_s: VolumeCap
    source: str
    gib: tuple[float, float] = (0.0, float("inf"))
    burst: str = ""
    recalled: bool = False

    def caps_by_unit(self, device: BlockDevice) -> dict[str, float]:
        """By unit, IOPS and MB/s, for a volume of its size."""
        gib = _size_gib(device)
        return {
            unit: min(scale.most, max(scale.least, scale.base + scale.per_gib * gib))
            for unit, scale in (("IOPS", self.iops), ("MB/s", self.mb_s))
        }


class DiskUse(KnowledgeEntry, frozen=True):
    """What a disk is used for: from `good` of the load's unit on it does well, up to `poor` it is a mistake."""

    load: str
    short: str
    words: str
    good: float
    poor: float
    source: str
    most_ms: float = 0.0  # that 99 % of the operations may take; 0: any


class RatedEndurance(KnowledgeEntry, frozen=True):
    """Terabytes written for each terabyte of capacity that the maker rates a model for."""

    model: str
    tbw_per_tb: float
    source: str


def disk_classes() -> tuple[DiskClass, ...]:
    """All that are known, in the file's order."""
    return tuple(load_entries("storage", "class", DiskClass).entries)


def disk_class(device: BlockDevice) -> DiskClass | None:
    """The class of a physical disk; None for virtual and emulated devices, loops and unknown transports."""
    if (
        is_virtual_disk(device.transport, device.model)
        or not is_present(device.rotational)
        or not is_present(device.transport)
    ):
        return None
    for entry in load_entries("storage", "class", DiskClass).entries:
        if entry.transport == device.transport and entry.rotational == device.rotational:
            return entry
    return None


def cloud_disks(host: Host, device: BlockDevice) -> tuple[CloudDisk, ...]:
    """The disks that this one can be of the cloud that the firmware names; none where it names none."""
    texts = [host.read_file_text(f"{DMI}/{name}") for name in TELLS_THE_CLOUD]
    machine = "\n".join(text for text in texts if is_present(text))
    model = device.model.strip() if is_present(device.model) else ""
    return tuple(
        disk
        for disk in cloud_disks_of_size(device)
        if machine and matches_pattern(disk.machine, machine) and matches_pattern(disk.model, model)
    )


def cloud_disks_of_size(device: BlockDevice) -> tuple[CloudDisk, ...]:
    """Return what any cloud sells in this size; none for what is no virtual disk."""
    gib = _size_gib(device) if is_virtual_disk(device.transport, device.model) else 0.0
    return tuple(d for d in load_entries("storage", "offer", CloudDisk).entries if d.gib[0] < gib <= d.gib[1])


def _size_gib(device: BlockDevice) -> float:
    return device.size_bytes / 2**30 if is_present(device.size_bytes) else 0.0


def disk_uses() -> tuple[DiskUse, ...]:
    """Return what disks are used for, in the file's order."""
    return load_entries("storage", "job", DiskUse).entries


def matches_pattern(pattern: str, text: str) -> bool:
    """False where a site's own pattern is none."""
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return False


def endurance_share(device: BlockDevice, written_bytes: int) -> float | None:
    """Share (0..1) of the rated endurance that so many bytes take; None where the maker's figure is not known."""
    if not is_present(device.model) or not is_present(device.size_bytes) or not device.size_bytes:
        return None
    for entry in load_entries("storage", "endurance", RatedEndurance).entries:
        if matches_pattern(entry.model, device.model):
            rated = entry.tbw_per_tb * device.size_bytes
            return written_bytes / rated
    return None


def link_share_used(device: BlockDevice, bytes_per_s: float) -> float | None:
    """Share (0..1) of the link's payload rate; None where the link is not known.

    None as well where the measured rate exceeds it: then the figure is not true (an emulated link, one that saved power
    when it was read), and nothing may be concluded from it.
    """
    link = device.link
    if not is_present(link) or not is_present(link.bytes_per_s) or not link.bytes_per_s:
        return None
    share = bytes_per_s / link.bytes_per_s
    return share if share <= EXCEEDED else None


def guess_seconds_to_write(size_bytes: float) -> float:
    """Seconds for writing test files of so many bytes: a careful guess until the first one is; a plan says "about"."""
    return size_bytes / _FILL_BYTES_PER_S
