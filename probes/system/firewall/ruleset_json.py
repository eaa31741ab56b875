"""Finds reverse-path checks in `nft -j list ruleset` (libnftables-json(5)).

iptables-nft keeps `-m rpfilter` as a foreign match, `{"xt": {"type": "match", "name": "rpfilter"}}`, without
its flags: those come from iptables-save (see xtables.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec

from probes.system.firewall.reverse_path import (
    Chains,
    Hook,
    Key,
    Listing,
    ReversePathRule,
    check_of,
    protocols_of,
)
from probes.system.firewall.ruleset_phrase import NEIGHBOURS, left_of, phrase, sentence
from probes.types import Absent, Json


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
            protocols = protocols_of(key[0], _protocol(expressions))
            for before, target in _targets(expressions):
                narrowed = " ".join(_conditions(before))
                chains.jump(key, (key[0], key[1], target), _only_new(expressions), narrowed, protocols)
            whole = sentence(expressions, rule.get("comment"))
            for check in _checks(key, expressions, key in chains.spared, source):
                check = msgspec.structs.replace(
                    check, statement=whole.statement, exact=whole.exact, handle=_handle(rule)
                )
                found.append((key, chains.stands(key, check)))
            chains.read[key] += 1
            if _lets_established_through(expressions):
                chains.spared.add(key)
            if _decides(expressions) and not NEIGHBOURS.match(whole.statement):
                chains.decided.add(key)
    return Listing(chains.placed(found), sizes)


def _key(obj: dict[str, Json], chain: str) -> Key:
    return str(obj.get("family", "")), str(obj.get("table", "")), str(obj.get(chain, ""))


def _handle(rule: dict[str, Json]) -> int | None:
    handle = rule.get("handle")
    return handle if isinstance(handle, int) and 0 < handle < 1 << 64 else None


def _targets(expressions: list[dict[str, Json]]) -> Iterator[tuple[list[dict[str, Json]], str]]:
    """Each jump with what narrows it: the expressions before it, and the map that it stands in."""
    for number, expression in enumerate(expressions):
        for value in _walk(expression):
            for word in ("jump", "goto"):
                target = value.get(word)
                if isinstance(target, dict) and "target" in target:
                    yield expressions[: number + ("vmap" in expression)], str(target["target"])


def _conditions(expressions: list[dict[str, Json]]) -> Iterator[str]:
    """What a packet must be to come past these expressions, without the protocol, which is told apart."""
    for expression in expressions:
        if "vmap" in expression:
            yield f"{phrase(expression).statement.partition(' vmap ')[0]} in a map"
        elif not {"counter", "log"} & set(expression) and _nfproto([expression]) is None:
            yield phrase(expression).statement


def _decides(expressions: list[dict[str, Json]]) -> bool:
    words = ("accept", "drop", "return", "reject", "jump", "goto", "queue")
    return any(word in value for one in expressions for value in _walk(one) for word in words)


def _walk(value: Json, depth: int = 0) -> Iterator[dict[str, Json]]:
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
    key: Key, expressions: list[dict[str, Json]], guarded: bool, source: str
) -> Iterator[ReversePathRule]:
    family, table, chain = key
    nfproto = _protocol(expressions)
    packets = next(
        (c["packets"] for e in expressions if isinstance(c := e.get("counter"), dict) and "packets" in c),
        None,
    )
    counted = packets if isinstance(packets, int) else None
    for number, expression in enumerate(expressions):
        conditions = tuple(_conditions(expressions[:number]))
        for obj in _walk(expression):
            fib, foreign = obj.get("fib"), obj.get("xt")
            if isinstance(fib, dict) and "saddr" in _words(fib.get("flags")):
                flags, result = tuple(_words(fib.get("flags"))), str(fib.get("result", ""))
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
                    statement="",
                    source=source,
                    conditions=conditions,
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
                    statement="",
                    source=source,
                    conditions=conditions,
                )


def _words(value: Json) -> list[str]:
    """nft prints one flag as a string and several as a list."""
    if isinstance(value, str):
        return [value]
    return [str(v) for v in value] if isinstance(value, list) else []


def _nfproto(expressions: list[dict[str, Json]]) -> str | None:
    for expression in expressions:
        match, meta = expression.get("match"), left_of(expression).get("meta")
        if not isinstance(match, dict) or not isinstance(meta, dict) or meta.get("key") != "nfproto":
            continue
        if match.get("op") == "==" and isinstance(match.get("right"), str):
            return str(match["right"])
    return None


def _protocol(expressions: list[dict[str, Json]]) -> str | None:
    """The protocol that a rule is narrowed to, by name or by a field that only its packets have."""
    fields = {"ip": "ipv4", "icmp": "ipv4", "ip6": "ipv6", "icmpv6": "ipv6"}
    for expression in expressions:
        payload = left_of(expression).get("payload")
        if "match" in expression and isinstance(payload, dict) and payload.get("protocol") in fields:
            return fields[str(payload["protocol"])]
    return _nfproto(expressions)


def _states(expressions: list[dict[str, Json]], op: tuple[str, ...] = ("==", "in")) -> set[str]:
    for expression in expressions:
        match = expression.get("match")
        if isinstance(match, dict) and _of_state(expression) and match.get("op") in op:
            right = match.get("right")
            return set(_words(right.get("set") if isinstance(right, dict) else right))
    return set()


def _of_state(expression: dict[str, Json]) -> bool:
    ct = left_of(expression).get("ct")
    return isinstance(ct, dict) and ct.get("key") == "state"


def _lets_established_through(expressions: list[dict[str, Json]]) -> bool:
    """Only an unconditional accept of established flows spares all of them: after a match, or in a map of states."""
    telling = [e for e in expressions if not {"counter", "log"} & set(e)]
    if not telling or not _of_state(telling[0]):
        return False
    if "vmap" in telling[0]:
        body = telling[0]["vmap"]
        data = body.get("data") if isinstance(body, dict) else None
        pairs = data.get("set") if isinstance(data, dict) else None
        return any(
            isinstance(pair, list) and len(pair) == 2 and pair[0] == "established" and _passes(pair[1])
            for pair in (pairs if isinstance(pairs, list) else ())
        )
    return len(telling) == 2 and _passes(telling[1]) and "established" in _states(telling)


def _passes(verdict: Json) -> bool:
    return isinstance(verdict, dict) and bool({"accept", "return"} & set(verdict))


def _only_new(expressions: list[dict[str, Json]]) -> bool:
    states = _states(expressions)
    others = _states(expressions, ("!=",))
    return (bool(states) and "established" not in states) or "established" in others
