"""Finds reverse-path checks in `nft -j list ruleset` (libnftables-json(5)).

iptables-nft keeps `-m rpfilter` as a foreign match, `{"xt": {"type": "match", "name": "rpfilter"}}`, without
its flags: those come from iptables-save (see xtables.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from probes.system.reverse_path import (
    Chains,
    Hook,
    Key,
    Listing,
    ReversePathRule,
    check_of,
    protocols_of,
)
from probes.types import Absent


def rules_from_json(text: str, source: str = "nft -j list ruleset") -> tuple[ReversePathRule, ...] | Absent:
    """The reverse-path checks of one ruleset; Absent where the text is not what nft prints."""
    listing = listing_from_json(text, source)
    return listing if isinstance(listing, Absent) else listing.rules


def listing_from_json(text: str, source: str = "nft -j list ruleset") -> Listing | Absent:
    try:
        listed = json.loads(text)["nftables"]
        objects = [o for o in listed if isinstance(o, dict)]
    except (ValueError, TypeError, KeyError, RecursionError):
        return Absent("nft printed something else than its JSON", "invalid", source)
    chains = Chains()
    found: list[tuple[Key, ReversePathRule]] = []
    sizes: dict[str, int] = {}
    for obj in objects:
        table, chain, rule = obj.get("table"), obj.get("chain"), obj.get("rule")
        if isinstance(table, dict):
            sizes.setdefault(f"{table.get('family', '')} {table.get('name', '')}", 0)
        if isinstance(chain, dict) and "hook" in chain:
            priority = chain.get("prio", 0)
            chains.base[_key(chain, "name")] = Hook(
                str(chain["hook"]), priority if isinstance(priority, int) else 0
            )
        elif isinstance(rule, dict):
            key = _key(rule, "chain")
            name = f"{key[0]} {key[1]}"
            sizes[name] = sizes.get(name, 0) + 1
            expressions = [e for e in rule.get("expr") or [] if isinstance(e, dict)]
            for target in _targets(expressions):
                chains.jump(key, (key[0], key[1], target), _only_new(expressions))
            found.extend((key, r) for r in _checks(key, expressions, key in chains.spared, source))
            if _lets_established_through(expressions):
                chains.spared.add(key)
    return Listing(chains.placed(found), sizes)


def _key(obj: dict[str, Any], chain: str) -> Key:
    return str(obj.get("family", "")), str(obj.get("table", "")), str(obj.get(chain, ""))


def _targets(expressions: list[dict[str, Any]]) -> Iterator[str]:
    for value in _walk(expressions):
        for word in ("jump", "goto"):
            target = value.get(word)
            if isinstance(target, dict) and "target" in target:
                yield str(target["target"])


def _walk(value: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    """Every object inside, outermost first."""
    if depth > 40:
        return
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _walk(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _walk(inner, depth + 1)


def _checks(
    key: Key, expressions: list[dict[str, Any]], guarded: bool, source: str
) -> Iterator[ReversePathRule]:
    family, table, chain = key
    nfproto = _nfproto(expressions)
    packets = next(
        (c["packets"] for e in expressions if isinstance(c := e.get("counter"), dict) and "packets" in c),
        None,
    )
    counted = packets if isinstance(packets, int) else None
    for expression in expressions:
        for obj in _walk(expression):
            fib, foreign = obj.get("fib"), obj.get("xt")
            if isinstance(fib, dict) and "saddr" in _words(fib.get("flags")):
                flags, result = tuple(_words(fib.get("flags"))), str(fib.get("result", ""))
                narrowed = f"meta nfproto {nfproto} " if nfproto else ""
                lookup = f"fib {' . '.join(flags)} {result}"
                yield ReversePathRule(
                    form="nft",
                    protocols=protocols_of(family, nfproto),
                    family=family,
                    table=table,
                    chain=chain,
                    hooks=(),
                    check=check_of(result, flags),
                    flags=flags,
                    new_only=guarded or _only_new(expressions),
                    packets=counted,
                    text=f"{narrowed}{lookup}{_answer(expression)}{_ending(expressions)}",
                    source=source,
                )
            elif isinstance(foreign, dict) and foreign.get("name") == "rpfilter":
                yield ReversePathRule(
                    form="iptables-nft",
                    protocols=protocols_of(family, nfproto),
                    family=family,
                    table=table,
                    chain=chain,
                    hooks=(),
                    check="unknown",
                    new_only=guarded,
                    packets=counted,
                    text=f"-m rpfilter{_ending(expressions)}",
                    source=source,
                )


def _words(value: Any) -> list[str]:
    """nft prints one flag as a string and several as a list."""
    if isinstance(value, str):
        return [value]
    return [str(v) for v in value] if isinstance(value, list) else []


def _nfproto(expressions: list[dict[str, Any]]) -> str | None:
    for expression in expressions:
        match = expression.get("match")
        if isinstance(match, dict) and isinstance(left := match.get("left"), dict):
            meta = left.get("meta")
            if isinstance(meta, dict) and meta.get("key") == "nfproto" and match.get("op") == "==":
                return str(match.get("right"))
    return None


def _states(expressions: list[dict[str, Any]]) -> set[str]:
    for expression in expressions:
        match = expression.get("match")
        if isinstance(match, dict) and isinstance(left := match.get("left"), dict):
            ct = left.get("ct")
            if isinstance(ct, dict) and ct.get("key") == "state" and match.get("op") != "!=":
                right = match.get("right")
                return set(_words(right.get("set") if isinstance(right, dict) else right))
    return set()


def _lets_established_through(expressions: list[dict[str, Any]]) -> bool:
    """Only an unconditional accept of established flows spares all of them."""
    matches = [e for e in expressions if "match" in e]
    verdict = any("accept" in e or "return" in e for e in expressions)
    return verdict and len(matches) == 1 and "established" in _states(expressions)


def _only_new(expressions: list[dict[str, Any]]) -> bool:
    states = _states(expressions)
    return bool(states) and "established" not in states


def _answer(expression: dict[str, Any]) -> str:
    match = expression.get("match")
    if isinstance(match, dict):
        right, op = match.get("right"), match.get("op", "==")
        if isinstance(right, bool):
            word = "exists" if right else "missing"
        elif isinstance(right, dict) and "set" in right:
            word = f"{{ {', '.join(_words(right['set']))} }}"
        else:
            word = str(right)
        return f" {word}" if op == "==" else f" {op} {word}"
    return " vmap { ... }" if "vmap" in expression else ""


def _ending(expressions: list[dict[str, Any]]) -> str:
    words = [w for e in expressions for w in ("log", "drop", "reject", "accept") if w in e]
    return "".join(f" {w}" for w in words)
