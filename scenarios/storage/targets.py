"""What the storage scenario compares: directories, what lies under each, and what else tells them apart."""

from __future__ import annotations

from collections.abc import Sequence

from probes.host import Host
from probes.number_text import whole
from probes.system.disk.block import block_devices
from probes.system.disk.mounts import Mount, memory_of, mounts
from probes.types import Absent, present
from scenarios.files.target import NO_DATA, Target, text
from scenarios.plan import Variant

# Mount options that say nothing about speed.
_QUIET_OPTIONS = frozenset({"rw", "relatime", "nosuid", "nodev", "seclabel", "inode64", "attr2", "noquota"})


def could_be_named(host: Host, taken: Sequence[Target]) -> tuple[str, ...]:
    """Other file systems with files on them: one line each, for `--dir`."""
    table = mounts(host)
    if isinstance(table, Absent):
        return ()
    seen = {t.place.mount.devno for t in taken}
    lines: list[str] = []
    for mount in table:
        if mount.fstype in NO_DATA or mount.devno in seen or "ro" in mount.options or memory_of(host, mount):
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
