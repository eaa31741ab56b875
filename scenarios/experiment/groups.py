"""A group: blocks of every variant, interleaved. It is the unit of inference; a single block never is."""

import math
from collections.abc import Iterable, Sequence

from hostdx.probes.engine.measured import Measured
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import Disturbance
from hostdx.scenarios.contract.plan import Metric, Workload
from hostdx.scenarios.experiment.levels import Pair, fit_variant_levels, values_of_pair, with_value_delta
from hostdx.scenarios.experiment.statistics.stats import OPERATIONS_FOR_P99, GroupValue, group_value, p99_ns


class GroupBlocks:
    """The windows or slices of one group, by variant, in the order measured. `order` names the variant of each."""

    def __init__(
        self, index: int, order: Sequence[str], place: int | None = None, loud: bool = False
    ) -> None:
        self.index = index
        self.place = place  # the pair of places it was measured in, where the sides have some
        self.order = tuple(order)
        self.blocks: dict[str, list[Measured]] = {}
        self.disturbed: list[Disturbance] = []  # not empty: measured again as a whole
        self.loud = loud  # others did more than a limit allows: counted or not

    @property
    def order_text(self) -> str:
        """Return the order as text: "ABBA", or with spaces where names are longer than a letter."""
        return ("" if all(len(v) == 1 for v in self.order) else " ").join(self.order)

    def add(self, variant: str, measured: Measured) -> None:
        self.blocks.setdefault(variant, []).append(measured)

    def operation_count(self, variant: str) -> int:
        return sum(m.operations for m in self.blocks.get(variant, ()))

    def values(self, variant: str, metric: Metric) -> list[float]:
        return [m.values.get(metric.name, 0.0) for m in self.blocks.get(variant, ())]

    def values_in_order(self, metric: str) -> list[float]:
        """Return the metric's values in the order measured; 0 where there is none."""
        each = {variant: iter(blocks) for variant, blocks in self.blocks.items()}
        return [next(each[variant]).values.get(metric, 0.0) for variant in self.order]

    def value(self, metric: Metric, pair: Pair) -> GroupValue | None:
        """Return ln(variant / baseline), turned so that below 0 is slower; None where a window gave nothing."""
        return group_value(self.values(pair[0], metric), self.values(pair[1], metric), metric.better)

    def stalled_variants(self, workload: Workload, pairs: Iterable[Pair]) -> tuple[str, ...]:
        """Return the variants that gave nothing in a window, so that there is no ratio."""
        judged = [metric for metric in workload.metrics if metric.judged]
        variants = dict.fromkeys(v for pair in pairs for v in pair)
        bad = [v for v in variants if not all(x > 0 for metric in judged for x in self.values(v, metric))]
        if not bad:  # a ratio that cannot be had for another reason
            bad = [p[1] for p in pairs if any(self.value(metric, p) is None for metric in judged)]
        return tuple(bad)

    def log_ratios(self, workload: Workload, pairs: Iterable[Pair]) -> dict[str, float]:
        """Return the log ratio of every metric and pair, keyed as in the group event: "metric|baseline|variant"."""
        return {
            f"{metric.name}|{pair[0]}|{pair[1]}": value.log_ratio
            for pair in pairs
            for metric in workload.metrics
            if (value := self.value(metric, pair)) is not None
        }

    def p99_ns(self, variant: str) -> int | None:
        """Return the 99th percentile in ns; None with fewer than OPERATIONS_FOR_P99 operations."""
        if self.operation_count(variant) < OPERATIONS_FOR_P99:
            return None
        blocks = self.blocks[variant]
        pooled_ns = p99_ns(pair for measured in blocks for pair in measured.histogram)
        return pooled_ns or max((m.p99_ns for m in blocks if m.p99_ns is not None), default=None)


def levels_beside_verdicts(
    groups: Sequence[GroupBlocks], metric: Metric, verdicts: Iterable[ev.RunVerdict]
) -> dict[str, float]:
    """Return each variant's value as the views show it beside the verdicts about it: see `levels`."""
    means: dict[Pair, tuple[list[float], list[float]]] = {}
    effects: dict[Pair, float] = {}
    for verdict in verdicts:
        pair = (verdict.baseline, verdict.variant)
        if verdict.metric != metric.name or verdict.ratio is None:
            continue
        used = [group for group in groups if group.value(metric, pair) is not None][: verdict.groups]
        left, right = (
            [math.fsum(v) / len(v) for g in used if (v := g.values(name, metric))] for name in pair
        )
        means[pair], effects[pair] = (left, right), metric.sign * math.log(verdict.ratio)
    return fit_variant_levels(means, effects)


def with_value_differences(
    groups: Sequence[GroupBlocks], workload: Workload, verdicts: Sequence[ev.RunVerdict]
) -> list[ev.RunVerdict]:
    """Return the verdicts of a load, each with the difference of the values that stand beside it."""
    values = {metric.name: levels_beside_verdicts(groups, metric, verdicts) for metric in workload.metrics}
    signs = {metric.name: metric.sign for metric in workload.metrics}
    return [
        with_value_delta(v, values_of_pair(values[v.metric], v, signs[v.metric]), signs[v.metric])
        for v in verdicts
    ]


def values_behind_verdict(
    groups: Sequence[GroupBlocks], variant: str, metric: Metric, verdicts: Iterable[ev.RunVerdict]
) -> list[float]:
    """Return a variant's mean in each group that the first verdict about it uses, as in the table of verdicts.
    Groups measured after the decision are left out.
    """
    about = (v for v in verdicts if variant in (v.baseline, v.variant))
    used = next((v.groups for v in about), 0) or len(groups)
    values = (group.values(variant, metric) for group in groups[:used])
    return [math.fsum(each) / len(each) for each in values if each]
