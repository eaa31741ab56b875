"""A check that only some packets meet: said of them alone, and never widened by its remedy."""

from pathlib import Path

from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.rpfilter.rules import check_loaded_reverse_path_rules
from tests.fakes.answering import Answering
from tests.fakes.hosts.rulesets import FIB, NFT, nft_text, save_text

IF = 'iifname "eth1"'
SIX = "meta nfproto ipv6"
LOG = 'log prefix "it\'s back: "'


def only_finding(root: Path, *rules: str, priority: int = -150, sub: bool = False) -> Finding:
    (finding,) = check_loaded_reverse_path_rules(
        Answering(root, {NFT: nft_text(*rules, priority=priority, sub=sub)})
    )
    return finding


def test_before_connection_tracking_a_first_rule_is_moved_whole(tmp_path: Path) -> None:
    first = only_finding(tmp_path, f"{IF} {FIB} {LOG} drop", priority=-290).remedy[0]
    assert 'ct state new iifname "eth1" fib' in first.commands[1] and "log prefix" in first.commands[1]
    assert first.undo[0].startswith('nft insert rule inet mine pre \'iifname "eth1" fib')


def test_a_jump_narrows_and_its_protocol_is_told(tmp_path: Path) -> None:
    finding = only_finding(tmp_path, f"{IF} {SIX} jump sub", f"{FIB} drop", sub=True)
    assert all(word in finding.title for word in ("IPv6", 'iifname "eth1"'))
    assert (
        finding.remedy[0].commands[1].startswith("nft replace rule inet mine sub handle 5 'ct state new fib")
    )
    early = only_finding(tmp_path, f"{IF} {SIX} jump sub", f"{FIB} drop", sub=True, priority=-290)
    assert not any(c.startswith("nft replace") for c in early.remedy[0].commands)


def test_an_accepting_check_that_is_narrowed_is_left_alone(tmp_path: Path) -> None:
    has = "fib saddr . iif oif exists accept"
    assert "insert rule" in only_finding(tmp_path / "a", has).remedy[0].commands[0]
    by_hand = only_finding(tmp_path / "b", f"{IF} {has}").remedy[0]
    assert not any(c.startswith(("nft insert", "nft replace")) for c in by_hand.commands)


def test_a_rule_whose_flags_could_not_be_read_gets_no_guessed_command(tmp_path: Path) -> None:
    ruleset = (Path(__file__).parents[2] / "fixtures" / "rulesets" / "with" / "ip6tables-nft.nft").read_text()
    (finding,) = check_loaded_reverse_path_rules(Answering(tmp_path, {NFT: ruleset}))
    assert not any(c.startswith(("nft insert", "nft replace")) for c in finding.remedy[0].commands)


def test_a_narrowed_rule_is_not_firewalld_s(tmp_path: Path) -> None:
    files = {
        "/etc/firewalld/firewalld.conf": "IPv6_rpfilter=yes\nFirewallBackend=iptables\n",
        "/usr/lib/python3.9/site-packages/firewall/config/__init__.py": 'VERSION = "1.3.4"\n',
    }
    ruleset = (Path(__file__).parents[2] / "fixtures" / "rulesets" / "with" / "ip6tables-nft.nft").read_text()
    for narrowed, first in (("", "firewalld 1.3.4: set"), ("-i eth1 ", "ip6tables: check only")):
        rules = save_text("mangle", f"-A PREROUTING {narrowed}-m rpfilter --invert -j DROP")
        (finding,) = check_loaded_reverse_path_rules(
            Answering(tmp_path / narrowed.strip(), {NFT: ruleset, "ip6tables-nft-save -c": rules}, files)
        )
        assert finding.remedy[0].title.startswith(first)
