"""Captured rulesets of every form: those with a reverse-path check are found, those without are not accused."""

from __future__ import annotations

from pathlib import Path

from probes.system.firewall.reverse_path import ReversePathRule
from probes.system.firewall.ruleset_text import priority_number, rules_from_text
from probes.system.firewall.xtables import rules_from_save
from probes.types import Absent
from tests.every_case import every_case

FOLDER = Path(__file__).parents[3] / "fixtures" / "rulesets"


def parse(path: Path) -> tuple[ReversePathRule, ...]:
    text = path.read_text()
    if path.suffix == ".nft":
        found = rules_from_text(text)
    else:
        six = path.name.startswith(("ip6", "ufw"))
        form = "iptables-legacy" if "legacy" in path.name else "iptables-nft"
        found = rules_from_save(text, "IPv6" if six else "IPv4", form, "test")
    assert not isinstance(found, Absent), found
    return found


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


@every_case("path", sorted((FOLDER / "with").iterdir()))
def test_a_check_is_found_in_every_form(path: Path) -> None:
    protocols, check, flags, hook, priority, every, early = WITH[path.stem]
    found = [rule for rule in parse(path) if rule.is_reached]
    assert len(found) == 1
    rule = found[0]
    assert rule.protocols == protocols
    assert rule.first_hook is not None
    assert (rule.first_hook.name, rule.first_hook.priority) == (hook, priority)
    assert (rule.every_packet, rule.before_conntrack) == (every, early)
    assert (rule.check, rule.flags) == (check, flags)


@every_case("path", sorted((FOLDER / "without").iterdir()))
def test_other_rulesets_are_not_accused(path: Path) -> None:
    """ufw, Docker, kube-proxy and plain nftables; log prefixes and comments that name the check count for nothing."""
    assert [rule for rule in parse(path) if rule.check != "type"] == []


def test_every_table_row_has_its_files() -> None:
    assert {p.stem for p in (FOLDER / "with").iterdir()} == set(WITH)
    assert {"ufw", "docker-iptables", "docker-kube-nftables", "plain-nftables"} <= {
        p.stem for p in (FOLDER / "without").iterdir()
    }


def test_a_chain_that_nothing_jumps_to_has_no_effect() -> None:
    orphan = next(r for r in parse(FOLDER / "with" / "plain-jump.nft") if r.chain == "orphan")
    assert not orphan.is_reached
    assert not orphan.every_packet


def test_the_source_type_is_told_from_the_way_back() -> None:
    assert [r.check for r in parse(FOLDER / "without" / "source-type.nft")] == ["type"]


@every_case(
    ("line", "check"),
    [
        ('fib saddr . iif oifname "" drop', "strict"),
        ("fib saddr . iif check missing drop", "strict"),
        ("fib saddr . iif check vmap { missing : drop, exists : accept }", "strict"),
        ("fib iif . saddr oif 0 counter packets 7 bytes 560 drop", "strict"),
        ("fib saddr oif missing drop # handle 12", "loose"),
        ('xt match "rpfilter" counter packets 7 bytes 560 drop', "unknown"),
        ("fib daddr type local accept", None),
        ("fib daddr . iif type != { local, broadcast } drop", None),
        ('log prefix "fib saddr . iif oif missing" accept', None),
        ('tcp dport 22 accept comment "fib saddr oif missing drop"', None),
    ],
)
def test_spellings_of_the_text(line: str, check: str | None) -> None:
    text = f"table inet t {{\n\tchain c {{\n\t\ttype filter hook prerouting priority -290;\n\t\t{line}\n\t}}\n}}\n"
    found = rules_from_text(text)
    assert not isinstance(found, Absent)
    assert [r.check for r in found] == ([] if check is None else [check])
    assert [r.packets for r in found] == ([7] if "packets 7" in line else [None] * len(found))


def test_who_pays_is_read() -> None:
    (narrowed,) = parse(FOLDER / "with" / "plain-narrowed.nft")
    assert (narrowed.every_flow, narrowed.conditions) == (True, ('iifname "eth1"',))
    assert narrowed.statement == 'iifname "eth1" meta nfproto ipv6 fib saddr . mark . iif oif missing drop'
    (guarded,) = parse(FOLDER / "with" / "plain-vmap-guard.nft")
    assert (guarded.every_flow, guarded.new_only) == (False, True)  # a map of states before it


@every_case(
    ("comment", "handle", "read"),
    [("", " # handle 12", 12), ("", "", None), (' comment "a # handle 5"', " # handle 12", 12)],
)
def test_the_handle_is_the_last_word_of_a_line(comment: str, handle: str, read: int | None) -> None:
    rule = f"fib saddr . iif oif missing drop{comment}"
    found = rules_from_text(
        f"table ip6 t {{ # handle 1\n\tchain c {{ # handle 2\n\t\ttype filter hook prerouting priority raw;\n"
        f"\t\t{rule}{handle}\n\t}}\n}}\n"
    )
    assert not isinstance(found, Absent)
    assert [(r.handle, r.statement) for r in found] == [(read, rule)]


def test_a_guard_before_connection_tracking_spares_nothing() -> None:
    text = (
        "table ip6 t {\n\tchain c {\n\t\ttype filter hook prerouting priority raw;\n"
        "\t\tct state established accept\n\t\tfib saddr . iif oif missing drop\n\t}\n}\n"
    )
    found = rules_from_text(text)
    assert not isinstance(found, Absent)
    assert found[0].every_packet


@every_case(
    ("text", "number"),
    [
        ("filter + 10", 10),
        ("raw + 10", -290),
        ("mangle", -150),
        ("-290", -290),
        ("dstnat - 5", -105),
        ("odd", 0),
    ],
)
def test_priorities_by_name(text: str, number: int) -> None:
    assert priority_number(text) == number


def test_something_else_than_a_ruleset_is_absent() -> None:
    assert isinstance(rules_from_text("Error: no\n"), Absent)
    assert isinstance(rules_from_save("-A PREROUTING -j DROP\n", "IPv6", "iptables-nft", "x"), Absent)
    assert rules_from_text("") == ()


def test_the_mangle_comment_with_an_open_quote_is_survived() -> None:
    text = (
        "*mangle\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -m comment --comment \"it's -m rpfilter\nCOMMIT\n"
    )
    found = rules_from_save(text, "IPv6", "iptables-nft", "x")
    assert not isinstance(found, Absent)
