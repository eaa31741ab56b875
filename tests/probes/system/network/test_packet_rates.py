"""Packet rates and the routes of a connection."""

import ipaddress
from pathlib import Path

import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.system.network.packet_rates import rates_between, read_packet_counters
from hostdx.probes.system.network.policy_routes import PolicyRoutes, read_policy_routes
from hostdx.probes.types import Absent


def host_of(root: Path, files: dict[str, str]) -> Host:
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Host(str(root))


def counters_tree(root: Path, scale: int) -> Host:
    return host_of(
        root,
        {
            "proc/net/softnet_stat": f"{scale * 1000:08x} 00000000 {scale:08x}" + " 00000000" * 12 + "\n",
            "proc/net/snmp6": f"Ip6InReceives                   \t{scale * 600}\nIp6InHdrErrors \t0\n",
            "proc/net/snmp": f"Ip: Forwarding DefaultTTL InReceives\nIp: 1 64 {scale * 200}\n",
            "proc/stat": f"cpu  9 9 9 9\ncpu0 0 0 0 {scale * 50} 0 0 {scale * 50} 0 0 0\n",
            "sys/class/net/eth0/statistics/rx_packets": f"{scale * 900}\n",
            "sys/class/net/eth0/statistics/rx_bytes": f"{scale * 9000}\n",
        },
    )


def test_what_came_by_loopback_is_left_out(tmp_path: Path) -> None:
    """No check looks it up. Of lo's packets those that are not IPv6 are IPv4's."""

    def host_at(name: str, scale: int) -> Host:
        lo6 = {"proc/net/dev_snmp6/lo": f"ifIndex 1\nIp6InReceives {scale * 500}\n"} if name != "none" else {}
        host_of(
            tmp_path / f"{name}{scale}", {"sys/class/net/lo/statistics/rx_packets": f"{scale * 560}\n", **lo6}
        )
        return counters_tree(tmp_path / f"{name}{scale}", scale)

    rates = rates_between(
        read_packet_counters(host_at("six", 1), 0.0), read_packet_counters(host_at("six", 3), 2.0)
    )
    assert not isinstance(rates, Absent)
    assert (rates.ipv6, rates.ipv4, rates.loopback) == (100.0, 140.0, False)
    unknown = read_packet_counters(counters_tree(tmp_path / "unknown", 1), 0.0)
    assert (unknown.ipv6, unknown.ipv4, unknown.loopback) == (600, 200, True)


def test_what_is_not_there_is_absent_and_its_rate_too(tmp_path: Path) -> None:
    read = read_packet_counters(host_of(tmp_path, {"proc/net/softnet_stat": "zz\n"}), 0.0)
    assert isinstance(read.processed, Absent)
    assert isinstance(read.ipv6, Absent)
    rates = rates_between(read, read_packet_counters(Host(str(tmp_path)), 1.0))
    assert not isinstance(rates, Absent)
    assert isinstance(rates.ipv6, Absent)
    assert rates.ipv6_share is None
    assert isinstance(rates_between(read, read), Absent)


# eth0 has the default route, eth1 a table of its own for what comes from 10.1.0.2, eth2 and eth3 are a VRF's
ROUTES = """
default via 192.0.2.1 dev eth0
192.0.2.0/24 dev eth0 proto kernel scope link src 192.0.2.2
10.1.0.0/16 dev eth1 proto kernel scope link
default table 100 \\\tnexthop via 10.1.0.1 dev eth1 weight 1 \\\tnexthop via 10.1.0.3 dev eth5 weight 1
default dev eth3 table 7 scope link
unreachable default dev lo table 8
local 192.0.2.2 dev eth0 table local proto kernel scope host src 192.0.2.2
local 10.1.0.2 dev eth1 table local proto kernel scope host
local 10.7.0.2 dev eth2 table 7 proto kernel scope host
broadcast 10.7.0.255 dev eth4 table 7 proto kernel
local 127.0.0.1 dev lo table local proto kernel scope host
"""
RULES = """
0:	from all lookup local
100:	from 10.1.0.2 lookup 100
1000:	from all lookup [l3mdev-table]
32766:	from all lookup main
"""


def read_routes(monkeypatch: pytest.MonkeyPatch, routes: str, rules: str) -> PolicyRoutes:
    answers = {("-4", "route", "show", "table", "all"): routes, ("-4", "rule"): rules}

    def run(_host: Host, *argv: str) -> str | Absent:
        return answers.get(argv[2:]) or Absent("no IPv6 here")

    monkeypatch.setattr(Host, "read_command", run)
    return read_policy_routes(Host("/nonexistent-captured-tree"))


def test_the_cards_of_a_connection_are_those_of_its_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    routes = read_routes(monkeypatch, ROUTES, RULES)
    far = ipaddress.ip_address("198.51.100.9")
    for address, cards in {
        "192.0.2.2": {"eth0"},
        "10.1.0.2": {"eth0", "eth1", "eth5"},  # its rule's table, and main behind it
        "10.7.0.2": {"eth0", "eth2", "eth3"},  # the VRF that holds the address
    }.items():
        assert routes.cards_of_connection(ipaddress.ip_address(address), far) == cards, address
    assert routes.default_cards == {"eth0"}
    assert routes.own_addresses({"eth1", "eth2"}) == {
        ipaddress.ip_address("10.1.0.2"),
        ipaddress.ip_address("10.7.0.2"),
    }


def test_a_rule_for_all_but_a_source_holds_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = "101:\tnot from 10.9.0.0/16 lookup 100"
    assert read_routes(monkeypatch, ROUTES, rules).default_cards == {"eth1", "eth5"}
