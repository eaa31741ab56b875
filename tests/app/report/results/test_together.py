"""The sum of what nodes reach together, and each node's share."""

from __future__ import annotations

import math

from app.report.results.together import together
from scenarios.compare.run_summary import FigureKey, Load
from scenarios.peers.node import Node
from scenarios.plan import Metric
from scenarios.results.document import Table


def test_rates_add_up_and_times_do_not() -> None:
    rate, time = FigureKey("easy", "rate"), FigureKey("wait", "seconds")
    loads = {
        rate: Load("easy", Metric("rate", "1/s")),
        time: Load("wait", Metric("seconds", "s", better="less")),
    }
    nodes = [
        Node(name="n1", logs={rate: math.log(300), time: -1.0}), Node(name="n2", logs={rate: math.log(100)}),
        Node(name="n3"),
    ]  # fmt: skip
    (table,) = (part for part in together(nodes, loads).parts if isinstance(part, Table))
    assert table.rows == (("easy", "2", "400 /s", "75 %", "25 %", "–"),)
