"""How many reads a PCIe device may have under way (256 without 10-bit tags, 768 with them), and how large each may be.

From the device's configuration space beyond the first 64 bytes, which only root may read. PCI Express Base
Specification 4.0, 7.5.3.15 and 7.5.3.16; include/uapi/linux/pci_regs.h. The requester's switch is the device's, the
completer's ability the root port's.
"""

import os
import re

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.system.pci import DEVICES, PciDevice
from hostdx.probes.types import Absent

_CAPABILITIES, _EXPRESS, _EXTENDED_END = 0x34, 0x10, 0xFC
_DEVCTL, _DEVCAP2, _DEVCTL2 = 0x08, 0x24, 0x28
_REQUESTER_CAN, _REQUESTER_ON = 1 << 17, 1 << 12


class PcieTags(msgspec.Struct, frozen=True):
    """`can`: the device could send 10-bit tags; `on`: it does."""

    address: str
    can: bool
    on: bool


def read_pcie_tags(host: Host, devices: tuple[PciDevice, ...]) -> tuple[PcieTags, ...] | Absent:
    """Of the devices that have PCI Express; Absent where the configuration may not be read."""
    if not host.live:
        return Absent("a captured tree does not hold PCI configuration space", "captured", DEVICES)
    decoded_tags: list[PcieTags] = []
    short = 0
    for device in devices:
        data = _read_config_space(f"{DEVICES}/{device.address}/config")
        short += len(data) <= 64
        device_tags = decode_pcie_tags(device.address, data)
        if device_tags is not None:
            decoded_tags.append(device_tags)
    if short and not decoded_tags:
        return Absent(
            "PCI configuration space beyond 64 bytes needs root", "permission", f"{DEVICES}/*/config"
        )
    return tuple(decoded_tags)


def decode_pcie_tags(address: str, data: bytes) -> PcieTags | None:
    """From a device's configuration space; None without PCI Express version 2 registers, or where it is cut short."""
    at = _find_pcie_capability(data)
    if at is None or data[at + 2] & 0xF < 2 or at + _DEVCTL2 + 2 > 256:
        return None
    can = int.from_bytes(data[at + _DEVCAP2 : at + _DEVCAP2 + 4], "little")
    on = int.from_bytes(data[at + _DEVCTL2 : at + _DEVCTL2 + 2], "little")
    return PcieTags(address, bool(can & _REQUESTER_CAN), bool(on & _REQUESTER_ON))


def read_max_request_bytes(host: Host, address: str) -> int | Absent:
    """The largest read that the device may ask for at once (Device Control, bits 14:12; 7.5.3.4). 512 is usual."""
    if not host.live:
        return _captured_max_read_bytes(host, address)
    data = _read_config_space(f"{DEVICES}/{address}/config")
    at = _find_pcie_capability(data)
    if at is None or at + _DEVCTL + 2 > len(data):
        reason = "PCI configuration space beyond 64 bytes needs root" if len(data) <= 64 else "it has no PCIe"
        return Absent(reason, "permission" if len(data) <= 64 else "unsupported")
    size = int.from_bytes(data[at + _DEVCTL : at + _DEVCTL + 2], "little") >> 12 & 7
    return 128 << size if size <= 5 else Absent("a reserved size", "invalid")


def _captured_max_read_bytes(host: Host, address: str) -> int | Absent:
    """From a sosreport's lspci; the domain is left out there where it is the only one."""
    for command in (("lspci", "-nnvv"), ("lspci", "-nvv"), ("lspci", "-vvv"), ("lspci", "-vv")):
        text = host.read_command(*command)
        if isinstance(text, Absent):
            continue
        for part in text.split("\n\n"):
            if part.startswith((address + " ", address.removeprefix("0000:") + " ")):
                match = re.search(r"MaxReadReq ([0-9]{2,5}) bytes", part)
                return int(match[1]) if match else Absent("lspci reports no MaxReadReq", "permission")
    return Absent("lspci was not captured", "captured")


def _find_pcie_capability(data: bytes) -> int | None:
    """Where the PCI Express capability begins; None without one, or where the list of capabilities is cut short."""
    if len(data) < 256:
        return None
    at, visited = data[_CAPABILITIES] & 0xFC, set[int]()
    while 0x40 <= at <= _EXTENDED_END and at not in visited:
        visited.add(at)
        if data[at] == _EXPRESS:
            return at
        at = data[at + 1] & 0xFC
    return None


def _read_config_space(path: str) -> bytes:
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
