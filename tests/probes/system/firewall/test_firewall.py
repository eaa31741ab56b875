"""Where a ruleset is read from, what firewalld is configured to do, and rp_filter: on trees and on answers of fakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from probes.reading.host import Host
from probes.system.firewall.firewalld import parse_settings, read_firewalld
from probes.system.firewall.rp_filter import rp_filter
from probes.system.firewall.rules import _read_legacy, read_ruleset
from probes.types import Absent
from tests.every_case import every_case
from tests.fakes.answering import Answering
from tests.fakes.hosts.rulesets import NFT

FIXTURES = Path(__file__).parents[3] / "fixtures" / "rulesets"


def fixture(name: str) -> str:
    return (FIXTURES / "with" / name).read_text()


def test_the_terse_listing_is_asked_first_and_is_enough(tmp_path: Path) -> None:
    host = Answering(tmp_path, {NFT: fixture("firewalld-1.3.nft")})
    read = read_ruleset(host)
    assert not isinstance(read, Absent)
    assert [r.place_text for r in read.in_effect] == [
        "table inet firewalld, chain filter_PREROUTING (prerouting, priority 10)"
    ]
    assert host.asked == [NFT]


def test_an_old_nft_without_terse_is_read_in_full(tmp_path: Path) -> None:
    unsupported = Absent("nft exited with status 1: invalid option", "unsupported")
    host = Answering(tmp_path, {NFT: unsupported, "nft -a list ruleset": fixture("firewalld-1.3.nft")})
    read = read_ruleset(host)
    assert not isinstance(read, Absent)
    assert len(read.in_effect) == 1


def test_iptables_save_tells_the_flags_that_nft_does_not_show(tmp_path: Path) -> None:
    host = Answering(
        tmp_path,
        {
            NFT: fixture("ip6tables-nft.nft"),
            "ip6tables-nft-save -c": fixture("ip6tables-nft.save"),
        },
    )
    read = read_ruleset(host)
    assert not isinstance(read, Absent)
    rule = read.in_effect[0]
    assert (rule.form, rule.flags, rule.packets) == ("iptables-nft", ("saddr", "mark", "iif"), 0)


def test_without_iptables_save_the_vague_rule_stays(tmp_path: Path) -> None:
    read = read_ruleset(Answering(tmp_path, {NFT: fixture("ip6tables-nft.nft")}))
    assert not isinstance(read, Absent)
    assert [(r.form, r.check) for r in read.in_effect] == [("iptables-nft", "strict")]


def test_legacy_tables_are_asked_for_only_where_they_are_loaded(tmp_path: Path) -> None:
    quiet = Answering(tmp_path, {NFT: ""})
    assert not isinstance(read_ruleset(quiet), Absent)
    assert not [line for line in quiet.asked if "save" in line]  # asking would load the modules
    loaded = Answering(
        tmp_path,
        {NFT: "", "ip6tables-legacy-save -c": fixture("ip6tables-legacy-el7.save")},
        {"/proc/net/ip6_tables_names": "raw\n"},
    )
    read = read_ruleset(loaded)
    assert not isinstance(read, Absent)
    assert [r.form for r in read.in_effect] == ["iptables-legacy"]


@pytest.mark.parametrize("kind", ["permission", "tool"])
def test_not_root_or_no_nft_is_absent_with_the_reason(tmp_path: Path, kind: str) -> None:
    denied = Absent("nft exited with status 1: Operation not permitted", "permission")
    host = Answering(tmp_path, {NFT: denied} if kind == "permission" else {})
    read = read_ruleset(host)
    assert isinstance(read, Absent)
    assert read.kind == kind
    assert len(host.asked) == 1  # the same refusal is not asked for four times


def test_of_several_reasons_the_first_and_telling_one_is_given(tmp_path: Path) -> None:
    unsupported = Absent("nft exited with status 1: invalid option", "unsupported")
    late = Absent("nft did not answer within 3 s", "timeout")
    nft = {NFT: unsupported, "nft -a list ruleset": late, "nft list ruleset": late}
    assert read_ruleset(Answering(tmp_path / "nft", nft)) == unsupported
    damaged = nft | {NFT: "{"}
    found = read_ruleset(Answering(tmp_path / "damaged", damaged))
    assert isinstance(found, Absent) and found.kind == "invalid"


def test_legacy_tables_that_cannot_be_saved_are_no_table_at_all_but_a_reason(tmp_path: Path) -> None:
    saved = Absent("ip6tables-legacy-save exited with status 1: no", "invalid")
    host = Answering(
        tmp_path,
        {"ip6tables-legacy-save -c": saved, "ip6tables-save -c": saved},
        {"/proc/net/ip6_tables_names": "raw\n"},
    )
    assert _read_legacy(host) == saved


def test_a_sosreport_keeps_the_ruleset_as_text(tmp_path: Path) -> None:
    folder = tmp_path / "sos_commands" / "firewall_tables"
    folder.mkdir(parents=True)
    (folder / "nft_-a_list_ruleset").write_text(fixture("firewalld-1.3.nft"))
    read = read_ruleset(Host(str(tmp_path)))
    assert not isinstance(read, Absent)
    assert read.sources == ("nft -a list ruleset",)
    assert len(read.in_effect) == 1


def test_firewalld_conf_is_read_as_firewalld_reads_it() -> None:
    text = "# IPv6_rpfilter=no\n; x=y\nIPv6_rpfilter = loose\nIPv6_rpfilter=no\nA=b=c\nLogDenied=\nDefaultZone=public\n"
    assert parse_settings(text) == {"IPv6_rpfilter": "loose", "DefaultZone": "public"}


def test_firewalld_of_a_tree(tmp_path: Path) -> None:
    conf = tmp_path / "etc" / "firewalld"
    conf.mkdir(parents=True)
    (conf / "firewalld.conf").write_text("FirewallBackend=nftables\nIPv6_rpfilter=yes\n")
    code = tmp_path / "usr/lib/python3.9/site-packages/firewall/config"
    code.mkdir(parents=True)
    (code / "__init__.py").write_text("DAEMON = 'firewalld'\nVERSION = '1.3.4'\n")
    read = read_firewalld(Host(str(tmp_path)))
    assert not isinstance(read, Absent)
    assert (read.version, read.ipv6_rpfilter, read.backend) == ("1.3.4", "yes", "nftables")
    assert isinstance(read.running, Absent)


def test_no_firewalld_is_absent(tmp_path: Path) -> None:
    assert isinstance(read_firewalld(Host(str(tmp_path))), Absent)


def rp_tree(root: Path, **values: int) -> Host:
    for name, value in values.items():
        folder = root / "proc/sys/net/ipv4/conf" / name
        folder.mkdir(parents=True)
        (folder / "rp_filter").write_text(f"{value}\n")
    (root / "proc/net").mkdir(parents=True)
    (root / "proc/net/netstat").write_text(
        "TcpExt: SyncookiesSent IPReversePathFilter\nTcpExt: 0 42\nIpExt: InNoRoutes\nIpExt: 7\n"
    )
    return Host(str(root))


@every_case(
    ("everywhere", "own", "effective"), [(0, 0, 0), (0, 1, 1), (1, 0, 1), (2, 1, 2), (0, 2, 2), (1, 2, 2)]
)
def test_the_larger_of_all_and_the_interface_counts(
    tmp_path: Path, everywhere: int, own: int, effective: int
) -> None:
    read = rp_filter(rp_tree(tmp_path, all=everywhere, default=0, eth0=own, lo=1))
    assert not isinstance(read, Absent)
    assert read.effective_mode("eth0") == effective
    assert read.drops == 42
    assert read.loosened_interfaces == (("eth0",) if (everywhere, own) == (2, 1) else ())


def test_no_ipv4_settings_are_absent(tmp_path: Path) -> None:
    assert isinstance(rp_filter(Host(str(tmp_path))), Absent)
