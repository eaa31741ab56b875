"""Which check the experiment measures: the one that this host has loaded, whatever its family."""

from typing import Literal, TypeAlias

import msgspec

from hostdx.probes.children.command import find_tool
from hostdx.probes.system.firewall.reverse_path import Protocol, ReversePathRule
from hostdx.probes.system.firewall.rp_filter import WORDS
from hostdx.probes.types import Absent
from hostdx.scenarios.rpfilter.facts import RpFilterFacts
from hostdx.scenarios.rpfilter.measurement.firewall_rules import Loader

DEFAULT_FLAGS = ("saddr", "mark", "iif")
Here: TypeAlias = Literal["loaded", "not loaded", "unknown"]
HERE: dict[Here, str] = {
    "loaded": "",
    "not loaded": ", not loaded here",
    "unknown": ", perhaps not loaded here",
}


class MeasuredCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The check that is measured as `check`: the host's own, or what it could have where none is loaded.

    `setting` is IPv4's rp_filter where that is what is measured, else 0. `left_out` says in one line each what of the
    host's rule could not be copied, and what else there is.
    """

    rule: ReversePathRule | None
    here: Here
    protocol: Protocol
    loader: Loader = "nft"
    hook: str = "prerouting"
    priority: int = 10
    flags: tuple[str, ...] = DEFAULT_FLAGS
    table: str = "mangle"
    setting: int = 0
    name: str  # "this host's check", in a few words
    text: str  # the rule as it is listed
    left_out: tuple[str, ...] = ()

    @property
    def variant_label(self) -> str:
        """Return what a person reads wherever the variant is named: nobody is blamed for what is not there."""
        return f"{self.name}{HERE[self.here]}"


def choose_check(facts: RpFilterFacts) -> MeasuredCheck:
    """Copies hook, priority, flags and tool of the host's check; the rest of its rule would match nothing elsewhere."""
    for rule in facts.effective_checks:
        for protocol in rule.protocols:
            if protocol == "IPv4" and (facts.ipv6 and "IPv6" in rule.protocols):
                continue  # of both, the dear one
            if protocol == "IPv4" or facts.ipv6:
                return _check_like_own(facts, rule, protocol)
    return _firewalld_check(facts) if facts.ipv6 else _setting_check(facts)


def _check_like_own(facts: RpFilterFacts, rule: ReversePathRule, protocol: Protocol) -> MeasuredCheck:
    left_out: list[str] = []
    loader: Loader = rule.form
    if loader != "nft" and _missing_tool(loader, protocol):
        left_out.append(
            f"{_missing_tool(loader, protocol)} is not installed: the check is measured as nftables' own fib"
        )
        loader = "nft"
    hook = rule.first_hook
    place = ("prerouting", 10) if hook is None else (hook.name, hook.priority)
    if place[0] not in ("prerouting", "input"):
        left_out.append(f"the host's check is in the {place[0]} hook; it is measured in prerouting")
        place = ("prerouting", place[1])
    if rule.conditions:
        left_out.append(
            f"only packets with {' '.join(rule.conditions)} reach the host's check; the measured packets "
            "all do"
        )
    others = [r.place_text for r in facts.effective_checks if r is not rule and r.checks_every_flow]
    if others:
        left_out.append(f"not measured: other checks, {'; '.join(others[:3])}")
    return MeasuredCheck(
        rule=rule,
        here="loaded",
        protocol=protocol,
        loader=loader,
        hook=place[0],
        priority=max(-399, min(place[1], 299)),
        flags=tuple(f for f in rule.flags if f in DEFAULT_FLAGS) or DEFAULT_FLAGS,
        table=rule.table if rule.table in ("raw", "mangle") else "mangle",
        name="this host's check",
        text=rule.statement,
        left_out=tuple(left_out),
    )


def _firewalld_check(facts: RpFilterFacts) -> MeasuredCheck:
    """firewalld has a check for IPv6 alone."""
    flags: tuple[str, ...] = DEFAULT_FLAGS
    priority = 10
    if not isinstance(facts.asked, Absent):
        flags, priority = facts.asked.vocabulary.flags, facts.asked.vocabulary.priority
    left_out = []
    if describe_active_modes(facts):
        left_out.append(f"IPv4's own rp_filter is {describe_active_modes(facts)}: --all measures it too")
    return MeasuredCheck(
        rule=None,
        here="unknown" if isinstance(facts.ruleset, Absent) else "not loaded",
        protocol="IPv6",
        priority=priority,
        flags=flags,
        name="firewalld's default check",
        text=f"fib {' . '.join(flags)} oif missing drop",
        left_out=tuple(left_out),
    )


def _setting_check(facts: RpFilterFacts) -> MeasuredCheck:
    """Without IPv6 firewalld checks nothing: what is left is the kernel's own check, as it is set or strict."""
    modes = () if isinstance(facts.rp_filter, Absent) else tuple(facts.rp_filter.active_modes.values())
    mode = 1 if 1 in modes or not modes else 2
    here: Here = "loaded" if modes else "unknown" if isinstance(facts.rp_filter, Absent) else "not loaded"
    return MeasuredCheck(
        rule=None,
        here=here,
        protocol="IPv4",
        setting=mode,
        name="this host's rp_filter" if modes else "IPv4's own check rp_filter",
        text=f"rp_filter {mode} ({WORDS[mode]})",
    )


def describe_active_modes(facts: RpFilterFacts) -> str:
    """`loose on eth0, eth1`; empty where rp_filter checks nothing, or cannot be read."""
    if isinstance(facts.rp_filter, Absent):
        return ""
    by_mode: dict[int, list[str]] = {}
    for name, mode in facts.rp_filter.active_modes.items():
        by_mode.setdefault(mode, []).append(name)
    return "; ".join(
        f"{WORDS.get(mode, mode)} on {', '.join(names[:4])}{', ...' if len(names) > 4 else ''}"
        for mode, names in sorted(by_mode.items())
    )


def _missing_tool(loader: Loader, protocol: Protocol) -> str:
    """The tool that the loader needs and that is not installed; empty where it is."""
    name = f"{'ip6tables' if protocol == 'IPv6' else 'iptables'}-{loader.removeprefix('iptables-')}"
    return "" if find_tool(name) else name
