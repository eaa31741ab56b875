"""Everything read about the reverse-path check on a host, also as events, and which check the experiment measures."""

from collections.abc import Iterator

import msgspec

from hostdx.probes.reading.host import Host, compute_once_per_host
from hostdx.probes.system.firewall.firewalld import Firewalld, read_firewalld
from hostdx.probes.system.firewall.reverse_path import Protocol, ReversePathRule
from hostdx.probes.system.firewall.rp_filter import RpFilter, rp_filter
from hostdx.probes.system.firewall.rules import Ruleset, read_ruleset
from hostdx.probes.system.firewall.summary import firewall_facts
from hostdx.probes.system.network.line_rate import LinkedCard, list_linked_cards
from hostdx.probes.system.network.packet_rates import PacketRates
from hostdx.probes.system.network.routes import (
    RouteTable,
    count_policy_rules,
    read_forwarding,
    read_ipv4_routes,
    read_ipv6_routes,
)
from hostdx.probes.types import Absent, Fact, FactOrUnread, UnreadFact, make_fact
from hostdx.scenarios.triage.knowledge.firewalld import RpFilterMeaning, rp_filter_meaning_of

IF_INET6 = "/proc/net/if_inet6"


class RpFilterFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Read-only. `asked`: what firewalld's configuration asks for, whether or not it is loaded."""

    ruleset: Ruleset | Absent
    firewalld: Firewalld | Absent
    asked: RpFilterMeaning | Absent
    rp_filter: RpFilter | Absent
    routes: dict[Protocol, RouteTable | Absent]
    policy_rules: dict[Protocol, int | Absent]
    forwarding: dict[str, bool]
    cards: tuple[LinkedCard, ...]
    ipv6: bool

    @property
    def effective_checks(self) -> tuple[ReversePathRule, ...]:
        """The checks in effect, those that the most packets meet first; of those IPv6 before IPv4, which is cheap."""
        if isinstance(self.ruleset, Absent):
            return ()
        effective = [r for r in self.ruleset.rules_in_effect if r.check != "type"]
        return tuple(
            sorted(
                effective,
                key=lambda r: (not r.checks_every_flow, "IPv6" not in r.protocols, not r.checks_every_packet),
            )
        )

    @property
    def fastest_card(self) -> LinkedCard | None:
        return next(iter(self.cards), None)

    def uplink_interfaces(self, protocol: Protocol) -> tuple[str, ...]:
        """The interfaces that routes lead out by: with one of them, a strict check has little to tell apart."""
        table = self.routes[protocol]
        return () if isinstance(table, Absent) else table.interface_names

    def routes_for_others(self, protocol: Protocol) -> bool:
        return self.forwarding.get(protocol, False)


@compute_once_per_host
def read_rp_filter_facts(host: Host) -> RpFilterFacts:
    configured = read_firewalld(host)
    return RpFilterFacts(
        ruleset=read_ruleset(host),
        firewalld=configured,
        asked=configured if isinstance(configured, Absent) else rp_filter_meaning_of(configured),
        rp_filter=rp_filter(host),
        routes={"IPv6": read_ipv6_routes(host), "IPv4": read_ipv4_routes(host)},
        policy_rules={"IPv6": count_policy_rules(host), "IPv4": count_policy_rules(host, "IPv4")},
        forwarding=read_forwarding(host),
        cards=list_linked_cards(host),
        ipv6=has_ipv6(host),
    )


def has_ipv6(host: Host) -> bool:
    """The file is there where the kernel has IPv6, even without an address (ipv6.disable=1 takes it away)."""
    return host.path_exists(IF_INET6) and host.read_integer("/proc/sys/net/ipv6/conf/all/disable_ipv6") != 1


def facts_for_triage(host: Host, facts: RpFilterFacts) -> Iterator[FactOrUnread]:
    """Yield what was read, as triage tells it, and what a lookup goes through."""
    yield from firewall_facts(host)
    table = facts.routes["IPv6"]
    total, source = (table, "") if isinstance(table, Absent) else (table.total, table.source)
    yield make_fact("firewall", "IPv6 routes", total, source)
    for protocol, rules in facts.policy_rules.items():
        yield make_fact("firewall", f"{protocol} policy rules", rules, f"ip -{protocol[-1]} rule show")


def rate_facts(packet_rates: PacketRates | Absent, cards: tuple[LinkedCard, ...]) -> Iterator[FactOrUnread]:
    if isinstance(packet_rates, Absent):
        yield UnreadFact("network", "packet rates", packet_rates)
        return
    less = ", loopback included" if packet_rates.loopback else " less what came by lo"
    for name, value, source in (
        ("IPv6 packets/s", packet_rates.ipv6, f"/proc/net/snmp6{less}"),
        ("IPv4 packets/s", packet_rates.ipv4, f"/proc/net/snmp{less}"),
        ("packets/s on all CPUs", packet_rates.processed, "/proc/net/softnet_stat"),
    ):
        rounded = value if isinstance(value, Absent) else round(value, 1)
        yield make_fact("network", name, rounded, source, "1/s")
    if packet_rates.ipv6_share is not None:
        yield Fact("network", "IPv6 share of packets", round(packet_rates.ipv6_share, 3), "/proc/net/snmp6")
    for card in cards:
        subject = f"nic:{card.name}"
        if card.name in packet_rates.interfaces:
            packets, size = packet_rates.interfaces[card.name]
            folder = f"/sys/class/net/{card.name}/statistics"
            yield Fact(subject, "packets/s", round(packets, 1), folder, "1/s")
            yield Fact(subject, "bytes/s", round(size), folder, "B/s")
        if isinstance(card.offload, Absent):
            yield UnreadFact(subject, "GRO", card.offload)
        elif card.merges_frames is not None:
            yield Fact(subject, "GRO", card.merges_frames, card.offload.source)
