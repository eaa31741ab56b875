"""Small rulesets, as nft and iptables-save print them."""

from __future__ import annotations

import json
from typing import Any

NFT = "nft -j -t list ruleset"


def match(left: dict[str, Any], right: Any, op: str = "==") -> dict[str, Any]:
    return {"match": {"op": op, "left": left, "right": right}}


FIB = match({"fib": {"result": "oif", "flags": ["saddr", "mark", "iif"]}}, False)


def nft_json(*rules: list[dict[str, Any]], priority: int = -150, sub: bool = False) -> str:
    """One table, one prerouting chain `pre`; with `sub` the last rule stands in a chain of that name."""
    chain: dict[str, Any] = {"family": "inet", "table": "mine"}
    hook = {"type": "filter", "hook": "prerouting", "prio": priority, "policy": "accept"}
    found: list[dict[str, Any]] = [
        {"table": {"family": "inet", "name": "mine"}},
        {"chain": {**chain, "name": "sub"}},
        {"chain": {**chain, "name": "pre", **hook}},
    ]
    for number, expressions in enumerate(rules):
        place = "sub" if sub and number == len(rules) - 1 else "pre"
        found.append({"rule": {**chain, "chain": place, "handle": number + 4, "expr": expressions}})
    return json.dumps({"nftables": found})


def ip6(table: str, *rules: str) -> str:
    return "\n".join((f"*{table}", ":PREROUTING ACCEPT [0:0]", *rules, "COMMIT", ""))
