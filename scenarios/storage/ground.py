"""What the directories have in common, said before anything is measured: then it is plain what can differ at all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Literal, TypeAlias

import msgspec

from probes.host import Host
from probes.system.disk.directory import directory_traits, file_system_number
from probes.types import present
from scenarios.files.target import Target
from scenarios.storage.targets import kinds

Common: TypeAlias = Literal[
    "file system", "subvolumes", "volumes", "partitions", "disk", "some disks", "paths"
]


class Shared(msgspec.Struct, frozen=True, kw_only=True):
    """Of two directories. `disks`: what both lie on; `differs`: by trait of the directories, each one's value.

    None where a file system does not tell them.
    """

    a: str
    b: str
    common: Common
    fstype: str
    disks: tuple[str, ...]
    differs: dict[str, tuple[str, str]] | None = None


def shared(host: Host, targets: Sequence[Target]) -> tuple[Shared, ...]:
    """Of every two directories that have something in common; live, for it reads the directories."""
    return tuple(found for a, b in combinations(targets, 2) if (found := _of(host, a, b)) is not None)


def _of(host: Host, a: Target, b: Target) -> Shared | None:
    disks = tuple(name for name in a.place.leaves if name in b.place.leaves)
    common = _common(host, a, b, disks)
    if common is None:
        return None
    differs = None
    if common in ("file system", "subvolumes"):
        mine, theirs = (directory_traits(one.directory) for one in (a, b))
        if mine and theirs:
            differs = {
                n: (mine[n], theirs[n]) for n in sorted(mine.keys() & theirs.keys()) if mine[n] != theirs[n]
            }
    return Shared(
        a=a.letter,
        b=b.letter,
        common=common,
        fstype=a.place.mount.fstype,
        disks=disks or a.place.leaves,
        differs=differs,
    )


def on_one_file_system(found: Sequence[Shared], count: int) -> bool:
    """All of so many directories, with equal attributes as far as they are told."""
    pairs = count * (count - 1) // 2
    return bool(pairs) and sum(one.common == "file system" and not one.differs for one in found) == pairs


def _common(host: Host, a: Target, b: Target, disks: Sequence[str]) -> Common | None:
    numbers = [file_system_number(one.directory) for one in (a, b)]
    if None not in numbers and numbers[0] == numbers[1]:
        return "file system"
    one, other = a.place.mount, b.place.mount
    if one.fstype == other.fstype == "btrfs" and a.place.device == b.place.device:
        return "subvolumes"
    if not disks:
        return "paths" if _same_disk(host, a, b) else None
    if not set(a.place.leaves) == set(b.place.leaves) == set(disks):
        return "some disks"
    if "lvm" in kinds(host, a) and "lvm" in kinds(host, b):
        return "volumes"
    if "partition" in kinds(host, a) or "partition" in kinds(host, b):
        return "partitions"
    return "disk"


def _same_disk(host: Host, a: Target, b: Target) -> bool:
    """Two names of one device, by its world-wide name: another path to it."""
    known: list[set[str]] = []
    for one in (a, b):
        paths = [
            f"/sys/block/{name}/{where}" for name in one.place.leaves for where in ("wwid", "device/wwid")
        ]
        known.append({text.strip() for path in paths if present(text := host.text(path)) and text.strip()})
    return bool(known[0] & known[1])


def sentence(one: Shared) -> str:
    both, disks = f"{one.a} and {one.b}", ", ".join(one.disks) or one.fstype
    match one.common:
        case "file system" | "subvolumes":
            what = "one file system" if one.common == "file system" else "subvolumes of one file system"
            return f"{both} lie on {what} ({one.fstype} on {disks}): what can differ is {_what_differs(one)}"
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


def _what_differs(one: Shared) -> str:
    if one.differs is None:
        return "the place; their attributes could not be read"
    traits = [f"{name} ({one.a} {mine}, {one.b} {theirs})" for name, (mine, theirs) in one.differs.items()]
    return f"the place and {', '.join(traits)}" if traits else "the place; their attributes are equal"
