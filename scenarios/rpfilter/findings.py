"""The measured cost in words: beside this host's rates, at line rate, what one core holds; and what to do."""

from hostdx.probes import units
from hostdx.probes.system.network.line_rate import LinkedCard
from hostdx.probes.system.network.packet_rates import PacketRates
from hostdx.probes.types import Absent
from hostdx.scenarios.contract.finding import Evidence, Finding, Remedy
from hostdx.scenarios.rpfilter import remedies
from hostdx.scenarios.rpfilter.cost import MODEL, CostAnswer, cost_severity
from hostdx.scenarios.rpfilter.cost_model import CoreShare, gbit_per_s_at_full_core
from hostdx.scenarios.rpfilter.facts import RpFilterFacts
from hostdx.scenarios.rpfilter.measurement.measured_check import MeasuredCheck, describe_active_modes
from hostdx.scenarios.rpfilter.rule_change import switch_off_remedy
from hostdx.scenarios.rpfilter.rules import evidence_of_check
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("rpfilter")


def list_cost_sentences(
    answer: CostAnswer, card: LinkedCard | None, protocol: str, *, loaded: bool = True
) -> list[Evidence]:
    """One fact a line: the cost, what it takes now, both bounds at line rate, what one core holds."""
    cost = answer.cost
    takes = "takes" if loaded else "would take"
    low, high = (f"{end:.0f}" for end in cost.ci95)
    lines = [
        SAYS.evidence("a-check", ns=f"{cost.ns:.0f}", low=low, high=high, path=f"{cost.path_ns:.0f}"),
    ]
    if answer.packets_now is not None and answer.packets_now < 1:
        costs = "costs this host nothing" if loaded else "would cost this host nothing if it were loaded"
        lines.append(SAYS.evidence("no-packet", protocol=protocol, costs=costs))
    elif answer.now is not None and answer.packets_now is not None:
        lines.append(
            SAYS.evidence(
                "now",
                packets=f"{answer.packets_now:,.0f}",
                protocol=protocol,
                counted=_what_is_counted(answer.rates),
                takes=takes,
                cores=_cores_with_interval(answer.now),
            )
        )
    if isinstance(answer.bits_per_s, Absent):
        rate = answer.bits_per_s
        lines.append(SAYS.evidence("no-line-rate", reason=rate.reason, source=rate.source))
    else:
        name = units.format_bit_rate(answer.bits_per_s) + (f" ({card.name})" if card is not None else "")
        for line in answer.lines:
            text = "all in 64 KiB aggregates" if line.merged else "none merged"
            set_now = " (as it is set: GRO on)" if line.merged and answer.merges else ""
            set_now = " (as it is set: GRO off)" if not line.merged and answer.merges is False else set_now
            lines.append(
                SAYS.evidence(
                    "line-rate",
                    name=name,
                    mtu=line.mtu,
                    how=text + set_now,
                    packets=f"{line.packets_per_s:,.0f}",
                    takes=takes,
                    cores=_cores_with_interval(line.check),
                )
            )
    for mtu in (1500, 9000):
        for merged in (False, True):
            without = gbit_per_s_at_full_core(cost.path_ns, mtu, merged=merged)
            with_it = gbit_per_s_at_full_core(cost.path_ns + cost.ns, mtu, merged=merged)
            most = "at most " if merged else "about "  # of an aggregate the copying is not counted
            text = f"frames of MTU {mtu} in 64 KiB aggregates" if merged else f"unmerged frames of MTU {mtu}"
            holds = {"with": f"{with_it:,.1f}", "without": f"{without:,.1f}"}
            lines.append(SAYS.evidence("core-holds", most=most, how=text, **holds))
    lines.append(Evidence(MODEL))
    return lines


def _what_is_counted(rates: PacketRates | Absent) -> str:
    """By lo nothing is looked up (nft_fib_is_loopback), so it is left out where it is known."""
    has_loopback = not isinstance(rates, Absent) and rates.loopback
    return "(after GRO, loopback included)" if has_loopback else "(after GRO, without loopback)"


def _cores_with_interval(value: CoreShare) -> str:
    low, high = value.ci95
    if value.cores < 0.995:
        return f"{value.cores * 100:.2g} % of one core (95 % CI {low * 100:.2g} to {high * 100:.2g} %)"
    return f"{value.cores:.1f} cores (95 % CI {low:.1f} to {high:.1f})"


def cost_finding(answer: CostAnswer, facts: RpFilterFacts, chosen: MeasuredCheck) -> Finding:
    """Severity by the share of a core now, and by what the card could bring where the check is loaded."""
    rule, loaded = chosen.rule, chosen.here == "loaded"
    lines = []
    if rule is not None and not rule.checks_every_packet:
        condition_text = (
            f"it applies only to packets with {' '.join(rule.conditions)}"
            if rule.conditions
            else "it does not apply to every packet"
        )
        lines.append(SAYS.evidence("applies-to", who=condition_text))
    if chosen.setting and loaded:
        lines.append(SAYS.evidence("early"))
    lines += list_cost_sentences(answer, facts.fastest_card, chosen.protocol, loaded=loaded)
    if rule is not None:
        lines += evidence_of_check(facts, rule)
    else:
        lines.append(SAYS.evidence("measured", whose=chosen.variant_label, text=chosen.text))
    if chosen.here == "not loaded" and (setting := describe_active_modes(facts)):
        lines.append(SAYS.evidence("own-setting", setting=setting))
    lines += [Evidence(text) for text in chosen.left_out]
    for other in answer.others:
        if other.delta is not None and other.delta_ci95 is not None:
            low, high = (f"{end:.0f}" for end in other.delta_ci95)
            lines.append(
                SAYS.evidence(
                    "other",
                    variant=other.variant,
                    delta=f"{other.delta:+.0f}",
                    low=low,
                    high=high,
                    verdict=other.verdict,
                )
            )
    lines += _rates_evidence(answer.rates)
    paid = loaded and (rule is None or rule.checks_every_flow)
    narrowed = chosen.setting > 0 or (rule is not None and bool(rule.conditions))
    return SAYS.finding(
        "cost",
        severity=cost_severity(answer, loaded=paid, narrowed=narrowed),
        confidence="hint" if answer.verdict.is_undecided else "measured",
        cost=_cost_title(answer, chosen),
        subject=chosen.protocol,
        answers=not loaded,
        evidence=lines,
        remedy=_choose_remedies(facts, chosen)
        if paid and (answer.verdict.is_slower or answer.verdict.is_undecided)
        else (),
        references=remedies.REFERENCES,
    )


def _cost_title(answer: CostAnswer, chosen: MeasuredCheck) -> str:
    """Where no check is loaded that stands first: nobody is told to be slowed by what is not there."""
    ns, rule = answer.cost.ns, chosen.rule
    name = "the firewall's reverse-path check" if rule is not None else chosen.name
    whom = f"every {chosen.protocol} packet"
    if rule is not None:
        whom = rule.payers_text if rule.checks_every_flow else f"{whom} that it applies to"
    before = {
        "loaded": "",
        "not loaded": "the firewall here has no reverse-path check: ",
        "unknown": "whether a reverse-path check is loaded could not be read: ",
    }[chosen.here]
    if answer.verdict.is_slower:
        costs = "costs" if chosen.here == "loaded" else "would cost"
        return f"{before}{name} {costs} {units.metric_quantity(ns, 'ns')} on {whom}"
    if answer.verdict.is_undecided:
        return f"{before}inconclusive: the cost of {name}"
    makes = "makes" if chosen.here == "loaded" else "would make"
    return f"{before}{name} {makes} no material difference to a packet's cost ({units.format_signed(ns)} ns)"


def _choose_remedies(facts: RpFilterFacts, chosen: MeasuredCheck) -> tuple[Remedy, ...]:
    if chosen.rule is not None:
        return remedies.choose_remedies(facts, chosen.rule)
    return () if isinstance(facts.rp_filter, Absent) else (switch_off_remedy(facts.rp_filter),)


def _rates_evidence(rates: PacketRates | Absent) -> list[Evidence]:
    if isinstance(rates, Absent):
        return [SAYS.evidence("no-rates", reason=rates.reason)]
    lines = []
    if rates.ipv6_share is not None:
        share = f"{rates.ipv6_share * 100:.0f}"
        lines.append(SAYS.evidence("ipv6-share", share=share, counted=_what_is_counted(rates)))
    if rates.busiest_softirq is not None:
        share = f"{rates.busiest_softirq * 100:.0f}"
        lines.append(SAYS.evidence("busiest", cpu=rates.busiest_cpu, share=share))
    for name, value in (("dropped", rates.backlog_drops), ("time_squeeze", rates.squeezes)):
        if not isinstance(value, Absent) and value > 0:
            lines.append(SAYS.evidence("softnet", name=name, rate=f"{value:.1f}"))
    return lines
