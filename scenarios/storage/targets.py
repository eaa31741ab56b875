"""What the storage scenario compares: directories, what lies under each, and what else tells them apart."""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from probes.bench.disk.refusals import Suitability, suitability
from probes.host import Host
from probes.number_text import whole
from probes.system.disk.block import BlockDevice, block_devices
from probes.system.disk.mounts import Mount, Placement, memory_of, mounts, placement
from probes.types import Absent, present
from scenarios.model import Options, Usage
from scenarios.plan import Variant

# File systems that keep files on local devices, and so can be named with --dir without a second thought.
_NO_DATA = frozenset({"proc", "sysfs", "cgroup", "cgroup2", "devpts", "mqueue", "debugfs", "tracefs", "securityfs"}) | {
    "pstore", "bpf", "configfs", "fusectl", "autofs", "rpc_pipefs", "binfmt_misc", "nsfs", "efivarfs", "squashfs",
    "iso9660", "selinuxfs", "devtmpfs", "fuse.gvfsd-fuse", "fuse.portal", "erofs",
}  # fmt: skip
# Mount options that say nothing about speed.
_QUIET_OPTIONS = frozenset({"rw", "relatime", "nosuid", "nodev", "seclabel", "inode64", "attr2", "noquota"})


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A directory to be measured. `letter` is its variant's id; `devices` the leaves in the order of `place.leaves`."""

    letter: str
    directory: str
    place: Placement
    devices: tuple[BlockDevice, ...]
    explicit: bool

    @property
    def device(self) -> BlockDevice | None:
        """Where it is a single one: of several nothing can be said as of one disk."""
        return self.devices[0] if len(self.devices) == 1 else None

    @property
    def leaf_names(self) -> str:
        if self.place.leaves:
            return ", ".join(self.place.leaves)
        return self.place.mount.source


def target(host: Host, letter: str, directory: str, *, explicit: bool) -> Target | Absent:
    """What lies under the directory; absent where the mount table cannot tell."""
    place = placement(host, directory)
    if isinstance(place, Absent):
        return place
    known = host.once(block_devices)
    devices = tuple(known[name] for name in place.leaves if name in known)
    return Target(letter=letter, directory=directory, place=place, devices=devices, explicit=explicit)


def default_directories(host: Host) -> tuple[str, ...]:
    """`$TMPDIR` and `/var/tmp`, one of each file system: what may be written to without being named."""
    chosen: dict[str, str] = {}
    for directory in (os.environ.get("TMPDIR", ""), "/var/tmp"):
        place = placement(host, directory) if directory else None
        if isinstance(place, Placement) and os.path.isdir(directory):  # noqa: PTH112
            chosen.setdefault(place.mount.devno or place.mount.mountpoint, directory)
    return tuple(chosen.values())


def holding(host: Host, directory: str) -> str:
    """The file system that a directory is on: its device number, or where it is mounted."""
    place = placement(host, directory)
    return place.mount.devno or place.mount.mountpoint if isinstance(place, Placement) else directory


def could_be_named(host: Host, taken: Sequence[Target]) -> tuple[str, ...]:
    """Other file systems with files on them: one line each, for `--dir`."""
    table = mounts(host)
    if isinstance(table, Absent):
        return ()
    seen = {t.place.mount.devno for t in taken}
    lines: list[str] = []
    for mount in table:
        if mount.fstype in _NO_DATA or mount.devno in seen or "ro" in mount.options or memory_of(host, mount):
            continue
        seen.add(mount.devno)
        lines.append(f"{mount.mountpoint} ({mount.fstype} on {mount.source})")
    return tuple(lines)


def traits(host: Host, one: Target) -> dict[str, str]:
    """What can make one side faster than the other without the disk being the reason. Absent traits are left out."""
    mount = one.place.mount
    found = {
        "file system": mount.fstype,
        "mount options": ",".join(sorted(o for o in mount.options if o not in _QUIET_OPTIONS)) or "defaults",
        "layers": " on ".join(kinds(host, one)) or "none",
    }
    fill = fill_level(host, one.directory)
    if fill is not None:
        found["filled"] = f"{100 * fill:.0f} %"
    leaf = one.devices[0] if one.devices else None
    if leaf is not None:
        found |= {
            "transport": text(leaf.transport),
            "model": text(leaf.model),
            "scheduler": text(leaf.scheduler),
            "NUMA node": text(leaf.numa_node),
            "write cache": text(leaf.queue.write_cache),
        }
        if len(one.devices) > 1:
            found["devices"] = str(len(one.devices))
    return {k: v for k, v in found.items() if v}


def kinds(host: Host, one: Target) -> list[str]:
    """The kinds of the layers between file system and leaf, not their names: lvm, crypt, raid1, partition..."""
    known = host.once(block_devices)
    found: list[str] = []
    for name in one.place.layers:
        if name in one.place.leaves:
            continue
        kind = known[name].kind if name in known else "unknown"
        level = host.text(f"/sys/class/block/{name}/md/level") if kind == "md" else ""
        kind = level.strip() if present(level) and level.strip() else kind
        if kind not in found:  # both members of an array are partitions: said once
            found.append(kind)
    return found


def fill_level(host: Host, directory: str) -> float | None:
    """Share 0..1 of the blocks that are taken, as df(1) counts it: what is kept for root is neither used nor free."""
    state = host.statvfs(directory)
    if isinstance(state, Absent):
        return None
    used = state.f_blocks - state.f_bfree
    return used / (used + state.f_bavail) if used + state.f_bavail else None


def text(value: object) -> str:
    return "" if isinstance(value, Absent) or value is None else str(value)


def variant(host: Host, one: Target) -> Variant:
    """What a person reads beside the letter: the directory, its device, its file system, its link."""
    leaf = one.devices[0] if one.devices else None
    parts = [one.leaf_names]
    if leaf is not None:
        parts += [text(leaf.model), text(leaf.transport)]
        if present(leaf.link):
            parts.append(leaf.link.now)
    parts.append(one.place.mount.fstype)
    return Variant(
        id=one.letter,
        label=one.directory,
        detail="  ".join(p for p in parts if p),
        facts=traits(host, one),
    )


# A fill level within so many percentage points of the other counts as the same.
_FILL_POINTS = 10.0
_THE_DISK_ITSELF = frozenset({"transport", "model", "NUMA node", "devices"})


def differences(variants: Sequence[Variant]) -> tuple[str, ...]:
    """What differs beside the disks: with any, the verdict speaks of the stack, not of the disk.

    The disk's own traits (transport, model, node) are what is compared, and are not listed.
    """
    names = dict.fromkeys(k for v in variants for k in v.facts)
    lines: list[str] = []
    for name in names:
        values = {v.id: v.facts.get(name, "unknown") for v in variants}
        if len(set(values.values())) < 2 or name in _THE_DISK_ITSELF:
            continue
        if name == "filled" and close(list(values.values())):
            continue
        lines.append(f"{name}: " + ", ".join(f"{letter} {value}" for letter, value in values.items()))
    return tuple(lines)


def close(levels: Sequence[str]) -> bool:
    numbers = [n for v in levels if (n := whole(v.rstrip(" %"))) is not None]
    return len(numbers) == len(levels) and max(numbers) - min(numbers) <= _FILL_POINTS


def same_device(targets: Sequence[Target]) -> bool:
    """All of them lie on the very same leaves."""
    return len({t.place.leaves for t in targets}) == 1 and bool(targets[0].place.leaves)


def where(mount: Mount) -> str:
    return f"{mount.mountpoint} ({mount.fstype})"


class OwnDirectory:
    """Where a scenario of one directory makes its test files: the named one, or the first usual one that fits.

    Without one `fit` is None and `refusal` says why.
    """

    def __init__(self, host: Host, options: Options, default_bytes: int, workloads: Sequence[str]) -> None:
        """Raises Usage where several are named."""
        named = options.strings("dir")
        if len(named) > 1:
            raise Usage("give --dir once here, or run storage to compare several directories")
        self.explicit = bool(named)
        self.fit: Suitability | None = None
        self.refusal = ""
        directories = named or default_directories(host)
        if not directories:
            self.refusal = "neither $TMPDIR nor /var/tmp is there: name a directory"
        for directory in directories:
            asked = options.integer("size") or None
            fit = suitability(host, directory, explicit=self.explicit, size_bytes=asked, workloads=workloads)
            if not fit.refusal:
                least = fit.size_bytes if asked else min(fit.size_bytes, default_bytes)
                self.fit, self.refusal = msgspec.structs.replace(fit, size_bytes=least), ""
                return
            self.refusal = fit.refusal

    @property
    def directory(self) -> str:
        return self.fit.directory if self.fit is not None else ""

    @property
    def size_bytes(self) -> int:
        return self.fit.size_bytes if self.fit is not None else 0

    @property
    def leaves(self) -> tuple[str, ...]:
        return self.fit.placement.leaves if self.fit is not None and self.fit.placement is not None else ()

    @property
    def device(self) -> str:
        """The leaves' names; the source where no device is known (a network file system)."""
        if self.fit is None or self.fit.placement is None:
            return ""
        return ", ".join(self.leaves) or self.fit.placement.mount.source
