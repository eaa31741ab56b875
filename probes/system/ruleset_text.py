"""Finds reverse-path checks in the text of `nft list ruleset`: for an nft without JSON and captured trees."""

from __future__ import annotations

import re

from probes.system.reverse_path import (
    PRIORITIES,
    Chains,
    Hook,
    Key,
    Listing,
    ReversePathRule,
    check_of,
    protocols_of,
)
from probes.types import Absent

_TABLE = re.compile(r"^table (\w+) (\S+) \{")
_CHAIN = re.compile(r"^chain (\S+) \{")
_HOOK = re.compile(r"\bhook (\w+)(?: devices? .+?)? priority ([^;]+)")
# `fib saddr . mark . iif oif missing`, `... check missing`, `... oifname ""`, `fib saddr type != unicast`
_FIB = re.compile(r"\bfib ((?:saddr|daddr|mark|iif|oif)(?: \. (?:saddr|daddr|mark|iif|oif))*) (\w+)")
_XT = re.compile(r'\bxt match "rpfilter"')  # a quoted comment cannot hold quotes
_QUOTED = re.compile(r'"[^"]*"')
_JUMP = re.compile(r"\b(?:jump|goto) (\S+)")
_PACKETS = re.compile(r"\bcounter packets (\d+)")
_NFPROTO = re.compile(r"\bmeta nfproto (ipv4|ipv6)\b")
_STATE = re.compile(r"\bct state (?!vmap|!=)\{?\s*([\w, ]+?)\s*(?:\}|counter|accept|drop|fib|log|$)")


def rules_from_text(text: str, source: str = "nft list ruleset") -> tuple[ReversePathRule, ...] | Absent:
    """The reverse-path checks of one ruleset; Absent where the text is not one. An empty ruleset is ()."""
    listing = listing_from_text(text, source)
    return listing if isinstance(listing, Absent) else listing.rules


def listing_from_text(text: str, source: str = "nft list ruleset") -> Listing | Absent:
    family = table = chain = ""
    chains = Chains()
    found: list[tuple[Key, ReversePathRule]] = []
    sizes: dict[str, int] = {}
    for raw in text.splitlines():
        line = raw.strip().partition(" # handle ")[0]
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
            bare = _QUOTED.sub('""', line)  # comments and log prefixes can hold anything
            if hook := _HOOK.search(bare if line.startswith("type ") else ""):
                chains.base[key] = Hook(hook[1], priority_number(hook[2]))
                continue
            if not line.startswith(("type ", "policy ", "comment ")):
                sizes[f"{family} {table}"] += 1
            for name in _JUMP.findall(bare):
                chains.jump(key, (family, table, name.rstrip(",;")), _only_new(bare))
            rule = _rule(key, line, bare, key in chains.spared, source)
            if rule is not None:
                found.append((key, rule))
            if _lets_established_through(bare):
                chains.spared.add(key)
    return Listing(chains.placed(found), sizes)


def priority_number(text: str) -> int:
    """`filter + 10`, `raw - 5`, `mangle` or `-290` as a number (0 where it is none of these)."""
    match = re.match(r"^(-?\d+|[a-z]+)(?:\s*([+-])\s*(\d+))?$", text.strip())
    if not match:
        return 0
    start = PRIORITIES.get(match[1], 0) if match[1].isalpha() else int(match[1])
    offset = int(match[3] or 0)
    return start - offset if match[2] == "-" else start + offset


def _rule(key: Key, line: str, bare: str, guarded: bool, source: str) -> ReversePathRule | None:
    family, table, chain = key
    fib = next((m for m in _FIB.finditer(bare) if "saddr" in m[1].split(" . ")), None)
    if fib is None and not _XT.search(line):
        return None
    nfproto = _NFPROTO.search(bare)
    packets = _PACKETS.search(bare)
    flags = tuple(fib[1].split(" . ")) if fib else ()
    # iptables-nft's own match is shown as `fib ... oif 0`, a spelling that nft never prints for a native rule
    foreign = fib is None or bare[fib.end() :].lstrip().startswith("0 ")
    return ReversePathRule(
        form="iptables-nft" if foreign else "nft",
        protocols=protocols_of(family, nfproto[1] if nfproto else None),
        family=family,
        table=table,
        chain=chain,
        hooks=(),
        check=check_of(fib[2], flags) if fib else "unknown",
        flags=flags,
        new_only=guarded or _only_new(bare),
        packets=int(packets[1]) if packets else None,
        text=line,
        source=source,
    )


def _states(bare: str) -> set[str]:
    match = _STATE.search(bare)
    return {w.strip() for w in match[1].split(",")} if match else set()


def _lets_established_through(bare: str) -> bool:
    """`ct state established,related accept`, or the same in a vmap, with nothing that narrows it."""
    if bare.startswith("ct state vmap"):
        return bool(re.search(r"established : accept", bare))
    return bare.startswith("ct state") and bare.endswith(" accept") and "established" in _states(bare)


def _only_new(bare: str) -> bool:
    states = _states(bare)
    return bool(states) and "established" not in states
