"""What was read, as events of the run: facts with their source, and what could not be read with its reason."""

from __future__ import annotations

from collections.abc import Iterator

from probes.system.line_rate import Card
from probes.system.packet_rates import PacketRates
from probes.types import Absent, Json
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
        "IPv6 policy rules": facts.policy_rules
        if isinstance(facts.policy_rules, Absent)
        else (facts.policy_rules, "ip -6 rule show"),
        "IPv4 policy rules": facts.policy_rules4
        if isinstance(facts.policy_rules4, Absent)
        else (facts.policy_rules4, "ip -4 rule show"),
    }
    for name, value in read_as.items():
        if isinstance(value, Absent):
            yield ev.AbsentFact(t=t, name=name, reason=value.reason, source=value.source)
        else:
            yield ev.FactRead(t=t, name=name, value=value[0], source=value[1])


def _said(value: str | Absent) -> str:
    return f"version unknown: {value.reason}" if isinstance(value, Absent) else value


def rate_events(found: PacketRates | Absent, cards: tuple[Card, ...], t: float) -> Iterator[ev.AnyEvent]:
    if isinstance(found, Absent):
        yield ev.AbsentFact(t=t, name="packet rates", reason=found.reason)
        return
    less = ", loopback included" if found.loopback else " less what came by lo"
    for name, value, source in (
        ("IPv6 packets/s", found.ipv6, f"/proc/net/snmp6{less}"),
        ("IPv4 packets/s", found.ipv4, f"/proc/net/snmp{less}"),
        ("packets/s on all CPUs", found.processed, "/proc/net/softnet_stat"),
    ):
        if isinstance(value, Absent):
            yield ev.AbsentFact(t=t, name=name, reason=value.reason, source=value.source)
        else:
            yield ev.FactRead(t=t, name=name, value=round(value, 1), source=source, unit="1/s")
    if found.ipv6_share is not None:
        yield ev.FactRead(
            t=t, name="IPv6 share of packets", value=round(found.ipv6_share, 3), source="/proc/net/snmp6"
        )
    for card in cards:
        if card.name in found.interfaces:
            packets, size = found.interfaces[card.name]
            folder = f"/sys/class/net/{card.name}/statistics"
            yield ev.FactRead(
                t=t, name=f"{card.name} packets/s", value=round(packets, 1), source=folder, unit="1/s"
            )
            yield ev.FactRead(t=t, name=f"{card.name} bytes/s", value=round(size), source=folder, unit="B/s")
        if isinstance(card.offload, Absent):
            yield ev.AbsentFact(
                t=t, name=f"{card.name} GRO", reason=card.offload.reason, source=card.offload.source
            )
        elif card.merges is not None:
            yield ev.FactRead(t=t, name=f"{card.name} GRO", value=card.merges, source=card.offload.source)
