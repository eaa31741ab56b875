"""Rules about reverse-path checks and their remedies."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hostdx.probes.system.firewall.firewalld import CONF
from hostdx.probes.types import Absent
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.rule import FactUnreadable
from hostdx.scenarios.rpfilter.plan import no_namespaces_reason
from hostdx.scenarios.rpfilter.rules import (
    RULES,
    check_firewalld,
    check_loaded_reverse_path_rules,
    check_settings,
)
from tests.every_case import every_case
from tests.fakes.answering import Answering
from tests.fakes.hosts.rulesets import FIB, NFT, nft_text, save_text

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rulesets"
EMPTY = ""


def host(root: Path, ruleset: str | Absent, files: dict[str, str] | None = None, **more: str) -> Answering:
    commands: dict[str, str | Absent] = {NFT: ruleset, **more}
    for name in ("ip6tables-nft", "iptables-nft-ipv4-loose"):
        save = "ip6tables-nft-save -c" if name == "ip6tables-nft" else "iptables-nft-save -c"
        commands[save] = (FIXTURES / "with" / f"{name}.save").read_text()
    return Answering(root, commands, files)


def from_file(root: Path, name: str, files: dict[str, str] | None = None) -> Answering:
    (path,) = FIXTURES.glob(f"*/{name}.nft")
    return host(root, path.read_text(), files)


def firewalld(version: str, value: str, active: bool = True) -> dict[str, str]:
    return {
        "/etc/firewalld/firewalld.conf": value + "\n",
        "/usr/lib/python3.9/site-packages/firewall/config/__init__.py": f'VERSION = "{version}"\n',
    }


def all_text(finding: Finding) -> str:
    lines = [e.text for e in finding.evidence]
    for remedy in finding.remedy:
        lines += [remedy.title, remedy.warning, *remedy.commands, *remedy.persistent, *remedy.undo]
    return "\n".join(lines)


SPARED = (
    "firewalld-2.2-strict-forward",
    "plain-jump",
    "plain-new-only",
    "firewalld-no",
    "ufw",
    "docker-iptables",
)
SPARED += ("docker-kube-nftables", "plain-nftables", "source-type", "empty")


@every_case("name", SPARED)
def test_where_not_every_packet_pays_nobody_is_accused(tmp_path: Path, name: str) -> None:
    assert list(check_loaded_reverse_path_rules(from_file(tmp_path, name))) == []


@pytest.mark.parametrize(
    ("version", "value", "off"),
    [("1.3.4", "IPv6_rpfilter=yes", "no"), ("2.3.0", "IPv6_rpfilter=strict", "strict-forward")],
)
def test_the_remedy_speaks_the_version_s_words(tmp_path: Path, version: str, value: str, off: str) -> None:
    (finding,) = check_loaded_reverse_path_rules(
        from_file(tmp_path, "firewalld-1.3", firewalld(version, value))
    )
    first = finding.remedy[0]
    assert f"IPv6_rpfilter={off}" in first.commands[1]
    assert first.commands[-1] == "firewall-cmd --reload"
    assert first.undo[0].startswith("mv ")
    assert "systemd-run" in first.warning  # the way back before a reload over SSH


def test_with_the_iptables_backend_forward_is_never_advised(tmp_path: Path) -> None:
    """firewalld 2.2 and later would not start with it; and nft does not show whether the check is gone."""
    backend = "\nFirewallBackend=iptables"
    denied = Absent("must be root", "permission", "nft")
    for number, value in enumerate(("strict", "strict-forward")):
        files = firewalld("2.3.0", f"IPv6_rpfilter={value}{backend}")
        (finding,) = check_firewalld(host(tmp_path / str(number), denied, files))
        first = finding.remedy[0]
        assert "IPv6_rpfilter=no/" in first.commands[1]
        assert first.verify[0].startswith("ip6tables-save")
    files = firewalld("2.3.0", f"IPv6_rpfilter=yes{backend}")
    (of_firewalld,) = check_loaded_reverse_path_rules(
        host(tmp_path / "its", (FIXTURES / "with" / "ip6tables-nft.nft").read_text(), files)
    )
    assert (
        "IPv6_rpfilter=no/" in of_firewalld.remedy[0].commands[1]
    )  # in mangle since 0.9.4, and its own to change
    (old,) = check_firewalld(host(tmp_path / "old", denied, firewalld("0.4.4", "IPv6_rpfilter=yes")))
    assert old.remedy[0].verify[0].startswith("ip6tables-save")


def without_conf(text: Callable[..., str | Absent]) -> Callable[..., str | Absent]:
    """firewalld.conf is there, and may not be read."""

    def read(path: str, *more: Any, **words: Any) -> str | Absent:
        return Absent("denied", "permission", path) if path == CONF else text(path, *more, **words)

    return read


def test_a_missing_key_is_appended_whatever_the_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """sed would change nothing, and the admin would believe it done."""
    name = "firewalld-1.3"
    unknown = {"/etc/firewalld/firewalld.conf": "DefaultZone=public\n"}
    (finding,) = check_loaded_reverse_path_rules(from_file(tmp_path / "a", name, unknown))
    assert finding.remedy[0].commands[1].startswith("printf ")
    (finding,) = check_loaded_reverse_path_rules(
        from_file(tmp_path / "b", name, {"/etc/firewalld/firewalld.conf": "IPv6_rpfilter=yes\n"})
    )
    assert finding.remedy[0].commands[1].startswith("sed ")
    hidden = from_file(tmp_path / "c", name)
    monkeypatch.setattr(hidden, "read_file_text", without_conf(hidden.read_file_text))
    (finding,) = check_loaded_reverse_path_rules(hidden)
    conf = tmp_path / "firewalld.conf"
    command = finding.remedy[0].commands[1].replace("/etc/firewalld/firewalld.conf", str(conf))
    for before in ("DefaultZone=public", "IPv6_rpfilter=yes\n"):
        conf.write_text(before)
        subprocess.run(["sh", "-c", command], check=True)
        assert conf.read_text().splitlines()[-1] == "IPv6_rpfilter=no"
        assert "IPv6_rpfilter=yes" not in conf.read_text()


def test_several_ways_out_and_forwarding_say_think_twice(tmp_path: Path) -> None:
    zero = "0" * 32
    routes = "".join(
        f"20010db{n}{'0' * 24} 20 {zero} 00 {zero} 00000400 00000001 00000000 00000001 eth{n}\n"
        for n in range(3)
    )
    files = {"/proc/net/ipv6_route": routes, "/proc/sys/net/ipv6/conf/all/forwarding": "1\n"}
    (finding,) = check_loaded_reverse_path_rules(from_file(tmp_path, "firewalld-1.3", files))
    assert "forwards IPv6 for others" in all_text(finding)
    assert "3 interfaces (eth0, eth1, eth2)" in all_text(finding)
    (other,) = check_loaded_reverse_path_rules(
        host(tmp_path / "four", nft_text(f"{FIB} drop", family="ip"), files)
    )
    assert "Think twice" not in all_text(other) and "IPv6" not in other.evidence[1].text  # it is IPv4's alone


def test_the_remedies_of_nft_and_iptables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = from_file(tmp_path / "d", "firewalld-1.3")  # its table, and a configuration that cannot be read
    monkeypatch.setattr(hidden, "read_file_text", without_conf(hidden.read_file_text))
    (unknown,) = check_loaded_reverse_path_rules(hidden)
    assert "IPv6_rpfilter=no" in unknown.remedy[0].title and "`strict-forward`" in unknown.remedy[0].title
    text = (FIXTURES / "with" / "firewalld-1.3.nft").read_text().replace("inet firewalld", "inet mine")
    (native,) = check_loaded_reverse_path_rules(host(tmp_path / "a", text))
    assert any(
        c.endswith("'ct state new meta nfproto ipv6 fib saddr . mark . iif oif missing drop'")
        for c in native.remedy[0].commands
    )
    (nixos,) = check_loaded_reverse_path_rules(from_file(tmp_path / "b", "nixos"))
    assert nixos.remedy[0].commands[0].endswith("ct state established,related accept")
    (tables,) = check_loaded_reverse_path_rules(from_file(tmp_path / "c", "ip6tables-nft"))
    assert tables.remedy[0].commands[1] == (
        "ip6tables -t mangle -R PREROUTING NUMBER -m conntrack --ctstate NEW"
        " -m rpfilter --validmark --invert -j DROP"
    )
    (raw,) = check_loaded_reverse_path_rules(
        from_file(tmp_path / "e", "iptables-nft-ipv4-loose")
    )  # before connection tracking
    assert [c.split(" -m ")[0] for c in raw.remedy[0].commands] == [
        "iptables -t mangle -I PREROUTING",
        "iptables -t raw -D PREROUTING",
    ]


def test_not_root_is_unreadable_and_the_configuration_still_speaks(tmp_path: Path) -> None:
    denied = Absent(
        "nft exited with status 1: Operation not permitted (you must be root)", "permission", "nft"
    )
    host_ = host(tmp_path, denied, firewalld("1.3.4", "IPv6_rpfilter=yes"))
    with pytest.raises(FactUnreadable, match="must be root"):
        list(check_loaded_reverse_path_rules(host_))
    (finding,) = check_firewalld(host_)
    assert (finding.id, finding.confidence) == ("rpfilter.firewalld-asks", "hint")
    assert "must be root" in all_text(finding)


@every_case(("state", "accuses"), [("active\n", True), ("inactive\n", False), ("", True)])
def test_a_stopped_daemon_s_file_accuses_nobody(tmp_path: Path, state: str, accuses: bool) -> None:
    denied = Absent("must be root", "permission", "nft")
    running = {"systemctl is-active firewalld.service": state} if state else {}
    host_ = host(tmp_path, denied, firewalld("1.3.4", "IPv6_rpfilter=yes"), **running)
    assert [f.id for f in check_firewalld(host_)] == (["rpfilter.firewalld-asks"] if accuses else [])


@every_case(
    ("name", "value", "titles"),
    [
        ("firewalld-1.3", "IPv6_rpfilter=no", ["is loaded although"]),
        ("firewalld-no", "IPv6_rpfilter=yes", ["is configured but not loaded"]),
        ("firewalld-1.3", "IPv6_rpfilter=yes", []),
        ("firewalld-no", "IPv6_rpfilter=no", []),
        ("firewalld-1.3", "IPv6_rpfilter=loose", ["does not know IPv6_rpfilter=loose"]),
    ],
)
def test_file_against_what_is_loaded(tmp_path: Path, name: str, value: str, titles: list[str]) -> None:
    (path,) = FIXTURES.glob(f"*/{name}.nft")
    active = {"systemctl is-active firewalld.service": "active\n"}
    host_ = host(tmp_path, path.read_text(), firewalld("1.3.4", value), **active)
    findings = list(check_firewalld(host_))
    assert len(findings) == len(titles)
    for finding, part in zip(findings, titles, strict=True):
        assert part in finding.title


@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        (
            "empty",
            "IPv6_rpfilter=yes",
            "brings the check and its cost back; to prevent it: firewalld 1.3.4: set IP",
        ),
        ("firewalld-1.3", "IPv6_rpfilter=no", "removes the check"),
    ],
)
def test_a_missing_reload_has_its_remedy(tmp_path: Path, name: str, value: str, part: str) -> None:
    (path,) = FIXTURES.glob(f"*/{name}.nft")
    active = {"systemctl is-active firewalld.service": "active\n"}
    host_ = host(tmp_path, path.read_text(), firewalld("1.3.4", value), **active)
    (finding,) = (f for f in check_firewalld(host_) if f.id == "rpfilter.not-reloaded")
    (remedy,) = finding.remedy
    assert part in remedy.title and remedy.verify and remedy.undo and remedy.persistent
    assert ("firewall-cmd --reload" in remedy.commands) == (value == "IPv6_rpfilter=no")
    assert any("IPv6_rpfilter=no" in c for c in remedy.commands) == (value == "IPv6_rpfilter=yes")


def test_a_stopped_daemon_is_not_said_to_want_a_reload(tmp_path: Path) -> None:
    host_ = host(tmp_path, EMPTY, firewalld("1.3.4", "IPv6_rpfilter=yes"))
    assert list(check_firewalld(host_)) == []


def conf(**values: int) -> dict[str, str]:
    return {f"/proc/sys/net/ipv4/conf/{name}/rp_filter": f"{value}\n" for name, value in values.items()}


def test_rules_are_named_apart() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES) == 3


def test_what_lasts_is_a_command_or_a_comment_and_the_undo_names_the_old_values(tmp_path: Path) -> None:
    files = conf(all=1, default=0, eth0=1, eth1=0) | {
        "/proc/net/netstat": "TcpExt: IPReversePathFilter\nTcpExt: 3\n"
    }
    (finding,) = check_settings(host(tmp_path, EMPTY, files))
    (remedy,) = finding.remedy
    assert "'net/ipv4/conf/eth1/rp_filter = 2'" in remedy.persistent[0]
    assert "sysctl -w net/ipv4/conf/all/rp_filter=1" in remedy.undo
    assert "sysctl -w net/ipv4/conf/eth1/rp_filter=0" in remedy.undo


def test_strict_on_one_interface_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    """all=2 hid that ib0 has nothing of its own: without `all` it would be unchecked, with all=1 it would be strict."""
    (finding,) = check_settings(host(tmp_path, EMPTY, conf(all=2, default=0, eth0=1, ib0=0)))
    (remedy,) = finding.remedy
    assert remedy.commands == (
        "sysctl -w net/ipv4/conf/ib0/rp_filter=2",
        "sysctl -w net/ipv4/conf/default/rp_filter=2",
        "sysctl -w net/ipv4/conf/all/rp_filter=0",
    )
    assert remedy.undo[1:] == (
        "sysctl -w net/ipv4/conf/all/rp_filter=2",
        "sysctl -w net/ipv4/conf/default/rp_filter=0",
        "sysctl -w net/ipv4/conf/ib0/rp_filter=0",
    )
    assert "eth0" in remedy.warning and "ib0" not in remedy.warning


def test_loose_is_offered_only_where_it_is_strict(tmp_path: Path) -> None:
    drops = {"/proc/net/netstat": "TcpExt: IPReversePathFilter\nTcpExt: 3\n"}
    (finding,) = check_settings(host(tmp_path / "a", EMPTY, conf(all=2, eth0=0) | drops))
    assert finding.remedy == ()
    (finding,) = check_settings(host(tmp_path / "b", EMPTY, conf(all=0, eth0=1, eth1=0) | drops))
    assert finding.remedy[0].commands == ("sysctl -w net/ipv4/conf/eth0/rp_filter=2",)


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


@every_case(
    ("files", "state", "has_firewalld"),
    [
        ({}, "inactive\n", False),
        ({}, "", False),  # no systemd, and no file
        (firewalld("1.3.4", "IPv6_rpfilter=yes"), "inactive\n", False),
        (firewalld("1.3.4", "IPv6_rpfilter=yes"), "active\n", True),
        (firewalld("1.3.4", "IPv6_rpfilter=yes"), "", True),
    ],
)
def test_firewalld_s_table_without_firewalld_is_changed_by_nft(
    tmp_path: Path, files: dict[str, str], state: str, has_firewalld: bool
) -> None:
    """Its file and its command would not be there."""
    text = (
        (FIXTURES / "with" / "firewalld-1.3.nft")
        .read_text()
        .replace(f"{FIB} drop", f"{FIB} drop # handle 13")
    )
    running = {"systemctl is-active firewalld.service": state} if state else {}
    (finding,) = check_loaded_reverse_path_rules(host(tmp_path, text, files, **running))
    first = finding.remedy[0]
    lines = (*first.commands, *first.verify, *first.undo)
    assert (
        any("firewall-cmd" in line for line in lines) == any(CONF in line for line in lines) == has_firewalld
    )
    chain = "inet firewalld filter_PREROUTING"
    statement = "'meta nfproto ipv6 fib saddr . mark . iif oif missing drop'"
    if not has_firewalld:
        assert first.commands[0].startswith(f"nft -a list chain {chain}  # ")
        assert first.commands[1] == f"nft delete rule {chain} handle 13"
        assert first.undo == (f"nft add rule {chain} index 0 {statement}",)


ROOT = "CapEff:\t000001ffffffffff\n"
NOBODY = "CapEff:\t0000000000000000\n"
CONTAINER = "CapEff:\t00000000a80425fb\n"  # Docker's default set, without CAP_SYS_ADMIN


@every_case(
    ("status", "settings", "part"),
    [
        (ROOT, {}, ""),
        (ROOT, {"user/max_user_namespaces": "0"}, ""),
        (NOBODY, {"user/max_user_namespaces": "15000"}, ""),
        (NOBODY, {"user/max_user_namespaces": "0"}, "max_user_namespaces is 0"),
        (NOBODY, {"kernel/unprivileged_userns_clone": "0"}, "unprivileged_userns_clone"),
        (NOBODY, {"kernel/unprivileged_userns_clone": "1"}, ""),
        (NOBODY, {"kernel/apparmor_restrict_unprivileged_userns": "1"}, "AppArmor"),
        (CONTAINER, {"user/max_user_namespaces": "0"}, "CAP_SYS_ADMIN"),
    ],
)
def test_who_may(tmp_path: Path, status: str, settings: dict[str, str], part: str) -> None:
    files = {f"/proc/sys/{path}": value + "\n" for path, value in settings.items()}
    files |= {"/proc/self/status": f"Name:\tx\n{status}", "/proc/self/ns/net": ""}
    namespaces = no_namespaces_reason(Answering(tmp_path, {}, files))
    assert part in namespaces
    assert bool(namespaces) == bool(part)
    assert "\n" not in namespaces


def test_a_kernel_without_network_namespaces(tmp_path: Path) -> None:
    assert "CONFIG_NET_NS" in no_namespaces_reason(Answering(tmp_path, {}))
