"""What a reverse-path check costs."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostdx.probes.types import Absent
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.model import OptionMap
from hostdx.scenarios.rpfilter import cost
from hostdx.scenarios.rpfilter.cost_model import PacketCost, cost_at_line_rate, gbit_per_s_at_full_core
from hostdx.scenarios.rpfilter.facts import read_rp_filter_facts
from hostdx.scenarios.rpfilter.plan import workloads_to_compare
from hostdx.scenarios.rpfilter.rules import check_loaded_reverse_path_rules
from tests.every_case import every_case
from tests.fakes.answering import Answering
from tests.fakes.hosts.rulesets import FIB, NFT, nft_text
from tests.fakes.streams.rpfilter_story import Story


def test_one_core_holds_what_its_nanoseconds_allow() -> None:
    """1550 ns a frame are 645 thousand frames/s; of 1538 B on the wire that is 7.94 Gbit/s."""
    assert gbit_per_s_at_full_core(1550.0, 1500, False) == pytest.approx(7.938, rel=1e-3)
    assert gbit_per_s_at_full_core(0.0, 1500, False) == 0.0


@given(st.floats(1e8, 1e12), st.floats(1.0, 1e4), st.floats(1.0, 1e5))
def test_none_merged_and_all_merged_are_bounds(bits: float, ns: float, path: float) -> None:
    lines = cost_at_line_rate(PacketCost(ns, (ns, ns), path), bits)
    assert [(x.mtu, x.merged) for x in lines] == [(1500, False), (1500, True), (9000, False), (9000, True)]
    by = {(x.mtu, x.merged): x for x in lines}
    assert by[(1500, False)].check.cores > by[(9000, False)].check.cores > by[(9000, True)].check.cores
    assert by[(1500, False)].check.cores > by[(1500, True)].check.cores
    for line in lines:
        assert line.core_gbit_per_s < line.core_gbit_without
        assert line.check.cores == pytest.approx(line.packets_per_s * ns / 1e9)


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


LOADS = ("udp-ipv4", "tcp-offload-off")


def other_costs(root: Path, words: tuple[Any, ...], **more: Any) -> Finding:
    """One verdict of each load, in these words."""
    facts = read_rp_filter_facts(Story(root).host)
    trials = {trial.workload.id: trial for trial in workloads_to_compare(facts, OptionMap({"all": True}))}
    trials_judged = []
    for load, word in zip(LOADS, words, strict=True):
        trial = trials[load]
        variant = trial.compared[1].variant.id
        ratio = {"slower": 0.94, "no material difference": 1.0, "inconclusive": 0.8}.get(word)
        run_verdict = ev.RunVerdict(t=1.0, workload=load, metric=trial.workload.metrics[0].name, baseline="none",
                           variant=variant, verdict=word, ratio=ratio, groups=9, **more)  # fmt: skip
        trials_judged.append((trial, [run_verdict]))
    further_costs_finding = cost.further_costs_finding(trials_judged, facts, Absent("not counted"))
    assert further_costs_finding is not None
    return further_costs_finding


EQUAL = "no material difference"


@every_case(
    ("words", "severity", "confidence", "loads_named"),
    [
        ((EQUAL, EQUAL), "ok", "measured", ()),
        (("slower", "inconclusive"), "notice", "measured", (0, 1)),
        (("inconclusive", "slower"), "notice", "measured", (1, 0)),
        ((EQUAL, "inconclusive"), "notice", "measured", (1,)),
        (("inconclusive", "not measured"), "notice", "hint", (0, 1)),
    ],
)
def test_green_only_where_every_verdict_is_equal_and_else_what_is_not_is_named(
    tmp_path: Path, words: tuple[Any, ...], severity: str, confidence: str, loads_named: tuple[int, ...]
) -> None:
    finding = other_costs(tmp_path, words)
    assert (finding.severity, finding.confidence) == (severity, confidence)
    loads = ("64-byte IPv4 packets", "one TCP stream, offloads off")
    places = [finding.title.find(loads[number]) for number in loads_named]
    assert places == sorted(places) and -1 not in places
    assert not any(load in finding.title for number, load in enumerate(loads) if number not in loads_named)
