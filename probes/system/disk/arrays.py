"""Arrays and pools under a file system: md arrays, multipath, LVM thin pools, and how they are."""

import re

import msgspec

from hostdx.probes.reading.host import Host, compute_once_if_static
from hostdx.probes.system.disk.block import block_devices, device_and_layers_below
from hostdx.probes.types import Absent, is_present


class MdArray(msgspec.Struct, frozen=True, kw_only=True):
    """An md array (Documentation/admin-guide/md.rst). `action` is idle, resync, recover, check, repair, reshape or
    frozen; `done` the part of it that is done, 0 to 1.
    """

    name: str
    level: str | Absent
    state: str | Absent
    disks: int | Absent
    missing: int | Absent
    action: str | Absent
    done: float | Absent

    @property
    def is_degraded(self) -> bool:
        return isinstance(self.missing, int) and self.missing > 0

    @property
    def is_busy(self) -> bool:
        return isinstance(self.action, str) and self.action not in ("idle", "frozen", "")


class ThinPool(msgspec.Struct, frozen=True, kw_only=True):
    """Fill of an LVM thin pool, 0 to 1. `mode` is rw, ro or out_of_data_space."""

    name: str
    device: str
    data: float | Absent
    metadata: float | Absent
    mode: str | Absent


def md_array(host: Host, name: str) -> MdArray:
    """Of `md0` and the like; fields of arrays without redundancy are absent."""
    folder = f"/sys/block/{name}/md"
    done = host.read_file_text(f"{folder}/sync_completed")  # `1234 / 5678` in sectors, or `none`
    pair = re.match(r"([0-9]{1,19}) / ([0-9]{1,19})\b", done) if is_present(done) else None
    return MdArray(
        name=name,
        level=host.read_word(f"{folder}/level"),
        state=host.read_word(f"{folder}/array_state"),
        disks=host.read_integer(f"{folder}/raid_disks"),
        missing=host.read_integer(f"{folder}/degraded"),
        action=host.read_word(f"{folder}/sync_action"),
        done=int(pair[1]) / int(pair[2])
        if pair and int(pair[2])
        else Absent("nothing is under way", "unsupported", folder),
    )


@compute_once_if_static
def md_arrays(host: Host) -> tuple[MdArray, ...]:
    folders = host.glob_paths("/sys/block/md*/md")
    return tuple(md_array(host, folder.split("/")[3]) for folder in folders)


def read_mdstat(host: Host) -> tuple[tuple[str, int, str], ...]:
    """/proc/mdstat (drivers/md/md.c, md_seq_show): name, members that are missing, what is under way ("": nothing)."""
    text = host.read_file_text("/proc/mdstat")
    arrays = []
    for name, rest in (
        re.findall(r"^(md\w+) : active((?:.*\n?)(?:[ \t].*\n?)*)", text, re.M) if is_present(text) else ()
    ):
        counts = re.search(r"\[([0-9]{1,5})/([0-9]{1,5})\]", rest)
        busy = re.search(r"\b(resync|recovery|check|repair|reshape) =", rest)
        missing = max(0, int(counts[1]) - int(counts[2])) if counts else 0
        arrays.append((name, missing, busy[1] if busy else ""))
    return tuple(arrays)


def thin_pool_under(host: Host, name: str) -> ThinPool | None:
    """The thin pool under a device, None where there is none. LVM gives it a device whose uuid ends in `-tpool`."""
    for layer in device_and_layers_below(block_devices(host), name):
        uuid = host.read_word(f"/sys/block/{layer}/dm/uuid")
        if is_present(uuid) and uuid.endswith("-tpool"):
            label = host.read_word(f"/sys/block/{layer}/dm/name")
            return _read_thin_pool(host, layer, label if is_present(label) else layer)
    return None


def parse_thin_status(line: str) -> tuple[float, float, str] | None:
    """Data fill, metadata fill and mode ("ro, needs_check" where it has to be repaired first) of a `thin-pool` status
    line (dm-thin's Status; Documentation/admin-guide/device-mapper/thin-provisioning.rst): `0 409600 thin-pool 1
    118/1024 51200/3200000 - rw no_discard_passdown ...`.
    """
    words = line.split("thin-pool", 1)[-1].split()
    if "thin-pool" not in line or len(words) < 5:
        return None
    metadata, data = (re.fullmatch(r"([0-9]{1,19})/([0-9]{1,19})", word) for word in words[1:3])
    if not metadata or not data or not int(metadata[2]) or not int(data[2]):
        return None
    mode = f"{words[4]}, needs_check" if "needs_check" in words[5:] else words[4]
    return int(data[1]) / int(data[2]), int(metadata[1]) / int(metadata[2]), mode


def _read_thin_pool(host: Host, device: str, label: str) -> ThinPool:
    source = f"dmsetup status {label}"
    text = (
        host.read_command("dmsetup", "status", label) if host.live else host.read_command("dmsetup", "status")
    )
    if isinstance(text, Absent):
        return ThinPool(name=label, device=device, data=text, metadata=text, mode=text)
    # With a name only its line is printed, without one each line begins with `name: `.
    lines = [
        line.removeprefix(f"{label}: ")
        for line in text.splitlines()
        if host.live or line.startswith(f"{label}: ")
    ]
    parsed = next((status for line in lines if (status := parse_thin_status(line)) is not None), None)
    if parsed is None:
        # A pool whose metadata failed answers `thin-pool Fail`.
        failed = Absent(f"{label} reports no fill: {' '.join(lines)[:80]}", "invalid", source)
        return ThinPool(name=label, device=device, data=failed, metadata=failed, mode=failed)
    return ThinPool(name=label, device=device, data=parsed[0], metadata=parsed[1], mode=parsed[2])
