"""Before, an idle control of the same length, after: for a treatment that cannot be undone.

Blocks are measured three times: before, after an idle wait as long as the treatment with its settling, and
after the treatment. What the treatment did is `after` against `idle`; what nothing at all did is `idle`
against `before`. The treatment's interval is widened by twice that: one control is one sample of how far
the level wanders by itself, and a wandering twice as large is no rarity. Blocks of a phase hang together,
so a phase's mean has the error of an AR(1) series with correlation 0.6, as our recorded series have.
"""

import math
from collections.abc import Sequence

from hostdx.probes import units
from hostdx.scenarios.contract.verdict.verdict import (
    EffectEstimate,
    IntervalWithin,
    PairVerdict,
    margin_edge,
    ratio_interval,
    ratio_of,
    rule_on_effect,
    smallest_effect_of,
)
from hostdx.scenarios.experiment.statistics.distributions import t_quantile
from hostdx.scenarios.experiment.statistics.stats import Better
from hostdx.scenarios.experiment.trend import ASSUMED_CORRELATION, log_ratios

MIN_BLOCKS = 6
WIDENED_BY = 2.0


class BeforeAfter(PairVerdict, frozen=True, kw_only=True):
    """`ratio` is after over idle, with its widened interval; `idle_ratio` is idle over before."""

    idle_ratio: float | None = None
    blocks: int = 0

    def explain(self, treatment: str) -> str:
        """Return in one line how the verdict came about. `treatment` names what was done, such as "the trim"."""
        if self.ratio is None or self.ci95 is None or self.idle_ratio is None:
            return self.reason or ""
        text = (
            f"after {treatment} {units.format_effect(self.ratio)} (95 % CI "
            f"{units.format_interval(*self.ci95, self.ratio)}); "
            f"after idling alone {units.format_effect(self.idle_ratio)}"
        )
        if self.is_equal:
            text += f"; the interval lies within the margin of {units.format_percent(self.margin)}"
        return text


def mean_variance_share(n: int, correlation: float = ASSUMED_CORRELATION) -> float:
    """Return the variance of the mean of n correlated windows, in units of the variance of one window."""
    return (n + 2 * math.fsum((n - k) * correlation**k for k in range(1, n))) / (n * n)


def judge_before_after(
    before: Sequence[float],
    idle: Sequence[float],
    after: Sequence[float],
    references: tuple[Sequence[float], Sequence[float], Sequence[float]] | None = None,
    better: Better = "more",
    margin: float = 0.05,
    alpha: float = 0.05,
) -> BeforeAfter:
    """Return the verdict on the values of three phases. Each value is divided by its interleaved reference window,
    if there is one.
    """
    parts = (before, idle, after)
    reference_parts = references if references is not None else tuple([1.0] * len(part) for part in parts)
    phases = [
        log_ratios(values, reference, better)
        for values, reference in zip(parts, reference_parts, strict=True)
    ]
    logs = [phase for phase in phases if phase is not None]
    blocks = len(before) + len(idle) + len(after)
    if len(logs) < 3 or min(map(len, logs)) < MIN_BLOCKS:
        reason = (
            "a window without a value" if len(logs) < 3 else f"fewer than {MIN_BLOCKS} windows in a phase"
        )
        return BeforeAfter(margin=margin, reason=reason, blocks=blocks)
    means = [math.fsum(phase) / len(phase) for phase in logs]
    shares = [mean_variance_share(len(phase)) for phase in logs]
    squares = math.fsum((y - m) ** 2 for phase, m in zip(logs, means, strict=True) for y in phase)
    # the sum of squares about a mean of correlated blocks falls short by n times the mean's variance
    variance = squares / math.fsum(len(p) * (1 - s) for p, s in zip(logs, shares, strict=True))
    freedom = max(2.0, math.fsum(1 / s - 1 for s in shares))
    error = math.sqrt(variance * (shares[1] + shares[2]))
    effect, wandered = means[2] - means[1], means[1] - means[0]
    half = t_quantile(1 - alpha / 2, freedom) * error + WIDENED_BY * abs(wandered)
    return conclude_before_after(effect, effect - half, effect + half, wandered, blocks, margin)


def conclude_before_after(
    effect: float, low: float, high: float, wandered: float, blocks: int, margin: float
) -> BeforeAfter:
    """Return the verdict on an effect with its interval and on the change in the idle control, all all logarithms."""
    edge = margin_edge(margin)
    near = high - effect if effect < 0 else effect - low  # an end still farther from no effect is no doubt
    ruling = rule_on_effect(
        EffectEstimate(effect, effect - near, effect + near, edge, within=IntervalWithin(low, high, edge))
    )
    interval = ratio_interval(low, high)
    return BeforeAfter(
        verdict=ruling.word,
        ratio=ratio_of(effect),
        ci95=interval,
        smallest_effect=smallest_effect_of(interval),
        margin=margin,
        idle_ratio=ratio_of(wandered),
        blocks=blocks,
    )
