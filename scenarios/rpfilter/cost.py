"""The answer in numbers: the cost beside this host's rates, the bounds at line rate, and how severe that is."""

from collections.abc import Iterator, Sequence

import msgspec

from hostdx.probes import units
from hostdx.probes.system.network.line_rate import LinkedCard
from hostdx.probes.system.network.packet_rates import PacketRates
from hostdx.probes.types import Absent
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Evidence, Finding, Severity
from hostdx.scenarios.experiment.wording import effect_size_and_interval_cells
from hostdx.scenarios.rpfilter.cost_model import (
    CoreShare,
    LineRateCost,
    PacketCost,
    core_share,
    cost_at_line_rate,
)
from hostdx.scenarios.rpfilter.facts import RpFilterFacts
from hostdx.scenarios.rpfilter.measurement.measured_check import MeasuredCheck, describe_active_modes
from hostdx.scenarios.rpfilter.measurement.variants import CHECK, SETTINGS, Trial
from hostdx.scenarios.rpfilter.results import CheckCost, LineRate
from hostdx.scenarios.rpfilter.rule_change import switch_off_remedy
from hostdx.scenarios.rpfilter.rules import FAST_MBIT
from hostdx.scenarios.triage.rules.texts import finding_texts

MODEL = (
    "The interval covers the measurement, not the model: other packet sizes, several receiving cores, "
    "caches and the driver's own cost can change the figure in either direction."
)
SHARE_WARNS = 0.20
SOFTIRQ_FULL = 0.90  # of the busiest CPU's time


class CostAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """`bits_per_s`: of the fastest card or as given; Absent where neither is known."""

    cost: PacketCost
    verdict: ev.RunVerdict
    now: CoreShare | None
    packets_now: float | None
    rates: PacketRates | Absent
    bits_per_s: float | Absent
    lines: tuple[LineRateCost, ...]
    merges: bool | None
    others: tuple[ev.RunVerdict, ...] = ()  # more ways to check, with --all


def build_cost_answer(
    verdicts: Sequence[ev.RunVerdict],
    path_ns: float | None,
    rates: PacketRates | Absent,
    card: LinkedCard | None,
    link_gbit: float,
    protocol: str,
) -> CostAnswer | None:
    """None where the check's cost was not measured (not applicable, or too few groups for an interval)."""
    verdict = next((v for v in verdicts if v.variant == CHECK and v.metric == "ns/packet"), None)
    if verdict is None or verdict.delta is None or verdict.delta_ci95 is None or path_ns is None:
        return None
    cost = PacketCost(verdict.delta, verdict.delta_ci95, path_ns)
    packets = None
    if not isinstance(rates, Absent):
        rate = rates.ipv6 if protocol == "IPv6" else rates.ipv4
        packets = None if isinstance(rate, Absent) else rate
    bits = link_bits_per_s(card, link_gbit)
    return CostAnswer(
        cost=cost,
        verdict=verdict,
        now=None if packets is None else core_share(cost, packets),
        packets_now=packets,
        rates=rates,
        bits_per_s=bits,
        lines=() if isinstance(bits, Absent) else cost_at_line_rate(cost, bits),
        merges=None if card is None else card.merges_frames,
        others=tuple(v for v in verdicts if v is not verdict and v.delta is not None and not v.control),
    )


def link_bits_per_s(card: LinkedCard | None, link_gbit: float) -> float | Absent:
    if link_gbit > 0:
        return link_gbit * 1e9
    if card is None:
        return Absent("no network card", "missing", "/sys/class/net")
    return card.mbit_per_s if isinstance(card.mbit_per_s, Absent) else card.mbit_per_s * 1e6


def cost_severity(answer: CostAnswer, *, loaded: bool, narrowed: bool = False) -> Severity:
    """A check that is not loaded, or not shown to cost anything, is no finding.

    One that only some packets meet (`narrowed`) is a notice: nobody counted them.

    One that costs is never told more quietly than the rule that only read it: the frames may come unmerged, too.
    One whose cost was not decided is what the rule says, for it could not be refuted.
    """
    fast = not isinstance(answer.bits_per_s, Absent) and answer.bits_per_s >= FAST_MBIT * 1e6
    if not loaded or not (answer.verdict.is_slower or answer.verdict.is_undecided):
        return "ok"
    if narrowed:
        return "notice"
    if answer.verdict.is_undecided:
        return "warning" if fast else "notice"
    now = answer.now.cores if answer.now is not None else 0.0
    if now >= SHARE_WARNS:
        busiest = None if isinstance(answer.rates, Absent) else answer.rates.busiest_softirq
        return "critical" if busiest is not None and busiest >= SOFTIRQ_FULL else "warning"
    unmerged = any(not line.merged and line.check.cores >= 1 for line in answer.lines)
    return "warning" if fast or unmerged else "notice"


def cost_of_check(answer: CostAnswer, facts: RpFilterFacts, chosen: MeasuredCheck) -> CheckCost:
    rule = chosen.rule
    return CheckCost(
        protocol=chosen.protocol,
        check=chosen.text,
        whose=chosen.name,
        loaded={"loaded": True, "not loaded": False, "unknown": None}[chosen.here],
        place=rule.place_text if rule is not None else None,
        every_packet=rule.checks_every_packet if rule is not None else None,
        cost_ns=round(answer.cost.ns, 1),
        cost_ns_ci95=(round(answer.cost.ci95[0], 1), round(answer.cost.ci95[1], 1)),
        path_ns=round(answer.cost.path_ns, 1),
        packets_per_s_now=None if answer.packets_now is None else round(answer.packets_now, 1),
        cores_now=None if answer.now is None else round(answer.now.cores, 5),
        cores_now_ci95=None
        if answer.now is None
        else (round(answer.now.ci95[0], 5), round(answer.now.ci95[1], 5)),
        card=facts.fastest_card.name if facts.fastest_card is not None else None,
        merges=answer.merges,
        link_bits_per_s=None if isinstance(answer.bits_per_s, Absent) else answer.bits_per_s,
        model=MODEL,
    )


def line_rate_rows(answer: CostAnswer) -> tuple[LineRate, ...]:
    return tuple(
        LineRate(
            mtu=line.mtu,
            merged=line.merged,
            packets_per_s=round(line.packets_per_s),
            cores=round(line.check.cores, 4),
            cores_low=round(line.check.ci95[0], 4),
            cores_high=round(line.check.ci95[1], 4),
            core_holds_gbit_per_s=round(line.core_gbit_per_s, 2),
            without_check=round(line.core_gbit_without, 2),
        )
        for line in answer.lines
    )


SAYS = finding_texts("rpfilter")

SETTING_IDS = {variant.id: mode for mode, variant in SETTINGS.items()}
MAX_NAMED_CHECKS = 4  # in a title; the evidence names all


def further_costs_finding(
    judged: Sequence[tuple[Trial, Sequence[ev.RunVerdict]]], facts: RpFilterFacts, rates: PacketRates | Absent
) -> Finding | None:
    """None where nothing beside the first workload was asked for."""
    lines = [line for trial, verdicts in judged for line in _cost_evidence(trial, verdicts, facts, rates)]
    if not lines:
        return None
    setting = facts.rp_filter
    modes = () if isinstance(setting, Absent) else tuple(setting.active_modes.values())
    every = [verdict for _, verdicts in judged for verdict in verdicts]
    costs = [v for v in every if v.is_slower and SETTING_IDS.get(v.variant) in modes]
    off = not isinstance(setting, Absent) and bool(costs)
    return SAYS.finding(
        "beside",
        severity="ok" if all(v.is_equal for v in every) else "notice",
        confidence="measured" if any(v.is_decided for v in every) else "hint",
        costs=_costs_title(judged, costs),
        evidence=lines,
        remedy=(switch_off_remedy(setting),) if off and not isinstance(setting, Absent) else (),
    )


def _costs_title(
    judged: Sequence[tuple[Trial, Sequence[ev.RunVerdict]]], costs: Sequence[ev.RunVerdict]
) -> str:
    """Return the title: what the host pays (`costs`) first, then all that is not equal, decided before undecided."""
    parts = []
    if costs and costs[0].delta is not None:
        parts = [
            f"rp_filter costs {units.metric_quantity(costs[0].delta, 'ns')} on an IPv4 packet of no established flow"
        ]
    rest = [
        (trial, verdict)
        for trial, verdicts in judged
        for verdict in verdicts
        if not verdict.is_equal and not (parts and verdict is costs[0])
    ]
    rest.sort(key=lambda pair: (not pair[1].is_slower, not pair[1].is_faster, not pair[1].is_undecided))
    parts += [
        f"{_load_and_variant(trial, verdict)}: {effect_size_and_interval_cells(verdict)[0]}"
        for trial, verdict in rest[:MAX_NAMED_CHECKS]
    ]
    if not parts:
        return "no material difference in what --all compares besides the host's own check"
    more = f" and {len(rest) - MAX_NAMED_CHECKS} more" if len(rest) > MAX_NAMED_CHECKS else ""
    return "; ".join(parts) + more


def _load_and_variant(trial: Trial, verdict: ev.RunVerdict) -> str:
    labels = {compared.variant.id: compared.variant.label for compared in trial.compared}
    name = f"{trial.workload.title}, {labels.get(verdict.variant, verdict.variant)}"
    return f"{name} (the control)" if verdict.control else name


def _cost_evidence(
    trial: Trial, verdicts: Sequence[ev.RunVerdict], facts: RpFilterFacts, rates: PacketRates | Absent
) -> Iterator[Evidence]:
    for verdict in verdicts:
        name = _load_and_variant(trial, verdict)
        if verdict.delta is None or verdict.delta_ci95 is None:
            yield Evidence(f"{name}: {verdict.verdict}{f': {verdict.reason}' if verdict.reason else ''}")
            continue
        low, high = verdict.delta_ci95
        if trial.load == "tcp":
            change = (
                f"{verdict.delta:+,.0f} MB/s ({low:+,.0f} to {high:+,.0f})"
                if verdict.ratio is None
                else f"{(verdict.ratio - 1) * 100:+.1f} % of its throughput, {verdict.delta:+,.0f} MB/s"
                f" (95 % CI {low:+,.0f} to {high:+,.0f})"
            )
            yield Evidence(f"{name}: {change}, {verdict.verdict}", "measured")
            continue
        text = (
            f"{name}: {verdict.delta:+.0f} ns a packet (95 % CI {low:.0f} to {high:.0f}), {verdict.verdict}"
        )
        yield Evidence(f"{text}{_cores_now_text(verdict, trial, facts, rates)}", "measured")


def _cores_now_text(
    verdict: ev.RunVerdict, trial: Trial, facts: RpFilterFacts, rates: PacketRates | Absent
) -> str:
    """Return what that takes of a core now; whether it is in effect is known of rp_filter alone."""
    if verdict.control or verdict.delta is None or verdict.delta_ci95 is None:
        return ""
    setting_text = ""
    if verdict.variant in SETTING_IDS:
        setting_text = f"; here rp_filter is {describe_active_modes(facts) or 'off'}"
    if isinstance(rates, Absent):
        return setting_text
    rate = rates.ipv6 if trial.protocol == "IPv6" else rates.ipv4
    if isinstance(rate, Absent):
        return setting_text
    if rate < 1:
        return f"{setting_text}; no {trial.protocol} packet arrives now"
    took = core_share(PacketCost(verdict.delta, verdict.delta_ci95, 0.0), rate).cores
    return f"{setting_text}; at {rate:,.0f} {trial.protocol} packets/s now {max(0.0, took) * 100:.2g} % of one core"
