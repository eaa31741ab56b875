"""The values of a load and their differences: what stands beside an effect divides and subtracts to it."""

import math
from statistics import fmean, median

import pytest

from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.verdict.verdict import Word
from hostdx.scenarios.experiment.levels import fit_variant_levels, values_of_pair, with_difference
from tests.every_case import every_case


def make_verdict(
    ratio: float | None, ci95: tuple[float, float] | None = None, baseline: str = "A", variant: str = "B"
) -> ev.RunVerdict:
    return ev.RunVerdict(
        t=0.0, workload="w", metric="m", baseline=baseline, variant=variant, verdict=Word.SLOWER,
        ratio=ratio, ci95=ci95, delta=99.0, delta_ci95=(98.0, 100.0),
    )  # fmt: skip


@every_case(
    ("sign", "values", "ci95", "ends"),
    [
        (1, (200.0, 100.0), (0.4, 0.6), (-120.0, -80.0)),
        (-1, (100.0, 200.0), (0.4, 0.8), (25.0, 150.0)),  # of a cost, half the speed is double the value
        (1, (200.0, 202.0), (0.99, 1.03), (-2.0, 6.0)),
    ],
)
def test_a_difference_is_of_the_printed_values_and_excludes_0_where_the_effect_excludes_1(
    sign: int, values: tuple[float, float], ci95: tuple[float, float], ends: tuple[float, float]
) -> None:
    difference = with_difference(make_verdict((values[1] / values[0]) ** sign, ci95), values, sign)
    assert difference.delta == values[1] - values[0]
    assert difference.delta_ci95 == pytest.approx(ends)


@pytest.mark.parametrize("ci95", [None, (0.0, 2.0)])
def test_without_an_interval_the_difference_has_none(ci95: tuple[float, float] | None) -> None:
    difference = with_difference(make_verdict(0.5, ci95), (2.0, 1.0), 1)
    assert (difference.delta, difference.delta_ci95) == (-1.0, None)


LINKED = {
    ("A", "B"): ([90.0, 100.0, 110.0], [55.0]),
    ("A", "C"): ([110.0], [200.0]),
    ("D", "C"): ([40.0], [210.0]),
}
EFFECTS = {("A", "B"): math.log(0.5), ("A", "C"): math.log(2.0), ("D", "C"): math.log(4.0)}


def distance_to_medians(values: dict[str, float], factor: float) -> float:
    """Return the sum of squares, in logs, from each value (times `factor`) to the middle of its medians."""
    logs: dict[str, list[float]] = {}
    for pair, sides in LINKED.items():
        for name, side in zip(pair, sides, strict=True):
            logs.setdefault(name, []).append(math.log(median(side)))
    return sum((math.log(values[name] * factor) - fmean(medians)) ** 2 for name, medians in logs.items())


def test_values_divide_to_every_effect_and_lie_as_near_to_the_medians_of_all_as_can_be() -> None:
    values = fit_variant_levels(LINKED, EFFECTS)
    for (baseline, variant), effect in EFFECTS.items():
        assert math.log(values[variant] / values[baseline]) == pytest.approx(effect)
    assert all(
        distance_to_medians(values, 1.0) < distance_to_medians(values, factor) for factor in (0.99, 1.01)
    )


def test_pairs_that_no_verdict_links_have_values_of_their_own() -> None:
    unlinked = {("A", "B"): ([100.0], [50.0]), ("C", "D"): ([3.0], [6.0])}
    effects = {("A", "B"): math.log(0.5), ("C", "D"): math.log(2.0)}
    assert fit_variant_levels(unlinked, effects) == pytest.approx({"A": 100.0, "B": 50.0, "C": 3.0, "D": 6.0})


@every_case(("ratio", "fits"), [(4.0, True), (4.03, True), (4.1, False), (None, False)])
def test_values_stand_beside_an_effect_that_they_divide_to(ratio: float | None, fits: bool) -> None:
    values = values_of_pair({"B": 50.0, "C": 200.0}, make_verdict(ratio, baseline="B", variant="C"), 1)
    assert values == ((50.0, 200.0) if fits else None)
