"""Two populations are seen as two, one as one, and a few odd nodes are no population."""

import random

from hostdx.scenarios.analysis.peers.screen import split_into_two_levels


def draw_levels(rng: random.Random, count: int, share: float, gap: float) -> dict[str, float]:
    return {f"n{i}": rng.gauss(0, 0.02) - (gap if i < share * count else 0.0) for i in range(count)}


def test_one_is_one() -> None:
    rng = random.Random(3)
    kinds = (lambda: rng.gauss(0, 1), rng.random, lambda: rng.expovariate(1))
    wrong = sum(
        split_into_two_levels({str(i): 0.05 * draw() for i in range(count)}) is not None
        for count in (10, 30, 100, 300)
        for draw in kinds
        for _ in range(25)
    )
    assert wrong <= 9  # 3 %


def test_a_few_odd_nodes_are_none() -> None:
    assert split_into_two_levels(draw_levels(random.Random(1), 100, 0.05, 0.5)) is None
    assert split_into_two_levels(draw_levels(random.Random(1), 5, 0.4, 0.5)) is None
