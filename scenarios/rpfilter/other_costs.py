"""What --all measures beside the host's check, as a finding: IPv4 by nftables, rp_filter and TCP."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from probes.system.network.packet_rates import PacketRates
from probes.types import Absent
from scenarios import events as ev
from scenarios.experiment.wording import effect_cells
from scenarios.finding import Evidence, Finding
from scenarios.rpfilter.cost_model import Cost, share
from scenarios.rpfilter.facts import Facts
from scenarios.rpfilter.measurement.measured_check import active
from scenarios.rpfilter.measurement.variants import SETTINGS, Trial
from scenarios.rpfilter.rule_change import switched_off
from scenarios.rules.texts import texts

SAYS = texts("rpfilter")

SETTING_IDS = {variant.id: mode for mode, variant in SETTINGS.items()}
MOST_NAMED = 4  # in a title; the evidence names all


def finding(
    judged: Sequence[tuple[Trial, Sequence[ev.Verdict]]], facts: Facts, rates: PacketRates | Absent
) -> Finding | None:
    """None where nothing beside the first workload was asked for."""
    lines = [line for trial, verdicts in judged for line in _lines(trial, verdicts, facts, rates)]
    if not lines:
        return None
    setting = facts.rp_filter
    modes = () if isinstance(setting, Absent) else tuple(setting.active.values())
    every = [verdict for _, verdicts in judged for verdict in verdicts]
    costs = [v for v in every if v.slower and SETTING_IDS.get(v.variant) in modes]
    off = not isinstance(setting, Absent) and bool(costs)
    return SAYS.finding(
        "beside",
        severity="ok" if all(v.equal for v in every) else "notice",
        confidence="measured" if any(v.decided for v in every) else "hint",
        costs=_title(judged, costs),
        evidence=lines,
        remedy=(switched_off(setting),) if off and not isinstance(setting, Absent) else (),
    )


def _title(judged: Sequence[tuple[Trial, Sequence[ev.Verdict]]], costs: Sequence[ev.Verdict]) -> str:
    """What the host pays (`costs`) first, then all else that is not equal, what is decided before what is not."""
    parts = []
    if costs and costs[0].delta is not None:
        parts = [f"rp_filter costs {costs[0].delta:.0f} ns on an IPv4 packet of no established flow"]
    rest = [
        (trial, verdict)
        for trial, verdicts in judged
        for verdict in verdicts
        if not verdict.equal and not (parts and verdict is costs[0])
    ]
    rest.sort(key=lambda one: (not one[1].slower, not one[1].faster, not one[1].undecided))
    parts += [f"{_name(trial, verdict)}: {effect_cells(verdict)[0]}" for trial, verdict in rest[:MOST_NAMED]]
    if not parts:
        return "no material difference in what --all compares besides the host's own check"
    more = f" and {len(rest) - MOST_NAMED} more" if len(rest) > MOST_NAMED else ""
    return "; ".join(parts) + more


def _name(trial: Trial, verdict: ev.Verdict) -> str:
    labels = {compared.variant.id: compared.variant.label for compared in trial.compared}
    name = f"{trial.workload.title}, {labels.get(verdict.variant, verdict.variant)}"
    return f"{name} (the control)" if verdict.control else name


def _lines(
    trial: Trial, verdicts: Sequence[ev.Verdict], facts: Facts, rates: PacketRates | Absent
) -> Iterator[Evidence]:
    for verdict in verdicts:
        name = _name(trial, verdict)
        if verdict.delta is None or verdict.delta_ci95 is None:
            yield Evidence(f"{name}: {verdict.verdict}{f': {verdict.reason}' if verdict.reason else ''}")
            continue
        low, high = verdict.delta_ci95
        if trial.load == "tcp":
            change = (
                f"{verdict.delta:+,.0f} MB/s ({low:+,.0f} to {high:+,.0f})"
                if verdict.ratio is None
                else f"{(verdict.ratio - 1) * 100:+.1f} % of its throughput, {verdict.delta:+,.0f} MB/s"
                f" (95 %: {low:+,.0f} to {high:+,.0f})"
            )
            yield Evidence(f"{name}: {change}, {verdict.verdict}", "measured")
            continue
        text = f"{name}: {verdict.delta:+.0f} ns a packet (95 %: {low:.0f} to {high:.0f}), {verdict.verdict}"
        yield Evidence(f"{text}{_here(verdict, trial, facts, rates)}", "measured")


def _here(verdict: ev.Verdict, trial: Trial, facts: Facts, rates: PacketRates | Absent) -> str:
    """What that takes of a core now; whether it is in effect is known of rp_filter alone."""
    if verdict.control or verdict.delta is None or verdict.delta_ci95 is None:
        return ""
    said = ""
    if verdict.variant in SETTING_IDS:
        said = f"; here rp_filter is {active(facts) or 'off'}"
    if isinstance(rates, Absent):
        return said
    rate = rates.ipv6 if trial.protocol == "IPv6" else rates.ipv4
    if isinstance(rate, Absent):
        return said
    if rate < 1:
        return f"{said}; no {trial.protocol} packet arrives now"
    took = share(Cost(verdict.delta, verdict.delta_ci95, 0.0), rate).cores
    return f"{said}; at {rate:,.0f} {trial.protocol} packets/s now {max(0.0, took) * 100:.2g} % of one core"
