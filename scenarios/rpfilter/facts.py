"""Everything read about the reverse-path check on a host, also as events, and which check the experiment measures."""

from collections.abc import Iterator

import msgspec

from probes.host import Host
from probes.system.firewall.firewalld import Firewalld, firewalld
from probes.system.firewall.reverse_path import Protocol, ReversePathRule
from probes.system.firewall.rp_filter import RpFilter, rp_filter
from probes.system.firewall.rules import Ruleset, ruleset
from probes.system.network.line_rate import Card, cards
from probes.system.network.packet_rates import PacketRates
from probes.system.network.routes import RouteTable, forwarding, ipv4_routes, ipv6_routes, policy_rules
from probes.types import Absent, Fact, Json, Unread, entry
from scenarios import events as ev
from scenarios.knowledge.firewalld import Meaning, meaning

IF_INET6 = "/proc/net/if_inet6"


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Read-only. `asked`: what firewalld's configuration asks for, whether or not it is loaded."""

    ruleset: Ruleset | Absent
    firewalld: Firewalld | Absent
    asked: Meaning | Absent
    rp_filter: RpFilter | Absent
    routes6: RouteTable | Absent
    routes4: RouteTable | Absent
    policy_rules: int | Absent
    policy_rules4: int | Absent
    forwarding: dict[str, bool]
    cards: tuple[Card, ...]
    ipv6: bool

    @property
    def checks(self) -> tuple[ReversePathRule, ...]:
        """The checks in effect, those that the most packets meet first; of those IPv6 before IPv4, which is cheap."""
        if isinstance(self.ruleset, Absent):
            return ()
        found = [r for r in self.ruleset.in_effect if r.check != "type"]
        return tuple(
            sorted(found, key=lambda r: (not r.every_flow, "IPv6" not in r.protocols, not r.every_packet))
        )

    @property
    def loaded(self) -> ReversePathRule | None:
        """The check that the host's packets meet now; None where none is in effect or the ruleset is unreadable."""
        return next(iter(self.checks), None)

    @property
    def fastest(self) -> Card | None:
        return next(iter(self.cards), None)

    def routes(self, protocol: Protocol) -> RouteTable | Absent:
        return self.routes6 if protocol == "IPv6" else self.routes4

    def uplinks(self, protocol: Protocol) -> tuple[str, ...]:
        """The interfaces that routes lead out by: with one of them, a strict check has little to tell apart."""
        table = self.routes(protocol)
        return () if isinstance(table, Absent) else table.interfaces

    def routes_for_others(self, protocol: Protocol) -> bool:
        return self.forwarding.get(protocol, False)


def read(host: Host) -> Facts:
    return host.once(_read)


def _read(host: Host) -> Facts:
    configured = firewalld(host)
    return Facts(
        ruleset=ruleset(host),
        firewalld=configured,
        asked=configured if isinstance(configured, Absent) else meaning(configured),
        rp_filter=rp_filter(host),
        routes6=ipv6_routes(host),
        routes4=ipv4_routes(host),
        policy_rules=policy_rules(host),
        policy_rules4=policy_rules(host, "IPv4"),
        forwarding=forwarding(host),
        cards=cards(host),
        ipv6=has_ipv6(host),
    )


def has_ipv6(host: Host) -> bool:
    """The file is there where the kernel has IPv6, even without an address (ipv6.disable=1 takes it away)."""
    return host.exists(IF_INET6) and host.integer("/proc/sys/net/ipv6/conf/all/disable_ipv6") != 1


def fact_events(facts: Facts, t: float) -> Iterator[ev.AnyEvent]:
    """What was read, as events; what could not be read with its reason."""
    read_as: dict[str, tuple[Json, str] | Absent] = {
        "reverse-path checks loaded": facts.ruleset
        if isinstance(facts.ruleset, Absent)
        else ([f"{r.place}: {r.statement}" for r in facts.checks], ", ".join(facts.ruleset.sources)),
        "firewalld": facts.firewalld
        if isinstance(facts.firewalld, Absent)
        else (str(_said(facts.firewalld.version)), facts.firewalld.source),
        "IPv6_rpfilter": facts.asked
        if isinstance(facts.asked, Absent)
        else (f"{facts.asked.written or 'not set'} ({facts.asked.mode})", "firewalld.conf"),
        "rp_filter": facts.rp_filter
        if isinstance(facts.rp_filter, Absent)
        else (
            {
                "all": facts.rp_filter.everywhere,
                **{n: facts.rp_filter.effective(n) for n in facts.rp_filter.own},
            },
            "/proc/sys/net/ipv4/conf",
        ),
        "IPv6 routes": facts.routes6
        if isinstance(facts.routes6, Absent)
        else (facts.routes6.total, facts.routes6.source),
    }
    for name, value in read_as.items():
        told, source = (value, "") if isinstance(value, Absent) else value
        yield ev.fact(entry("firewall", name, told, source), t)
    yield ev.fact(entry("firewall", "IPv6 policy rules", facts.policy_rules, "ip -6 rule show"), t)
    yield ev.fact(entry("firewall", "IPv4 policy rules", facts.policy_rules4, "ip -4 rule show"), t)


def _said(value: str | Absent) -> str:
    return f"version unknown: {value.reason}" if isinstance(value, Absent) else value


def rate_events(found: PacketRates | Absent, cards: tuple[Card, ...], t: float) -> Iterator[ev.AnyEvent]:
    if isinstance(found, Absent):
        yield ev.fact(Unread("network", "packet rates", found), t)
        return
    less = ", loopback included" if found.loopback else " less what came by lo"
    for name, value, source in (
        ("IPv6 packets/s", found.ipv6, f"/proc/net/snmp6{less}"),
        ("IPv4 packets/s", found.ipv4, f"/proc/net/snmp{less}"),
        ("packets/s on all CPUs", found.processed, "/proc/net/softnet_stat"),
    ):
        told = value if isinstance(value, Absent) else round(value, 1)
        yield ev.fact(entry("network", name, told, source, "1/s"), t)
    if found.ipv6_share is not None:
        yield ev.fact(
            Fact("network", "IPv6 share of packets", round(found.ipv6_share, 3), "/proc/net/snmp6"), t
        )
    for card in cards:
        subject = f"nic:{card.name}"
        if card.name in found.interfaces:
            packets, size = found.interfaces[card.name]
            folder = f"/sys/class/net/{card.name}/statistics"
            yield ev.fact(Fact(subject, "packets/s", round(packets, 1), folder, "1/s"), t)
            yield ev.fact(Fact(subject, "bytes/s", round(size), folder, "B/s"), t)
        if isinstance(card.offload, Absent):
            yield ev.fact(Unread(subject, "GRO", card.offload), t)
        elif card.merges is not None:
            yield ev.fact(Fact(subject, "GRO", card.merges, card.offload.source), t)
