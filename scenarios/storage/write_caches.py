"""Disks of one model of which only some have their write cache on: a rule."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from probes.host import Host
from probes.system.disk.block import BlockDevice, block_devices
from probes.system.virtualisation import virtualisation
from probes.types import present
from scenarios.finding import Evidence, Finding, Remedy
from scenarios.rule import Inapplicable

ALONE = frozenset({"sata", "sas"})  # outside of virtual machines storage.write-cache looks at each of these


def differing(host: Host) -> Iterator[Finding]:
    """Two disks of one model are bought to be alike; a cache that is off on one of them makes its writes slower."""
    guest = host.once(virtualisation).virtual
    models: dict[tuple[str, str], list[BlockDevice]] = {}
    for disk in host.once(block_devices).values():
        if disk.parent or not present(disk.model) or not disk.model or not present(disk.transport):
            continue
        if present(disk.queue.write_cache) and (guest or disk.transport not in ALONE):
            models.setdefault((disk.transport, disk.model.strip()), []).append(disk)
    several = {model: disks for (_, model), disks in models.items() if len(disks) > 1}
    if not several:
        raise Inapplicable("no two disks of one model report their write cache")
    for model, disks in several.items():
        off = [d.name for d in disks if _cache(d) == "write through"]
        on = [d.name for d in disks if _cache(d) == "write back"]
        if off and on:
            yield _finding(model, off, on)


def _cache(disk: BlockDevice) -> str:
    return disk.queue.write_cache.strip() if present(disk.queue.write_cache) else ""


def _finding(model: str, off: list[str], on: list[str]) -> Finding:
    return Finding(
        id="storage.write-cache-differs",
        severity="notice",
        subject=off[0] if len(off) == 1 else "",
        subjects=tuple(off) if len(off) > 1 else (),
        title=f"the write cache of {', '.join(off)} is off; {', '.join(on)}, of the same model, "
        f"{'has' if len(on) == 1 else 'have'} it on",
        evidence=(
            Evidence(
                f"{model}: {', '.join(off)} write through, {', '.join(on)} write back", "queue/write_cache"
            ),
            Evidence(
                "without the cache each write waits for the medium; a synced write then needs no flush after it"
            ),
        ),
        remedy=(
            Remedy(
                title="See what the drive itself reports, and whether an application needs it off",
                commands=tuple(f"hdparm -W /dev/{shlex.quote(name)}" for name in off),
                verify=tuple(f"cat /sys/block/{shlex.quote(name)}/queue/write_cache" for name in off),
            ),
        ),
        references=("Documentation/block/writeback_cache_control.rst",),
        prove="storage",
    )
