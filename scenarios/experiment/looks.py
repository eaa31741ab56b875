"""Looks at the data, planned ahead and paid for: the group-sequential boundary.

One family: Lan and DeMets' alpha spending (1983). What may be spent up to each look is fixed beforehand in
`planned_spending`: little at the first look (only large effects are to be found there), a good part at the second
(10 % on a disk of usual noise), next to nothing between, and the rest at the last one, which decides on the
busy hosts. The looks' nominal levels come from the joint distribution of the looks' normal statistics
(independent increments; Armitage, McPherson and Rowe's recursion, by Simpson's rule). A level is then used
with the exact distribution of the statistic over the groups. Looks need not be where they were planned: a run
that ends early spends what is left at its last look.
"""

import math
from functools import lru_cache
from typing import NamedTuple

from hostdx.scenarios.experiment.statistics.distributions import normal_tail

_FIRST_SHARE = 0.05  # of alpha, up to the first look
_SECOND_SHARE = 0.25
_LATER_SHARE = 0.06  # for each look between the second and the last
_FIRST_OF_TWO = 0.15  # where there is no look between the first and the last
_POINTS = 120  # intervals of Simpson's rule: no level is off by more than 3e-7, and a look costs milliseconds
_FIRST = 6  # groups; of 2 s each: a 25 % effect shows within 12 s
_SECOND = 10  # a 10 % effect on an idle disk shows within 20 s
_GROWTH = 1.75  # of the later looks: more of them would cost the last one its power
_MAX_LATER_LOOKS = 4
_LAST_APART = 1.3  # a look that the last one follows at once would only cost it power
CHEAP_FROM = 60  # planned groups: so many are had where slices are short
# groups; of 80 ms each: a 25 % effect shows within a second, and every look is a multiple of it
CHEAP_FIRST = 12
_CHEAP_FIRST_SHARE = 0.06
_CHEAP_LATER_SHARE = 0.15  # of what is left, for each look between the first and the last
_FAR = 9.0  # standard deviations: nothing is beyond


def plan_analyses(planned: int, min_groups: int = 8, first: int = 0) -> tuple[int, ...]:
    """Return the numbers of groups after which the data are analysed: few, fixed beforehand, the last one at
    `planned`.

    The first analysis comes before 8 groups and can find only large effects (see `sequential`). 30 planned groups are
    analysed after 6, 10, 17 and 30. From 60 planned groups on groups are cheap: 250 are analysed after 12, 24, 36, 48,
    72, 96, 144, 192 and 250, whatever `min_groups` is. `first` is another number of groups for the first analysis.
    """
    if planned >= CHEAP_FROM:
        doubled = [CHEAP_FIRST << i for i in range(planned.bit_length())]
        between = [3 * look // 2 for look in doubled[1:]]
        return (*(look for look in sorted(doubled + between) if look <= planned / _LAST_APART), planned)
    first = first or min(_FIRST, min_groups)
    if planned <= first + 1:
        return (planned,)
    if planned < _LAST_APART * _SECOND:
        return (first, planned)
    later = min(_MAX_LATER_LOOKS, max(1, round(math.log(planned / _SECOND) / math.log(_GROWTH))))
    growth = (planned / _SECOND) ** (1 / later)
    return (first, *(round(_SECOND * growth**i) for i in range(later)), planned)


def planned_spending(planned_looks: tuple[int, ...], alpha: float) -> tuple[float, ...]:
    """Alpha that may be spent up to each planned look.

    For 30 groups: 5, 25, 31 and 100 % of it, nominal levels 0.0025, 0.0113, 0.0051 and 0.0401 for alpha 0.05.
    """
    between = len(planned_looks) - 3
    if planned_looks[0] == CHEAP_FIRST < planned_looks[-1]:
        left = [(1 - _CHEAP_FIRST_SHARE) * (1 - _CHEAP_LATER_SHARE) ** i for i in range(between + 2)]
        shares = [*(1 - part for part in left), 1.0]
    elif between < -1:
        shares = [1.0]
    elif between == -1:
        shares = [_FIRST_OF_TWO, 1.0]
    else:
        shares = [_FIRST_SHARE, *(_SECOND_SHARE + i * _LATER_SHARE for i in range(between + 1)), 1.0]
    return tuple(alpha * share for share in shares)


def alpha_spent_up_to(groups: int, planned_looks: tuple[int, ...], alpha: float) -> float:
    """Return the alpha that may be spent up to a number of groups; between two analyses a part of the next one's."""
    before, cumulative = 0, 0.0
    for look, up_to in zip(planned_looks, planned_spending(planned_looks, alpha), strict=True):
        if groups <= look:
            return cumulative + (up_to - cumulative) * (groups - before) / (look - before)
        before, cumulative = look, up_to
    return alpha


def _simpson_nodes_and_weights(points: int, half_width: float) -> tuple[list[float], list[float]]:
    step = 2 * half_width / points
    nodes = [-half_width + i * step for i in range(points + 1)]
    weights = [step / 3 * (1 if i in (0, points) else 4 if i % 2 else 2) for i in range(points + 1)]
    return nodes, weights


class _RunsLeft(NamedTuple):
    """The runs that no analysis has stopped until now: nodes of the score sum, and weight times density at each."""

    groups: int
    nodes: list[float]
    mass: list[float]


@lru_cache(maxsize=256)
def _runs_left_after(counts: tuple[int, ...], cumulative: tuple[float, ...]) -> _RunsLeft:
    """Return the runs that go on after analyses at these numbers of groups. Each analysis costs 15,000 exponentials,
    once a run.
    """
    if not counts:
        return _RunsLeft(0, [0.0], [1.0])
    before = _runs_left_after(counts[:-1], cumulative[:-1])
    critical = _critical_value(counts, cumulative)
    deviation = math.sqrt(counts[-1] - before.groups)
    nodes, weights = _simpson_nodes_and_weights(_POINTS, min(critical, _FAR) * math.sqrt(counts[-1]))
    scale = 1 / (deviation * math.sqrt(2 * math.pi))
    mass = [
        weight
        * scale
        * math.fsum(
            m * math.exp(-0.5 * ((x - y) / deviation) ** 2)
            for y, m in zip(before.nodes, before.mass, strict=True)
        )
        for x, weight in zip(nodes, weights, strict=True)
    ]
    return _RunsLeft(counts[-1], nodes, mass)


@lru_cache(maxsize=1024)
def _critical_value(counts: tuple[int, ...], cumulative: tuple[float, ...]) -> float:
    """Return the critical value of the last analysis, which spends the last difference of `cumulative`."""
    before = _runs_left_after(counts[:-1], cumulative[:-1])
    spend = cumulative[-1] - (cumulative[-2] if len(cumulative) > 1 else 0.0)
    deviation = math.sqrt(counts[-1] - before.groups)
    return _solve_critical_value(before.nodes, before.mass, deviation, math.sqrt(counts[-1]), spend)


def _solve_critical_value(
    nodes: list[float], mass: list[float], deviation: float, root: float, spend: float
) -> float:
    """Return the critical value that exactly `spend` of the remaining runs cross, on both sides together."""
    if spend <= 0:
        return math.inf

    def crossing_probability(critical: float) -> float:
        bound = critical * root
        return math.fsum(
            m * (normal_tail((bound - y) / deviation) + normal_tail((bound + y) / deviation))
            for y, m in zip(nodes, mass, strict=True)
        )

    low, high = 0.0, _FAR
    for _ in range(50):
        middle = (low + high) / 2
        if crossing_probability(middle) > spend:
            low = middle
        else:
            high = middle
    return (low + high) / 2


@lru_cache(maxsize=4096)
def nominal_alpha(groups: int, planned_looks: tuple[int, ...], alpha: float, final: bool = False) -> float:
    """Return the nominal two-sided level of an interval after `groups` groups, adjusted for earlier analyses. A
    final one spends the rest.
    """
    counts = (*(look for look in planned_looks if look < groups), groups)
    cumulative = [alpha_spent_up_to(count, planned_looks, alpha) for count in counts]
    if final:
        cumulative[-1] = alpha
    return 2 * normal_tail(_critical_value(counts, tuple(cumulative)))
