"""Where a ruleset is read from, what firewalld is configured to do, and rp_filter: on trees and on answers of fakes."""

from pathlib import Path

import pytest

from hostdx.probes.system.firewall.firewalld import parse_settings
from hostdx.probes.system.firewall.rules import _read_legacy, read_ruleset
from hostdx.probes.types import Absent
from tests.fakes.answering import Answering
from tests.fakes.hosts.rulesets import NFT

FIXTURES = Path(__file__).parents[3] / "fixtures" / "rulesets"


def read_fixture(name: str) -> str:
    return (FIXTURES / "with" / name).read_text()


def test_legacy_tables_are_asked_for_only_where_they_are_loaded(tmp_path: Path) -> None:
    quiet = Answering(tmp_path, {NFT: ""})
    assert not isinstance(read_ruleset(quiet), Absent)
    assert not [line for line in quiet.asked if "save" in line]  # asking would load the modules
    host = Answering(
        tmp_path,
        {NFT: "", "ip6tables-legacy-save -c": read_fixture("ip6tables-legacy-el7.save")},
        {"/proc/net/ip6_tables_names": "raw\n"},
    )
    read = read_ruleset(host)
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


def test_legacy_tables_that_cannot_be_saved_are_no_table_at_all_but_a_reason(tmp_path: Path) -> None:
    absent = Absent("ip6tables-legacy-save exited with status 1: no", "invalid")
    host = Answering(
        tmp_path,
        {"ip6tables-legacy-save -c": absent, "ip6tables-save -c": absent},
        {"/proc/net/ip6_tables_names": "raw\n"},
    )
    assert _read_legacy(host) == absent


def test_firewalld_conf_is_read_as_firewalld_reads_it() -> None:
    text = "# IPv6_rpfilter=no\n; x=y\nIPv6_rpfilter = loose\nIPv6_rpfilter=no\nA=b=c\nLogDenied=\nDefaultZone=public\n"
    assert parse_settings(text) == {"IPv6_rpfilter": "loose", "DefaultZone": "public"}
