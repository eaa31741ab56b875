"""10-bit tags of PCIe devices: how many reads a device may have under way (256 without, 768 with them).

From the device's configuration space beyond the first 64 bytes, which only root may read. PCI Express Base
Specification 4.0, 7.5.3.15 and 7.5.3.16; include/uapi/linux/pci_regs.h. The requester's switch is the device's, the
completer's ability the root port's.
"""

from __future__ import annotations

import os

import msgspec

from probes.host import Host
from probes.system.pci import DEVICES, PciDevice
from probes.types import Absent

_CAPABILITIES, _EXPRESS, _EXTENDED_END = 0x34, 0x10, 0xFC
_DEVCAP2, _DEVCTL2 = 0x24, 0x28
_REQUESTER_CAN, _REQUESTER_ON = 1 << 17, 1 << 12


class Tags(msgspec.Struct, frozen=True):
    """`can`: the device could send 10-bit tags; `on`: it does."""

    address: str
    can: bool
    on: bool


def tags(host: Host, devices: tuple[PciDevice, ...]) -> tuple[Tags, ...] | Absent:
    """Of the devices that have PCI Express; Absent where the configuration may not be read."""
    if not host.live:
        return Absent("a captured tree does not hold PCI configuration space", "captured", DEVICES)
    found: list[Tags] = []
    short = 0
    for device in devices:
        data = _config(f"{DEVICES}/{device.address}/config")
        short += len(data) <= 64
        one = decoded(device.address, data)
        if one is not None:
            found.append(one)
    if short and not found:
        return Absent(
            "PCI configuration space beyond 64 bytes needs root", "permission", f"{DEVICES}/*/config"
        )
    return tuple(found)


def decoded(address: str, data: bytes) -> Tags | None:
    """From a device's configuration space; None without PCI Express version 2 registers, or where it is cut short."""
    if len(data) < 256:
        return None
    at, seen = data[_CAPABILITIES] & 0xFC, set[int]()
    while 0x40 <= at <= _EXTENDED_END and at not in seen:
        seen.add(at)
        if data[at] == _EXPRESS:
            if data[at + 2] & 0xF < 2 or at + _DEVCTL2 + 2 > 256:
                return None
            can = int.from_bytes(data[at + _DEVCAP2 : at + _DEVCAP2 + 4], "little")
            on = int.from_bytes(data[at + _DEVCTL2 : at + _DEVCTL2 + 2], "little")
            return Tags(address, bool(can & _REQUESTER_CAN), bool(on & _REQUESTER_ON))
        at = data[at + 1] & 0xFC
    return None


def _config(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, 4096)
    except OSError:
        return b""
    finally:
        os.close(fd)
