"""Read-only rules about disks and their links: what is slower than the hardware allows before anything is measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from probes.host import Host
from probes.system.disk.block import BlockDevice, block_devices
from probes.system.disk.drive.link import Link
from probes.system.virtualisation import virtualisation
from probes.types import Absent, present
from scenarios.finding import Finding
from scenarios.rule import Inapplicable, Rule, Unreadable
from scenarios.rules.texts import texts

ALONE = frozenset({"sata", "sas"})  # outside of virtual machines storage.write-cache looks at each of these


def differing(host: Host) -> Iterator[Finding]:
    """Two disks of one model are bought to be alike; a cache that is off on one of them makes its writes slower."""
    guest = host.once(virtualisation).virtual
    models: dict[tuple[str, str], list[BlockDevice]] = {}
    for disk in block_devices(host).values():
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


SAYS = texts("storage")


def disks(host: Host) -> list[BlockDevice]:
    """Whole devices with a size: no partitions, no optical drives, no empty loop or zram devices."""
    return [
        d
        for d in block_devices(host).values()
        if not d.parent and d.kind != "rom" and present(d.size_bytes) and d.size_bytes > 0
    ]


def unknown(what: str, names: Iterable[str], reason: str) -> Unreadable:
    """What is not known of these devices; the first six are named."""
    listed = list(names)
    more = f" and {len(listed) - 6} more" if len(listed) > 6 else ""
    return Unreadable(f"{what} of {', '.join(listed[:6])}{more}: {reason}")


def named(device: BlockDevice) -> str:
    return f"{device.name} ({device.model})" if present(device.model) and device.model else device.name


def degraded(host: Host, transport: str, what: str) -> Iterator[Finding]:
    """Disks of a transport whose link runs below what both of its ends can do."""
    those = [d for d in disks(host) if d.transport == transport]
    if not those:
        raise Inapplicable(f"no {what} disk")
    linked = [(d, d.link) for d in those if present(d.link)]
    if not linked:
        raise Unreadable(f"no {what} link state for {', '.join(d.name for d in those)}")
    for device, link in linked:
        if link.degraded:
            yield SAYS.finding(
                f"{link.kind}-link",
                subject=device.name,
                disk=named(device),
                limited_by=link.limited_by,
                **link_fields(link),
            )
    silent = [d.name for d, link in linked if not link.degraded and not (link.device_most and link.port_most)]
    silent += [d.name for d in those if not present(d.link)]
    if silent:
        reason = next(
            (d.link.reason for d in those if isinstance(d.link, Absent)),
            "one end does not report its maximum",
        )
        raise unknown(f"{what} link", silent, reason)


def link_fields(link: Link) -> dict[str, Any]:
    return {
        "now": link.now,
        "most": link.at_most,
        "source": link.source,
        "width_source": link.source.replace("link_speed", "link_width"),
    }


def pcie_link(host: Host) -> Iterator[Finding]:
    """`current_link_*` against `max_link_*` of the controller (Documentation/ABI/testing/sysfs-bus-pci)."""
    return degraded(host, "nvme", "NVMe")


def sata_link(host: Host) -> Iterator[Finding]:
    """`ata_link/*/sata_spd` against what drive and port can do: a cable or backplane, or a forced speed."""
    return degraded(host, "sata", "SATA")


def link_power(host: Host) -> Iterator[Finding]:
    """SATA link power management: a link that sleeps wakes up in up to 10 ms (partial/slumber states)."""
    paths = host.glob("/sys/class/scsi_host/host*/link_power_management_policy")
    if not any(d.transport == "sata" for d in disks(host)):
        raise Inapplicable("no SATA disk")
    if not paths:
        raise Unreadable("no link_power_management_policy below /sys/class/scsi_host")
    for path in paths:
        policy = host.text(path)
        if not present(policy) or policy.strip() in {"max_performance", "keep_firmware_settings", ""}:
            continue
        yield SAYS.finding("link-power", subject=path.split("/")[4], policy=policy.strip(), path=path)


def slow_slot(host: Host) -> Iterator[Finding]:
    """Disks that could do more than their slot or controller: nothing is broken, but another place is faster."""
    linked = [(d, d.link) for d in disks(host) if d.transport in {"nvme", "sata"} and present(d.link)]
    if not linked:
        raise Inapplicable("no NVMe or SATA disk that reports its link")
    for device, link in linked:
        if not link.device_most or not link.port_most or "can do less than" not in link.limited_by:
            continue
        yield SAYS.finding(
            "slot",
            subject=device.name,
            disk=named(device),
            device_most=link.device_most,
            port_most=link.port_most,
            what="slot" if link.kind == "pcie" else "controller",
            now=link.now,
            limited_by=link.limited_by,
            source=link.source,
        )


def write_caches(host: Host) -> Iterator[Finding]:
    """Two disks of one model, one of them without its write cache: in virtual machines, too."""
    return differing(host)


RULES: tuple[Rule, ...] = (
    Rule("storage.pcie-link", "storage", "PCIe link of each NVMe disk", pcie_link),
    Rule("storage.sata-link", "storage", "SATA link of each disk", sata_link),
    Rule("storage.slot", "storage", "slots and controllers slower than their disk", slow_slot),
    Rule("storage.link-power", "storage", "SATA link power management", link_power),
    Rule("storage.write-cache-differs", "storage", "write caches of disks of one model", write_caches),
)
