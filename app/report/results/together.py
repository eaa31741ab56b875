"""Nodes that loaded one file system at the same time: what they reached in all, and each node's share of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from probes import units
from probes.units import percent
from scenarios.compare.run_summary import FigureKey, Load
from scenarios.peers.node import Node
from scenarios.results.document import Cell, Section, Table, say

_MOST_NODES = 64  # columns of a table that a person reads


def together(nodes: Sequence[Node], loads: Mapping[FigureKey, Load]) -> Section:
    """Rates only: times do not add up."""
    shown = nodes[:_MOST_NODES]
    rows: list[tuple[Cell, ...]] = []
    for key, load in loads.items():
        rates = {node.name: math.exp(node.logs[key]) for node in nodes if key in node.logs}
        if load.metric.better == "more" and rates:
            total = math.fsum(rates.values())
            part = (percent(rates[node.name] / total) if node.name in rates else "–" for node in shown)
            what = " ".join(filter(None, (load.title, key.variant)))
            rows.append(
                (what, str(len(rates)), " ".join(units.amount(total, load.metric.unit)).strip(), *part)
            )
    header = ("load", "nodes", "sum", *(node.name for node in shown))
    said = (
        "All nodes began at one time by their clocks and loaded the same directory, each with files of its own there. "
        "How long a load took each is its own, so later on a node's load met whichever loads the others had come to."
    )
    return Section("Together", (Table(header, tuple(rows), frozenset(range(1, len(header)))), say(said)))
