"""Packet counters and rates, routes and cards, on small trees."""

from pathlib import Path

from hostdx.probes.reading.host import Host
from hostdx.probes.system.network.packet_rates import compute_rates, read_packet_counters
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

    rates = compute_rates(
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
    rates = compute_rates(read, read_packet_counters(Host(str(tmp_path)), 1.0))
    assert not isinstance(rates, Absent)
    assert isinstance(rates.ipv6, Absent)
    assert rates.ipv6_share is None
    assert isinstance(compute_rates(read, read), Absent)
