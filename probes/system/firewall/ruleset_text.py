"""Finds reverse-path checks in the text of `nft list ruleset`: what every nft prints, and what captured trees hold.

iptables-nft keeps `-m rpfilter` as a foreign match without its flags: those come from iptables-save (see xtables.py).
"""

import re
from collections.abc import Iterator

import msgspec

from hostdx.probes.number_text import parse_unsigned
from hostdx.probes.reading.patterns import lazy_pattern
from hostdx.probes.system.firewall.reverse_path import (
    PRIORITIES,
    ChainHook,
    Key,
    ReversePathRule,
    RulesetChains,
    RulesetListing,
    fib_check_of,
    protocols_of,
)
from hostdx.probes.types import Absent

_SHOWN = lazy_pattern(r"(.*?)(?: # handle ([0-9]+))?")  # a quoted comment may hold the same words
_TABLE = lazy_pattern(r"^table (\w+) (\S+) \{")
_CHAIN = lazy_pattern(r"^chain (\S+) \{")
_HOOK = lazy_pattern(r"\bhook (\w+)(?: devices? .+?)? priority ([^;]+)")
# `fib saddr . mark . iif oif missing`, `... check missing`, `... oifname ""`, `fib saddr type != unicast`
_FIB = lazy_pattern(r"\bfib ((?:saddr|daddr|mark|iif|oif)(?: \. (?:saddr|daddr|mark|iif|oif))*) (\w+)")
_XT = lazy_pattern(r'\bxt match "rpfilter"')  # a quoted comment cannot hold quotes
_FOREIGN = lazy_pattern(r"\bxt (?:match|target)\b")  # nft does not take these back
_QUOTED = lazy_pattern(r'"[^"]*"')
_JUMP = lazy_pattern(r"\b(?:jump|goto) (\S+)")
_PACKETS = lazy_pattern(r"\bcounter packets ([0-9]{1,20})\b")
_NFPROTO = lazy_pattern(r"\bmeta nfproto (ipv4|ipv6)\b")
_FIELD = lazy_pattern(r"\b(ip6|icmpv6|ip|icmp) [a-z]")  # only packets of that protocol have it
_STATE = lazy_pattern(
    r"\bct state (?P<op>!= )?(?!vmap|!=)\{?\s*(?P<states>\w+(?:\s*,\s*\w+)*)\s*(?:\}|\s(?!\|)|$)"
)  # `new`, `established,related`, `{ new, invalid }`; `!= established | related` compares all bits: always true
# Not conditions: the protocol is told apart, and these let every packet on.
_NO_CONDITION = lazy_pattern(
    r"\bmeta nfproto (?:ipv4|ipv6)\b|\bcounter(?: name \S+| packets \d+ bytes \d+)?"
    r'|\blog(?: (?:prefix "[^"]*"|(?:level|group|snaplen|queue-threshold|flags) \S+))*'
)
_COUNTED = lazy_pattern(r"\bcounter packets \d+ bytes \d+")
_DECIDES = lazy_pattern(r"\b(?:accept|drop|return|reject|jump|goto|queue)\b")
# Neighbour discovery let past: connection tracking calls it untracked, never a new flow (nf_conntrack_proto_icmpv6.c).
_NEIGHBOURS = lazy_pattern(r"^icmpv6 type \{?[\s,]*nd-[\w-]+(?:[\s,]+nd-[\w-]+)*[\s,]*\}? accept")
_PASSES = lazy_pattern(r' (?:accept|return)(?: comment "[^"]*")?$')


def parse_nft_rules(text: str, source: str = "nft list ruleset") -> tuple[ReversePathRule, ...] | Absent:
    """The reverse-path checks of one ruleset; Absent where the text is not one. An empty ruleset is ()."""
    listing = parse_nft_listing(text, source)
    return listing if isinstance(listing, Absent) else listing.rules


def parse_nft_listing(text: str, source: str = "nft list ruleset") -> RulesetListing | Absent:
    family = table = chain = ""
    chains = RulesetChains()
    keyed_rules: list[tuple[Key, ReversePathRule]] = []
    sizes: dict[str, int] = {}
    for raw in text.splitlines():
        shown = _SHOWN.fullmatch(raw.strip())
        line, handle = shown.groups() if shown else ("", None)
        if not line or line.startswith("#"):
            continue
        if opened := _TABLE.match(line):
            family, table, chain = opened[1], opened[2], ""
            sizes.setdefault(f"{family} {table}", 0)
        elif not table:
            return Absent("this is not what nft prints for a ruleset", "invalid", source)
        elif opened := _CHAIN.match(line):
            chain = opened[1]
        elif line == "}":
            chain = ""
        elif chain:
            key = (family, table, chain)
            bare = _QUOTED.sub(_mask_quoted, line)  # comments and log prefixes can hold anything
            if hook := _HOOK.search(bare if line.startswith("type ") else ""):
                chains.base[key] = ChainHook(hook[1], nft_priority_number(hook[2]))
                continue
            if not line.startswith(("type ", "policy ", "comment ")):
                sizes[f"{family} {table}"] += 1
            for jump in _JUMP.finditer(bare):
                narrowed = " ".join(_condition_words(line[: jump.start()]))
                protocols = protocols_of(family, _find_protocol(bare))
                target = (family, table, jump[1].rstrip(",;"))
                chains.add_jump(key, target, _is_only_for_new_flows(bare), narrowed, protocols)
            rule = _parse_check_rule(key, line, bare, key in chains.spared, source)
            if rule is not None:
                rule = msgspec.structs.replace(rule, handle=parse_unsigned(handle or ""))
                keyed_rules.append((key, chains.locate_rule(key, rule)))
            chains.read[key] += not line.startswith(("policy ", "comment "))
            if _lets_established_through(bare):
                chains.spared.add(key)
            if (
                _DECIDES.search(bare)
                and not line.startswith(("policy ", "comment "))
                and not _NEIGHBOURS.match(bare)
            ):
                chains.decided.add(key)
    return RulesetListing(chains.rules_with_hooks(keyed_rules), sizes)


def nft_priority_number(text: str) -> int:
    """`filter + 10`, `raw - 5`, `mangle` or `-290` as a number (0 where it is none of these)."""
    match = re.match(r"^(-?[0-9]{1,10}|[a-z]+)(?:\s*([+-])\s*([0-9]{1,10}))?$", text.strip())
    if not match:
        return 0
    start = PRIORITIES.get(match[1], 0) if match[1].isalpha() else int(match[1])
    offset = int(match[3] or 0)
    return start - offset if match[2] == "-" else start + offset


def _parse_check_rule(key: Key, line: str, bare: str, guarded: bool, source: str) -> ReversePathRule | None:
    family, table, chain = key
    fib = next((m for m in _FIB.finditer(bare) if "saddr" in m[1].split(" . ")), None)
    if fib is None and not _XT.search(line):
        return None
    packets = _PACKETS.search(bare)
    flags = tuple(fib[1].split(" . ")) if fib else ()
    # iptables-nft's own match is shown as `fib ... oif 0`, a spelling that nft never prints for a native rule
    foreign = fib is None or bare[fib.end() :].lstrip().startswith("0 ")
    start = fib.start() if fib else bare.index("xt match")
    return ReversePathRule(
        form="iptables-nft" if foreign else "nft",
        protocols=protocols_of(family, _find_protocol(bare)),
        family=family,
        table=table,
        chain=chain,
        hooks=(),
        check=fib_check_of(fib[2], flags) if fib else "unknown",
        flags=flags,
        new_only=guarded or _is_only_for_new_flows(bare),
        packets=int(packets[1]) if packets else None,
        statement=_COUNTED.sub("counter", line),
        source=source,
        conditions=tuple(_condition_words(line[:start])),
        exact=not foreign and not _FOREIGN.search(bare),
    )


def _mask_quoted(quoted: re.Match[str]) -> str:
    """Of the same length, so that what is found in the one line is cut out of the other."""
    return f'"{"_" * (len(quoted[0]) - 2)}"'


def _condition_words(before: str) -> Iterator[str]:
    """Yield what a packet must be to come past the beginning of a rule, in nft's words."""
    before, mapped, _ = before.partition(" vmap ")
    if condition := " ".join(_NO_CONDITION.sub(" ", before).split()):
        yield f"{condition} in a map" if mapped else condition


def _find_protocol(bare: str) -> str | None:
    if match := _NFPROTO.search(bare):
        return match[1]
    field = _FIELD.search(bare)
    return None if field is None else "ipv6" if field[1] in ("ip6", "icmpv6") else "ipv4"


def _parse_conntrack_states(bare: str, negated: bool = False) -> set[str]:
    for match in _STATE.finditer(bare):
        if bool(match["op"]) == negated:
            return {w.strip() for w in match["states"].split(",")}
    return set()


def _lets_established_through(bare: str) -> bool:
    """`ct state established,related accept`, or the same in a vmap, with nothing that narrows it."""
    if bare.startswith("ct state vmap"):
        return bool(re.search(r"established : (?:accept|return)", bare))
    telling = " ".join(_NO_CONDITION.sub(" ", bare).split())
    match = _STATE.match(telling)
    verdict = _PASSES.search(telling)
    alone = match is not None and verdict is not None and match.end() >= verdict.start()
    return alone and "established" in _parse_conntrack_states(telling)


def _is_only_for_new_flows(bare: str) -> bool:
    states = _parse_conntrack_states(bare)
    return (bool(states) and "established" not in states) or "established" in _parse_conntrack_states(
        bare, negated=True
    )
