"""What to do about a check, by where it comes from; what then limits the damage; how to verify and to undo it.

hostdx shows these commands and never runs them.
"""

from hostdx.probes.system.firewall.firewalld import CONF, Firewalld
from hostdx.probes.system.firewall.reverse_path import Protocol, ReversePathRule
from hostdx.probes.types import Absent
from hostdx.scenarios.contract.finding import Remedy
from hostdx.scenarios.rpfilter.facts import RpFilterFacts
from hostdx.scenarios.rpfilter.rule_change import deletion_remedy, iptables_remedy, nftables_remedy
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("rpfilter")

REFERENCES = (
    "firewalld.conf(5), IPv6_rpfilter",
    "nft(8), FIB EXPRESSIONS",
    "iptables-extensions(8), rpfilter",
    "Documentation/networking/ip-sysctl.rst, rp_filter",
    "RFC 3704 (ingress filtering for multihomed networks)",
    "commit 1c32b24c234b, nft_fib_ipv6: switch to fib6_lookup (2026): later kernels allocate no route for each lookup",
)
TABLE = "firewalld"  # that firewalld's nftables backend loads
SETTING_REFERENCES = REFERENCES[3:5]


def choose_remedies(facts: RpFilterFacts, rule: ReversePathRule | None) -> tuple[Remedy, ...]:
    """The most fitting first. `rule` is the check that is in effect, None where only the configuration asks for it."""
    choices: list[Remedy] = []
    if is_likely_loaded_by_firewalld(facts, rule):
        choices.append(_firewalld_remedy(facts, rule, reason_to_keep_check(facts)))
    elif rule is not None and rule.table == TABLE and rule.form == "nft":
        choices.append(deletion_remedy(rule, _sense_or_unchecked(reason_to_keep_check(facts))))
    elif rule is not None and rule.form == "nft":
        choices.append(nftables_remedy(rule, reason_to_keep_check(facts, rule.protocols)))
    elif rule is not None:
        choices.append(iptables_remedy(rule, reason_to_keep_check(facts, rule.protocols)))
    choices.append(_fewer_packets_remedy(facts, rule))
    return tuple(choices)


def not_reloaded_remedy(facts: RpFilterFacts, loaded: ReversePathRule | None) -> Remedy:
    """`loaded`: firewalld's check that is in effect though no longer asked for; None: asked for and not loaded yet."""
    if loaded is not None:
        return SAYS.remedy(
            "reload",
            verify=SAYS.text("verify" if loaded.form == "nft" else "verify-iptables"),
            without=_sense_or_unchecked(reason_to_keep_check(facts)),
        )
    change = _firewalld_remedy(facts, None, reason_to_keep_check(facts))
    return SAYS.remedy(
        "before-the-reload",
        change=change.title,
        commands=change.commands[:2],
        persistent=change.persistent,
        undo=change.undo[:1],
        stays=_what_stays_text(facts, None, reason_to_keep_check(facts)),
    )


def is_likely_loaded_by_firewalld(facts: RpFilterFacts, rule: ReversePathRule | None) -> bool:
    """Return whether firewalld seems to load it (None: the sysctl): then it is changed there and nowhere else."""
    if rule is not None and rule.table == TABLE:
        return not _is_absent_or_stopped(facts.firewalld)
    if isinstance(facts.firewalld, Absent):
        return False
    if rule is None:
        return True
    if rule.form == "nft" or facts.firewalld.running is False or rule.conditions:  # its own rule has none
        return False
    # there from the version on that moved it out of raw: ipXtables.py, build_rpfilter_rules
    if rule.table == "mangle":
        return facts.firewalld.backend == "iptables"
    return facts.firewalld.backend != "nftables" and rule.table == "raw"


def _is_absent_or_stopped(read: Firewalld | Absent) -> bool:
    """A table of its name can be loaded without it. What may not be read is not known to be missing."""
    return read.kind == "missing" if isinstance(read, Absent) else read.running is False


def reason_to_keep_check(facts: RpFilterFacts, protocols: tuple[Protocol, ...] = ("IPv6",)) -> str:
    """Return why the check should stay, in one sentence; empty where it protects little."""
    reasons = []
    for protocol in protocols:
        if facts.routes_for_others(protocol):
            reasons.append(f"this host forwards {protocol} for others")
        ways = facts.uplink_interfaces(protocol)
        if len(ways) > 1:
            shown = ", ".join(ways[:4]) + (", ..." if len(ways) > 4 else "")
            reasons.append(f"its {protocol} routes lead out by {len(ways)} interfaces ({shown})")
    return SAYS.text("keep", reasons=" and ".join(reasons)) if reasons else ""


def _sense_or_unchecked(sense: str) -> str:
    return sense or SAYS.text("without")


def _uses_iptables(facts: RpFilterFacts, rule: ReversePathRule | None) -> bool:
    """Return whether firewalld's rules are ip6tables': before 0.6.0 always, later where FirewallBackend says so."""
    if rule is not None:
        return rule.form != "nft"
    if not isinstance(facts.asked, Absent) and facts.asked.vocabulary.place.startswith("ip6tables"):
        return True
    return not isinstance(facts.firewalld, Absent) and facts.firewalld.backend == "iptables"


def _least_checking_value(facts: RpFilterFacts, rule: ReversePathRule | None) -> str:
    """The value of IPv6_rpfilter that spares packets the check."""
    if isinstance(facts.asked, Absent) or _uses_iptables(facts, rule):
        return "no"  # with FirewallBackend=iptables firewalld refuses *-forward and does not start: firewalld_conf.py
    return facts.asked.vocabulary.off


def _what_stays_text(facts: RpFilterFacts, rule: ReversePathRule | None, sense: str) -> str:
    """Return what still checks sources after the change."""
    return (
        _sense_or_unchecked(sense)
        if _least_checking_value(facts, rule) == "no"
        else sense or "Forwarded packets stay checked."
    )


def _firewalld_remedy(facts: RpFilterFacts, rule: ReversePathRule | None, sense: str) -> Remedy:
    requested = None if isinstance(facts.asked, Absent) else facts.asked
    off = _least_checking_value(facts, rule)
    with_iptables = _uses_iptables(facts, rule)
    version = "" if isinstance(facts.firewalld, Absent) else facts.firewalld.version or ""
    title = f"firewalld {version}: set IPv6_rpfilter={off}".replace("  ", " ").replace(" :", ":")
    if requested is None:
        title += " (from firewalld 2.2 on `strict-forward`: packets to this host go free, forwarded ones stay checked)"
    elif off == "strict-forward":
        title += " (packets to this host go free, forwarded ones stay checked; `no` ends it altogether)"
    edit = f"sed -i 's/^ *IPv6_rpfilter *=.*/IPv6_rpfilter={off}/' {CONF}"
    append = f"printf '\\nIPv6_rpfilter={off}\\n' >> {CONF}"
    # nobody knows whether the key is there: sed alone would do nothing
    if isinstance(facts.firewalld, Absent):
        edit = f"grep -q '^ *IPv6_rpfilter *=' {CONF} && {edit} || {append}"
    elif isinstance(facts.firewalld.ipv6_rpfilter, Absent):
        edit = append
    was = f" (was {requested.written or 'not set: on'})" if requested is not None else ""
    return SAYS.remedy(
        "firewalld",
        title=title,
        edit=edit,
        off=off,
        was=was,
        verify=SAYS.text("verify-iptables" if with_iptables else "verify"),
        stays=_what_stays_text(facts, rule, sense),
    )


def _fewer_packets_remedy(facts: RpFilterFacts, rule: ReversePathRule | None) -> Remedy:
    """Needs no change of the firewall: the check runs once for what GRO has merged.

    Without a card it is the interface that routes lead out by. A profile's UUID needs no quoting, its name does.
    """
    protocols: tuple[Protocol, ...] = rule.protocols if rule is not None else ("IPv6",)
    names = [card.name for card in facts.cards[:1]] or [
        w for p in protocols for w in facts.uplink_interfaces(p)
    ]
    return SAYS.remedy("fewer-packets", card=names[0] if names else "INTERFACE", mtu=_fastest_card_mtu(facts))


def _fastest_card_mtu(facts: RpFilterFacts) -> int:
    card = facts.fastest_card
    return 1500 if card is None or isinstance(card.mtu, Absent) else card.mtu
