"""A check that only some packets meet: said of them alone, and never widened by its remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenarios.contract.finding import Finding
from scenarios.rpfilter.rules import check_loaded
from tests.every_case import every_case
from tests.fakes.answering import Answering
from tests.fakes.hosts.rulesets import FIB, NFT, ip6, nft_text

IF = 'iifname "eth1"'
SIX = "meta nfproto ipv6"
LOG = 'log prefix "it\'s back: "'


def one(root: Path, *rules: str, priority: int = -150, sub: bool = False) -> Finding:
    (finding,) = check_loaded(Answering(root, {NFT: nft_text(*rules, priority=priority, sub=sub)}))
    return finding


@every_case(
    ("rule", "whom", "text"),
    [
        (
            f"{IF} {SIX} {FIB} drop",
            'every IPv6 packet with iifname "eth1"',
            'iifname "eth1" meta nfproto ipv6 fib saddr . mark . iif oif missing drop',
        ),
        (
            f"udp dport 53 {FIB} drop",
            "every IPv4 and IPv6 packet with udp dport 53",
            "udp dport 53 fib saddr . mark . iif oif missing drop",
        ),
        (
            f"{SIX} {FIB} {LOG} drop",
            "every IPv6 packet",
            'meta nfproto ipv6 fib saddr . mark . iif oif missing log prefix "it\'s back: " drop',
        ),
    ],
)
def test_the_whole_rule_is_changed_and_brought_back_in_its_place(
    tmp_path: Path, rule: str, whom: str, text: str
) -> None:
    finding = one(tmp_path, rule)
    assert whom in finding.title
    first = finding.remedy[0]
    quoted = text.replace("'", "'\"'\"'")
    assert first.commands[1] == f"nft replace rule inet mine pre handle 4 'ct state new {quoted}'"
    assert first.undo[1] == f"nft replace rule inet mine pre handle HANDLE '{quoted}'"
    assert not any("add rule" in c or "delete rule" in c for c in (*first.commands, *first.undo))


@pytest.mark.parametrize(
    ("rules", "priority"),
    [
        ([f'xt match "limit" {SIX} {FIB} drop'], -150),  # cannot be handed back word for word
        ([f"{IF} accept", f"{SIX} {FIB} drop"], -290),  # moved away it would meet the packets of eth1 too
    ],
)
def test_what_cannot_be_carried_over_is_left_to_a_person(
    tmp_path: Path, rules: list[str], priority: int
) -> None:
    first = one(tmp_path, *rules, priority=priority).remedy[0]
    changing = [c for c in (*first.commands, *first.undo) if not c.startswith(("#", "nft -a list chain "))]
    assert changing == []
    assert any("fib saddr . mark . iif oif missing" in c for c in first.commands)
    assert first.warning


def test_before_connection_tracking_a_first_rule_is_moved_whole(tmp_path: Path) -> None:
    first = one(tmp_path, f"{IF} {FIB} {LOG} drop", priority=-290).remedy[0]
    assert 'ct state new iifname "eth1" fib' in first.commands[1] and "log prefix" in first.commands[1]
    assert first.undo[0].startswith('nft insert rule inet mine pre \'iifname "eth1" fib')


def test_a_jump_narrows_and_its_protocol_is_told(tmp_path: Path) -> None:
    finding = one(tmp_path, f"{IF} {SIX} jump sub", f"{FIB} drop", sub=True)
    assert all(said in finding.title for said in ("IPv6", 'iifname "eth1"'))
    assert (
        finding.remedy[0].commands[1].startswith("nft replace rule inet mine sub handle 5 'ct state new fib")
    )
    early = one(tmp_path, f"{IF} {SIX} jump sub", f"{FIB} drop", sub=True, priority=-290)
    assert not any(c.startswith("nft replace") for c in early.remedy[0].commands)


def test_an_accepting_check_that_is_narrowed_is_left_alone(tmp_path: Path) -> None:
    has = "fib saddr . iif oif exists accept"
    assert "insert rule" in one(tmp_path / "a", has).remedy[0].commands[0]
    by_hand = one(tmp_path / "b", f"{IF} {has}").remedy[0]
    assert not any(c.startswith(("nft insert", "nft replace")) for c in by_hand.commands)


@every_case(
    ("saved", "whom", "commands"),
    [
        (
            ip6("mangle", "-A PREROUTING -i eth1 -m rpfilter --invert -j DROP"),
            "every IPv6 packet with -i eth1",
            "ip6tables -t mangle -R PREROUTING NUMBER -m conntrack --ctstate NEW -i eth1 -m rpfilter",
        ),
        (
            ip6("mangle", '-A PREROUTING -m comment --comment "my check" -m rpfilter --invert -j DROP'),
            "every IPv6 packet",
            "ip6tables -t mangle -R PREROUTING NUMBER -m conntrack --ctstate NEW -m comment --comment 'my check'",
        ),
        (
            ip6(
                "raw",
                "-A PREROUTING -p ipv6-icmp -m icmp6 --icmpv6-type 134 -j ACCEPT",
                "-A PREROUTING -m rpfilter --invert -j DROP",
            ),
            "every IPv6 packet",
            "ip6tables -t mangle -I PREROUTING -m conntrack --ctstate NEW -m rpfilter --invert -j DROP",
        ),
        (
            ip6("raw", "-A PREROUTING -i wg0 -j ACCEPT", "-A PREROUTING -m rpfilter --invert -j DROP"),
            "every IPv6 packet",
            "# the rule as read: -A PREROUTING -m rpfilter --invert -j DROP",
        ),
    ],
)
def test_ip6tables_keeps_what_narrows_it(tmp_path: Path, saved: str, whom: str, commands: str) -> None:
    listed = (Path(__file__).parents[2] / "fixtures" / "rulesets" / "with" / "ip6tables-nft.nft").read_text()
    (finding,) = check_loaded(Answering(tmp_path, {NFT: listed, "ip6tables-nft-save -c": saved}))
    assert whom in finding.title
    assert any(c.startswith(commands) for c in finding.remedy[0].commands)


def test_a_rule_whose_flags_could_not_be_read_gets_no_guessed_command(tmp_path: Path) -> None:
    listed = (Path(__file__).parents[2] / "fixtures" / "rulesets" / "with" / "ip6tables-nft.nft").read_text()
    (finding,) = check_loaded(Answering(tmp_path, {NFT: listed}))
    assert not any(c.startswith(("nft insert", "nft replace")) for c in finding.remedy[0].commands)


def test_a_fast_card_that_does_not_meet_the_check_is_no_warning(tmp_path: Path) -> None:
    def card(name: str) -> dict[str, str]:
        files = {"device/vendor": "0x15b3\n", "speed": "100000\n", "mtu": "1500\n"}
        return {f"/sys/class/net/{name}/{path}": text for path, text in files.items()}

    for name, severity in (("eth0", "notice"), ("eth1", "warning")):
        text = nft_text(f"{IF} {SIX} {FIB} drop")
        (finding,) = check_loaded(Answering(tmp_path / name, {NFT: text}, card(name)))
        assert finding.severity == severity


def test_a_narrowed_rule_is_not_firewalld_s(tmp_path: Path) -> None:
    files = {
        "/etc/firewalld/firewalld.conf": "IPv6_rpfilter=yes\nFirewallBackend=iptables\n",
        "/usr/lib/python3.9/site-packages/firewall/config/__init__.py": 'VERSION = "1.3.4"\n',
    }
    listed = (Path(__file__).parents[2] / "fixtures" / "rulesets" / "with" / "ip6tables-nft.nft").read_text()
    for narrowed, first in (("", "firewalld 1.3.4: set"), ("-i eth1 ", "ip6tables: check only")):
        saved = ip6("mangle", f"-A PREROUTING {narrowed}-m rpfilter --invert -j DROP")
        (finding,) = check_loaded(
            Answering(tmp_path / narrowed.strip(), {NFT: listed, "ip6tables-nft-save -c": saved}, files)
        )
        assert finding.remedy[0].title.startswith(first)
