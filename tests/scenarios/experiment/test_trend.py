"""Trends, changes from before to after, and what a group leaves for the next one."""

import itertools
import math
import random
from collections.abc import Sequence

import pytest

from hostdx.scenarios.experiment.before_after import (
    conclude_before_after,
    judge_before_after,
    mean_variance_share,
)
from hostdx.scenarios.experiment.carry_over import CarryOver, choose_carry_over_action, estimate_carry_over
from hostdx.scenarios.experiment.sequential import draw_orders
from hostdx.scenarios.experiment.statistics.stats import EstimateWithInterval
from hostdx.scenarios.experiment.trend import fit_line, fit_rounds, rounds_to_show, trend_estimate
from tests.every_case import every_case
from tests.scenarios.oracle import numpy as np
from tests.scenarios.oracle import stats as oracle


def noise(rng: random.Random, n: int, deviation: float, correlation: float) -> list[float]:
    level = rng.gauss(0, deviation)
    values = []
    for _ in range(n):
        values.append(level)
        level = correlation * level + rng.gauss(0, deviation * math.sqrt(1 - correlation**2))
    return values


def draw_rounds(
    rng: random.Random, n: int, loss: float, deviation: float, correlation: float = 0.0
) -> list[float]:
    """Values whose references are 1: a loss of `loss` a round, a fraction of the round before."""
    return [math.exp(e + i * math.log(1 - loss)) for i, e in enumerate(noise(rng, n, deviation, correlation))]


@every_case("correlation", [0.0, 0.6, 0.9])
@every_case("n", [6, 9, 20])
def test_the_line_is_generalised_least_squares(n: int, correlation: float) -> None:
    rng = random.Random(n)
    xs = [i + rng.random() / 2 for i in range(n)]
    ys = [0.3 * x + rng.gauss(0, 1) for x in xs]
    line = fit_line(xs, ys, correlation)
    design = np.column_stack([np.ones(n), xs])
    weight = np.linalg.inv(correlation ** np.abs(np.subtract.outer(np.arange(n), np.arange(n))))
    inverse = np.linalg.inv(design.T @ weight @ design)
    beta = inverse @ design.T @ weight @ np.array(ys)
    rest = np.array(ys) - design @ beta
    variance = rest @ weight @ rest / (n - 2)
    error = math.sqrt(variance * inverse[1, 1])
    assert line.value == pytest.approx(beta[1], abs=1e-6)
    assert line.error == pytest.approx(error, abs=1e-6)
    assert line.noise == pytest.approx(math.sqrt(variance), abs=1e-6)
    assert line.p_value_of_zero == pytest.approx(2 * oracle.t.sf(abs(beta[1]) / error, n - 2), abs=1e-6)
    assert line.half_width() == pytest.approx(oracle.t.ppf(0.975, n - 2) * error, abs=1e-6)


def test_without_correlation_it_is_ordinary_regression() -> None:
    rng = random.Random(1)
    xs = [float(i) for i in range(12)]
    ys = [rng.gauss(0, 1) for _ in xs]
    fit, expected = fit_line(xs, ys, 0.0), oracle.linregress(xs, ys)
    assert (fit.value, fit.error, fit.p_value_of_zero) == pytest.approx(
        (expected.slope, expected.stderr, expected.pvalue), abs=1e-6
    )


@every_case(("shows_after", "telling"), [(8, True), (9, False), (None, False)])
def test_none_may_be_said_only_where_a_loss_would_have_shown(shows_after: int | None, telling: bool) -> None:
    line = fit_line([float(i) for i in range(8)], [1e-4 * (-1) ** i for i in range(8)], 0.6)
    estimate = trend_estimate(line, (-1e-3, 1e-3), shows_after, 8)
    assert estimate.within is not None and estimate.within.telling is telling


def test_what_would_have_shown_does_show() -> None:
    """Some eight times out of ten, at the rounds that the line promises."""
    rng = random.Random(14)
    line = fit_line([float(i) for i in range(200)], noise(rng, 200, 0.02, 0.6), 0.6)
    n = rounds_to_show(line)
    assert n is not None
    slower_count = sum(
        fit_rounds(draw_rounds(rng, n, 0.02, 0.02, 0.6), [1.0] * n).verdict == "slower" for _ in range(400)
    )
    assert 0.72 <= slower_count / 400 <= 0.95


def test_a_sure_loss_beyond_the_least_is_not_called_none() -> None:
    values = [998.6, 996.5, 996.9, 993.1, 992.8, 989.6, 991.2, 990.6, 991, 988.6, 987.7, 985.8]
    assert fit_rounds(values, [1.0] * 12).verdict == "inconclusive"
    assert fit_rounds(values[::-1], [1.0] * 12).verdict == "inconclusive"


def draw_phase(rng: random.Random, level: float, n: int = 20, deviation: float = 0.05) -> list[float]:
    """Blocks around `level` (a log), hanging together by 0.6."""
    noise = rng.gauss(0, deviation)
    values = []
    for _ in range(n):
        values.append(10_000 * math.exp(level + noise))
        noise = 0.6 * noise + rng.gauss(0, deviation * 0.8)
    return values


def test_what_the_idle_control_gave_too_is_not_the_treatments() -> None:
    rng = random.Random(6)
    change = judge_before_after(draw_phase(rng, 0.0), draw_phase(rng, -0.2), draw_phase(rng, -0.45))
    assert change.verdict == "inconclusive"
    assert change.idle_ratio == pytest.approx(math.exp(-0.2), abs=0.06)
    assert "after idling alone" in change.explain("the trim")


def test_quiet_blocks_can_say_that_nothing_changed() -> None:
    rng = random.Random(7)
    change = judge_before_after(
        draw_phase(rng, 0.0, 40, 0.005), draw_phase(rng, 0.0, 40, 0.005), draw_phase(rng, 0.0, 40, 0.005)
    )
    assert change.verdict == "no material difference"
    assert change.explain("the trim").endswith("within the margin of 5 %")


def steady_blocks(level: float) -> list[float]:
    """Blocks around `level` (a log) that hardly scatter."""
    return [10_000 * math.exp(level + 5e-4 * (-1) ** n) for n in range(20)]


@every_case(
    ("idle", "after", "word"),
    [
        (0.0, -0.02, "no material difference"),  # sure, yet within the margin
        (0.0, 0.02, "no material difference"),
        (0.01, -0.03, "inconclusive"),  # 4 % lost, give or take twice what idling did
        (0.0, -0.06, "slower"),
        (0.0, 0.06, "faster"),
        (-0.05, -0.06, "inconclusive"),  # the loss was there before the treatment
        (0.04, 0.10, "inconclusive"),  # so was the gain
    ],
)
def test_a_sure_change_must_be_beyond_the_margin_and_beyond_what_idling_did(
    idle: float, after: float, word: str
) -> None:
    change = judge_before_after(steady_blocks(0.0), steady_blocks(idle), steady_blocks(after))
    assert change.verdict == word
    assert change.ratio == pytest.approx(math.exp(after - idle))


def test_an_end_that_is_farther_from_no_effect_is_no_doubt() -> None:
    assert conclude_before_after(-0.08, -0.25, -0.02, 0.0, 60, 0.05).verdict == "slower"
    assert conclude_before_after(0.08, 0.02, 0.25, 0.0, 60, 0.05).verdict == "faster"


def test_a_figure_without_end_is_a_block_without_a_value() -> None:
    assert judge_before_after([1.0] * 6, [1.0] * 6, [math.inf] * 6).ratio is None


@every_case("n", [1, 2, 6, 40])
def test_the_variance_of_a_mean_of_correlated_blocks(n: int) -> None:
    covariance = 0.6 ** np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    assert mean_variance_share(n) == pytest.approx(covariance.mean(), abs=1e-9)


Groups = tuple[list[tuple[str, ...]], list[list[float]]]


def draw_groups(
    count: int,
    rng: random.Random,
    left_share: float = 0.0,
    both: float = 0.0,
    variants: Sequence[str] = "AB",
    correlated: float = 0.0,
) -> Groups:
    """Slices of 15 % noise; A takes the share `left_share` from a slice after its own, every switch takes `both`."""
    orders, rates_of = [], []
    before, level = "", 0.0
    for order in itertools.islice(draw_orders(variants, rng), count):
        rates = []
        for variant in order:
            level = correlated * level + rng.gauss(0, 0.15 * math.sqrt(1 - correlated**2))
            log = math.log(1000) + level + (0.1 if variant == "B" else 0.0)
            if before and before != variant:
                log += math.log(1 - both) + (math.log(1 - left_share) if before == "A" else 0.0)
            rates.append(math.exp(log))
            before = variant
        orders.append(order)
        rates_of.append(rates)
    return orders, rates_of


def test_three_sides_are_judged_in_pairs() -> None:
    run = draw_groups(400, random.Random(4), left_share=0.3, variants=("A", "B", "C"))
    assert estimate_carry_over(*run, ("A", "B"), margin=0.05).is_established
    assert not estimate_carry_over(*run, ("B", "C"), margin=0.05).is_established


def test_few_groups_tell_nothing() -> None:
    carried = estimate_carry_over(*draw_groups(10, random.Random(5), left_share=0.5), ("A", "B"), margin=0.05)
    assert (carried.bias, carried.is_established) == (None, False)


def test_slices_grow_with_what_is_carried_over_up_to_a_block() -> None:
    def action_after(bias: float, slice_s: float) -> tuple[str, float]:
        carried = CarryOver(EstimateWithInterval(bias, bias - 0.01, bias + 0.01), 100, True)
        action = choose_carry_over_action(carried, slice_s=slice_s, block_s=0.5, margin=0.05)
        return action.todo, pytest.approx(action.seconds)

    assert action_after(-0.05, 0.02) == ("lengthen", 0.082)
    assert action_after(0.02, 0.02) == ("lengthen", 0.04)
    assert action_after(-0.05, 0.2) == ("blocks", 0.5)
    assert action_after(-0.05, 0.9) == ("blocks", 0.9)  # slow operations: already longer than a block
    clean = CarryOver(EstimateWithInterval(0.0, -0.01, 0.01), 100, False)
    assert choose_carry_over_action(clean, slice_s=0.02, block_s=0.5, margin=0.05) == ("nothing", 0.02, clean)
