"""The sum of what nodes reach together, and each node's share."""

import math

from hostdx.app.features.fleet.report import lead_sentences
from hostdx.app.features.fleet.together import total_rate_sections, total_rate_sentences
from hostdx.scenarios.analysis.compare.run_summary import FigureKey, PlannedLoad
from hostdx.scenarios.analysis.peers.facts import FactTable
from hostdx.scenarios.analysis.peers.judge import judge_fleet
from hostdx.scenarios.analysis.peers.node import PeerNode
from hostdx.scenarios.contract.plan import Metric
from hostdx.scenarios.contract.results.document import Table


def test_rates_add_up_and_times_do_not() -> None:
    rate, time = FigureKey("easy", "rate"), FigureKey("wait", "seconds")
    loads = {
        rate: PlannedLoad("easy", Metric("rate", "1/s")),
        time: PlannedLoad("wait", Metric("seconds", "s", better="less")),
    }
    nodes = [
        PeerNode(name="n1", logs={rate: math.log(300), time: -1.0}), PeerNode(name="n2", logs={rate: math.log(100)}),
        PeerNode(name="n3"),
    ]  # fmt: skip
    later_rounds = [
        {
            "n1": PeerNode(name="n1", logs={rate: math.log(200)}),
            "n2": PeerNode(name="n2", logs={rate: math.log(100)}),
        },
        {"n1": PeerNode(name="n1", logs={rate: math.log(200)})},  # without one of them it is another sum
    ]
    fleet = judge_fleet(nodes, FactTable(), loads, later_rounds, together=True)
    (section,) = total_rate_sections(fleet.sums)
    (table,) = (part for part in section.parts if isinstance(part, Table))
    assert table.rows == (("easy", "2", "400 /s", "300 /s", "75 %", "25 %"),)
    assert len(total_rate_sentences(fleet.sums)) == 1 and "400 /s" in " ".join(lead_sentences(fleet))
    without_start = judge_fleet(nodes, FactTable(), loads)
    assert not without_start.sums and not total_rate_sections(without_start.sums)
