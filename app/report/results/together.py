"""Nodes that loaded one file system at the same time: what they reached in all, and each node's share of it."""

from collections.abc import Sequence
from pathlib import Path

from probes import units
from probes.units import counted, listed, percent
from scenarios.peers.judgement import Sum
from scenarios.plan import Metric
from scenarios.results.document import Cell, ReportSection, Table, paragraph_of
from scenarios.rules.texts import Texts

SAYS = Texts(Path(__file__).with_name("texts.toml"))
_MOST_NODES = 64  # columns of a table that a person reads
_MOST_TOLD = 2


def together(sums: Sequence[Sum]) -> list[ReportSection]:
    if not sums:
        return []
    shown = list(dict.fromkeys(name for one in sums for name in one.rates))[:_MOST_NODES]
    rows: list[tuple[Cell, ...]] = []
    for one in sums:
        part = (percent(one.rates[name] / one.total) if name in one.rates else "–" for name in shown)
        again = listed([amount(total, one.metric) for total in one.again], len(one.again))
        rows.append((_title(one), str(len(one.rates)), amount(one.total, one.metric), again, *part))
    header = ("load", "nodes", "sum", "measured again", *shown)
    table = Table(header, tuple(rows), frozenset(range(1, len(header)))).without_empty_columns()
    return [ReportSection("Together", (table, paragraph_of(SAYS.text("together"))))]


def sum_words(sums: Sequence[Sum]) -> list[str]:
    """`12 nodes together: 3.2 GB/s in sequential read`, of the first loads."""
    return [
        f"{counted(len(one.rates), 'node')} together: {amount(one.total, one.metric)} in {_title(one)}"
        for one in sums[:_MOST_TOLD]
    ]


def _title(one: Sum) -> str:
    return " ".join(filter(None, (one.title, one.key.variant)))


def amount(value: float, metric: Metric) -> str:
    return " ".join(units.amount(value, metric.unit)).strip()
