"""What is never switched, whatever its kind: the card of an SSH line, the scheduler of a system disk."""

from __future__ import annotations

import ipaddress
import os
import sys
from collections.abc import Iterator
from typing import TypeAlias

from probes.number_text import parse_hexadecimal
from probes.reading.host import Host
from probes.system.network.routes import read_ipv4_routes, read_ipv6_routes
from probes.types import is_present
from scenarios.experiment.guards.system_disks import system_leaves

Address: TypeAlias = "ipaddress.IPv4Address | ipaddress.IPv6Address"
SSH_PORT = 22
_ESTABLISHED = "01"  # include/net/tcp_states.h
NETWORK = "/sys/class/net"


def find_reservation(host: Host, kind: str, scope: str, path: str) -> str:
    """Return why the setting is left alone, in one line; "" where it may be switched."""
    if kind == "net":
        if scope in (reserved := reserved_cards(host)):
            return f"{scope} carries {reserved[scope]}; hostdx never switches a setting of that card"
    elif path.endswith("/queue/scheduler") and (role := system_leaves(host).get(scope)):
        return (
            f"{scope} carries {role}: if the switch hung, the whole system would hang; "
            "`hostdx run iosched --system-disk` compares its schedulers with more care"
        )
    return ""


def reserved_cards(host: Host) -> dict[str, str]:
    """Return the cards that an SSH line or the default route uses, each with what it carries. A bond's cards and a
    card's VLANs belong to it.
    """
    tables = (read_ipv4_routes(host), read_ipv6_routes(host))
    routes = [
        (ipaddress.ip_network(route.prefix), route.interface)
        for table in tables
        if is_present(table)
        for route in table.unicast
    ]
    cards = {name: "the default route" for network, name in routes if network.prefixlen == 0}
    for client in _ssh_clients(host):
        leading = [(n.prefixlen, name) for n, name in routes if n.version == client.version and client in n]
        if leading:
            cards[max(leading)[1]] = "an SSH line"
    waiting = list(cards)
    while waiting:
        card = waiting.pop()
        for other in _linked_cards(host, card):
            if other not in cards:
                cards[other] = cards[card]
                waiting.append(other)
    return cards


def _linked_cards(host: Host, card: str) -> Iterator[str]:
    names = host.list_names(f"{NETWORK}/{card}")
    for name in names if is_present(names) else ():
        kind, _, other = name.partition("_")
        if kind in ("lower", "upper") and other:
            yield other


def _ssh_clients(host: Host) -> Iterator[Address]:
    """Yield the far ends of the SSH lines into this host."""
    words = os.environ.get("SSH_CONNECTION", "").split()
    if words:
        try:
            yield ipaddress.ip_address(words[0].partition("%")[0])
        except ValueError:
            pass
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        text = host.read_file_text(table, 16 << 20)
        for line in text.splitlines()[1:] if is_present(text) else ():
            columns = line.split()
            if len(columns) > 3 and columns[3] == _ESTABLISHED:
                port = parse_hexadecimal(columns[1].rpartition(":")[2])
                if port == SSH_PORT:
                    yield from _parse_address(columns[2].rpartition(":")[0])


def _parse_address(digits: str) -> Iterator[Address]:
    """Yield the address of a column of /proc/net/tcp, which holds words of 32 bits in the host's byte order."""
    words = [parse_hexadecimal(digits[at : at + 8]) for at in range(0, len(digits), 8)]
    data = b"".join(word.to_bytes(4, sys.byteorder) for word in words if word is not None)
    if len(data) == 4:
        yield ipaddress.IPv4Address(data)
    elif len(data) == 16:
        address = ipaddress.IPv6Address(data)
        yield address.ipv4_mapped or address
