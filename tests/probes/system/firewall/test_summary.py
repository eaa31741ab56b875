"""The firewall in a few words: from every kind of ruleset, from settings, and where little may be read."""

from pathlib import Path

import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.system.firewall.summary import firewall_facts
from hostdx.probes.types import Absent, Fact
from tests.fakes.answering import Answering
from tests.fakes.hosts.rulesets import NFT

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
