"""The link between a disk and its controller: how fast it runs now, and how fast it could; a device's NUMA node."""

import re
from typing import Literal

import msgspec

from hostdx.probes.number_text import parse_real
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.drive.ata import ata_port, parse_gigabits
from hostdx.probes.types import Absent, is_present

# Payload share of the line rate. PCIe: 8b/10b up to 5 GT/s, 128b/130b to 32 GT/s, then FLITs: 236 of 256 bytes
# (PCI Express Base Specification 6.0, 4.2.3: 236 bytes of packets, 6 of link layer, 8 of CRC, 6 of FEC).
_PCIE_EIGHT_OF_TEN_GTS = 5.0
_PCIE_FLIT_GTS = 64.0
_FASTEST_SATA_GBIT_PER_S = 6.0  # Serial ATA revision 3
_SERIAL_EIGHT_OF_TEN = 0.8  # SATA (all three generations) and SAS up to 12 Gb/s


class BusLink(msgspec.Struct, frozen=True, kw_only=True):
    """`bytes_per_s` is after the line encoding, before protocol overhead.

    `at_most` is what the device and its port can both do; where only one is known, that one. `degraded` is
    true only where both are known, or where the kernel itself lowered the limit.
    """

    kind: Literal["sata", "sas", "pcie"]
    now: str
    at_most: str
    bytes_per_s: int | Absent
    most_bytes_per_s: int | Absent
    degraded: bool
    source: str = ""
    device_most: str = ""  # what the device could do, empty where unknown
    port_most: str = ""  # what the port or slot could do, empty where unknown
    limited_by: str = ""  # in words, what holds it back; empty where nothing does


def pcie_bytes_per_s(gigatransfers: float, width: int) -> int:
    """Payload of a PCIe link of `width` lanes at so many GT/s."""
    if gigatransfers <= _PCIE_EIGHT_OF_TEN_GTS:
        share = 8 / 10
    elif gigatransfers < _PCIE_FLIT_GTS:
        share = 128 / 130
    else:
        share = 236 / 256
    return round(gigatransfers * 1e9 * share / 8 * width)


def pcie_link(host: Host, folder: str) -> BusLink | Absent:
    """Of the PCI device at the sysfs folder: `8.0 GT/s PCIe` (kernels before 5.x: `8 GT/s`), width `4`."""
    now = _pcie_rate_and_width(host, folder, "current")
    if isinstance(now, Absent):
        return now
    most = _pcie_rate_and_width(host, folder, "max")
    port = _pcie_rate_and_width(host, folder.rsplit("/", 1)[0], "max")
    both = [pair for pair in (most, port) if not isinstance(pair, Absent)]
    best = (min(p[0] for p in both), min(p[1] for p in both)) if both else None
    below = best is not None and len(both) == 2 and pcie_bytes_per_s(*now) < pcie_bytes_per_s(*best)
    limited = ""
    if below:
        limited = "runs below what the device and its slot can both do"
    elif len(both) == 2 and is_present(most) and best is not None and best != most:
        limited = "the slot can do less than the device"
    return BusLink(
        kind="pcie",
        now=_pcie_words(*now),
        at_most=_pcie_words(*best) if best else "",
        bytes_per_s=pcie_bytes_per_s(*now),
        most_bytes_per_s=pcie_bytes_per_s(*best) if best else Absent("no max_link_speed", "missing", folder),
        degraded=below,
        source=f"{folder}/current_link_speed",
        device_most=_pcie_words(*most) if is_present(most) else "",
        port_most=_pcie_words(*port) if is_present(port) else "",
        limited_by=limited,
    )


def sata_link(host: Host, sysfs_path: str) -> BusLink | Absent:
    """From the ata_link of the port. udev is no help here: ata_id never prints ID_ATA_SATA_SIGNAL_RATE_GEN3."""
    port = ata_port(host, sysfs_path)
    if isinstance(port, Absent):
        return port
    if port.now is None:
        return Absent("the kernel does not know the link's speed", "unsupported", f"{port.folder}/sata_spd")
    speeds = [speed for speed in (port.controller, port.drive) if speed]
    best = min(speeds) if speeds else None
    below = len(speeds) == 2 and port.now < min(speeds)
    # Where neither drive nor controller says what it can do, the kernel's limit is one only below SATA's highest speed.
    held = port.imposed is not None and port.now <= port.imposed < (best or _FASTEST_SATA_GBIT_PER_S)
    limited = ""
    if held and port.lowered:
        limited = "the kernel lowered the speed after errors"
    elif held and below:
        limited = "firmware or libata.force limits the port"
    elif below:
        limited = "runs below what drive and controller can do: a slower port, the cable or the backplane"
    elif port.controller and port.drive and port.controller < port.drive:
        limited = "the controller can do less than the drive"
    return BusLink(
        kind="sata",
        now=_gigabit_words(port.now),
        at_most=_gigabit_words(best) if best else "",
        bytes_per_s=_payload_bytes_per_s(port.now),
        most_bytes_per_s=_payload_bytes_per_s(best)
        if best
        else Absent("neither drive nor port reports a speed", "missing", port.folder),
        degraded=below or (held and port.lowered),
        source=f"{port.folder}/sata_spd",
        device_most=_gigabit_words(port.drive) if port.drive else "",
        port_most=_gigabit_words(port.controller) if port.controller else "",
        limited_by=limited,
    )


def sas_link(host: Host, sysfs_path: str) -> BusLink | Absent:
    """From the first phy of the device's port (scsi_transport_sas): `12.0 Gbit`."""
    match = re.match(r"(.*/port-[\d:]+)/end_device-", sysfs_path)
    if match is None:
        return Absent(f"{sysfs_path} is not behind a SAS port", "unsupported", sysfs_path)
    names = host.list_names(match[1])
    phys = [n for n in names if n.startswith("phy-")] if is_present(names) else []
    if not phys:
        return Absent(f"{match[1]} lists no phy", "missing", match[1])
    folder = f"/sys/class/sas_phy/{phys[0]}"
    now = host.read_file_text(f"{folder}/negotiated_linkrate")
    if isinstance(now, Absent):
        return now
    limit = host.read_file_text(f"{folder}/maximum_linkrate_hw")
    rate, most = parse_gigabits(now), parse_gigabits(limit) if is_present(limit) else None
    if rate is None:
        return Absent(f"no link rate: {now.strip()[:40]}", "unsupported", folder)
    return BusLink(
        kind="sas",
        now=_gigabit_words(rate),
        at_most=_gigabit_words(most) if most else "",
        bytes_per_s=_payload_bytes_per_s(rate),
        most_bytes_per_s=_payload_bytes_per_s(most)
        if most
        else Absent("no limit is reported", "missing", folder),
        degraded=False,  # the drive's own limit is not in sysfs: a 6 Gb/s drive on a 12 Gb/s phy is in order
        source=f"{folder}/negotiated_linkrate",
        port_most=_gigabit_words(most) if most else "",
    )


def _pcie_rate_and_width(host: Host, folder: str, which: str) -> tuple[float, int] | Absent:
    speed = host.read_file_text(f"{folder}/{which}_link_speed")
    width = host.read_integer(f"{folder}/{which}_link_width")
    if isinstance(speed, Absent):
        return speed
    if isinstance(width, Absent):
        return width
    match = re.match(r"([0-9.]+)\s*GT/s", speed)
    rate = parse_real(match[1]) if match else None
    # Width 0 and 255 and "Unknown" are what a link that is down shows.
    if rate is None or not 0 < width <= 32:
        return Absent(f"the link is down or unknown: {speed.strip()[:40]} x{width}", "unsupported", folder)
    return rate, width


def _pcie_words(gigatransfers: float, width: int) -> str:
    return f"{gigatransfers:.1f} GT/s x{width}"


def _gigabit_words(speed: float) -> str:
    return f"{speed:.1f} Gb/s"


def _payload_bytes_per_s(gigabit: float) -> int:
    return round(gigabit * 1e9 * _SERIAL_EIGHT_OF_TEN / 8)


def numa_node_of_device(host: Host, sysfs_path: str) -> int | Absent:
    """Of the nearest device above that tells one; -1 is what the firmware leaves when it does not know."""
    if "/devices/virtual/" in sysfs_path:
        return Absent("not attached to a bus", "unsupported", sysfs_path)
    parts = sysfs_path.split("/")
    for depth in range(len(parts), 4, -1):
        folder = "/".join(parts[:depth])
        node = host.read_integer(f"{folder}/numa_node")
        if is_present(node):
            if node >= 0:
                return node
            return Absent("the firmware does not say (-1)", "unsupported", f"{folder}/numa_node")
    return Absent("no device above it reports a node", "missing", sysfs_path)
