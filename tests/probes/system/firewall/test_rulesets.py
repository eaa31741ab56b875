"""Rule sets of a firewall and their summary."""

from pathlib import Path

import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.system.firewall.firewalld import parse_firewalld_settings
from hostdx.probes.system.firewall.reverse_path import ReversePathRule
from hostdx.probes.system.firewall.rules import _read_legacy_iptables, parse_iptables, read_ruleset
from hostdx.probes.system.firewall.ruleset_text import parse_nft_rules
from hostdx.probes.system.firewall.summary import firewall_facts
from hostdx.probes.types import Absent, Fact
from tests.every_case import every_case
from tests.fakes.answering import Answering
from tests.fakes.hosts.rulesets import NFT

FOLDER = Path(__file__).parents[3] / "fixtures" / "rulesets"


def parse(path: Path) -> tuple[ReversePathRule, ...]:
    text = path.read_text()
    if path.suffix == ".nft":
        rules = parse_nft_rules(text)
    else:
        six = path.name.startswith(("ip6", "ufw"))
        form = "iptables-legacy" if "legacy" in path.name else "iptables-nft"
        rules = parse_iptables(text, "IPv6" if six else "IPv4", form, "test")
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
    assert (narrowed.checks_every_flow, narrowed.conditions) == (True, ('iifname "eth1"',))
    assert narrowed.statement == 'iifname "eth1" meta nfproto ipv6 fib saddr . mark . iif oif missing drop'
    (guarded,) = parse(FOLDER / "with" / "plain-vmap-guard.nft")
    assert (guarded.checks_every_flow, guarded.new_only) == (False, True)  # a map of states before it


def test_something_else_than_a_ruleset_is_absent() -> None:
    assert isinstance(parse_nft_rules("Error: no\n"), Absent)
    assert isinstance(parse_iptables("-A PREROUTING -j DROP\n", "IPv6", "iptables-nft", "x"), Absent)
    assert parse_nft_rules("") == ()


def test_the_mangle_comment_with_an_open_quote_is_survived() -> None:
    text = (
        "*mangle\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -m comment --comment \"it's -m rpfilter\nCOMMIT\n"
    )
    rules = parse_iptables(text, "IPv6", "iptables-nft", "x")
    assert not isinstance(rules, Absent)


NOTHING = ""
DENIED = Absent("nft exited with status 1: Operation not permitted (you must be root)", "permission", NFT)


def split(host: Host) -> tuple[dict[str, object], dict[str, Absent]]:
    facts: dict[str, object] = {}
    reasons: dict[str, Absent] = {}
    for entry in firewall_facts(host):
        if isinstance(entry, Fact):
            assert entry.source and entry.name not in facts
            facts[entry.name] = entry.value
        else:
            reasons[entry.name] = entry.absent
    assert not facts.keys() & reasons.keys()
    return facts, reasons


def rp_filter_files(**modes: int) -> dict[str, str]:
    return {f"/proc/sys/net/ipv4/conf/{name}/rp_filter": f"{mode}\n" for name, mode in modes.items()}


FIREWALLD = {
    "/etc/firewalld/firewalld.conf": "IPv6_rpfilter=yes\nFirewallBackend=nftables\n",
    "/usr/lib/python3/dist-packages/firewall/config/__init__.py": "VERSION = '1.3.4'\n",
}
ACTIVE = "systemctl is-active firewalld.service"


def test_without_root_it_says_so_and_what_anybody_may_read(tmp_path: Path) -> None:
    files = rp_filter_files(all=0, eth0=1, eth1=1, eth2=1, eth3=1, eth4=2, eth5=0)
    facts, reasons = split(Answering(tmp_path, {NFT: DENIED}, files))
    assert facts["reverse_path_ipv4"] == (
        "rp_filter loose on eth4, strict on eth0, eth1, eth2 and 1 more; rules unknown"
    )
    assert reasons.keys() == {"rules", "reverse_path_ipv6"}
    assert reasons["rules"].kind == "permission"


@pytest.mark.parametrize(("state", "manager"), [("active", "firewalld, running"), ("inactive", None)])
def test_firewalld_whose_folder_only_root_may_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str, manager: str | None
) -> None:
    locked = Absent("/etc/firewalld/firewalld.conf needs root", "permission")
    monkeypatch.setattr("hostdx.probes.system.firewall.summary.read_firewalld", lambda host: locked)
    facts, reasons = split(Answering(tmp_path, {NFT: DENIED, ACTIVE: state}))
    assert facts.get("manager") == manager
    assert ("manager" in reasons) is (manager is None)


def test_ufw_and_old_iptables_tables(tmp_path: Path) -> None:
    files = {
        "/etc/ufw/ufw.conf": "# ufw\nENABLED=yes\nLOGLEVEL=low\n",
        "/proc/net/ip_tables_names": "nat\nfilter\n",
        "/proc/net/ip6_tables_names": "filter\n",
    }
    facts, _ = split(Answering(tmp_path, {NFT: NOTHING}, files))
    assert facts["manager"] == "ufw, enabled"
    assert facts["iptables_legacy"] == "IPv4 filter, nat; IPv6 filter"
    files["/etc/ufw/ufw.conf"] = "ENABLED=no\n"
    facts, _ = split(Answering(tmp_path / "off", {NFT: NOTHING}, files))
    assert facts["manager"] == "none"


def test_many_tables_are_summed_up(tmp_path: Path) -> None:
    text = "table inet empty {\n}\n"
    for number in range(1, 6):
        text += f"table ip t{number} {{\n\tchain c {{\n" + "\t\tdrop\n" * number + "\t}\n}\n"
    facts, _ = split(Answering(tmp_path, {NFT: text}))
    assert facts["rules"] == "5 in ip t5, 4 in ip t4, 3 in ip t3, 3 in 2 more"


def test_the_rules_after_it_ask_no_program_again(tmp_path: Path) -> None:
    from hostdx.scenarios.rpfilter.rules import RULES

    host = Answering(tmp_path, {NFT: NOTHING, ACTIVE: "active"}, FIREWALLD)
    split(host)
    before = list(host.asked)
    for rule in RULES[:1]:
        list(rule.check(host))
    lines = host.asked[len(before) :]
    assert not [line for line in lines if line.split()[0] in ("nft", "systemctl", "rpm", "dpkg-query")]


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
    assert [r.form for r in read.rules_in_effect] == ["iptables-legacy"]


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
    assert _read_legacy_iptables(host) == absent


def test_firewalld_conf_is_read_as_firewalld_reads_it() -> None:
    text = "# IPv6_rpfilter=no\n; x=y\nIPv6_rpfilter = loose\nIPv6_rpfilter=no\nA=b=c\nLogDenied=\nDefaultZone=public\n"
    assert parse_firewalld_settings(text) == {"IPv6_rpfilter": "loose", "DefaultZone": "public"}
