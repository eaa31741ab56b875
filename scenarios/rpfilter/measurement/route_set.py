"""Which routes a reverse lookup has to search: a host's own, or as many as asked for."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator

import msgspec
from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from hostdx.probes.engine.namespaces import LabAddresses, NetNamespaces

MAX_ROUTES = 20_000  # half a millisecond each
MAX_INTERFACES = 4


class RouteSet(msgspec.Struct, frozen=True, kw_only=True):
    """Prefixes with the interface each leads out by (any text; it becomes one of a few veth ends)."""

    ipv6: tuple[tuple[str, str], ...] = ()
    ipv4: tuple[tuple[str, str], ...] = ()


def scale_routes(own: Iterable[tuple[str, str]], count: int, *, ipv6: bool) -> tuple[tuple[str, str], ...]:
    """`count` routes: the host's own first, then made-up ones (2a00::/16 in /48s, 100.64.0.0/10 and on in /28s)."""
    routes = list(own)[: min(count, MAX_ROUTES)]
    taken_prefixes = {prefix for prefix, _ in routes}
    for prefix in _invented_prefixes(ipv6):
        if len(routes) >= min(count, MAX_ROUTES):
            break
        if prefix not in taken_prefixes:
            routes.append((prefix, f"made{len(routes) % MAX_INTERFACES}"))
    return tuple(routes)


def _invented_prefixes(ipv6: bool) -> Iterator[str]:
    for number in range(MAX_ROUTES * 2):
        if ipv6:
            # spread over the prefix as a real table is, not one dense run: a multiplicative step of odd length
            spread = (number * 0x9E3779B1) & 0xFFFFFFFF
            yield f"{ipaddress.IPv6Address((0x2A00 << 112) | (spread << 80))}/48"
        else:
            yield f"{ipaddress.IPv4Address(0x64400000 + (number << 4))}/28"


# The host's routes, copied into the receiving namespace: a reverse lookup costs by what it has to search.
def add_routes_in_receiver(
    namespaces: NetNamespaces, addresses: LabAddresses, routes: RouteSet, *, ipv6: bool
) -> tuple[int, int]:
    """Adds them through veth ends of their own in the receiver. Returns how many IPv6 and IPv4 routes were added."""
    with namespaces.enter_and_open_netlink("receiver") as netlink:
        names = sorted({interface for _, interface in (*routes.ipv6, *routes.ipv4)})
        if not names:
            return 0, 0
        ends = [_make_veth_pair_index(netlink, number) for number in range(min(len(names), MAX_INTERFACES))]
        index = {name: ends[place % len(ends)] for place, name in enumerate(names)}
        own6 = _parse_networks(addresses.ipv6_net, addresses.spoofed6_net)
        own4 = _parse_networks(addresses.ipv4_net, addresses.spoofed4_net)
        added6 = _add_routes_outside(netlink, routes.ipv6, index, own6) if ipv6 else 0
        return added6, _add_routes_outside(netlink, routes.ipv4, index, own4)


def _parse_networks(*texts: str) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    return tuple(ipaddress.ip_network(text) for text in texts)


def _make_veth_pair_index(netlink: IPRoute, number: int) -> int:
    name = f"hdxr{number}"
    netlink.link("add", ifname=name, kind="veth", peer=f"{name}p")
    index: int = netlink.link_lookup(ifname=name)[0]
    netlink.link("set", index=index, state="up")
    netlink.link("set", index=netlink.link_lookup(ifname=f"{name}p")[0], state="up")
    return index


def _add_routes_outside(
    netlink: IPRoute,
    routes: tuple[tuple[str, str], ...],
    index: dict[str, int],
    own: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...],
) -> int:
    """A prefix inside the nets of the measurement would change where its packets go: it is left out."""
    added = 0
    for prefix, interface in routes[:MAX_ROUTES]:
        net = ipaddress.ip_network(prefix, strict=False)
        if net.is_link_local or any(net.version == o.version and net.subnet_of(o) for o in own):  # type: ignore[arg-type]
            continue
        family = 10 if net.version == 6 else 2
        try:
            netlink.route("replace", dst=str(net), oif=index[interface], family=family)
            added += 1
        except NetlinkError:  # a route that this kernel will not take twice
            continue
    return added
