"""Which routes a reverse lookup has to search: a host's own, or as many as asked for."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator

import msgspec

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
