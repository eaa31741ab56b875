"""The decision: when to stop, and which word the run may say.

One `SequentialComparison` for each workload x metric x pair. Its error is alpha / family (Bonferroni: comparisons
stop at different times, and each may be the only one that is read), spent over the planned looks by
`boundary`. The interval of a look is the repeated confidence interval at that look's nominal level, so it
holds whenever the run stops.

The word is given by the one rule (`contract/verdict`). With so few groups that their drawn orders alone cannot tell
(`min_groups_for_exact_inference`: seven, for one pair in wall and CPU time), the single blocks must show the
difference too.
"""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

from hostdx.scenarios.contract.verdict import verdict as rule
from hostdx.scenarios.contract.verdict.order import apply_order_guard
from hostdx.scenarios.contract.verdict.verdict import (
    GroupVerdict,
    OrderEffect,
    UndecidedReason,
    ratio_interval,
    ratio_of,
    smallest_effect_of,
)
from hostdx.scenarios.experiment import looks
from hostdx.scenarios.experiment.order import order_effect
from hostdx.scenarios.experiment.places import MIN_PAIRS as FEWEST_PAIRS
from hostdx.scenarios.experiment.places import FileSetScatter, estimate_scatter, file_set_means_and_weights
from hostdx.scenarios.experiment.statistics.dependence import groups_per_unit, unit_means_and_weights
from hostdx.scenarios.experiment.statistics.distributions import t_quantile
from hostdx.scenarios.experiment.statistics.stats import (
    Better,
    EstimateWithInterval,
    Sides,
    calm_weights,
    interval_over_groups,
    sample_deviation,
    slower_pair_share,
)
from hostdx.scenarios.experiment.wording import file_sets_limit_text

GROUPS_BEFORE_FIRST_ANALYSIS = 6  # groups, as many as the first look has
_MIN_GROUPS = 3  # with two groups Student's interval spans everything


class InterimEstimate(NamedTuple):
    """`ci95` is the interval that would hold if measuring stopped now. `look` is the number of the interim analysis,
    from 1; 0 between analyses.
    """

    ratio: float
    ci95: tuple[float, float]
    groups: int
    look: int


def draw_orders(
    variants: Sequence[str], rng: random.Random, batch: int = GROUPS_BEFORE_FIRST_ANALYSIS
) -> Iterator[tuple[str, ...]]:
    """Endless groups of blocks: a random permutation and then its mirror image (ABBA or BAAB for two).

    The mirror gives every variant the same mean place, so a linear drift cancels for every pair. Exchanging
    two variants' names leaves the draw's distribution as it is, and that is what makes the signs of the noise
    fair coins (see `stats`). A Latin square would tie the groups together and lose it.

    A batch of groups in which some pair always came in the same order is drawn again: with a neighbour whose
    period is the group's, six equal orders look like a difference, and 2 of 64 draws are like that. The coins
    of a batch stay fair, each of the other 62 outcomes is 3 % likelier than before. `batch`: the groups at
    the first look. Later batches have six at least: of four, each of the other 14 outcomes is 14 % likelier, and beside
    a neighbour of the groups' own rhythm three such batches can make half as many more false calls.
    """
    pairs = [(a, b) for i, a in enumerate(variants) for b in variants[i + 1 :]]
    while True:
        halves = [rng.sample(list(variants), len(variants)) for _ in range(batch)]
        firsts = [{half.index(a) < half.index(b) for half in halves} for a, b in pairs]
        if batch > 1 and any(len(first) < 2 for first in firsts):
            continue
        batch = max(batch, GROUPS_BEFORE_FIRST_ANALYSIS)
        for half in halves:
            yield (*half, *reversed(half))


@dataclass
class SequentialComparison:
    """Log ratios of the groups of one comparison, and the decisions about them.

    margin: as a share (0.05). alpha: for the whole family of `family` comparisons. planned_groups: as many groups as
    the budget allows. better: the metric's good direction; log ratios are turned already.
    """

    baseline: str
    variant: str
    metric: str
    better: Better = "more"
    margin: float = 0.05
    alpha: float = 0.05
    family: int = 1
    min_groups: int = 8
    planned_groups: int = 30
    all_pairs: int = 0  # of places; 0 where the sides have none of their own
    log_ratios: list[float] = field(default_factory=list)
    scatters: list[float | None] = field(default_factory=list)
    sides: list[Sides] = field(default_factory=list)  # of the groups below `min_groups_for_exact_inference`
    places: list[int] = field(default_factory=list)  # of each group, where there are some
    # whether the baseline came first, where the order is drawn
    firsts: list[bool] = field(default_factory=list)
    is_contradicted: bool = False  # by the two orders, at the last analysis

    def __post_init__(self) -> None:
        self._batch = (0, 1)  # of so many groups
        first = FEWEST_PAIRS if self.all_pairs else 0
        self.looks = looks.plan_analyses(self.planned_groups, self.min_groups, first)

    def add(
        self,
        log_ratio: float,
        scatter: float | None = None,
        sides: Sides = ((), ()),
        place: int | None = None,
        baseline_first: bool | None = None,
    ) -> None:
        """Add one group: the fields of `stats.group_value` (without scatter all groups count alike), its pair of
        file sets, and which variant came first.
        """
        self.log_ratios.append(log_ratio)
        if baseline_first is not None:
            self.firsts.append(baseline_first)
        if place is not None:
            self.places.append(place)
        self.scatters.append(scatter)
        if len(self.log_ratios) < self.min_groups_for_exact_inference:
            self.sides.append(sides)

    @property
    def alpha_share(self) -> float:
        """Return this comparison's part of alpha."""
        return self.alpha / max(1, self.family)

    @property
    def min_groups_for_exact_inference(self) -> int:
        """Return from how many groups on the drawn orders alone hold the level: all agree in 2 of 2**groups draws."""
        return math.ceil(1 - math.log2(self.alpha_share))

    def block_agreement(self, groups: int) -> float:
        """Return the share of the pairs of windows, one of each variant over all groups, that agree; 1 where the
        groups are enough. A neighbour who comes and goes in the rhythm of the groups slows windows of both variants.
        """
        if groups >= self.min_groups_for_exact_inference:
            return 1.0
        return max(slower_pair_share(self.sides), slower_pair_share([(b, a) for a, b in self.sides]))

    @property
    def due_analysis(self) -> int:
        """Return the number of the interim analysis that is due now, from 1; 0 between analyses."""
        groups = len(self.log_ratios)
        return self.looks.index(groups) + 1 if groups in self.looks else 0

    @property
    def next_analysis_groups(self) -> int:
        """Return after how many groups the next interim analysis comes; 0 where none is to come."""
        return next((look for look in self.looks if look > len(self.log_ratios)), 0)

    def current_level(self, final: bool = False) -> float:
        """Return the nominal two-sided level of an interval now, after the analyses until now."""
        groups = len(self.log_ratios)
        return looks.nominal_alpha(
            groups, self.looks, self.alpha_share, final or groups >= self.planned_groups
        )

    def current_spread(self, final: bool = False) -> EstimateWithInterval | None:
        """Return the estimate and interval of the log ratio at the current level.

        The interval is over the groups, over batches of them where they depend on each other, or over the pairs of
        file sets once these were measured again; the wider one where two apply.
        """
        values: Sequence[float] = self.log_ratios
        groups = len(values)
        if groups < _MIN_GROUPS:
            return None
        known_scatters = self._scatters_if_all_known()
        weights = calm_weights(known_scatters) if known_scatters else None
        floor = median(known_scatters) if known_scatters else 0.0
        level, length = self.current_level(final), self.batch_groups
        spreads: list[EstimateWithInterval | None] = []
        if self._are_file_sets_repeated:
            means, sums = file_set_means_and_weights(values, weights, self.places)
            spreads.append(interval_over_groups(means, level, sums, floor * math.sqrt(len(means) / groups)))
        if length > 1 or not spreads:
            if length > 1:
                values, weights = unit_means_and_weights(values, weights, length)
            spreads.append(interval_over_groups(values, level, weights, floor / math.sqrt(length)))
        return max((s for s in spreads if s is not None), key=lambda s: s.half_width, default=None)

    @property
    def _are_file_sets_repeated(self) -> bool:
        return len(self.places) == len(self.log_ratios) and len(set(self.places)) < len(self.places)

    def place_scatter(self) -> FileSetScatter | None:
        """Return how much file sets and slices scatter; None without file sets or with too few measured."""
        known_scatters = self._scatters_if_all_known()
        if not known_scatters or len(self.places) != len(known_scatters):
            return None
        return estimate_scatter(self.log_ratios, known_scatters, self.places, self.all_pairs)

    @property
    def batch_groups(self) -> int:
        """Return how many consecutive groups are one unit of inference: several where they depend on each other."""
        groups = len(self.log_ratios)
        if self._batch[0] != groups:
            self._batch = (groups, groups_per_unit(self.log_ratios))
        return self._batch[1]

    def _scatters_if_all_known(self) -> list[float]:
        """Return the scatter of all groups; empty where one is unknown."""
        known_scatters = [scatter for scatter in self.scatters if scatter is not None]
        return known_scatters if len(known_scatters) == len(self.log_ratios) else []

    def interim_estimate(self) -> InterimEstimate | None:
        """Return the running estimate; None with fewer than three groups."""
        spread = self.current_spread()
        if spread is None:
            return None
        interval = ratio_interval(spread.low, spread.high)
        return InterimEstimate(ratio_of(spread.estimate), interval, len(self.log_ratios), self.due_analysis)

    def verdict_if_due(self, group_seconds: float | None = None) -> GroupVerdict | None:
        """Return the decision if an interim analysis is due and decides; the last planned one always does."""
        groups = len(self.log_ratios)
        if groups >= self.planned_groups:
            return self.final_verdict(group_seconds)
        if not self.due_analysis:
            return None
        spread = self.current_spread()
        if spread is None:
            return None
        decision = self._verdict_for(self._decide(spread, groups, last=False), spread, group_seconds)
        self.is_contradicted = decision.is_not_measured
        return decision if decision.is_decided else None

    def final_verdict(self, group_seconds: float | None = None) -> GroupVerdict:
        """Return the decision now, before the planned end; the rest of alpha is spent here."""
        spread = self.current_spread(final=True)
        if spread is None:
            return GroupVerdict(
                groups=len(self.log_ratios),
                look=len(self._past_looks()),
                alpha=self.alpha_share,
                margin=self.margin,
                slower_in=self._slower_group_count,
                reason="too few groups",
            )
        return self._verdict_for(self._decide(spread, len(self.log_ratios), last=True), spread, group_seconds)

    def _past_looks(self) -> list[int]:
        return [look for look in self.looks if look <= len(self.log_ratios)]

    def _decide(self, spread: EstimateWithInterval, groups: int, last: bool) -> rule.Ruling:
        edge = rule.margin_edge(self.margin)
        return rule.rule_on_effect(
            rule.EffectEstimate(*spread, edge, groups, self.min_groups, self.block_agreement(groups), last)
        )

    def _verdict_for(
        self, ruling: rule.Ruling, spread: EstimateWithInterval, group_seconds: float | None
    ) -> GroupVerdict:
        interval = ratio_interval(spread.low, spread.high)
        groups = len(self.log_ratios)
        spreads = self.place_scatter()
        needed = None if ruling.is_decided else groups_needed(spread, groups, self.margin, spreads)
        by_places = needed is not None and math.isinf(needed)
        seconds = None if needed is None or by_places or group_seconds is None else needed * group_seconds
        places = file_sets_limit_text(spreads) if by_places and spreads else ""
        reasons = {
            UndecidedReason.TOO_FEW: f"{groups} groups where {self.min_groups} are needed",
            UndecidedReason.OVERLAP: (
                f"{groups} groups are too few, because windows of both variants overlap "
                f"({self.min_groups_for_exact_inference} needed)"
            ),
        }
        verdict = GroupVerdict(
            verdict=ruling.word,
            ratio=ratio_of(spread.estimate),
            ci95=interval,
            groups=groups,
            look=max(1, len(self._past_looks()) if groups in self.looks else len(self._past_looks()) + 1),
            alpha=self.alpha_share,
            margin=self.margin,
            smallest_effect=smallest_effect_of(interval),
            seconds_to_decide=seconds,
            slower_in=self._slower_group_count,
            reason="; ".join(r for r in (reasons.get(ruling.why), places) if r) or None,
            batch=self.batch_groups,
            pairs=spreads.pairs if spreads else 0,
            place_scatter=round(spreads.place, 5) if spreads else None,
            slice_scatter=round(spreads.slice, 5) if spreads else None,
        )
        return apply_order_guard(verdict, self.effect_by_order)

    @property
    def effect_by_order(self) -> OrderEffect | None:
        """Return the effect by which of the two variants was measured first."""
        if len(self.firsts) != len(self.log_ratios):
            return None
        return order_effect(self.log_ratios, self.firsts, self.margin)

    @property
    def _slower_group_count(self) -> int:
        return sum(value < 0 for value in self.log_ratios)

    def groups_left(self) -> int | None:
        """Return about how many more groups are needed until an interim analysis decides; None before three.

        It assumes that estimate and deviation stay as they are, and computes what each later analysis would say.
        """
        groups = len(self.log_ratios)
        if groups < _MIN_GROUPS:
            return None
        now = interval_over_groups(self.log_ratios)
        known_scatters = self._scatters_if_all_known()
        spread = max(sample_deviation(self.log_ratios), median(known_scatters) if known_scatters else 0.0)
        places = self.place_scatter()
        for look in self.looks:
            if look <= groups or now is None:
                continue
            level = looks.nominal_alpha(look, self.looks, self.alpha_share)
            units, error = look, spread / math.sqrt(look)
            if places is not None and look > places.all_pairs:
                units, error = places.all_pairs, places.error(look)
            half = t_quantile(1 - level / 2, units - 1) * error
            then = EstimateWithInterval(now.estimate, now.estimate - half, now.estimate + half)
            if self._decide(then, look, last=look == self.planned_groups).is_decided:
                return look - groups
        return max(0, self.planned_groups - groups)

    def seconds_left(self, group_seconds: float) -> float | None:
        """Return the seconds for the groups that are left."""
        left = self.groups_left()
        return None if left is None else left * group_seconds


def groups_needed(
    spread: EstimateWithInterval, groups: int, margin: float, scatter: FileSetScatter | None = None
) -> float:
    """Return about how many groups would decide, if the estimate stays and the width falls with the square root.

    The scatter of file sets falls only with their number: math.inf where there are too few of them. The farther end of
    the interval counts, and at least one more group is needed. Near the margin no number of groups decides soon, so a
    quarter of the margin is the finest step.
    """
    edge = rule.margin_edge(margin)
    size = abs(spread.estimate)
    room = max(size if size > edge else edge - size, edge / 4)
    reach = max(spread.high - spread.estimate, spread.estimate - spread.low)
    needed = max(groups + 1, math.ceil(groups * (reach / room) ** 2))
    if scatter is None or not scatter.is_known or not scatter.place:
        return needed
    then = scatter.measured_groups_for_width(reach, room)
    return then if math.isinf(then) else max(groups + 1, math.ceil(then))
