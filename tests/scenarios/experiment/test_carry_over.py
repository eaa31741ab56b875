"""Work that one side leaves to the other's slice is found, and nothing is found where there is none."""

import itertools
import math
import random
from collections.abc import Sequence

import pytest

from hostdx.scenarios.experiment.carry_over import CarryOver, choose_action, estimate_carry_over
from hostdx.scenarios.experiment.sequential import draw_orders
from hostdx.scenarios.experiment.statistics.stats import Spread
from tests.needs import one_always

Groups = tuple[list[tuple[str, ...]], list[list[float]]]


def groups(
    count: int,
    rng: random.Random,
    left: float = 0.0,
    both: float = 0.0,
    variants: Sequence[str] = "AB",
    correlated: float = 0.0,
) -> Groups:
    """Slices of 15 % noise; A takes the share `left` from a slice after its own, every switch takes `both`."""
    drawn, measured = [], []
    before, level = "", 0.0
    for order in itertools.islice(draw_orders(variants, rng), count):
        rates = []
        for variant in order:
            level = correlated * level + rng.gauss(0, 0.15 * math.sqrt(1 - correlated**2))
            log = math.log(1000) + level + (0.1 if variant == "B" else 0.0)
            if before and before != variant:
                log += math.log(1 - both) + (math.log(1 - left) if before == "A" else 0.0)
            rates.append(math.exp(log))
            before = variant
        drawn.append(order)
        measured.append(rates)
    return drawn, measured


@pytest.mark.parametrize("both", one_always(0.1, 0.0))
@pytest.mark.parametrize("correlated", [0.0, 0.8])
def test_clean_series_have_none(both: float, correlated: float) -> None:
    """Whatever a switch costs both sides alike: at a level of 5 %, in 5 % of 400 runs, give or take."""
    rng = random.Random(7)
    runs = [groups(100, rng, both=both, correlated=correlated) for _ in range(400)]
    found = [estimate_carry_over(*run, ("A", "B"), margin=0.0, level=0.05).is_established for run in runs]
    assert 4 <= sum(found) <= 34  # 99.9 % of 400 draws at 5 % give 8 to 34; the ranks are conservative


def test_what_a_leaves_to_b_is_found_with_its_size() -> None:
    carried = estimate_carry_over(*groups(250, random.Random(1), left=0.2), ("A", "B"), margin=0.05)
    assert carried.is_established
    assert carried.bias is not None
    assert 100 < carried.groups <= 250
    assert carried.bias.low < math.log(0.8) * 0.625 < carried.bias.high < 0


def test_planted_carry_over_is_found_in_nine_of_ten_runs() -> None:
    rng = random.Random(2)
    runs = [
        estimate_carry_over(*groups(250, rng, left=0.12), ("A", "B"), margin=0.05).is_established
        for _ in range(60)
    ]
    assert sum(runs) >= 54


def test_three_sides_are_judged_in_pairs() -> None:
    run = groups(400, random.Random(4), left=0.3, variants=("A", "B", "C"))
    assert estimate_carry_over(*run, ("A", "B"), margin=0.05).is_established
    assert not estimate_carry_over(*run, ("B", "C"), margin=0.05).is_established


def test_few_groups_tell_nothing() -> None:
    carried = estimate_carry_over(*groups(10, random.Random(5), left=0.5), ("A", "B"), margin=0.05)
    assert (carried.bias, carried.is_established) == (None, False)


def test_slices_grow_with_what_is_carried_over_up_to_a_block() -> None:
    def after(bias: float, slice_s: float) -> tuple[str, float]:
        carried = CarryOver(Spread(bias, bias - 0.01, bias + 0.01), 100, True)
        then = choose_action(carried, slice_s=slice_s, block_s=0.5, margin=0.05)
        return then.todo, pytest.approx(then.seconds)

    assert after(-0.05, 0.02) == ("lengthen", 0.082)
    assert after(0.02, 0.02) == ("lengthen", 0.04)
    assert after(-0.05, 0.2) == ("blocks", 0.5)
    assert after(-0.05, 0.9) == ("blocks", 0.9)  # slow operations: already longer than a block
    clean = CarryOver(Spread(0.0, -0.01, 0.01), 100, False)
    assert choose_action(clean, slice_s=0.02, block_s=0.5, margin=0.05) == ("nothing", 0.02, clean)
