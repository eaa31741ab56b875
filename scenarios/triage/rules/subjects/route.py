"""Rows about routes: which cards the default routes leave by, and networks that several cards reach."""

from hostdx.probes.reading.host import Host
from hostdx.probes.system.network.nic import Nic, read_nics
from hostdx.probes.system.network.routes import read_ipv4_routes
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.triage.rules.expression import Value
from hostdx.scenarios.triage.rules.table import SubjectRow

_EVERYWHERE = "0.0.0.0/0"


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
        SubjectRow(network, {"name": network, "cards": tuple(sorted(cards))})
        for network, cards in sorted(cards_by_network.items())
    ]


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
