"""What could bound the streams by what the host tells: links, line rate, caps, nodes. Read, never changed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.block import BlockDevice, block_devices
from hostdx.probes.system.disk.drive.link import BusLink
from hostdx.probes.system.network.nic import Nic, read_nics
from hostdx.probes.system.nodes.numa import read_numa
from hostdx.probes.system.pci import read_pci_devices
from hostdx.probes.system.running.allowed import read_allowed_resources
from hostdx.probes.system.running.cgroup import IoLimit, read_cgroup
from hostdx.probes.types import Absent, is_present

_ADDRESS = re.compile(r"^\d+: (\S+) +inet6? ([0-9a-fA-F.:]+)/", re.MULTILINE)
_RATE = re.compile(r"\brate ([0-9.]{1,12})([KMGT]?)bit\b")
_FACTORS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


class RateBound(msgspec.Struct, frozen=True):
    """What cannot be passed, in B/s: `kind` as in `StreamLimit.what`, in words, and where it stands."""

    kind: str
    bytes_per_s: float
    words: str
    source: str


class StreamBounds(msgspec.Struct, frozen=True, kw_only=True):
    """disk, network: bounds of each. near, far: CPUs of the disk's node and of another one, empty where there is one.

    card: that the peer is reached through; None on a private link.
    """

    disk: dict[str, tuple[RateBound, ...]]  # by direction
    network: tuple[RateBound, ...] = ()
    near: tuple[int, ...] = ()
    far: tuple[int, ...] = ()
    card: Nic | None = None


def read_disk_bounds_and_cpus(host: Host, leaves: tuple[str, ...]) -> StreamBounds:
    devices_by_name = block_devices(host)
    devices = [devices_by_name[name] for name in leaves if name in devices_by_name]
    near, far = _near_and_far_cpus(host, devices)
    bounds = {
        way: tuple(_disk_rate_bounds(host, devices, kind)) for way, kind in (("out", "rbps"), ("in", "wbps"))
    }
    return StreamBounds(disk=bounds, near=near, far=far)


def add_card_bounds(host: Host, bounds: StreamBounds, own_address: str) -> StreamBounds:
    """With what bounds the card that has this address."""
    addresses = host.read_command("ip", "-o", "addr", "show")
    plain = own_address.removeprefix("::ffff:")
    name = (
        next((m[1] for m in _ADDRESS.finditer(addresses) if m[2] == plain), "")
        if is_present(addresses)
        else ""
    )
    card = read_nics(host).get(name)
    if card is None:
        return bounds
    return msgspec.structs.replace(bounds, card=card, network=tuple(_card_rate_bounds(host, card)))


def _disk_rate_bounds(host: Host, devices: list[BlockDevice], limit_kind: str) -> Iterator[RateBound]:
    """All leaves work together: their links and caps are summed, where each has one."""
    group = read_cgroup(host)
    limits: tuple[IoLimit, ...] = () if isinstance(group, Absent) else group.io
    caps = [
        [limit for limit in limits if limit.limit_name == limit_kind and limit.devno == device.devno]
        for device in devices
    ]
    if devices and all(caps):
        least = [min(each, key=lambda limit: limit.value) for each in caps]
        yield RateBound("disk cap", sum(limit.value for limit in least), least[0].file, least[0].group)
    links = [device.link for device in devices]
    rates = [link.bytes_per_s for link in links if isinstance(link, BusLink) and is_present(link.bytes_per_s)]
    if devices and len(rates) == len(devices):
        link = next(link for link in links if isinstance(link, BusLink))
        yield RateBound("disk link", sum(rates), f"{link.kind} {link.now}", link.source)


def _card_rate_bounds(host: Host, card: Nic) -> Iterator[RateBound]:
    if is_present(card.speed_mbit):
        words = f"{card.name}: {card.speed_mbit} Mbit/s"
        yield RateBound("line rate", card.speed_mbit * 1e6 / 8, words, f"/sys/class/net/{card.name}/speed")
    shaped = host.read_command("tc", "qdisc", "show", "dev", card.name)
    for amount, unit in _RATE.findall(shaped) if is_present(shaped) else ():
        rate = float(amount) * _FACTORS[unit]
        yield RateBound("network cap", rate / 8, f"{amount}{unit}bit/s on {card.name}", "tc qdisc show")
    devices = read_pci_devices(host)
    for device in devices if is_present(devices) else ():
        link = device.link
        if card.name in device.names and isinstance(link, BusLink) and is_present(link.bytes_per_s):
            yield RateBound("card link", link.bytes_per_s, f"{link.kind} {link.now}", link.source)


def _near_and_far_cpus(host: Host, devices: list[BlockDevice]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    table, may = read_numa(host), read_allowed_resources(host).cpus
    own = next((device.numa_node for device in devices if is_present(device.numa_node)), None)
    if isinstance(table, Absent) or isinstance(may, Absent) or own is None:
        return (), ()
    sides = {node.number: tuple(sorted(node.cpus & may)) for node in table.nodes}
    others = [cpus for number, cpus in sides.items() if number != own and cpus]
    return (sides.get(own, ()), others[0]) if others else ((), ())
