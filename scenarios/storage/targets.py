"""What the storage scenario compares: directories, what lies under each, what tells them apart and what they share."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Literal, TypeAlias

import msgspec

from hostdx.probes.number_text import parse_unsigned
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.block import block_devices
from hostdx.probes.system.disk.directory import device_number_of_path, directory_traits
from hostdx.probes.system.disk.mounts import read_mounts
from hostdx.probes.system.disk.topology import memory_file_system_of
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.plan import Variant
from hostdx.scenarios.experiment.files.directories import file_system_key
from hostdx.scenarios.experiment.files.places import NO_DATA, ComparedDirectory, text_or_empty
from hostdx.scenarios.triage.triage import findings_about

# Mount options that say nothing about speed.
_QUIET_OPTIONS = frozenset({"rw", "relatime", "nosuid", "nodev", "seclabel", "inode64", "attr2", "noquota"})


# A fill level within so many percentage points of the other counts as the same.
_FILL_POINTS = 10.0
_THE_DISK_ITSELF = frozenset({"transport", "model", "NUMA node", "devices"})
Common: TypeAlias = Literal[
    "file system", "subvolumes", "volumes", "partitions", "disk", "some disks", "paths"
]
SETTINGS = frozenset({"storage", "iosched", "fstrim"})  # what is set of a disk, or on the way to it


def describe_other_file_systems(host: Host, targets: Sequence[ComparedDirectory]) -> tuple[str, ...]:
    """Other file systems with files on them: one line each, for `--dir`."""
    table = read_mounts(host)
    if isinstance(table, Absent):
        return ()
    seen_devices = {t.place.mount.devno for t in targets}
    lines: list[str] = []
    for mount in table:
        if (
            mount.fstype in NO_DATA
            or mount.devno in seen_devices
            or "ro" in mount.options
            or memory_file_system_of(host, mount)
        ):
            continue
        seen_devices.add(mount.devno)
        lines.append(f"{mount.mountpoint} ({mount.fstype} on {mount.source})")
    return tuple(lines)


def read_traits(host: Host, target: ComparedDirectory) -> dict[str, str]:
    """Return what can make one side faster than the other though the disk is not why. Absent traits are left out."""
    mount = target.place.mount
    traits = {
        "file system": mount.fstype,
        "mount options": ",".join(sorted(o for o in mount.options if o not in _QUIET_OPTIONS)) or "defaults",
        "layers": " on ".join(list_layer_kinds(host, target)) or "none",
    }
    fill = filled_share(host, target.directory)
    if fill is not None:
        traits["filled"] = f"{100 * fill:.0f} %"
    leaf = target.devices[0] if target.devices else None
    if leaf is not None:
        traits |= {
            "transport": text_or_empty(leaf.transport),
            "model": text_or_empty(leaf.model),
            "scheduler": text_or_empty(leaf.scheduler),
            "NUMA node": text_or_empty(leaf.numa_node),
            "write cache": text_or_empty(leaf.queue.write_cache),
        }
        if len(target.devices) > 1:
            traits["devices"] = str(len(target.devices))
    return {k: v for k, v in traits.items() if v}


def list_layer_kinds(host: Host, target: ComparedDirectory) -> list[str]:
    """The kinds of the layers between file system and leaf, not their names: lvm, crypt, raid1, partition..."""
    devices = block_devices(host)
    layer_kinds: list[str] = []
    for name in target.place.layers:
        if name in target.place.leaves:
            continue
        kind = devices[name].kind if name in devices else "unknown"
        level = host.read_file_text(f"/sys/class/block/{name}/md/level") if kind == "md" else ""
        kind = level.strip() if is_present(level) and level.strip() else kind
        if kind not in layer_kinds:  # both members of an array are partitions: said once
            layer_kinds.append(kind)
    return layer_kinds


def filled_share(host: Host, directory: str) -> float | None:
    """Share 0..1 of the blocks that are taken, as df(1) counts it: what is kept for root is neither used nor free."""
    state = host.read_statvfs(directory)
    if isinstance(state, Absent):
        return None
    used = state.f_blocks - state.f_bfree
    return used / (used + state.f_bavail) if used + state.f_bavail else None


def make_variant(host: Host, target: ComparedDirectory) -> Variant:
    """Return what a person reads beside the letter: the directory, its device, its file system, its link."""
    leaf = target.devices[0] if target.devices else None
    parts = [target.leaf_names]
    if leaf is not None:
        parts += [text_or_empty(leaf.model), text_or_empty(leaf.transport)]
        if is_present(leaf.link):
            parts.append(leaf.link.now)
    parts.append(target.place.mount.fstype)
    return Variant(
        id=target.letter,
        label=target.directory,
        detail="  ".join(p for p in parts if p),
        facts=read_traits(host, target),
    )


def list_differences(variants: Sequence[Variant]) -> tuple[str, ...]:
    """Return what differs beside the disks: with any, the verdict speaks of the stack, not of the disk.

    The disk's own traits (transport, model, node) are what is compared, and are not listed.
    """
    names = dict.fromkeys(k for v in variants for k in v.facts)
    lines: list[str] = []
    for name in names:
        values = {v.id: v.facts.get(name, "unknown") for v in variants}
        if len(set(values.values())) < 2 or name in _THE_DISK_ITSELF:
            continue
        if name == "filled" and are_levels_close(list(values.values())):
            continue
        lines.append(f"{name}: " + ", ".join(f"{letter} {value}" for letter, value in values.items()))
    return tuple(lines)


def are_levels_close(levels: Sequence[str]) -> bool:
    numbers = [n for v in levels if (n := parse_unsigned(v.rstrip(" %"))) is not None]
    return len(numbers) == len(levels) and max(numbers) - min(numbers) <= _FILL_POINTS


def are_on_same_device(targets: Sequence[ComparedDirectory]) -> bool:
    """All of them lie on the very same leaves."""
    return len({t.place.leaves for t in targets}) == 1 and bool(targets[0].place.leaves)


class SharedPart(msgspec.Struct, frozen=True, kw_only=True):
    """Of two directories. `disks`: what both lie on; `differs`: by trait of the directories, each one's value.

    None where a file system does not tell them.
    """

    a: str
    b: str
    common: Common
    fstype: str
    disks: tuple[str, ...]
    differs: dict[str, tuple[str, str]] | None = None


def find_shared_parts(host: Host, targets: Sequence[ComparedDirectory]) -> tuple[SharedPart, ...]:
    """Of every two directories that have something in common; live, for it reads the directories."""
    return tuple(
        part for a, b in combinations(targets, 2) if (part := _part_shared_by(host, a, b)) is not None
    )


def _part_shared_by(host: Host, a: ComparedDirectory, b: ComparedDirectory) -> SharedPart | None:
    disks = tuple(name for name in a.place.leaves if name in b.place.leaves)
    common = _find_common(host, a, b, disks)
    if common is None:
        return None
    differs = None
    if common in ("file system", "subvolumes"):
        mine, others = (directory_traits(target.directory) for target in (a, b))
        if mine and others:
            differs = {n: (mine[n], others[n]) for n in sorted({*mine} & {*others}) if mine[n] != others[n]}
    return SharedPart(
        a=a.letter,
        b=b.letter,
        common=common,
        fstype=a.place.mount.fstype,
        disks=disks or a.place.leaves,
        differs=differs,
    )


def are_on_one_file_system(parts: Sequence[SharedPart], count: int) -> bool:
    """All of so many directories, with equal attributes as far as they are told."""
    pairs = count * (count - 1) // 2
    return bool(pairs) and sum(part.common == "file system" and not part.differs for part in parts) == pairs


def _find_common(
    host: Host, a: ComparedDirectory, b: ComparedDirectory, common_disks: Sequence[str]
) -> Common | None:
    numbers = [device_number_of_path(first.directory) for first in (a, b)]
    if None not in numbers and numbers[0] == numbers[1]:
        return "file system"
    first, other = a.place.mount, b.place.mount
    if first.fstype == other.fstype == "btrfs" and a.place.device == b.place.device:
        return "subvolumes"
    if not common_disks:
        return "paths" if _have_same_wwid(host, a, b) else None
    if not set(a.place.leaves) == set(b.place.leaves) == set(common_disks):
        return "some disks"
    if "lvm" in list_layer_kinds(host, a) and "lvm" in list_layer_kinds(host, b):
        return "volumes"
    if "partition" in list_layer_kinds(host, a) or "partition" in list_layer_kinds(host, b):
        return "partitions"
    return "disk"


def _have_same_wwid(host: Host, a: ComparedDirectory, b: ComparedDirectory) -> bool:
    """Two names of one device, by its world-wide name: another path to it."""
    wwids: list[set[str]] = []
    for target in (a, b):
        paths = [
            f"/sys/block/{name}/{attribute}"
            for name in target.place.leaves
            for attribute in ("wwid", "device/wwid")
        ]
        wwids.append(
            {text.strip() for path in paths if is_present(text := host.read_file_text(path)) and text.strip()}
        )
    return bool(wwids[0] & wwids[1])


def describe_shared(part: SharedPart) -> str:
    both, disks = f"{part.a} and {part.b}", ", ".join(part.disks) or part.fstype
    match part.common:
        case "file system" | "subvolumes":
            place_text = (
                "one file system" if part.common == "file system" else "subvolumes of one file system"
            )
            differing = _what_differs_text(part)
            return f"{both} lie on {place_text} ({part.fstype} on {disks}): what can differ is {differing}"
        case "volumes":
            return f"{both} are logical volumes on the same disks ({disks}): what differs is not the disk"
        case "partitions":
            return f"{both} are partitions of one disk ({disks}): what differs is the place on it or the file system"
        case "disk":
            return (
                f"{both} are file systems on one disk ({disks}): what differs is the file system or the place"
            )
        case "some disks":
            return f"{both} use {disks}, among others"
    return f"{both} lie on one device that is reached through two paths ({disks})"


def _what_differs_text(part: SharedPart) -> str:
    if part.differs is None:
        return "the place; their attributes could not be read"
    traits = [f"{name} ({part.a} {mine}, {part.b} {value})" for name, (mine, value) in part.differs.items()]
    return f"the place and {', '.join(traits)}" if traits else "the place; their attributes are equal"


def list_known_findings(host: Host, targets: Sequence[ComparedDirectory]) -> list[Finding]:
    """Return what the rules say of these directories, their file systems and the devices below them."""
    names = set(_paths_and_devices(targets))
    mounted = {file_system_key(host, target.directory) for target in targets}

    def is_concerned(subject: str) -> bool:
        return subject in names or (subject.startswith("/") and file_system_key(host, subject) in mounted)

    return [
        finding
        for finding in findings_about(host, SETTINGS)
        if any(is_concerned(subject) for subject in (finding.subject, *finding.subjects) if subject)
    ]


def _paths_and_devices(targets: Sequence[ComparedDirectory]) -> Iterator[str]:
    for target in targets:
        yield from (
            target.directory,
            target.place.mount.mountpoint,
            *target.place.layers,
            *target.place.leaves,
        )
