"""What could bound the streams by what the host tells: links, line rate, caps, nodes. Read, never changed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from probes.host import Host
from probes.system.disk.block import BlockDevice, block_devices
from probes.system.disk.drive.link import Link
from probes.system.network.nic import Nic, nics
from probes.system.nodes.numa import numa
from probes.system.pci import pci_devices
from probes.system.running.allowed import allowed
from probes.system.running.cgroup import IoLimit, cgroup
from probes.types import Absent, present

_ADDRESS = re.compile(r"^\d+: (\S+) +inet6? ([0-9a-fA-F.:]+)/", re.MULTILINE)
_RATE = re.compile(r"\brate ([0-9.]{1,12})([KMGT]?)bit\b")
_FACTORS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


class Bound(msgspec.Struct, frozen=True):
    """What cannot be passed, in B/s: `what` as in `Limit.what`, in words, and where it stands."""

    what: str
    bytes_per_s: float
    words: str
    source: str


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """disk, network: bounds of each. near, far: CPUs of the disk's node and of another one, empty where there is one.

    card: that the peer is reached through; None on a private link.
    """

    disk: dict[str, tuple[Bound, ...]]  # by direction
    network: tuple[Bound, ...] = ()
    near: tuple[int, ...] = ()
    far: tuple[int, ...] = ()
    card: Nic | None = None


def machine(host: Host, leaves: tuple[str, ...]) -> Machine:
    known = block_devices(host)
    devices = [known[name] for name in leaves if name in known]
    near, far = _nodes(host, devices)
    bounds = {way: tuple(_of_disk(host, devices, what)) for way, what in (("out", "rbps"), ("in", "wbps"))}
    return Machine(disk=bounds, near=near, far=far)


def with_card(host: Host, found: Machine, own_address: str) -> Machine:
    """With what bounds the card that has this address."""
    told = host.command("ip", "-o", "addr", "show")
    plain = own_address.removeprefix("::ffff:")
    name = next((m[1] for m in _ADDRESS.finditer(told) if m[2] == plain), "") if present(told) else ""
    card = nics(host).get(name)
    if card is None:
        return found
    return msgspec.structs.replace(found, card=card, network=tuple(_of_card(host, card)))


def _of_disk(host: Host, devices: list[BlockDevice], what: str) -> Iterator[Bound]:
    """All leaves work together: their links and caps are summed, where each has one."""
    group = cgroup(host)
    limits: tuple[IoLimit, ...] = () if isinstance(group, Absent) else group.io
    caps = [[one for one in limits if one.what == what and one.devno == device.devno] for device in devices]
    if devices and all(caps):
        least = [min(each, key=lambda one: one.value) for each in caps]
        yield Bound("disk cap", sum(one.value for one in least), least[0].file, least[0].group)
    links = [device.link for device in devices]
    rates = [link.bytes_per_s for link in links if isinstance(link, Link) and present(link.bytes_per_s)]
    if devices and len(rates) == len(devices):
        link = next(link for link in links if isinstance(link, Link))
        yield Bound("disk link", sum(rates), f"{link.kind} {link.now}", link.source)


def _of_card(host: Host, card: Nic) -> Iterator[Bound]:
    if present(card.speed_mbit):
        words = f"{card.name}: {card.speed_mbit} Mbit/s"
        yield Bound("line rate", card.speed_mbit * 1e6 / 8, words, f"/sys/class/net/{card.name}/speed")
    shaped = host.command("tc", "qdisc", "show", "dev", card.name)
    for amount, unit in _RATE.findall(shaped) if present(shaped) else ():
        rate = float(amount) * _FACTORS[unit]
        yield Bound("network cap", rate / 8, f"{amount}{unit}bit/s on {card.name}", "tc qdisc show")
    devices = pci_devices(host)
    for device in devices if present(devices) else ():
        link = device.link
        if card.name in device.names and isinstance(link, Link) and present(link.bytes_per_s):
            yield Bound("card link", link.bytes_per_s, f"{link.kind} {link.now}", link.source)


def _nodes(host: Host, devices: list[BlockDevice]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    table, may = numa(host), allowed(host).cpus
    own = next((device.numa_node for device in devices if present(device.numa_node)), None)
    if isinstance(table, Absent) or isinstance(may, Absent) or own is None:
        return (), ()
    sides = {node.number: tuple(sorted(node.cpus & may)) for node in table.nodes}
    others = [cpus for number, cpus in sides.items() if number != own and cpus]
    return (sides.get(own, ()), others[0]) if others else ((), ())
