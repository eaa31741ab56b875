"""What was read, as events of the run: facts with their source, and what could not be read with its reason."""

from __future__ import annotations

from collections.abc import Iterator

from probes.system.line_rate import Card
from probes.system.packet_rates import PacketRates
from probes.system.summary import entry
from probes.types import Absent, Fact, Json, Unread
from scenarios import events as ev
from scenarios.rpfilter.facts import Facts


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
