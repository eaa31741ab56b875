"""What to do about a check, by where it comes from; what then limits the damage; how to verify and to undo it.

hostdx shows these commands and never runs them.
"""

from __future__ import annotations

import shlex

from probes.system.firewall.firewalld import CONF, Firewalld
from probes.system.firewall.reverse_path import Protocol, ReversePathRule
from probes.types import Absent
from scenarios.finding import Remedy
from scenarios.rpfilter.facts import Facts
from scenarios.rpfilter.rule_change import (
    LOOSE,
    VERIFY,
    VERIFY_IPTABLES,
    deleted,
    in_iptables,
    in_nftables,
)

RELOAD_DROPS = (
    "A reload drops new connections for about a second and forgets rules that were added at run time only"
)
RELOAD = (
    RELOAD_DROPS
    + "; over SSH arm a way back after the first command: `systemd-run --unit=rpfilter-back --on-active=120 sh -c"
    " 'cp -a {conf}.hostdx {conf}; firewall-cmd --reload'`, and once you are still in"
    " `systemctl stop rpfilter-back.timer`."
)
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


def remedies(facts: Facts, rule: ReversePathRule | None) -> tuple[Remedy, ...]:
    """The most fitting first. `rule` is the check that is in effect, None where only the configuration asks for it."""
    found: list[Remedy] = []
    if by_firewalld(facts, rule):
        found.append(_firewalld(facts, rule, keeps_sense(facts)))
    elif rule is not None and rule.table == TABLE and rule.form == "nft":
        found.append(deleted(rule, _without(keeps_sense(facts))))
    elif rule is not None and rule.form == "nft":
        found.append(in_nftables(rule, keeps_sense(facts, rule.protocols)))
    elif rule is not None:
        found.append(in_iptables(rule, keeps_sense(facts, rule.protocols)))
    found.append(_fewer_packets(facts, rule))
    return tuple(found)


def not_reloaded(facts: Facts, loaded: ReversePathRule | None) -> Remedy:
    """`loaded`: firewalld's check that is in effect though no longer asked for; None: asked for and not loaded yet."""
    if loaded is not None:
        return Remedy(
            title="reload firewalld: its file takes effect only then, and removes the check",
            commands=("firewall-cmd --reload",),
            persistent=(f"# {CONF} is permanent: it no longer asks for the check",),
            verify=VERIFY if loaded.form == "nft" else VERIFY_IPTABLES,
            undo=(
                "# set IPv6_rpfilter as it was before, then `firewall-cmd --reload`: the check is loaded again",
            ),
            warning=f"{_without(keeps_sense(facts))} {RELOAD_DROPS}",
        )
    change = _firewalld(facts, None, keeps_sense(facts))
    return Remedy(
        title=f"the next reload, restart or boot brings the check and its cost back; to prevent it: {change.title}",
        commands=change.commands[:2],
        persistent=change.persistent,
        verify=(f"grep '^ *IPv6_rpfilter' {CONF}  # what the next reload will load",),
        undo=change.undo[:1],
        warning=f"Until then nothing changes. {_what_stays(facts, None, keeps_sense(facts))}",
    )


def by_firewalld(facts: Facts, rule: ReversePathRule | None) -> bool:
    """Whether firewalld loads it: then it is changed there and nowhere else."""
    if rule is not None and rule.table == TABLE:
        return not _not_there(facts.firewalld)
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


def _not_there(read: Firewalld | Absent) -> bool:
    """A table of its name can be loaded without it. What may not be read is not known to be missing."""
    return read.kind == "missing" if isinstance(read, Absent) else read.running is False


def keeps_sense(facts: Facts, protocols: tuple[Protocol, ...] = ("IPv6",)) -> str:
    """Why the check should stay, in one sentence; empty where it protects little."""
    reasons = []
    for protocol in protocols:
        if facts.routes_for_others(protocol):
            reasons.append(f"this host forwards {protocol} for others")
        ways = facts.uplinks(protocol)
        if len(ways) > 1:
            shown = ", ".join(ways[:4]) + (", ..." if len(ways) > 4 else "")
            reasons.append(f"its {protocol} routes lead out by {len(ways)} interfaces ({shown})")
    if not reasons:
        return ""
    return (
        f"Careful: {' and '.join(reasons)}, so the check separates real from forged sources here. Keep it for"
        " forwarded packets, or filter at the router (BCP 38/84), or lower the number of packets instead."
    )


def _without(sense: str) -> str:
    return sense or (
        "Without it nothing checks IPv6 sources on this host; with one way out it showed little more than that a"
        " packet from outside does not claim one of the host's own prefixes. Filter at the router (BCP 38/84)."
    )


def _with_iptables(facts: Facts, rule: ReversePathRule | None) -> bool:
    """Whether firewalld's rules are ip6tables': before 0.6.0 always, later where FirewallBackend says so."""
    if rule is not None:
        return rule.form != "nft"
    if not isinstance(facts.asked, Absent) and facts.asked.vocabulary.place.startswith("ip6tables"):
        return True
    return not isinstance(facts.firewalld, Absent) and facts.firewalld.backend == "iptables"


def _off(facts: Facts, rule: ReversePathRule | None) -> str:
    """The value of IPv6_rpfilter that spares packets the check."""
    if isinstance(facts.asked, Absent) or _with_iptables(facts, rule):
        return "no"  # with FirewallBackend=iptables firewalld refuses *-forward and does not start: firewalld_conf.py
    return facts.asked.vocabulary.off


def _what_stays(facts: Facts, rule: ReversePathRule | None, sense: str) -> str:
    """What still checks sources after the change."""
    return _without(sense) if _off(facts, rule) == "no" else sense or "Forwarded packets stay checked."


def _firewalld(facts: Facts, rule: ReversePathRule | None, sense: str) -> Remedy:
    known = None if isinstance(facts.asked, Absent) else facts.asked
    off = _off(facts, rule)
    with_iptables = _with_iptables(facts, rule)
    version = "" if isinstance(facts.firewalld, Absent) else facts.firewalld.version or ""
    title = f"firewalld {version}: set IPv6_rpfilter={off}".replace("  ", " ").replace(" :", ":")
    if known is None:
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
    was = f" (was {known.written or 'not set: on'})" if known is not None else ""
    return Remedy(
        title=title,
        commands=(f"cp -a {CONF} {CONF}.hostdx", edit, "firewall-cmd --reload"),
        persistent=(f"# {CONF} is what lasts: IPv6_rpfilter={off}{was}",),
        verify=VERIFY_IPTABLES if with_iptables else VERIFY,
        undo=(f"mv {CONF}.hostdx {CONF}", "firewall-cmd --reload"),
        warning=f"{_what_stays(facts, rule, sense)} {LOOSE} {RELOAD.format(conf=CONF)}",
    )


def _fewer_packets(facts: Facts, rule: ReversePathRule | None) -> Remedy:
    """Needs no change of the firewall: the check runs once for what GRO has merged.

    Without a card it is the interface that routes lead out by. A profile's UUID needs no quoting, its name does.
    """
    protocols: tuple[Protocol, ...] = rule.protocols if rule is not None else ("IPv6",)
    known = [card.name for card in facts.cards[:1]] or [w for p in protocols for w in facts.uplinks(p)]
    name = shlex.quote(known[0]) if known else "INTERFACE"
    profile = f'"$(nmcli -g GENERAL.CON-UUID device show {name})"'
    return Remedy(
        title="or keep the check and give it fewer packets: merged frames (GRO), larger frames, more queues",
        commands=(f"ethtool -K {name} gro on", f"ip link set {name} mtu 9000", f"ethtool -l {name}"),
        persistent=(f"nmcli connection modify {profile} ethtool.feature-gro on 802-3-ethernet.mtu 9000",),
        verify=(f"ethtool -k {name} | grep generic-receive-offload", f"ip link show {name}"),
        undo=(f"ethtool -K {name} gro off", f"ip link set {name} mtu {_mtu(facts)}"),
        warning="An MTU of 9000 needs every switch and host on the link to have it.",
    )


def _mtu(facts: Facts) -> int:
    card = facts.fastest
    return 1500 if card is None or isinstance(card.mtu, Absent) else card.mtu
