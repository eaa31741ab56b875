"""Read-only rules about the reverse-path check: is it loaded, does every packet meet it, is the configuration true."""

import re
from collections import Counter
from collections.abc import Iterator

from hostdx.probes import units
from hostdx.probes.reading.host import Host
from hostdx.probes.system.firewall.reverse_path import Protocol, ReversePathRule
from hostdx.probes.system.firewall.rp_filter import WORDS
from hostdx.probes.system.firewall.rules import Ruleset
from hostdx.probes.system.kernel_log import read_kernel_log
from hostdx.probes.system.network.routes import RouteTable
from hostdx.probes.types import Absent
from hostdx.probes.units import count_noun
from hostdx.scenarios.contract.finding import Evidence, Finding, Severity
from hostdx.scenarios.contract.rule import FactUnreadable, HostRule, RuleInapplicable
from hostdx.scenarios.rpfilter import remedies
from hostdx.scenarios.rpfilter.cost_model import load_average_evidence
from hostdx.scenarios.rpfilter.facts import RpFilterFacts, read_rp_filter_facts
from hostdx.scenarios.rpfilter.rule_change import loosen_remedy, tighten_remedy
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("rpfilter")

STRICT = 1
MIN_WARNING_DROPS = 1000
FAST_MBIT = 25_000  # from here on one core cannot check every frame of MTU 1500 at half a microsecond each


def evidence_of_check(facts: RpFilterFacts, rule: ReversePathRule) -> tuple[Evidence, ...]:
    """Return what was read about one check."""
    lines = [Evidence(f"{rule.place_text}: {rule.statement}", rule.source)]
    if rule.checks_every_flow:
        when = (
            "before connection tracking"
            if rule.is_before_conntrack
            else "before the shortcut of established flows"
        )
        lines.append(SAYS.evidence("every-flow", when=when, payers=rule.payers_text))
    elif rule.new_only:
        lines.append(SAYS.evidence("new-only"))
    elif rule.first_hook is not None and rule.first_hook.name == "forward":
        lines.append(SAYS.evidence("forward"))
    for protocol in rule.protocols:
        table = facts.routes[protocol]
        if not isinstance(table, Absent):
            lines.append(Evidence(_describe_routes(protocol, table), table.source))
    for card in facts.cards[:1]:
        speed = (
            "unknown speed"
            if isinstance(card.mbit_per_s, Absent)
            else units.format_bit_rate(card.mbit_per_s * 1e6)
        )
        merging = {True: "GRO on", False: "GRO off", None: "GRO unknown"}[card.merges_frames]
        mtu = "MTU unknown" if isinstance(card.mtu, Absent) else f"MTU {card.mtu}"
        lines.append(SAYS.evidence("card", card=card.name, speed=speed, mtu=mtu, merging=merging))
    return tuple(lines)


def _describe_routes(protocol: Protocol, table: RouteTable) -> str:
    """The kernel keeps some for itself: local and multicast ones lead nowhere."""
    routes = f"{count_noun(table.total, f'{protocol} route')}"
    if not table.interface_names:
        return f"{routes}, none of them leaving this host"
    return f"{routes}, out by {', '.join(table.interface_names[:4])}{', ...' if len(table.interface_names) > 4 else ''}"


def check_loaded_reverse_path_rules(host: Host) -> Iterator[Finding]:
    """A check in the live ruleset that every packet meets, in whatever form."""
    facts = read_rp_filter_facts(host)
    if isinstance(facts.ruleset, Absent):
        raise FactUnreadable(facts.ruleset.reason, facts.ruleset.kind)
    for rule in facts.effective_checks:
        if not rule.checks_every_flow:
            continue
        yield SAYS.finding(
            "loaded",
            severity=_check_severity(facts, rule),
            subject=rule_subject(rule),
            payers=rule.payers_text,
            evidence=(*evidence_of_check(facts, rule), *load_average_evidence(host)),
            remedy=remedies.choose_remedies(facts, rule),
            references=remedies.REFERENCES,
        )


def rule_subject(rule: ReversePathRule) -> str:
    return f"{rule.family} {rule.table} {rule.chain}"


def _check_severity(facts: RpFilterFacts, rule: ReversePathRule) -> Severity:
    """The lookup is cheap for IPv4, and only a fast card can bring enough packets for it to matter."""
    card = facts.fastest_card
    fast = card is not None and not isinstance(card.mbit_per_s, Absent) and card.mbit_per_s >= FAST_MBIT
    meets = not rule.conditions or (card is not None and card.name in " ".join(rule.conditions))
    return "warning" if fast and meets and "IPv6" in rule.protocols else "notice"


def check_firewalld(host: Host) -> Iterator[Finding]:
    """firewalld.conf against what is loaded: the daemon may not have been reloaded, or not understand the file."""
    facts = read_rp_filter_facts(host)
    if isinstance(facts.firewalld, Absent):
        if facts.firewalld.kind == "permission":
            raise FactUnreadable(f"firewalld.conf: {facts.firewalld.reason}", facts.firewalld.kind)
        raise RuleInapplicable("firewalld is not configured here")
    if isinstance(facts.asked, Absent):
        raise FactUnreadable(facts.asked.reason, facts.asked.kind)
    asked = facts.asked
    written = f"IPv6_rpfilter={asked.written}" if asked.written else "IPv6_rpfilter is not set"
    version = f"firewalld {facts.firewalld.version}"
    source = facts.firewalld.source
    line = SAYS.evidence("written", written=written, version=version, mode=asked.mode, source=source)
    if asked.problem:
        yield SAYS.finding(
            "firewalld-conf",
            severity="warning" if "refuses" in asked.problem else "notice",
            problem=asked.problem,
            evidence=(line,),
            remedy=remedies.choose_remedies(facts, None)[:1],
            references=asked.vocabulary.sources,
        )
    if isinstance(facts.ruleset, Absent):
        # a stopped one has taken its rules away
        if asked.checks_every_packet and facts.firewalld.running is not False:
            yield SAYS.finding(
                "firewalld-asks",
                version=version,
                mode=asked.mode,
                evidence=(
                    line,
                    SAYS.evidence("loaded-unknown", reason=facts.ruleset.reason),
                    *load_average_evidence(host),
                ),
                remedy=remedies.choose_remedies(facts, None),
                references=remedies.REFERENCES,
            )
        return
    yield from _find_mismatch(facts, facts.ruleset, asked.checks_every_packet, line)


def _find_mismatch(facts: RpFilterFacts, ruleset: Ruleset, asked: bool, line: Evidence) -> Iterator[Finding]:
    if isinstance(facts.firewalld, Absent) or facts.firewalld.running is not True:
        return
    own = [
        r
        for r in ruleset.rules_in_effect
        if remedies.is_likely_loaded_by_firewalld(facts, r) and r.checks_every_flow and "IPv6" in r.protocols
    ]
    if bool(own) == asked:
        return
    mismatch_text = (
        "is loaded although firewalld.conf does not ask for it" if own else "is configured but not loaded"
    )
    yield SAYS.finding(
        "not-reloaded",
        what=mismatch_text,
        evidence=(line, *(Evidence(f"{r.place_text}: {r.statement}", r.source) for r in own)),
        remedy=(remedies.not_reloaded_remedy(facts, own[0] if own else None),),
    )


def check_settings(host: Host) -> Iterator[Finding]:
    """IPv4's rp_filter: dropped packets, and `all` that loosens what an interface has strict."""
    facts = read_rp_filter_facts(host)
    if isinstance(facts.rp_filter, Absent):
        raise FactUnreadable(f"rp_filter: {facts.rp_filter.reason}", facts.rp_filter.kind)
    setting = facts.rp_filter
    active = [f"{name} {WORDS.get(value, value)}" for name, value in setting.active_modes.items()]
    if not setting.own:
        raise RuleInapplicable("no interface besides lo")
    in_effect = ", ".join(active) or "off on every interface"
    base = SAYS.evidence("rp-filter", all=setting.everywhere, active=in_effect)
    if not isinstance(setting.drops, Absent) and setting.drops > 0:
        met = _martian_lines_by_interface(
            host, [n for n, value in setting.active_modes.items() if value == STRICT]
        )
        way = _ipv4_default_interface(facts)
        elsewhere = met and way and way not in met  # forged packets come in by the default route
        yield SAYS.finding(
            "drops",
            severity="warning" if elsewhere and setting.drops >= MIN_WARNING_DROPS else "notice",
            subjects=tuple(met),
            count=f"{setting.drops:,}",
            where=SAYS.text("came-in", interfaces=", ".join(met)) if met else SAYS.text("forged"),
            way=SAYS.text("default-way", interface=way) if elsewhere else "",
            evidence=(
                base,
                SAYS.evidence("drops", count=setting.drops),
                *(
                    SAYS.evidence("martian", interface=name, lines=count, source=source)
                    for name, (count, source) in met.items()
                ),
            ),
            remedy=() if (loosely := loosen_remedy(setting, tuple(met))) is None else (loosely,),
            references=remedies.SETTING_REFERENCES,
        )
    if setting.loosened_interfaces:
        yield SAYS.finding(
            "loosened",
            interfaces=", ".join(setting.loosened_interfaces[:4]),
            evidence=(base,),
            remedy=(tighten_remedy(setting, setting.loosened_interfaces),),
            references=remedies.SETTING_REFERENCES,
        )


def _martian_lines_by_interface(host: Host, strict_ones: list[str]) -> dict[str, tuple[int, str]]:
    """The strict interfaces that the kernel's log names for packets with a wrong source, with how many lines."""
    log = host.compute_once(read_kernel_log)
    if isinstance(log, Absent):
        return {}
    counts = Counter(
        match[1]
        for line in log.lines
        if (match := re.search(r"martian source .* on dev ([^\s,]+)", line.message))
    )
    return {name: (counts[name], log.source) for name in strict_ones if counts[name]}


def _ipv4_default_interface(facts: RpFilterFacts) -> str:
    """Where the IPv4 default route leads out; empty where there is none."""
    table = facts.routes["IPv4"]
    if isinstance(table, Absent):
        return ""
    return next((route.interface for route in table.unicast if route.prefix == "0.0.0.0/0"), "")


RULES: tuple[HostRule, ...] = (
    HostRule(
        "rpfilter.loaded",
        "rpfilter",
        "reverse-path checks in the live ruleset",
        check_loaded_reverse_path_rules,
    ),
    HostRule(
        "rpfilter.firewalld", "rpfilter", "firewalld's IPv6_rpfilter against what is loaded", check_firewalld
    ),
    HostRule(
        "rpfilter.settings", "rpfilter", "IPv4's rp_filter by interface, and what it dropped", check_settings
    ),
)
