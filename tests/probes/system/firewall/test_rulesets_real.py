"""Rules as nft itself prints them, loaded in a namespace of the test's own."""

import subprocess

import pytest

from hostdx.probes.system.firewall.ruleset_text import parse_nft_rules
from hostdx.probes.types import Absent
from tests.needs import NET_NAMESPACE, need, program

pytestmark = [pytest.mark.real]
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


def list_rules(script: str) -> str:
    """`unshare` makes the namespace; it ends with the command."""
    command = "nft -f - && nft -a -t list ruleset"
    done = subprocess.run(
        ["unshare", "--net", "sh", "-c", command], input=script, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(autouse=True)
def need_nft() -> None:
    need(program("nft"), NET_NAMESPACE)


def nft_script(*rules: str) -> str:
    lines = "\n".join(rules)
    start = "chain pre { type filter hook prerouting priority -150;"
    sets = "set some { type ipv4_addr; }"
    sub = "chain sub { meta mark 7 fib saddr . iif oif missing drop; }"
    return f"table inet t {{\n{sets}\n{sub}\n{start}\n{lines}\n}}\n}}\n"


def test_what_nft_prints_loads_again_as_the_same_rule() -> None:
    first = parse_nft_rules(list_rules(nft_script(*RULES)))
    assert not isinstance(first, Absent)
    exact = [rule for rule in first if rule.exact and rule.chain == "pre"]
    assert len(exact) == sum("fib" in rule for rule in RULES)
    second = parse_nft_rules(list_rules(nft_script(*(rule.statement for rule in exact))))
    assert not isinstance(second, Absent)
    assert [r.statement for r in second if r.chain == "pre"] == [r.statement for r in exact]
    third = parse_nft_rules(list_rules(nft_script(*(f"ct state new {rule.statement}" for rule in exact))))
    assert not isinstance(third, Absent)
    assert not any(r.checks_every_flow for r in third if r.chain == "pre")
