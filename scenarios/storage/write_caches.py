"""Disks of one model of which only some have their write cache on: a rule."""

from __future__ import annotations

from collections.abc import Iterator

from probes.host import Host
from probes.system.disk.block import BlockDevice, block_devices
from probes.system.virtualisation import virtualisation
from probes.types import present
from scenarios.finding import Finding
from scenarios.rule import Inapplicable
from scenarios.rules.texts import texts

SAYS = texts("storage")

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
            yield SAYS.finding(
                "write-cache-differs",
                subject=off[0] if len(off) == 1 else "",
                subjects=tuple(off) if len(off) > 1 else (),
                model=model,
                off=", ".join(off),
                on=", ".join(on),
                have="has" if len(on) == 1 else "have",
                disks=tuple(off),
            )


def _cache(disk: BlockDevice) -> str:
    return disk.queue.write_cache.strip() if present(disk.queue.write_cache) else ""
