"""Cards whose settings are left alone: those of SSH lines and of default routes; and what else a card carries."""

from __future__ import annotations

import ipaddress
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hostdx.probes import units
from hostdx.probes.number_text import parse_hexadecimal
from hostdx.probes.reading.host import Host
from hostdx.probes.reading.process_stat import read_stat
from hostdx.probes.system.network.policy_routes import Address, read_policy_routes
from hostdx.probes.types import is_present

SSH_PORT = 22
MAX_ANCESTORS = 64
MAX_TABLE_BYTES = 16 << 20
_ESTABLISHED = "01"  # include/net/tcp_states.h
NETWORK = "/sys/class/net"


class Connection(NamedTuple):
    """An established connection of this host. `port`: its own."""

    own: Address
    far: Address
    port: int


def reserved_cards(host: Host) -> dict[str, str]:
    """Return the cards that an SSH line or the default route uses, each with what it carries. A bond's cards and a
    card's VLANs belong to it.
    """
    routes = read_policy_routes(host)
    cards = dict.fromkeys(routes.default_cards, "the default route")
    for line in set(_ssh_connections_of_host(host)):
        cards |= dict.fromkeys(routes.cards_of_connection(line.own, line.far), "an SSH line")
    return {name: carried for card, carried in cards.items() for name in cards_joined_to(host, card)}


def cards_joined_to(host: Host, card: str) -> set[str]:
    """Return the card with all that lie above and below it: a bond's cards, VLANs, the cards of a bridge or VRF."""
    cards, waiting = {card}, [card]
    while waiting:
        names = host.list_names(f"{NETWORK}/{waiting.pop()}")
        for name in names if is_present(names) else ():
            kind, _, other = name.partition("_")
            if kind in ("lower", "upper") and other and other not in cards:
                cards.add(other)
                waiting.append(other)
    return cards


def describe_users_of_card(host: Host, card: str) -> str:
    """Return what a card carries for others, as `12 connections`; "" where nothing is known of."""
    if host.path_exists(f"{NETWORK}/{card}/brport"):
        return "the guests or containers of a bridge"
    addresses = read_policy_routes(host).own_addresses(cards_joined_to(host, card))
    count = sum(line.own in addresses for line in _connections(host, ("tcp", "tcp6", "udp", "udp6")))
    return units.count_noun(count, "connection") if count else ""


def _ssh_connections_of_host(host: Host) -> Iterator[Connection]:
    for words in _ssh_variables_of_ancestors(host):
        try:
            far, own = (ipaddress.ip_address(word.partition("%")[0]) for word in words[:3:2])
        except ValueError:
            continue
        yield Connection(own, far, SSH_PORT)
    yield from (line for line in _connections(host, ("tcp", "tcp6")) if line.port == SSH_PORT)


def _connections(host: Host, tables: tuple[str, ...]) -> Iterator[Connection]:
    """Yield the established connections of the tables below /proc/net: proc_net(5)."""
    for table in tables:
        text = host.read_file_text(f"/proc/net/{table}", MAX_TABLE_BYTES)
        for line in text.splitlines()[1:] if is_present(text) else ():
            columns = line.split()
            if len(columns) > 3 and columns[3] == _ESTABLISHED:
                own, far = (_parse_proc_net_address(end.rpartition(":")[0]) for end in columns[1:3])
                port = parse_hexadecimal(columns[1].rpartition(":")[2])
                if own is not None and far is not None and port is not None:
                    yield Connection(own, far, port)


def _ssh_variables_of_ancestors(host: Host) -> Iterator[list[str]]:
    """Yield what sshd told this process or one before it: sudo and su take the variable away (sshd(8): address and port
    of the client, then of the server).
    """
    if words := os.environ.get("SSH_CONNECTION", "").split():
        yield words
    pid = os.getppid()
    for _ in range(MAX_ANCESTORS):
        stat = read_stat(host, f"/proc/{pid}/stat") if pid > 1 else None
        if stat is None:
            return
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return
        for entry in environment:
            if entry.startswith(b"SSH_CONNECTION="):
                yield os.fsdecode(entry).partition("=")[2].split()
        pid = stat.parent_pid


def _parse_proc_net_address(digits: str) -> Address | None:
    """Return the address of a column of /proc/net/tcp, which holds words of 32 bits in the host's byte order."""
    words = [parse_hexadecimal(digits[at : at + 8]) for at in range(0, len(digits), 8)]
    data = b"".join(word.to_bytes(4, sys.byteorder) for word in words if word is not None)
    if len(data) == 4:
        return ipaddress.IPv4Address(data)
    if len(data) != 16:
        return None
    address = ipaddress.IPv6Address(data)
    return address.ipv4_mapped or address
