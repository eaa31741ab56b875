"""Work that one side leaves to the other's slice is found, and nothing is found where there is none."""

import itertools
import math
import random
from collections.abc import Sequence

import pytest

from hostdx.scenarios.experiment.carry_over import CarryOver, choose_carry_over_action, estimate_carry_over
from hostdx.scenarios.experiment.sequential import draw_orders
from hostdx.scenarios.experiment.statistics.stats import EstimateWithInterval

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
