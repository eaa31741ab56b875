"""What a host has received since it was started stands beside a check, and says of itself that it is an average."""

from pathlib import Path

from hostdx.scenarios.rpfilter.rules import check_loaded_reverse_path_rules
from tests.fakes.answering import Answering
from tests.fakes.hosts.rulesets import FIB, NFT, nft_text

FILES = {
    "/proc/uptime": "1000.0 1.0\n",
    "/proc/net/snmp6": "Ip6InReceives 500000\n",
    "/proc/net/dev_snmp6/lo": "Ip6InReceives 100000\n",
    "/proc/net/snmp": "Ip: InReceives\nIp: 200000\n",
    "/proc/net/softnet_stat": "000f4240 00000007 00000000\n",
    "/proc/net/netstat": "TcpExt: IPReversePathFilter\nTcpExt: 31\n",
    "/sys/class/net/lo/statistics/rx_packets": "200000\n",
    "/sys/class/net/eth0/statistics/rx_packets": "9000000\n",
    "/sys/class/net/eth0/statistics/rx_bytes": "9000000\n",
}


def test_they_stand_in_the_finding_and_not_where_nothing_was_counted(tmp_path: Path) -> None:
    rules = {NFT: nft_text(f"{FIB} drop")}
    (finding,) = check_loaded_reverse_path_rules(Answering(tmp_path / "a", rules, FILES))
    assert any("80 %" in e.text for e in finding.evidence)
    for uptime in ("5.0 1.0\n", "odd\n"):
        (other,) = check_loaded_reverse_path_rules(
            Answering(tmp_path / uptime[0], rules, {**FILES, "/proc/uptime": uptime})
        )
        assert len(other.evidence) < len(finding.evidence)
