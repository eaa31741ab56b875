"""Packet counters and rates, routes and cards, on small trees."""

from __future__ import annotations

from pathlib import Path

import pytest

from probes.reading.host import Host
from probes.system.network.line_rate import list_cards
from probes.system.network.packet_rates import compute_rates, read_packet_counters
from probes.system.network.routes import read_ipv4_routes, read_ipv6_routes
from probes.types import Absent

NEW = "000003e8 00000002 00000001" + " 00000000" * 12  # Linux 6.18: 15 columns
OLD = "000001f4 00000000 00000003" + " 00000000" * 7  # Linux 3.10: 10 columns


def tree(root: Path, files: dict[str, str]) -> Host:
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Host(str(root))


def counters_tree(root: Path, scale: int) -> Host:
    return tree(
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


def test_rates_between_two_reads(tmp_path: Path) -> None:
    before = read_packet_counters(counters_tree(tmp_path / "a", 1), 10.0)
    after = read_packet_counters(counters_tree(tmp_path / "b", 3), 14.0)
    found = compute_rates(before, after)
    assert not isinstance(found, Absent)
    assert (found.ipv6, found.ipv4, found.processed, found.squeezes) == (300.0, 100.0, 500.0, 0.5)
    assert found.ipv6_share == 0.75
    assert found.interfaces == {"eth0": (450.0, 4500.0)}
    assert (found.busiest_cpu, found.busiest_softirq) == (0, 0.5)


def test_what_came_by_loopback_is_left_out(tmp_path: Path) -> None:
    """No check looks it up. Of lo's packets those that are not IPv6 are IPv4's."""

    def at(name: str, scale: int) -> Host:
        lo6 = {"proc/net/dev_snmp6/lo": f"ifIndex 1\nIp6InReceives {scale * 500}\n"} if name != "none" else {}
        tree(
            tmp_path / f"{name}{scale}", {"sys/class/net/lo/statistics/rx_packets": f"{scale * 560}\n", **lo6}
        )
        return counters_tree(tmp_path / f"{name}{scale}", scale)

    found = compute_rates(read_packet_counters(at("six", 1), 0.0), read_packet_counters(at("six", 3), 2.0))
    assert not isinstance(found, Absent)
    assert (found.ipv6, found.ipv4, found.loopback) == (100.0, 140.0, False)
    unknown = read_packet_counters(counters_tree(tmp_path / "unknown", 1), 0.0)
    assert (unknown.ipv6, unknown.ipv4, unknown.loopback) == (600, 200, True)


def test_a_counter_that_ran_backwards_is_no_negative_rate(tmp_path: Path) -> None:
    before = read_packet_counters(counters_tree(tmp_path / "a", 3), 0.0)
    after = read_packet_counters(counters_tree(tmp_path / "b", 1), 1.0)
    found = compute_rates(before, after)
    assert not isinstance(found, Absent)
    assert found.ipv6 == 0.0


@pytest.mark.parametrize(("text", "processed", "squeezes"), [(NEW, (1000,), 1), (OLD, (500,), 3)])
def test_softnet_of_old_and_new_kernels(
    tmp_path: Path, text: str, processed: tuple[int, ...], squeezes: int
) -> None:
    read = read_packet_counters(tree(tmp_path, {"proc/net/softnet_stat": text + "\n"}), 0.0)
    assert (read.processed, read.squeezes) == (processed, squeezes)


def test_what_is_not_there_is_absent_and_its_rate_too(tmp_path: Path) -> None:
    read = read_packet_counters(tree(tmp_path, {"proc/net/softnet_stat": "zz\n"}), 0.0)
    assert isinstance(read.processed, Absent)
    assert isinstance(read.ipv6, Absent)
    found = compute_rates(read, read_packet_counters(Host(str(tmp_path)), 1.0))
    assert not isinstance(found, Absent)
    assert isinstance(found.ipv6, Absent)
    assert found.ipv6_share is None
    assert isinstance(compute_rates(read, read), Absent)


def test_ipv6_routes_leave_out_local_multicast_and_unreachable(tmp_path: Path) -> None:
    zero, one = "0" * 32, "0" * 31 + "1"
    lines = [
        f"20010db8000000000000000000000000 20 {zero} 00 {zero} 00000400 00000001 00000000 00000001     eth0",
        f"{zero} 00 {zero} 00 {one} 00000400 00000002 00000000 00000003     eth1",
        f"{one} 80 {zero} 00 {zero} 00000000 00000002 00000000 80200001       lo",
        f"ff000000000000000000000000000000 08 {zero} 00 {zero} 00000100 00000003 00000000 00000001     eth0",
        f"{zero} 00 {zero} 00 {zero} ffffffff 00000001 00000000 00200200       lo",
    ]
    table = read_ipv6_routes(tree(tmp_path, {"proc/net/ipv6_route": "\n".join(lines) + "\n"}))
    assert not isinstance(table, Absent)
    assert table.total == 5
    assert [(r.prefix, r.interface) for r in table.unicast] == [("2001:db8::/32", "eth0"), ("::/0", "eth1")]
    assert table.interface_names == ("eth0", "eth1")


def test_ipv4_routes_of_the_main_table(tmp_path: Path) -> None:
    text = (
        "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
        "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
        "eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
    )
    table = read_ipv4_routes(tree(tmp_path, {"proc/net/route": text}))
    assert not isinstance(table, Absent)
    assert [r.prefix for r in table.unicast] == ["0.0.0.0/0", "192.0.2.0/24"]


def test_cards_fastest_first_and_only_those_with_a_device(tmp_path: Path) -> None:
    files = {f"sys/class/net/{n}/device/vendor": "0x15b3\n" for n in ("eth0", "eth1", "eth2")}
    files |= {f"sys/class/net/{n}/mtu": "9000\n" for n in ("eth0", "eth1", "eth2", "br0")}
    files |= {"sys/class/net/eth0/speed": "-1\n", "sys/class/net/eth1/speed": "100000\n"}
    files |= {"sys/class/net/eth2/operstate": "down\n", "sys/class/net/br0/speed": "400000\n"}
    files["sos_commands/networking/ethtool_-k_eth1"] = (
        "Features for eth1:\ngeneric-receive-offload: off\nlarge-receive-offload: off [fixed]\nrx-gro-hw: on\n"
    )
    found = list_cards(tree(tmp_path, files))
    assert [(c.name, c.mbit_per_s) for c in found if not isinstance(c.mbit_per_s, Absent)] == [
        ("eth1", 100000)
    ]
    assert [c.name for c in found] == ["eth1", "eth0"]
    assert found[0].merges_frames is True
    assert found[1].merges_frames is None
