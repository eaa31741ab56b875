"""nft's JSON read back in nft's words: the same as its own text, loaded in a namespace of the test's own."""

from __future__ import annotations

import subprocess

import msgspec
import pytest

from probes.system.firewall.reverse_path import ReversePathRule
from probes.system.firewall.ruleset_json import listing_from_json
from probes.system.firewall.ruleset_text import rules_from_text
from probes.types import Absent
from tests.needs import NET_NAMESPACE, need, program


def rules_from_json(text: str) -> tuple[ReversePathRule, ...] | Absent:
    listing = listing_from_json(text)
    return listing if isinstance(listing, Absent) else listing.rules


pytestmark = [pytest.mark.real, pytest.mark.beside]
RULES = (
    'iifname "eth1" meta nfproto ipv6 fib saddr . mark . iif oif missing drop',
    "udp dport 53 fib saddr oif missing drop",
    'iifname { "eth1", "eth2" } ip6 saddr 2001:db8::/32 fib saddr . iif oif missing log prefix "x y: " drop',
    'fib saddr . iif oif missing counter log prefix "a" group 2 drop comment "why not"',
    "tcp dport { 22, 80-90 } limit rate 10/second fib saddr . iif oif missing drop",
    "meta mark 0x10 fib saddr . iif oif missing drop",
    "meta mark & 0xff == 0x10 fib saddr . iif oif missing drop",
    'iifname "eth*" fib saddr . iif oif missing log drop',
    "ip6 saddr != fe80::/10 fib saddr . iif oif missing reject",
    "ct state { new, invalid } fib saddr . iif oif missing drop",
    "ct state new,untracked fib saddr . iif oif missing drop",
    "ct state != established fib saddr . iif oif missing drop",
    "ct state != established,related fib saddr . iif oif missing drop",
    "ct state established,new fib saddr . iif oif missing drop",
    "ip saddr @some fib saddr . iif oif missing drop",
    "meta pkttype unicast meta l4proto udp fib saddr . iif oif exists accept",
    "fib saddr . iif oif missing ip6 nexthdr tcp drop",
    "ct state vmap { established : accept, related : accept, invalid : drop }",
)


def listed(script: str) -> tuple[str, str]:
    """The rules as JSON and as text. `unshare` makes the namespace; it ends with the command."""
    command = "nft -f - && nft -j list ruleset && echo ---- && nft -a list ruleset"
    done = subprocess.run(
        ["unshare", "--net", "sh", "-c", command], input=script, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    as_json, _, as_text = done.stdout.partition("----\n")
    return as_json, as_text


@pytest.fixture(autouse=True)
def possible() -> None:
    need(program("nft"), NET_NAMESPACE)


def script(*rules: str) -> str:
    lines = "\n".join(rules)
    start = "chain pre { type filter hook prerouting priority -150;"
    sets = "set some { type ipv4_addr; }"
    sub = "chain sub { meta mark 7 fib saddr . iif oif missing drop; }"
    return f"table inet t {{\n{sets}\n{sub}\n{start}\n{lines}\n}}\n}}\n"


@pytest.mark.parametrize(
    "rules",
    [
        *((rule,) for rule in RULES),
        RULES,
        ('iifname "eth1" jump sub',),
        ("meta nfproto ipv6 jump sub",),
        ('iifname vmap { "eth1" : jump sub, "eth3" : accept }',),
        ('iifname "eth1" jump sub', "jump sub"),
        ('ct state established accept comment "let past"', "jump sub"),
        ('iifname "eth1" ct state established accept', "jump sub"),
        ("icmpv6 type { nd-router-advert, nd-neighbor-solicit } accept", RULES[0]),
        ("icmpv6 type echo-request accept", RULES[0]),
    ],
)
def test_json_says_what_the_text_says(rules: tuple[str, ...]) -> None:
    as_json, as_text = listed(script(*rules))
    by_json, by_text = rules_from_json(as_json), rules_from_text(as_text)
    assert not isinstance(by_json, Absent) and not isinstance(by_text, Absent)
    assert len(by_json) == len(by_text)
    for one, other in zip(by_json, by_text, strict=True):
        same = {
            "statement": other.statement,
            "exact": other.exact,
            "source": "",
            "conditions": other.conditions,
        }
        if (
            one.exact and "mark" not in one.statement and "reject" not in one.statement
        ):  # 16 there, 0x00000010 here
            assert one.statement == other.statement
            assert " ".join(one.conditions) == " ".join(other.conditions)
        assert msgspec.structs.replace(one, **same) == msgspec.structs.replace(other, source="")


def test_an_exact_text_loads_again_as_the_same_rule() -> None:
    as_json, _ = listed(script(*RULES))
    first = rules_from_json(as_json)
    assert not isinstance(first, Absent)
    exact = [rule for rule in first if rule.exact and rule.chain == "pre"]
    assert len(exact) > 10
    again, _ = listed(script(*(rule.statement for rule in exact)))
    second = rules_from_json(again)
    assert not isinstance(second, Absent)
    assert [r.statement for r in second if r.chain == "pre"] == [r.statement for r in exact]
    changed, _ = listed(script(*(f"ct state new {rule.statement}" for rule in exact)))
    third = rules_from_json(changed)
    assert not isinstance(third, Absent)
    assert not any(r.every_flow for r in third if r.chain == "pre")
