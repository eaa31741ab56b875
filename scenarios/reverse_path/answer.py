"""The answer in words: the measured cost beside this host's rates, the bounds at line rate, and how severe that is."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import msgspec

from probes.system.line_rate import Card
from probes.system.packet_rates import PacketRates
from probes.types import Absent, Json
from scenarios import events as ev
from scenarios.finding import Evidence, Finding, Severity
from scenarios.reverse_path import remedy
from scenarios.reverse_path.facts import Facts
from scenarios.reverse_path.meaning import AtLineRate, Cost, Share, at_line_rate, core_holds, share
from scenarios.reverse_path.variants import CHECK, Chosen
from scenarios.rules.rpfilter import FAST_MBIT, evidence

MODEL = (
    "The interval covers the measurement, not the model: packets of other sizes, several receiving cores, caches and"
    " the driver's own cost can move it either way."
)
SHARE_SPEAKS = 0.02  # of one core; below it nobody would feel it
SHARE_WARNS = 0.20
SOFTIRQ_FULL = 0.90  # of the busiest CPU's time


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """`bits_per_s`: of the fastest card or as given; Absent where neither is known."""

    cost: Cost
    verdict: ev.Verdict
    now: Share | None
    packets_now: float | None
    rates: PacketRates | Absent
    bits_per_s: float | Absent
    lines: tuple[AtLineRate, ...]
    merges: bool | None
    others: tuple[ev.Verdict, ...] = ()  # more ways to check, with --all


def answer(
    verdicts: Sequence[ev.Verdict],
    path_ns: Sequence[float],
    rates: PacketRates | Absent,
    card: Card | None,
    link_gbit: float,
    protocol: str,
) -> Answer | None:
    """None where the check's cost was not measured (not applicable, or too few groups for an interval)."""
    verdict = next((v for v in verdicts if v.variant == CHECK and v.metric == "ns/packet"), None)
    if verdict is None or verdict.delta is None or verdict.delta_ci95 is None or not path_ns:
        return None
    cost = Cost(verdict.delta, verdict.delta_ci95, median(path_ns))
    packets = None
    if not isinstance(rates, Absent):
        rate = rates.ipv6 if protocol == "IPv6" else rates.ipv4
        packets = None if isinstance(rate, Absent) else rate
    bits = link_speed(card, link_gbit)
    return Answer(
        cost=cost,
        verdict=verdict,
        now=None if packets is None else share(cost, packets),
        packets_now=packets,
        rates=rates,
        bits_per_s=bits,
        lines=() if isinstance(bits, Absent) else at_line_rate(cost, bits),
        merges=None if card is None else card.merges,
        others=tuple(v for v in verdicts if v is not verdict and v.delta is not None and not v.control),
    )


def link_speed(card: Card | None, link_gbit: float) -> float | Absent:
    if link_gbit > 0:
        return link_gbit * 1e9
    if card is None:
        return Absent("no network card", "missing", "/sys/class/net")
    return card.mbit_per_s if isinstance(card.mbit_per_s, Absent) else card.mbit_per_s * 1e6


def sentences(found: Answer, card: Card | None, protocol: str) -> list[str]:
    """One fact a line: the cost, what it takes now, both bounds at line rate, what one core holds."""
    cost = found.cost
    lines = [
        f"one check costs {cost.ns:.0f} ns a packet (95 %: {cost.ci95[0]:.0f} to {cost.ci95[1]:.0f}),"
        f" beside {cost.path_ns:.0f} ns for the path without it"
    ]
    if found.packets_now is not None and found.packets_now < 1:
        lines.append(f"no {protocol} packet arrives now: at present the check costs this host nothing")
    elif found.now is not None and found.packets_now is not None:
        lines.append(
            f"now {found.packets_now:,.0f} {protocol} packets/s arrive {_counted(found.rates)}: the check takes"
            f" {_cores(found.now)}"
        )
    if isinstance(found.bits_per_s, Absent):
        lines.append(f"line rate: {found.bits_per_s.reason}; give it with --link GBIT")
    else:
        name = f"{found.bits_per_s / 1e9:g} Gbit/s" + (f" ({card.name})" if card is not None else "")
        for line in found.lines:
            how = "all in 64 KiB aggregates" if line.merged else "none merged"
            set_now = " (as it is set: GRO on)" if line.merged and found.merges else ""
            set_now = " (as it is set: GRO off)" if not line.merged and found.merges is False else set_now
            lines.append(
                f"at {name}, MTU {line.mtu}, {how}{set_now}: {line.packets_per_s:,.0f} packets/s,"
                f" the check takes {_cores(line.check)}"
            )
    for mtu in (1500, 9000):
        without = core_holds(cost.path_ns, mtu, merged=False)
        with_it = core_holds(cost.path_ns + cost.ns, mtu, merged=False)
        lines.append(
            f"one receiving core holds about {with_it:.1f} Gbit/s of unmerged frames of MTU {mtu} with the check,"
            f" {without:.1f} without"
        )
    lines.append(MODEL)
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
    cost, word = found.cost, found.verdict.verdict
    rule = chosen.rule
    here = "the firewall's reverse-path check"
    if rule is None and isinstance(facts.ruleset, Absent):
        here = "a reverse-path check (if one is loaded could not be read)"
    elif rule is None:
        here = "a reverse-path check, not loaded here,"
    measured = f"{cost.ns:.0f} ns on every {chosen.protocol} packet"
    if rule is not None and rule.every_flow:
        measured = f"{cost.ns:.0f} ns on {rule.payers}"
    elif rule is not None:
        measured = f"{cost.ns:.0f} ns on every {chosen.protocol} packet that meets it"
    if word == "slower":
        verb = "costs" if rule is not None else "would cost"
        title = f"{here} {verb} {measured}"
    elif word == "inconclusive":
        title = f"{here}: its cost was not decided"
    else:
        title = f"{here} makes no material difference to a packet's cost ({cost.ns:+.0f} ns)"
    lines = []
    if rule is not None and rule.conditions:
        text = "what follows counts all packets as if they met it, an upper bound"
        lines.append(Evidence(f"only packets with {' '.join(rule.conditions)} meet it; {text}"))
    lines += [Evidence(text, "measured") for text in sentences(found, facts.fastest, chosen.protocol)]
    lines += (
        list(evidence(facts, rule))
        if rule is not None
        else [Evidence(f"{chosen.whose}: {chosen.text}", "measured instead")]
    )
    lines += [Evidence(text) for text in chosen.left_out]
    for other in found.others:
        if other.delta is not None and other.delta_ci95 is not None:
            low, high = other.delta_ci95
            text = f"{other.variant}: {other.delta:+.0f} ns a packet (95 %: {low:.0f} to {high:.0f}), {other.verdict}"
            lines.append(Evidence(text, "measured"))
    lines += _passive(found.rates)
    useful = (
        word in ("slower", "inconclusive") and rule is not None and rule.every_flow
    )  # else it is where the remedies would put it
    return Finding(
        id="rpfilter.cost",
        severity=severity(
            found,
            loaded=rule is not None and rule.every_flow,
            narrowed=rule is not None and bool(rule.conditions),
        ),
        confidence="measured" if word != "inconclusive" else "hint",
        title=title,
        evidence=tuple(lines),
        remedy=remedy.remedies(facts, rule) if useful else (),
        references=remedy.REFERENCES,
        subject=chosen.protocol,
    )


def severity(found: Answer, *, loaded: bool, narrowed: bool = False) -> Severity:
    """A check that is not loaded, or not shown to cost anything, is no finding.

    One that only some packets meet is a notice: nobody counted them.

    One that costs is never told more quietly than the rule that only read it: the frames may come unmerged, too.
    One whose cost was not decided is what the rule says, for it could not be refuted.
    """
    fast = not isinstance(found.bits_per_s, Absent) and found.bits_per_s >= FAST_MBIT * 1e6
    if not loaded or found.verdict.verdict not in ("slower", "inconclusive"):
        return "ok"
    if narrowed:
        return "notice"
    if found.verdict.verdict == "inconclusive":
        return "warning" if fast else "notice"
    now = found.now.cores if found.now is not None else 0.0
    if now >= SHARE_WARNS:
        busiest = None if isinstance(found.rates, Absent) else found.rates.busiest_softirq
        return "critical" if busiest is not None and busiest >= SOFTIRQ_FULL else "warning"
    unmerged = any(not line.merged and line.check.cores >= 1 for line in found.lines)
    return "warning" if fast or unmerged else "notice"


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


def extra(found: Answer, facts: Facts, chosen: Chosen) -> Json:
    """The scenario's own part of the result document. Shares are in cores, rates per second, costs in ns."""
    rule = chosen.rule
    return {
        "protocol": chosen.protocol,
        "check": chosen.text,
        "whose": chosen.whose,
        "loaded": None if isinstance(facts.ruleset, Absent) else rule is not None,
        "place": rule.place if rule is not None else None,
        "every_packet": rule.every_packet if rule is not None else None,
        "cost_ns": round(found.cost.ns, 1),
        "cost_ns_ci95": [round(found.cost.ci95[0], 1), round(found.cost.ci95[1], 1)],
        "path_ns": round(found.cost.path_ns, 1),
        "packets_per_s_now": None if found.packets_now is None else round(found.packets_now, 1),
        "cores_now": None if found.now is None else round(found.now.cores, 5),
        "cores_now_ci95": None if found.now is None else [round(x, 5) for x in found.now.ci95],
        "card": facts.fastest.name if facts.fastest is not None else None,
        "merges": found.merges,
        "link_bits_per_s": None if isinstance(found.bits_per_s, Absent) else found.bits_per_s,
        "model": MODEL,
    }


def line_rate(found: Answer) -> Json:
    """The bounds at line rate, one record each; part of the result document too."""
    return [
        {
            "mtu": line.mtu,
            "merged": line.merged,
            "packets_per_s": round(line.packets_per_s),
            "cores": round(line.check.cores, 4),
            "cores_low": round(line.check.ci95[0], 4),
            "cores_high": round(line.check.ci95[1], 4),
            "core_holds_gbit_per_s": round(line.core_gbit_per_s, 2),
            "without_check": round(line.core_gbit_without, 2),
        }
        for line in found.lines
    ]
