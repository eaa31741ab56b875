"""nft's JSON expressions back in nft's own words (libnftables-json(5), nft(8)), and whether nothing was lost."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from probes.types import Json

# Neighbour discovery let past: connection tracking calls it untracked, never a new flow (nf_conntrack_proto_icmpv6.c).
NEIGHBOURS = re.compile(r"^icmpv6 type \{?[\s,]*nd-[\w-]+(?:[\s,]+nd-[\w-]+)*[\s,]*\}? accept")
_BARE = re.compile(r"^[@\w][\w.:/*-]*$")  # what nft prints without quotes: addresses, names, sets
_UNPRINTABLE = re.compile(r'[\x00-\x1f\x7f"\\]')
_UNQUALIFIED = ("iif", "iifname", "oif", "oifname", "iiftype", "oiftype")  # printed without the word meta
_NAMES = ("iif", "iifname", "oif", "oifname")
_VERDICTS = ("accept", "drop", "return", "continue")


class Phrase(NamedTuple):
    """`exact`: nft reads it as the same expression again. If not, `statement` still tells a person what it is."""

    statement: str
    exact: bool = True


class _Unknown(Exception):
    """An expression that is not known here: shown as JSON, never handed back as a rule."""


def phrase(expression: dict[str, Json]) -> Phrase:
    """One expression of a rule: a match, a statement, a verdict."""
    try:
        return Phrase(_statement(expression))
    except _Unknown:
        return Phrase(_shown(expression), False)


def sentence(expressions: list[dict[str, Json]], comment: Json = None) -> Phrase:
    """A whole rule."""
    parts = [phrase(e) for e in expressions]
    if comment is not None:
        try:
            parts.append(Phrase(f"comment {_quoted(comment)}"))
        except _Unknown:
            parts.append(Phrase("comment ...", False))
    return Phrase(" ".join(p.statement for p in parts), all(p.exact for p in parts))


def left_of(expression: dict[str, Json]) -> dict[str, Json]:
    """What a match or a verdict map looks at, {} where the expression does neither."""
    for word, inner in (("match", "left"), ("vmap", "key")):
        body = expression.get(word)
        if isinstance(body, dict) and isinstance(left := body.get(inner), dict):
            return left
    return {}


def _statement(expression: dict[str, Json]) -> str:
    if len(expression) != 1:
        raise _Unknown
    ((word, body),) = expression.items()
    if word == "match" and isinstance(body, dict):
        return _match(body)
    if word in _VERDICTS and body is None:
        return word
    if word in ("jump", "goto") and isinstance(body, dict):
        return f"{word} {_bare(body.get('target'))}"
    if word == "counter" and isinstance(body, dict):
        return "counter"
    if word == "log":
        return _log(body)
    if word == "reject" and body is None:
        return word
    if word == "vmap" and isinstance(body, dict):
        return _map(body)
    raise _Unknown


def _match(body: dict[str, Json]) -> str:
    left, right, op = body.get("left"), body.get("right"), body.get("op", "==")
    quote = isinstance(left, dict) and _key(left, "meta") in _NAMES
    said = _value(right, quote=quote)
    masked = isinstance(left, dict) and "&" in left  # `meta mark & 0xff 0x10` would be something else
    if isinstance(right, bool) and op == "==" and isinstance(left, dict) and "fib" in left:
        return f"{_left(left)} {'exists' if right else 'missing'}"
    if op not in ("==", "in", "!=", "<", ">", "<=", ">=") or isinstance(right, bool):
        raise _Unknown
    if isinstance(right, list) and op == "==":  # all of the flags, which nft writes in another way
        raise _Unknown
    return f"{_left(left)} {said}" if op in ("==", "in") and not masked else f"{_left(left)} {op} {said}"


def _left(left: Json) -> str:
    if not isinstance(left, dict) or len(left) != 1:
        raise _Unknown
    ((word, body),) = left.items()
    if word == "&" and isinstance(body, list) and len(body) == 2 and isinstance(body[1], int):
        return f"{_left(body[0])} & {body[1]:#x}"
    if word == "fib" and isinstance(body, dict):
        flags = body.get("flags")
        words = [flags] if isinstance(flags, str) else flags
        if isinstance(words, list) and set(body) == {"result", "flags"}:
            return f"fib {' . '.join(_bare(f) for f in words)} {_bare(body['result'])}"
    elif word in ("meta", "ct") and isinstance(body, dict) and set(body) == {"key"}:
        key = _bare(body["key"])
        return key if key in _UNQUALIFIED else f"{word} {key}"
    elif word == "payload" and isinstance(body, dict) and set(body) == {"protocol", "field"}:
        return f"{_bare(body['protocol'])} {_bare(body['field'])}"
    raise _Unknown


def _key(left: dict[str, Json], word: str) -> str:
    body = left.get(word)
    return str(body.get("key", "")) if isinstance(body, dict) else ""


def _value(value: Json, *, quote: bool) -> str:
    if isinstance(value, bool):
        return "exists" if value else "missing"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return _quoted(value) if quote and not value.startswith("@") else _bare(value)
    if isinstance(value, list) and value:
        return ",".join(_bare(v) for v in value)
    if isinstance(value, dict) and len(value) == 1:
        ((word, body),) = value.items()
        if word == "set" and isinstance(body, list) and body:
            return f"{{ {', '.join(_value(v, quote=quote) for v in body)} }}"
        if word == "prefix" and isinstance(body, dict) and isinstance(length := body.get("len"), int):
            return f"{_bare(body.get('addr'))}/{length}"
        if word == "range" and isinstance(body, list) and len(body) == 2:
            return f"{_value(body[0], quote=False)}-{_value(body[1], quote=False)}"
    raise _Unknown


def _map(body: dict[str, Json]) -> str:
    data, left = body.get("data"), body.get("key")
    pairs = data.get("set") if isinstance(data, dict) else None
    if not isinstance(pairs, list) or not pairs:
        raise _Unknown
    quote = isinstance(left, dict) and _key(left, "meta") in _NAMES
    said = []
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[1], dict):
            raise _Unknown
        said.append(f"{_value(pair[0], quote=quote)} : {_statement(pair[1])}")
    return f"{_left(left)} vmap {{ {', '.join(said)} }}"


def _log(body: Json) -> str:
    if body is None:
        return "log"
    if not isinstance(body, dict) or not set(body) <= {"prefix", "level", "group"}:
        raise _Unknown
    words = ["log"]
    if "prefix" in body:
        words.append(f"prefix {_quoted(body['prefix'])}")
    if "level" in body:
        words.append(f"level {_bare(body['level'])}")
    if "group" in body:
        words.append(f"group {_value(body['group'], quote=False)}")
    return " ".join(words)


def _bare(value: Json) -> str:
    if isinstance(value, str) and _BARE.match(value):
        return value
    raise _Unknown


def _quoted(value: Json) -> str:
    if isinstance(value, str) and not _UNPRINTABLE.search(value):
        return f'"{value}"'
    raise _Unknown


def _shown(expression: dict[str, Json]) -> str:
    """For a person: limits and foreign matches as nft prints them, what else there may be as it came."""
    foreign = expression.get("xt")
    if isinstance(foreign, dict):
        return f'xt {_shown_name(foreign.get("type"))} "{_shown_name(foreign.get("name"))}"'
    limit = expression.get("limit")
    if isinstance(limit, dict) and isinstance(limit.get("rate"), int):
        return f"limit rate {limit['rate']}/{limit.get('per', 'second')}"
    return json.dumps(expression, ensure_ascii=True)[:200]


def _shown_name(value: Json) -> str:
    return value if isinstance(value, str) and _BARE.match(value) else "?"
