"""Rows about the PCI devices that move data."""

import re
from functools import partial

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.drive.link import BusLink
from hostdx.probes.system.pci import PciDevice, read_pci_devices
from hostdx.probes.system.pcie_tags import read_max_request_bytes
from hostdx.probes.system.virtualisation import read_virtualisation
from hostdx.probes.types import Absent
from hostdx.scenarios.triage.rules.expression import Value
from hostdx.scenarios.triage.rules.subjects import irq
from hostdx.scenarios.triage.rules.table import SubjectRow


def pci_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per PCI device that moves data: its link now and at most, in bytes per second; the node it is on."""
    devices = read_pci_devices(host)
    if isinstance(devices, Absent):
        return devices
    rows = []
    for device in devices:
        columns = {
            "address": device.address,
            "kind": device.kind,
            "named": ", ".join(device.names[:4]) or device.address,
            "driver": device.driver,
            "node": device.node,
            "virtual_function": device.virtual_function,
            "irq_nodes": partial(_irq_nodes, host, device),
            **{name: partial(_spreading_value, host, device, name) for name in irq.BY_HAND},
            "guest": read_virtualisation(host).is_virtual,
            "unasked": partial(_config_unreadable, host, device),
            "read_request": partial(read_max_request_bytes, host, device.address),
            **_pcie_link_columns(device.link),
        }
        rows.append(SubjectRow(device.address, columns, f"/sys/bus/pci/devices/{device.address}"))
    return rows


def _pcie_link_columns(link: BusLink | Absent) -> dict[str, Value]:
    if isinstance(link, Absent):
        names = ("link", "most", "degraded", "both_known", "narrow", "lanes_made_for", "slot_lanes")
        return dict.fromkeys((*names, "rate", "most_rate"), link)
    return {
        "link": link.now,
        "most": link.at_most,
        "degraded": link.degraded,
        "both_known": bool(link.device_most and link.port_most),
        "narrow": _has_fewer_lanes(link.now, link.at_most),
        "lanes_made_for": _lane_count(link.device_most),
        "slot_lanes": _lane_count(link.port_most),
        "rate": link.bytes_per_s,
        "most_rate": link.most_bytes_per_s,
    }


def _config_unreadable(host: Host, device: PciDevice) -> Value:
    """False where its configuration could be read, with or without PCI Express."""
    request_bytes = read_max_request_bytes(host, device.address)
    return (
        request_bytes if isinstance(request_bytes, Absent) and request_bytes.kind != "unsupported" else False
    )


def _irq_nodes(host: Host, device: PciDevice) -> Value:
    return irq.interrupt_nodes(host, _used_irqs_of_device(host, device))


def _used_irqs_of_device(host: Host, device: PciDevice) -> tuple[str, ...]:
    folder = host.resolve_path(f"/sys/bus/pci/devices/{device.address}")
    return irq.used_queue_irqs(host, folder, [*device.names[:1], device.address])


def _spreading_value(host: Host, device: PciDevice, name: str) -> Value:
    return irq.interrupt_spreading_values(host, _used_irqs_of_device(host, device), device.node)[name]


def _has_fewer_lanes(now: str, most: str) -> bool:
    """Fewer lanes than both ends have: power saving lowers the speed, never the width."""
    few, all_lanes = _lane_count(now), _lane_count(most)
    return not isinstance(few, Absent) and not isinstance(all_lanes, Absent) and few < all_lanes


def _lane_count(link: str) -> int | Absent:
    lanes_match = re.search(r" x([0-9]{1,4})$", link)
    return int(lanes_match[1]) if lanes_match else Absent("the number of lanes is not known")


_SLOWED = re.compile(
    r"^ *(HW (?:Thermal |Power Brake )?Slowdown|SW Thermal Slowdown) *: Active$", re.MULTILINE
)


def gpu_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per GPU: lanes, what slows it down, errors since it was reset. A live host is read where its programs
    were asked.
    """
    if host.live and not host.answering_programs:
        return []
    text = host.read_command("nvidia-smi", "-q")
    if isinstance(text, Absent):
        return []
    parts = re.split(r"^GPU 0*([0-9A-Fa-f]{4}:\S+)$", text, flags=re.MULTILINE)[1:]
    return [_nvidia_gpu_row(name, gpu_text) for name, gpu_text in zip(parts[::2], parts[1::2], strict=True)]


def _nvidia_gpu_row(name: str, text: str) -> SubjectRow:
    width = re.search(r"Link Width\s+Max\s*: ([0-9]{1,2})x\s+Current\s*: ([0-9]{1,2})x", text)
    slowed = [reason[1] for reason in _SLOWED.finditer(text)]
    volatile = re.search(r"^ +Volatile$(.*?)^ +Aggregate$", text, re.MULTILINE | re.DOTALL)
    lost = re.findall(
        r"(?:DRAM |SRAM )?Uncorrectable\w* *: ([0-9]{1,12})$", volatile[1] if volatile else "", re.MULTILINE
    )
    remapped = re.search(
        r"^ *Remapped Rows\s+Correctable Error *: ([0-9]{1,9})\s+Uncorrectable Error *: ([0-9]{1,9})",
        text,
        re.MULTILINE,
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
        "remapped": int(remapped[1]) + int(remapped[2]) if remapped else unknown,
        "remap_failed": bool(re.search(r"^ *Remapping Failure Occurred *: Yes$", text, re.MULTILINE)),
    }
    return SubjectRow(name, columns)


# Classes of devices that move data, by lspci's names for them.
_MOVES_DATA = re.compile(
    r"Ethernet controller|Infiniband controller|Network controller|Non-Volatile memory controller|RAID bus controller|"
    r"Serial Attached SCSI controller|Fibre Channel|Mass storage controller|SATA controller"
)
_DEVICE = re.compile(r"^(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] ", re.MULTILINE)
_LINK = r"Speed ([0-9.]{1,4})GT/s[^,\n]{0,20}, Width x([0-9]{1,2})"


def captured_lspci_rows(host: Host) -> list[SubjectRow]:
    """One row per device of a captured `lspci -vv` without sysfs: GT/s and lanes, now and at most."""
    if host.live or (host.list_names("/sys/bus/pci/devices") or ()):
        return []
    rows = []
    for path in host.glob_paths("/sos_commands/pci/lspci*-*v*"):
        text = host.read_file_text(path, 4 << 20)
        starts = [match.start() for match in _DEVICE.finditer(text)] if isinstance(text, str) else []
        for start, end in zip(starts, [*starts[1:], None][: len(starts)], strict=True):
            assert isinstance(text, str)
            row = _lspci_link_row(text[start:end], path)
            if row is not None:
                rows.append(row)
        if rows:
            break
    return rows


def _lspci_link_row(block: str, path: str) -> SubjectRow | None:
    head = block.partition("\n")[0]
    most, now = re.search(rf"LnkCap:.*?{_LINK}", block), re.search(rf"LnkSta:\s*{_LINK}", block)
    if not (_MOVES_DATA.search(head) and most and now) or now[2] == "0":
        return None
    address, _, device = head.partition(" ")
    columns: dict[str, Value] = {
        "name": address,
        "device": device.partition(": ")[2][:80] or device[:80],
        "path": path,
        "speed": float(now[1]),
        "lanes": int(now[2]),
        "max_speed": float(most[1]),
        "max_lanes": int(most[2]),
    }
    return SubjectRow(address, columns)
