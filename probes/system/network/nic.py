"""Network interfaces (Documentation/ABI/testing/sysfs-class-net)."""

import re

import msgspec

from probes.host import Host, once_if_still
from probes.system.disk.drive.link import device_node
from probes.types import Absent, present

ROOT = "/sys/class/net"


class Nic(msgspec.Struct, frozen=True, kw_only=True):
    """`kind` is the kernel's DEVTYPE (bridge, bond, vlan, ...), `ethernet`, `loopback` or `infiniband`.

    `physical`: it stands for a card (also a virtual machine's), not for a piece of software. `bus` is the PCI
    address or the virtio name. The speed of a virtual card says nothing, mostly it is absent.
    """

    name: str
    kind: str
    physical: bool
    driver: str | Absent
    bus: str
    speed_mbit: int | Absent
    mtu: int | Absent
    state: str | Absent
    numa_node: int | Absent
    queues_rx: int
    below: tuple[str, ...] = ()  # the interfaces that a bond, bridge or VLAN is made of


@once_if_still
def nics(host: Host) -> dict[str, Nic]:
    """All interfaces by name; those of this network namespace on a live host."""
    names = host.listing(ROOT)
    found = {}
    for name in names if present(names) else ():
        path = host.real(f"{ROOT}/{name}")
        if present(path) and host.exists(f"{path}/ifindex"):  # bonding_masters is a file
            found[name] = _nic(host, name, path)
    return found


def _nic(host: Host, name: str, path: str) -> Nic:
    speed = host.integer(f"{path}/speed")
    queues = host.listing(f"{path}/queues")
    listed = queues if present(queues) else ()
    device = host.real(f"{path}/device")
    if isinstance(device, Absent) and "/devices/virtual/" not in path:
        device = re.sub(r"/net/[^/]+$", "", path)  # captured trees leave the link out
    physical = present(device) and "/devices/virtual/" not in path
    entries = host.listing(path)
    return Nic(
        name=name,
        kind=_kind(host, path),
        physical=physical,
        driver=_driver(host, device)
        if physical and present(device)
        else Absent("made by software", "unsupported", path),
        bus=device.rsplit("/", 1)[-1] if physical and present(device) else "",
        speed_mbit=_speed(name, path, speed),
        mtu=host.integer(f"{path}/mtu"),
        state=host.word(f"{path}/operstate"),
        numa_node=device_node(host, device)
        if present(device)
        else Absent("made by software", "unsupported", path),
        queues_rx=sum(1 for q in listed if q.startswith("rx-")),
        below=tuple(e.removeprefix("lower_") for e in entries if e.startswith("lower_"))
        if present(entries)
        else (),
    )


def _kind(host: Host, path: str) -> str:
    uevent = host.text(f"{path}/uevent")
    found = re.search(r"^DEVTYPE=(\w+)$", uevent, re.MULTILINE) if present(uevent) else None
    if found:
        return found[1]
    if host.exists(f"{path}/bridge"):
        return "bridge"
    # ARPHRD_* of include/uapi/linux/if_arp.h
    words = {1: "ethernet", 32: "infiniband", 772: "loopback", 65534: "tunnel"}
    number = host.integer(f"{path}/type")
    return words.get(number, "other") if present(number) else "other"


def _speed(name: str, path: str, speed: int | Absent) -> int | Absent:
    """-1 (as a number or as 2^32 - 1) means unknown; reading fails with EINVAL while the link is down."""
    if isinstance(speed, Absent):
        return speed
    if speed <= 0 or speed >= 0xFFFFFFFF:
        return Absent(f"{name} reports no speed (no link, or a virtual card)", "unsupported", f"{path}/speed")
    return speed


def _driver(host: Host, device: str) -> str | Absent:
    # A virtio card's own driver is virtio_net, under it lies the PCI device with virtio-pci.
    link = host.link(f"{device}/driver")
    if present(link):
        return link.rsplit("/", 1)[-1]
    uevent = host.text(f"{device}/uevent")
    found = re.search(r"^DRIVER=(\S+)$", uevent, re.MULTILINE) if present(uevent) else None
    return found[1] if found else link
