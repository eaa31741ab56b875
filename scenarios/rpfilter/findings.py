"""The measured cost in words: beside this host's rates, at line rate, what one core holds; and what to do."""

from __future__ import annotations

from probes import units
from probes.system.network.line_rate import Card
from probes.system.network.packet_rates import PacketRates
from probes.types import Absent
from scenarios.finding import Evidence, Finding, Remedy
from scenarios.rpfilter import remedies
from scenarios.rpfilter.cost import MODEL, Answer, severity
from scenarios.rpfilter.cost_model import Share, core_holds
from scenarios.rpfilter.facts import Facts
from scenarios.rpfilter.measurement.measured_check import Chosen, active
from scenarios.rpfilter.rules import evidence
from scenarios.rpfilter.setting_change import switched_off

BY_MODEL = "measured, by the model"


def sentences(found: Answer, card: Card | None, protocol: str, *, loaded: bool = True) -> list[Evidence]:
    """One fact a line: the cost, what it takes now, both bounds at line rate, what one core holds."""
    cost = found.cost
    takes = "takes" if loaded else "would take"
    lines = [
        Evidence(
            f"one check costs {cost.ns:.0f} ns a packet (95 %: {cost.ci95[0]:.0f} to {cost.ci95[1]:.0f}),"
            f" beside {cost.path_ns:.0f} ns for the path without it",
            "measured",
        )
    ]
    if found.packets_now is not None and found.packets_now < 1:
        costs = "costs this host nothing" if loaded else "would cost this host nothing if it were loaded"
        lines.append(Evidence(f"no {protocol} packet arrives now: at present the check {costs}", "measured"))
    elif found.now is not None and found.packets_now is not None:
        text = (
            f"now {found.packets_now:,.0f} {protocol} packets/s arrive {_counted(found.rates)}:"
            f" the check {takes} {_cores(found.now)}"
        )
        lines.append(Evidence(text, "measured"))
    if isinstance(found.bits_per_s, Absent):
        text = f"line rate: not known, {found.bits_per_s.reason}; give it with --link GBIT"
        lines.append(Evidence(text, found.bits_per_s.source))
    else:
        name = units.bits(found.bits_per_s) + (f" ({card.name})" if card is not None else "")
        for line in found.lines:
            how = "all in 64 KiB aggregates" if line.merged else "none merged"
            set_now = " (as it is set: GRO on)" if line.merged and found.merges else ""
            set_now = " (as it is set: GRO off)" if not line.merged and found.merges is False else set_now
            text = (
                f"at {name}, MTU {line.mtu}, {how}{set_now}: {line.packets_per_s:,.0f} packets/s,"
                f" the check {takes} {_cores(line.check)}"
            )
            lines.append(Evidence(text, BY_MODEL))
    for mtu in (1500, 9000):
        for merged in (False, True):
            without = core_holds(cost.path_ns, mtu, merged=merged)
            with_it = core_holds(cost.path_ns + cost.ns, mtu, merged=merged)
            most = "at most " if merged else "about "  # of an aggregate the copying is not counted
            how = f"frames of MTU {mtu} in 64 KiB aggregates" if merged else f"unmerged frames of MTU {mtu}"
            text = (
                f"one receiving core holds {most}{with_it:,.1f} Gbit/s of {how} with the check,"
                f" {without:,.1f} without"
            )
            lines.append(Evidence(text, BY_MODEL))
    lines.append(Evidence(MODEL))
    return lines


def _counted(rates: PacketRates | Absent) -> str:
    """By lo nothing is looked up (nft_fib_is_loopback), so it is left out where it is known."""
    kept = not isinstance(rates, Absent) and rates.loopback
    return "(after GRO, loopback included)" if kept else "(after GRO, without loopback)"


def _cores(value: Share) -> str:
    low, high = value.ci95
    if value.cores < 0.995:
        return f"{value.cores * 100:.2g} % of one core (95 %: {low * 100:.2g} to {high * 100:.2g} %)"
    return f"{value.cores:.1f} cores (95 %: {low:.1f} to {high:.1f})"


def finding(found: Answer, facts: Facts, chosen: Chosen) -> Finding:
    """Severity by the share of a core now, and by what the card could bring where the check is loaded."""
    rule, loaded = chosen.rule, chosen.here == "loaded"
    lines = []
    if rule is not None and not rule.every_packet:
        who = (
            f"it applies only to packets with {' '.join(rule.conditions)}"
            if rule.conditions
            else "it does not apply to every packet"
        )
        lines.append(Evidence(f"{who}; the figures below count all packets, so they are an upper bound"))
    if chosen.setting and loaded:
        lines.append(
            Evidence(
                "packets of established flows skip it (early demultiplexing), so the figures below are an "
                "upper bound"
            )
        )
    lines += sentences(found, facts.fastest, chosen.protocol, loaded=loaded)
    if rule is not None:
        lines += evidence(facts, rule)
    else:
        lines.append(Evidence(f"measured: {chosen.whose}: {chosen.text}"))
    if chosen.here == "not loaded" and (setting := active(facts)):
        lines.append(Evidence(f"IPv4's own rp_filter is {setting}", "/proc/sys/net/ipv4/conf/*/rp_filter"))
    lines += [Evidence(text) for text in chosen.left_out]
    for other in found.others:
        if other.delta is not None and other.delta_ci95 is not None:
            low, high = other.delta_ci95
            text = f"{other.variant}: {other.delta:+.0f} ns a packet (95 %: {low:.0f} to {high:.0f}), {other.verdict}"
            lines.append(Evidence(text, "measured"))
    lines += _passive(found.rates)
    paid = loaded and (rule is None or rule.every_flow)
    return Finding(
        id="rpfilter.cost",
        severity=severity(
            found, loaded=paid, narrowed=chosen.setting > 0 or (rule is not None and bool(rule.conditions))
        ),
        confidence="hint" if found.verdict.undecided else "measured",
        title=_title(found, chosen),
        evidence=tuple(lines),
        remedy=_remedies(facts, chosen) if paid and (found.verdict.slower or found.verdict.undecided) else (),
        references=remedies.REFERENCES,
        subject=chosen.protocol,
        answers=not loaded,
    )


def _title(found: Answer, chosen: Chosen) -> str:
    """Where no check is loaded that stands first: nobody is told to be slowed by what is not there."""
    ns, rule = found.cost.ns, chosen.rule
    name = "the firewall's reverse-path check" if rule is not None else chosen.name
    whom = f"every {chosen.protocol} packet"
    if rule is not None:
        whom = rule.payers if rule.every_flow else f"{whom} that it applies to"
    before = {
        "loaded": "",
        "not loaded": "the firewall here has no reverse-path check: ",
        "unknown": "whether a reverse-path check is loaded could not be read: ",
    }[chosen.here]
    if found.verdict.slower:
        return f"{before}{name} {'costs' if chosen.here == 'loaded' else 'would cost'} {ns:.0f} ns on {whom}"
    if found.verdict.undecided:
        return f"{before}inconclusive: the cost of {name}"
    makes = "makes" if chosen.here == "loaded" else "would make"
    return f"{before}{name} {makes} no material difference to a packet's cost ({ns:+.0f} ns)"


def _remedies(facts: Facts, chosen: Chosen) -> tuple[Remedy, ...]:
    if chosen.rule is not None:
        return remedies.remedies(facts, chosen.rule)
    return () if isinstance(facts.rp_filter, Absent) else (switched_off(facts.rp_filter),)


def _passive(rates: PacketRates | Absent) -> list[Evidence]:
    if isinstance(rates, Absent):
        return [Evidence(f"packet rates: {rates.reason}")]
    lines = []
    if rates.ipv6_share is not None:
        lines.append(
            Evidence(
                f"{rates.ipv6_share * 100:.0f} % of the received IP packets {_counted(rates)} are IPv6",
                "/proc/net/snmp6",
            )
        )
    if rates.busiest_softirq is not None:
        text = (
            f"busiest CPU: {rates.busiest_cpu}, {rates.busiest_softirq * 100:.0f} % of its time in softirqs"
        )
        lines.append(Evidence(text, "/proc/stat"))
    for name, value in (("dropped", rates.backlog_drops), ("time_squeeze", rates.squeezes)):
        if not isinstance(value, Absent) and value > 0:
            lines.append(Evidence(f"softnet {name}: {value:.1f} a second", "/proc/net/softnet_stat"))
    return lines
