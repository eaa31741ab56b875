"""By which cards a connection may go: the routes of every table, VRFs among them, and the rules that lead to them.

/proc/net/route holds the main table only; ip(8) tells all of them.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Container, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from hostdx.probes.reading.host import Host
from hostdx.probes.system.network.routes import read_ipv4_routes, read_ipv6_routes
from hostdx.probes.types import is_present

Address: TypeAlias = "ipaddress.IPv4Address | ipaddress.IPv6Address"
Network: TypeAlias = "ipaddress.IPv4Network | ipaddress.IPv6Network"
_ANYWHERE = {"-4": "0.0.0.0/0", "-6": "::/0"}


class TableRoute(NamedTuple):
    """`is_own`: the network is an address of this host, which lies on the card."""

    network: Network
    card: str
    table: str
    is_own: bool = False


class RoutingRule(NamedTuple):
    """A rule that sends packets with this source address to a table. Its other conditions count as if they were met."""

    source: Network
    table: str


class PolicyRoutes(NamedTuple):
    routes: Sequence[TableRoute]
    rules: Sequence[RoutingRule]

    def own_addresses(self, cards: Container[str]) -> set[Address]:
        """Return this host's addresses that lie on the cards."""
        return {r.network.network_address for r in self.routes if r.is_own and r.card in cards}

    def cards_of_connection(self, own: Address, far: Address) -> set[str]:
        """Return the card with the own address, and those by which packets may go to either address: by the best route
        of each table that they may be led to.
        """
        cards = {r.card for r in self.routes if r.is_own and r.network.network_address == own}
        for table in {route.table for route in self.routes if self._is_table_used_from(route.table, own)}:
            routes = [route for route in self.routes if route.table == table and not route.is_own]
            for end in (own, far):
                fits = [r for r in routes if r.network.version == end.version and end in r.network]
                longest = max((route.network.prefixlen for route in fits), default=0)
                cards |= {route.card for route in fits if route.network.prefixlen == longest}
        return cards

    def _is_table_used_from(self, table: str, own: Address) -> bool:
        """A table that no rule names is a VRF's: it counts where it holds the address."""
        rules = [rule for rule in self.rules if rule.table == table]
        if rules:
            return any(rule.source.version == own.version and own in rule.source for rule in rules)
        return any(r.table == table and r.is_own and own == r.network.network_address for r in self.routes)

    @property
    def default_cards(self) -> set[str]:
        """Return the cards of the default routes that hold whatever the source is."""
        tables = {rule.table for rule in self.rules if not rule.source.prefixlen}
        return {r.card for r in self.routes if not r.network.prefixlen and r.table in tables}


def read_policy_routes(host: Host) -> PolicyRoutes:
    """Return all tables where ip(8) tells them, else the main table for every source."""
    routes, rules = list(_read_all_routes(host)), list(_read_routing_rules(host))
    if routes and rules:
        return PolicyRoutes(routes, rules)
    main = [
        TableRoute(ipaddress.ip_network(route.prefix), route.interface, "main")
        for table in (read_ipv4_routes(host), read_ipv6_routes(host))
        if is_present(table)
        for route in table.unicast
    ]
    return PolicyRoutes(main, [RoutingRule(ipaddress.ip_network(net), "main") for net in _ANYWHERE.values()])


def _read_all_routes(host: Host) -> Iterator[TableRoute]:
    """A line: `local 10.7.0.2 dev eth2 table 7 proto kernel`; of several next hops each has its `dev`."""
    for flag, words in _flags_and_words_of_ip(host, "route", "show", "table", "all"):
        kind = words.pop(0) if words[0].isalpha() and words[0] != "default" else "unicast"
        network = _parse_network(flag, words[0])
        tables = _words_after("table", words)
        for card in _words_after("dev", words):
            if network is not None and card != "lo" and kind in ("unicast", "local"):
                yield TableRoute(network, card, tables[0] if tables else "main", kind == "local")


def _read_routing_rules(host: Host) -> Iterator[RoutingRule]:
    """A line: `100: from 10.1.0.2 lookup 100`, or `101: not from 10.2.0.0/16 …`, which is for all but that source."""
    for flag, words in _flags_and_words_of_ip(host, "rule"):
        sources = [] if "not" in words else _words_after("from", words)
        network = _parse_network(flag, sources[0] if sources else "all")
        for table in _words_after("lookup", words):
            if network is not None:
                yield RoutingRule(network, table)


def _flags_and_words_of_ip(host: Host, *request: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the words of each line of both protocols, with the option of the protocol."""
    for flag in _ANYWHERE:
        text = host.read_command("ip", "-o", flag, *request)
        for line in text.splitlines() if is_present(text) else ():
            if words := line.replace("\\", " ").split():
                yield flag, words


def _words_after(name: str, words: Sequence[str]) -> list[str]:
    return [word for before, word in pairwise(words) if before == name]


def _parse_network(flag: str, word: str) -> Network | None:
    try:
        return ipaddress.ip_network(_ANYWHERE[flag] if word in ("default", "all") else word, strict=False)
    except ValueError:
        return None
