"""Nodes that loaded one file system at the same time: what they reached in all, and each node's share of it."""

from collections.abc import Sequence
from pathlib import Path

from hostdx.probes import units
from hostdx.probes.units import count_noun, format_percent, join_names
from hostdx.scenarios.analysis.peers.judgement import Sum
from hostdx.scenarios.contract.plan import Metric
from hostdx.scenarios.contract.results.document import Cell, ReportSection, Table, paragraph_of
from hostdx.scenarios.triage.rules.texts import FindingTexts

SAYS = FindingTexts(Path(__file__).with_name("texts.toml"))
_MAX_NODES = 64  # columns of a table that a person reads
_MAX_SUMS = 2


def total_rate_sections(sums: Sequence[Sum]) -> list[ReportSection]:
    if not sums:
        return []
    shown = list(dict.fromkeys(name for node_sum in sums for name in node_sum.rates))[:_MAX_NODES]
    rows: list[tuple[Cell, ...]] = []
    for node_sum in sums:
        part = (
            format_percent(node_sum.rates[name] / node_sum.total_rate) if name in node_sum.rates else "–"
            for name in shown
        )
        again = join_names(
            [format_amount(total, node_sum.metric) for total in node_sum.again], len(node_sum.again)
        )
        rows.append(
            (
                _sum_title(node_sum),
                str(len(node_sum.rates)),
                format_amount(node_sum.total_rate, node_sum.metric),
                again,
                *part,
            )
        )
    header = ("load", "nodes", "sum", "measured again", *shown)
    table = Table(header, tuple(rows), frozenset(range(1, len(header)))).without_empty_columns()
    return [ReportSection("Together", (table, paragraph_of(SAYS.text("together"))))]


def total_rate_sentences(sums: Sequence[Sum]) -> list[str]:
    """`12 nodes together: 3.2 GB/s in sequential read`, of the first loads."""
    return [
        f"{count_noun(len(node_sum.rates), 'node')} together: "
        f"{format_amount(node_sum.total_rate, node_sum.metric)} in {_sum_title(node_sum)}"
        for node_sum in sums[:_MAX_SUMS]
    ]


def _sum_title(node_sum: Sum) -> str:
    return " ".join(filter(None, (node_sum.title, node_sum.key.variant)))


def format_amount(value: float, metric: Metric) -> str:
    return " ".join(units.metric_quantity(value, metric.unit)).strip()
