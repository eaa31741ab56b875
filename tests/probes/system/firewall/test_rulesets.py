"""Captured rulesets of every form: those with a reverse-path check are found, those without are not accused."""

from pathlib import Path

from hostdx.probes.system.firewall.reverse_path import ReversePathRule
from hostdx.probes.system.firewall.rules import rules_from_save
from hostdx.probes.system.firewall.ruleset_text import rules_from_text
from hostdx.probes.types import Absent
from tests.every_case import every_case

FOLDER = Path(__file__).parents[3] / "fixtures" / "rulesets"


def parse(path: Path) -> tuple[ReversePathRule, ...]:
    text = path.read_text()
    if path.suffix == ".nft":
        rules = rules_from_text(text)
    else:
        six = path.name.startswith(("ip6", "ufw"))
        form = "iptables-legacy" if "legacy" in path.name else "iptables-nft"
        rules = rules_from_save(text, "IPv6" if six else "IPv4", form, "test")
    assert not isinstance(rules, Absent), rules
    return rules


# name: protocols, check, flags, hook, priority, every packet pays, before connection tracking
WITH = {
    "firewalld-0.8-logged": (("IPv6",), "strict", ("saddr", "iif"), "prerouting", -290, True, True),
    "firewalld-1.3": (("IPv6",), "strict", ("saddr", "mark", "iif"), "prerouting", 10, True, False),
    "firewalld-2.2-loose": (("IPv6",), "loose", ("saddr", "mark"), "prerouting", 10, True, False),
    "firewalld-2.2-strict-forward": (
        ("IPv6",),
        "strict",
        ("saddr", "mark", "iif"),
        "forward",
        10,
        False,
        False,
    ),
    "firewalld-2.4-nft-1.1.4": (("IPv6",), "strict", ("saddr", "mark", "iif"), "prerouting", 10, True, False),
    "ip6tables-legacy-el7": (("IPv6",), "strict", ("saddr", "iif"), "prerouting", -300, True, True),
    "ip6tables-nft": (("IPv6",), "strict", ("saddr", "mark", "iif"), "prerouting", -150, True, False),
    "iptables-nft-ipv4-loose": (("IPv4",), "loose", ("saddr",), "prerouting", -300, True, True),
    "nixos": (("IPv4", "IPv6"), "strict", ("saddr", "mark", "iif"), "prerouting", -140, True, False),
    "plain-jump": (("IPv4", "IPv6"), "strict", ("saddr", "iif"), "prerouting", -150, False, False),
    "plain-narrowed": (("IPv6",), "strict", ("saddr", "mark", "iif"), "prerouting", -150, False, False),
    "plain-vmap-guard": (("IPv6",), "strict", ("saddr", "mark", "iif"), "prerouting", -150, False, False),
    "plain-new-only": (("IPv6",), "strict", ("saddr", "iif"), "prerouting", -150, False, False),
}


@every_case("path", sorted((FOLDER / "without").iterdir()))
def test_other_rulesets_are_not_accused(path: Path) -> None:
    """ufw, Docker, kube-proxy and plain nftables; log prefixes and comments that name the check count for nothing."""
    assert [rule for rule in parse(path) if rule.check != "type"] == []


def test_every_table_row_has_its_files() -> None:
    assert {p.stem for p in (FOLDER / "with").iterdir()} == set(WITH)
    assert {"ufw", "docker-iptables", "docker-kube-nftables", "plain-nftables"} <= {
        p.stem for p in (FOLDER / "without").iterdir()
    }


def test_who_pays_is_read() -> None:
    (narrowed,) = parse(FOLDER / "with" / "plain-narrowed.nft")
    assert (narrowed.every_flow, narrowed.conditions) == (True, ('iifname "eth1"',))
    assert narrowed.statement == 'iifname "eth1" meta nfproto ipv6 fib saddr . mark . iif oif missing drop'
    (guarded,) = parse(FOLDER / "with" / "plain-vmap-guard.nft")
    assert (guarded.every_flow, guarded.new_only) == (False, True)  # a map of states before it


def test_something_else_than_a_ruleset_is_absent() -> None:
    assert isinstance(rules_from_text("Error: no\n"), Absent)
    assert isinstance(rules_from_save("-A PREROUTING -j DROP\n", "IPv6", "iptables-nft", "x"), Absent)
    assert rules_from_text("") == ()


def test_the_mangle_comment_with_an_open_quote_is_survived() -> None:
    text = (
        "*mangle\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -m comment --comment \"it's -m rpfilter\nCOMMIT\n"
    )
    rules = rules_from_save(text, "IPv6", "iptables-nft", "x")
    assert not isinstance(rules, Absent)
