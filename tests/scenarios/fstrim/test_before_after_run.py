"""The line with steps against an oracle, and a series' corners: trims everywhere, too few rounds, no reference."""

import math

from hostdx.scenarios.experiment.treated_trend import treated_trend


def make_rounds(n: int, loss: float, trims: set[int]) -> tuple[list[float], list[float], list[bool]]:
    """Without noise but for a hundredth of a percent, so that the fit has something to divide by."""
    values, worn = [], 0
    for i in range(n):
        worn = 0 if i in trims else worn
        values.append(100 * math.exp(math.log1p(-loss) * worn + 1e-4 * math.sin(7 * i)))
        worn += 1
    return values, [1.0] * n, [i in trims for i in range(n)]


def test_a_trim_before_every_round_leaves_the_plain_trend() -> None:
    trend = treated_trend(*make_rounds(8, 0.0, set(range(1, 8))))
    assert trend.jumps == () and trend.trend.rounds == 8
