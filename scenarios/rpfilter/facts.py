"""Everything read about the reverse-path check on a host, in one place, and which check the experiment measures."""

from __future__ import annotations

import msgspec

from probes.host import Host
from probes.system.firewall.firewalld import Firewalld, firewalld
from probes.system.firewall.reverse_path import Protocol, ReversePathRule
from probes.system.firewall.rp_filter import RpFilter, rp_filter
from probes.system.firewall.rules import Ruleset, ruleset
from probes.system.line_rate import Card, cards
from probes.system.routes import RouteTable, forwarding, ipv4_routes, ipv6_routes, policy_rules
from probes.types import Absent
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
