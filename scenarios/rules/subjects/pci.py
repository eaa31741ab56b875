"""Rows about the PCI devices that move data."""

import re
from functools import partial

from probes.host import Host
from probes.system.disk.drive.link import Link
from probes.system.pci import PciDevice, pci_devices
from probes.system.pcie_tags import read_request_bytes
from probes.system.virtualisation import virtualisation
from probes.types import Absent
from scenarios.rules.expression import Value
from scenarios.rules.subjects import irq
from scenarios.rules.table import SubjectRow


def pci_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per PCI device that moves data: its link now and at most, in bytes per second; the node it is on."""
    found = pci_devices(host)
    if isinstance(found, Absent):
        return found
    rows = []
    for device in found:
        columns = {
            "address": device.address,
            "kind": device.kind,
            "named": ", ".join(device.names[:4]) or device.address,
            "driver": device.driver,
            "node": device.node,
            "virtual_function": device.virtual_function,
            "irq_nodes": partial(_irq_nodes, host, device),
            **{name: partial(_by_hand, host, device, name) for name in irq.BY_HAND},
            "guest": virtualisation(host).virtual,
            "unasked": partial(_unasked, host, device),
            "read_request": partial(read_request_bytes, host, device.address),
            **_link(device.link),
        }
        rows.append(SubjectRow(device.address, columns, f"/sys/bus/pci/devices/{device.address}"))
    return rows


def _link(link: Link | Absent) -> dict[str, Value]:
    if isinstance(link, Absent):
        names = ("link", "most", "degraded", "both_known", "narrow", "lanes_made_for", "slot_lanes")
        return dict.fromkeys((*names, "rate", "most_rate"), link)
    return {
        "link": link.now,
        "most": link.at_most,
        "degraded": link.degraded,
        "both_known": bool(link.device_most and link.port_most),
        "narrow": _narrow(link.now, link.at_most),
        "lanes_made_for": _lanes(link.device_most),
        "slot_lanes": _lanes(link.port_most),
        "rate": link.bytes_per_s,
        "most_rate": link.most_bytes_per_s,
    }


def _unasked(host: Host, device: PciDevice) -> Value:
    """False where its configuration could be read, with or without PCI Express."""
    found = read_request_bytes(host, device.address)
    return found if isinstance(found, Absent) and found.kind != "unsupported" else False


def _irq_nodes(host: Host, device: PciDevice) -> Value:
    return irq.nodes_of(host, _irqs(host, device))


def _irqs(host: Host, device: PciDevice) -> tuple[str, ...]:
    folder = host.real(f"/sys/bus/pci/devices/{device.address}")
    return irq.irqs_of(host, folder, [*device.names[:1], device.address])


def _by_hand(host: Host, device: PciDevice, name: str) -> Value:
    return irq.by_hand(host, _irqs(host, device), device.node)[name]


def _narrow(now: str, most: str) -> bool:
    """Fewer lanes than both ends have: power saving lowers the speed, never the width."""
    few, all_lanes = _lanes(now), _lanes(most)
    return not isinstance(few, Absent) and not isinstance(all_lanes, Absent) and few < all_lanes


def _lanes(link: str) -> int | Absent:
    found = re.search(r" x([0-9]{1,4})$", link)
    return int(found[1]) if found else Absent("the number of lanes is not known")


_SLOWED = re.compile(
    r"^ *(HW (?:Thermal |Power Brake )?Slowdown|SW Thermal Slowdown) *: Active$", re.MULTILINE
)


def gpu_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per GPU: lanes, what slows it down, errors since it was reset. A live host is not asked."""
    if host.live:
        return []
    text = host.command("nvidia-smi", "-q")
    if isinstance(text, Absent):
        return []
    parts = re.split(r"^GPU 0*([0-9A-Fa-f]{4}:\S+)$", text, flags=re.MULTILINE)[1:]
    return [_row(name, told) for name, told in zip(parts[::2], parts[1::2], strict=True)]


def _row(name: str, text: str) -> SubjectRow:
    width = re.search(r"Link Width\s+Max\s*: ([0-9]{1,2})x\s+Current\s*: ([0-9]{1,2})x", text)
    slowed = [found[1] for found in _SLOWED.finditer(text)]
    volatile = re.search(r"^ +Volatile$(.*?)^ +Aggregate$", text, re.MULTILINE | re.DOTALL)
    lost = re.findall(
        r"(?:DRAM |SRAM )?Uncorrectable\w* *: ([0-9]{1,12})$", volatile[1] if volatile else "", re.MULTILINE
    )
    model = re.search(r"^ *Product Name *: (.+)$", text, re.MULTILINE)
    unknown = Absent("nvidia-smi does not report it", "unsupported")
    columns: dict[str, Value] = {
        "name": name,
        "model": model[1] if model else unknown,
        "most_width": int(width[1]) if width else unknown,
        "width": int(width[2]) if width else unknown,
        "slowed": bool(slowed),
        "why_slowed": ", ".join(slowed),
        "uncorrectable": sum(map(int, lost)) if lost else unknown,
        "pending": bool(re.search(r"^ *Pending(?: Page Blacklist)? *: Yes$", text, re.MULTILINE)),
        "remap_failed": bool(re.search(r"^ *Remapping Failure Occurred *: Yes$", text, re.MULTILINE)),
    }
    return SubjectRow(name, columns)
