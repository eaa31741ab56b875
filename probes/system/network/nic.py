"""Network interfaces (Documentation/ABI/testing/sysfs-class-net)."""

import re

import msgspec

from hostdx.probes.reading.captured.sosreport import FOLDER
from hostdx.probes.reading.host import Host, compute_once_if_static
from hostdx.probes.system.disk.drive.link import numa_node_of_device
from hostdx.probes.system.network.ethtool import ethtool_output
from hostdx.probes.types import Absent, is_present

ROOT = "/sys/class/net"
# An interface that was captured as a plain folder has no link that shows its device: its name tells a card.
_OUTPUT_OF_A_CARD = re.compile(r"ethtool_(?:-[STacgikl]_)?([A-Za-z][\w.-]*)")
_NAME_OF_A_CARD = re.compile(r"(?:eth|en[opsxP]|ib|hsn|em|p\d+p)\w*\d\w*")


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


@compute_once_if_static
def read_nics(host: Host) -> dict[str, Nic]:
    """Return all interfaces by name; on a live host those of this network namespace.

    A sosreport holds only a few files of each interface, or no more than what ethtool printed.
    """
    names = host.list_names(ROOT)
    nics_by_name = {}
    for name in names if is_present(names) else ():
        path = host.resolve_path(f"{ROOT}/{name}")
        if is_present(path) and is_present(host.list_names(path)):  # bonding_masters is a file itself
            nics_by_name[name] = _read_nic(host, name, path)
    for name in _cards_with_captured_ethtool(host):
        if name not in nics_by_name:
            nics_by_name[name] = _read_nic(host, name, f"{ROOT}/{name}")
    return nics_by_name


def _cards_with_captured_ethtool(host: Host) -> list[str]:
    """Return the cards whose ethtool output was captured, by name; none of a live host."""
    if host.live:
        return []
    paths = host.glob_paths(f"{FOLDER}/*/ethtool_*")
    outputs = (_OUTPUT_OF_A_CARD.fullmatch(path.rsplit("/", 1)[-1]) for path in paths)
    return sorted({output[1] for output in outputs if output and _NAME_OF_A_CARD.fullmatch(output[1])})


def _read_nic(host: Host, name: str, path: str) -> Nic:
    speed = host.read_integer(f"{path}/speed")
    queues = host.list_names(f"{path}/queues")
    listed = queues if is_present(queues) else ()
    device = host.resolve_path(f"{path}/device")
    if isinstance(device, Absent) and "/devices/virtual/" not in path:
        if path != f"{ROOT}/{name}":
            device = re.sub(r"/net/[^/]+$", "", path)  # captured trees leave the link out
        elif _NAME_OF_A_CARD.fullmatch(name):
            device = path  # a plain folder does not show where the card is plugged in
    physical = is_present(device) and "/devices/virtual/" not in path
    entries = host.list_names(path)
    return Nic(
        name=name,
        kind=_read_card_kind(host, name, path),
        physical=physical,
        driver=_read_driver(host, name, device)
        if physical and is_present(device)
        else Absent("made by software", "unsupported", path),
        bus=device.rsplit("/", 1)[-1] if physical and is_present(device) and device != path else "",
        speed_mbit=_speed_mbit_or_absent(host, name, path, speed),
        mtu=host.read_integer(f"{path}/mtu"),
        state=_read_link_state(host, name, path),
        numa_node=numa_node_of_device(host, device)
        if is_present(device)
        else Absent("made by software", "unsupported", path),
        queues_rx=sum(1 for q in listed if q.startswith("rx-")),
        below=tuple(e.removeprefix("lower_") for e in entries if e.startswith("lower_"))
        if is_present(entries)
        else (),
    )


def _read_link_state(host: Host, name: str, path: str) -> str | Absent:
    """Return `up`, `down` or another state; without sysfs by `ethtool NAME`, as it was captured."""
    state = host.read_word(f"{path}/operstate")
    if is_present(state):
        return state
    text = ethtool_output(host, name)
    link = re.search(r"Link detected: (yes|no)", text) if is_present(text) else None
    if link is None:
        return state
    return "up" if link[1] == "yes" else "down"


def _read_card_kind(host: Host, name: str, path: str) -> str:
    uevent = host.read_file_text(f"{path}/uevent")
    match = re.search(r"^DEVTYPE=(\w+)$", uevent, re.MULTILINE) if is_present(uevent) else None
    if match:
        return match[1]
    if host.path_exists(f"{path}/bridge"):
        return "bridge"
    # ARPHRD_* of include/uapi/linux/if_arp.h
    words = {1: "ethernet", 32: "infiniband", 772: "loopback", 65534: "tunnel"}
    number = host.read_integer(f"{path}/type")
    if is_present(number):
        return words.get(number, "other")
    if _NAME_OF_A_CARD.fullmatch(name):
        return "infiniband" if name.startswith("ib") else "ethernet"
    return "other"


def _speed_mbit_or_absent(host: Host, name: str, path: str, speed: int | Absent) -> int | Absent:
    """-1 (as a number or as 2^32 - 1) means unknown; reading fails with EINVAL while the link is down.

    Without sysfs the speed is that of `ethtool NAME`, as it was captured.
    """
    if isinstance(speed, Absent):
        text = ethtool_output(host, name)
        match = re.search(r"Speed: ([0-9]{1,7})Mb/s", text) if is_present(text) else None
        return int(match[1]) if match else speed
    if speed <= 0 or speed >= 0xFFFFFFFF:
        return Absent(f"{name} reports no speed (no link, or a virtual card)", "unsupported", f"{path}/speed")
    return speed


def _read_driver(host: Host, name: str, device: str) -> str | Absent:
    # A virtio card's own driver is virtio_net, under it lies the PCI device with virtio-pci.
    link = host.read_link(f"{device}/driver")
    if is_present(link):
        return link.rsplit("/", 1)[-1]
    uevent = host.read_file_text(f"{device}/uevent")
    match = re.search(r"^DRIVER=(\S+)$", uevent, re.MULTILINE) if is_present(uevent) else None
    if match is None and not host.live:
        text = host.read_command("ethtool", "-i", name)
        match = re.search(r"^driver: (\S+)$", text, re.MULTILINE) if is_present(text) else None
    return match[1] if match else link
