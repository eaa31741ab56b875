"""What a disk should give: by its class, by its link, and what its maker rates it for in bytes written."""

from __future__ import annotations

import datetime
import re

import msgspec

from probes.system.disk.block import BlockDevice
from probes.system.disk.transport import emulated
from probes.types import present
from scenarios.knowledge.load import load

_FILL_BYTES_PER_S = 200e6
EXCEEDED = 1.1  # of a link's payload rate: reckoned without all of its overhead, so a little more is nothing


class DiskClass(msgspec.Struct, frozen=True):
    """A class of disks: [low, high] of what they usually give, by workload id. Wide: a hint, never a verdict."""

    transport: str
    rotational: bool
    title: str
    source: str
    dated: datetime.date
    ranges: dict[str, tuple[float, float]]


class Endurance(msgspec.Struct, frozen=True):
    """Terabytes written for each terabyte of capacity that the maker rates a model for."""

    model: str
    tbw_per_tb: float
    source: str
    dated: datetime.date


def disk_classes() -> tuple[DiskClass, ...]:
    """All that are known, in the file's order."""
    return tuple(load("storage", "class", DiskClass).entries)


def disk_class(device: BlockDevice) -> DiskClass | None:
    """The class of a physical disk; None for virtual and emulated devices, loops and unknown transports."""
    if emulated(device.model) or not present(device.rotational) or not present(device.transport):
        return None
    for entry in load("storage", "class", DiskClass).entries:
        if entry.transport == device.transport and entry.rotational == device.rotational:
            return entry
    return None


def endurance_share(device: BlockDevice, written_bytes: int) -> float | None:
    """Share (0..1) of the rated endurance that so many bytes take; None where the maker's figure is not known."""
    if not present(device.model) or not present(device.size_bytes) or not device.size_bytes:
        return None
    for entry in load("storage", "endurance", Endurance).entries:
        try:
            fits = re.search(entry.model, device.model)
        except re.error:  # a site's own pattern
            continue
        if fits:
            rated = entry.tbw_per_tb * device.size_bytes
            return written_bytes / rated
    return None


def link_share(device: BlockDevice, bytes_per_s: float) -> float | None:
    """Share (0..1) of the link's payload rate; None where the link is not known.

    None as well where the measured rate exceeds it: then the figure is not true (an emulated link, one that saved power
    when it was read), and nothing may be concluded from it.
    """
    link = device.link
    if not present(link) or not present(link.bytes_per_s) or not link.bytes_per_s:
        return None
    share = bytes_per_s / link.bytes_per_s
    return share if share <= EXCEEDED else None


def fill_s(size_bytes: float) -> float:
    """Seconds for writing test files of so many bytes: a careful guess until the first one is; a plan says "about"."""
    return size_bytes / _FILL_BYTES_PER_S
