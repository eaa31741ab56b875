"""Rows about routes: which cards the default routes leave by, networks that several cards reach, and networks of
containers that hide others.
"""

import ipaddress
import re
from collections.abc import Callable, Iterator
from functools import partial

from hostdx.probes.reading.host import Host
from hostdx.probes.reading.patterns import lazy_pattern
from hostdx.probes.system.disk.mounts import network_mounts
from hostdx.probes.system.network.nic import Nic, read_nics
from hostdx.probes.system.network.routes import Route, read_ipv4_routes
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.triage.rules.expression import Value
from hostdx.scenarios.triage.rules.table import Reader, SubjectRow

_EVERYWHERE = "0.0.0.0/0"
# Bridges that container engines and hypervisors make, each with a private network that nobody asked for.
_PRIVATE_BRIDGE = lazy_pattern(
    r"(?:docker(?:0|_gwbridge)|br-[0-9a-f]{12}|virbr\d+|cni\d+|podman\d+|(?:lxc|lxd|incus)br\d+|cbr0|weave|kube-bridge"
    r"|nerdctl\d+|vboxnet\d+|vmnet\d+)$"
)


def route_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per card of an IPv4 default route: its speed and the fastest card that is up, in bit/s."""
    table = read_ipv4_routes(host)
    if isinstance(table, Absent):
        return table
    speeds = _speeds_of_cards(host)
    if not speeds:
        return Absent("no card that is up tells its speed", "unsupported")
    fastest = max(speeds, key=lambda name: speeds[name])
    names = {route.interface for route in table.unicast if route.prefix == _EVERYWHERE}
    rows = []
    for name in sorted(names & speeds.keys()):
        columns: dict[str, Value] = {
            "name": name,
            "speed": speeds[name],
            "fastest": fastest,
            "fastest_speed": speeds[fastest],
        }
        rows.append(SubjectRow(name, columns))
    return rows


def network_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per IPv4 network: `cards`, the physical cards that have a route to it."""
    table = read_ipv4_routes(host)
    if isinstance(table, Absent):
        return table
    physical = {name for name, card in _read_cards(host).items() if card.physical}
    cards_by_network: dict[str, set[str]] = {}
    for route in table.unicast:
        if route.interface in physical and route.prefix != _EVERYWHERE and not route.prefix.endswith("/32"):
            cards_by_network.setdefault(route.prefix, set()).add(route.interface)
    return [
        SubjectRow(
            network, {"name": network, "cards": tuple(sorted(cards)), **_packet_extremes(host, sorted(cards))}
        )
        for network, cards in sorted(cards_by_network.items())
    ]


def _packet_extremes(host: Host, cards: list[str]) -> dict[str, Reader]:
    """What they sent, most and least, and what the card received that received least."""
    return {
        "sent_most": partial(_packet_count_chosen_by, host, cards, "tx_packets", max),
        "sent_least": partial(_packet_count_chosen_by, host, cards, "tx_packets", min),
        "received_least": partial(_packet_count_chosen_by, host, cards, "rx_packets", min),
    }


def _packet_count_chosen_by(
    host: Host, cards: list[str], name: str, choose: Callable[[list[int]], int]
) -> Value:
    counts = [host.read_integer(f"/sys/class/net/{card}/statistics/{name}") for card in cards]
    present = [count for count in counts if is_present(count)]
    return choose(present) if len(present) == len(cards) else Absent(f"a card tells no {name}", "unsupported")


def hidden_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per network of a bridge of containers or guests: `hidden` are the networks behind a router and the
    servers of this host whose addresses lie in it; what is sent to them ends at the bridge.
    """
    table = read_ipv4_routes(host)
    if isinstance(table, Absent):
        return table
    rows = []
    for bridge in table.unicast:
        if bridge.gateway or not _PRIVATE_BRIDGE.match(bridge.interface):
            continue
        network = ipaddress.IPv4Network(bridge.prefix)
        hidden = [
            f"{route.prefix} by {route.gateway} ({route.interface})"
            for route in table.unicast
            if route.gateway
            and route.interface != bridge.interface
            and route.prefix != _EVERYWHERE
            # a narrower route is taken before the bridge's
            and network.subnet_of(ipaddress.IPv4Network(route.prefix))
        ]
        hidden += [
            words for address, words in _server_addresses(host) if _is_hidden(address, network, table.unicast)
        ]
        columns: dict[str, Value] = {
            "name": bridge.interface,
            "network": bridge.prefix,
            "hidden": tuple(hidden),
        }
        rows.append(SubjectRow(bridge.interface, columns))
    return rows


def _is_hidden(
    address: ipaddress.IPv4Address, network: ipaddress.IPv4Network, routes: tuple[Route, ...]
) -> bool:
    """The first address is the bridge's own, where its name server listens."""
    if address not in network or address == network.network_address + 1:
        return False
    narrower = (ipaddress.IPv4Network(route.prefix) for route in routes)
    return not any(other.prefixlen > network.prefixlen and address in other for other in narrower)


def _server_addresses(host: Host) -> Iterator[tuple[ipaddress.IPv4Address, str]]:
    """Yield the addresses of name servers and file servers, in words too."""
    text = host.read_file_text("/etc/resolv.conf", 1 << 16)
    named_servers = (
        [(word, f"name server {word}") for word in re.findall(r"^nameserver\s+(\S+)", text, re.MULTILINE)]
        if is_present(text)
        else []
    )
    for mount in network_mounts(host):
        address = next((option[5:] for option in mount.options if option.startswith("addr=")), "")
        named_servers.append(
            (address or mount.source.partition(":")[0], f"file server of {mount.mountpoint}")
        )
    for word, words in dict(named_servers).items():
        try:
            yield ipaddress.IPv4Address(word), words
        except ValueError:
            continue


def _read_cards(host: Host) -> dict[str, Nic]:
    return host.compute_once(read_nics)


def _speeds_of_cards(host: Host) -> dict[str, int]:
    """In bit/s, of physical cards that are up; a fabric of InfiniBand seldom leads to other networks."""
    return {
        name: card.speed_mbit * 1_000_000
        for name, card in _read_cards(host).items()
        if card.physical
        and card.kind != "infiniband"
        and not name.startswith("ib")
        and card.state == "up"
        and is_present(card.speed_mbit)
        and card.speed_mbit > 0
    }
