"""The course of a series with trims in between: what a round costs, and what each trim gave back.

Without a trim it is the trend of `scenarios/experiment/trend.py`. With trims the line has a step at each of them,
fitted together with the slope by the same transformation (neighbouring rounds correlated by 0.6 or more).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from hostdx.probes.units import format_percent
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.verdict.verdict import (
    OPEN,
    Trend,
    rule_on_effect,
    with_figures,
    word_that_still_holds,
)
from hostdx.scenarios.experiment.reference import log_steps as steps_of
from hostdx.scenarios.experiment.reference import part_shared_with_reference, weaken_reference
from hostdx.scenarios.experiment.statistics.distributions import t_quantile
from hostdx.scenarios.experiment.statistics.least_squares import Coefficient, LeastSquaresFit, least_squares
from hostdx.scenarios.experiment.trend import (
    MATTERS_A_ROUND,
    PerGB,
    assumed_autocorrelation,
    conclude_trend,
    cumulative_gigabytes,
    explain_trend,
    fit_rounds,
    trend_estimate,
)

MIN_FREEDOM = 3
TRIM = "trim"


class TreatmentJump(NamedTuple):
    """How much of the level before it a treatment gave back. `before_round` counts from 1; 0 stands for all
    treatments alike.

    `called`: beyond chance at 1 % over all treatments of the series.
    """

    before_round: int
    gave: float
    ci95: tuple[float, float]
    p: float
    called: bool
    treatment: str = TRIM

    @property
    def text(self) -> str:
        low, high = sorted(self.ci95)
        which = (
            f"the {self.treatment} before round {self.before_round}"
            if self.before_round
            else f"each {self.treatment}, on average,"
        )
        verb = "gave back" if self.gave >= 0 else "took"
        doubt = "" if self.called else "; this may be chance, or the host"
        return (
            f"{which} {verb} {format_percent(abs(self.gave))} (95 % CI {low * 100:+.1f} to "
            f"{high * 100:+.1f} %){doubt}"
        )


class TreatedTrend(NamedTuple):
    trend: Trend
    jumps: tuple[TreatmentJump, ...] = ()

    def series_verdict(self, t: float, workload: str) -> ev.SeriesVerdict:
        event = ev.SeriesVerdict(t=t, workload=workload, rounds=0, verdict=OPEN)
        explanation = "; ".join((self.trend.explain, *(jump.text for jump in self.jumps)))
        return msgspec.structs.replace(with_figures(event, self.trend), explain=explanation)


def treated_trend(
    values: Sequence[float],
    references: Sequence[float],
    trims: Sequence[bool],
    bytes_written: Sequence[float] | None = None,
    treatment: str = TRIM,
) -> TreatedTrend:
    """Return the trend of a series and the jumps at its treatments; more is better.

    trims: whether there was a treatment between a round and the one before; the first round's does not count.
    treatment: its name. A jump is called only where it holds both for the part of the reference that the load shares
    and for the whole reference (reference.py).
    """
    at = [i for i in range(1, len(values)) if trims[i]]
    share = part_shared_with_reference(steps_of(values, references, at))
    part = _fit_treated_trend(values, weaken_reference(references, share), at, bytes_written, treatment)
    if share >= 1 or len(set(references)) < 2:
        return part
    return _trend_held_by_both(part, _fit_treated_trend(values, references, at, bytes_written, treatment))


def _fit_treated_trend(
    values: Sequence[float],
    references: Sequence[float],
    at: Sequence[int],
    bytes_written: Sequence[float] | None,
    treatment: str,
) -> TreatedTrend:
    n = len(values)
    plain = fit_rounds(values, references, bytes_written)
    if not at or plain.slope_per_round is None:
        return TreatedTrend(plain)
    ys = [math.log(v / r) for v, r in zip(values, references, strict=True)]
    rounds = [float(i) for i in range(n)]
    steps = [[float(i >= place) for i in range(n)] for place in at]
    if n - 2 - len(steps) < MIN_FREEDOM:  # too many to be told apart: one step for all
        steps = [[float(sum(place <= i for place in at)) for i in range(n)]]
    fit = _fit_line_and_steps(rounds, steps, ys)
    if fit is None:  # a trim before every round: its effect cannot be told from the trend
        return TreatedTrend(plain)
    jumps = tuple(
        _treatment_jump(
            fit.coefficient_at(2 + k), at[k] + 1 if len(steps) == len(at) else 0, len(steps), treatment
        )
        for k in range(len(steps))
    )
    return TreatedTrend(
        _explained_trend(
            fit.coefficient_at(1), n, _relative_change_per_gb(ys, bytes_written, steps), treatment
        ),
        jumps,
    )


def _trend_held_by_both(part: TreatedTrend, full_reference: TreatedTrend) -> TreatedTrend:
    """Return the first trend, widened to hold the second's estimates, without jumps that only one of them shows."""
    mine, other = part.trend, full_reference.trend
    if mine.slope_per_round is None or mine.ci95 is None or other.slope_per_round is None:
        return part
    freedom = mine.rounds - 2 - len(part.jumps)
    treatment = part.jumps[0].treatment if part.jumps else ""
    slope = mine.slope_per_round
    interval = _widen_interval(mine.ci95, slope, other.slope_per_round)
    least = _smaller_coefficient(slope, mine.ci95, other.slope_per_round, freedom)
    word = word_that_still_holds(mine.verdict, trend_estimate(least, interval, mine.shows_after, mine.rounds))
    per_gb = mine.per_gb_ci95
    if per_gb is not None and mine.per_gb is not None and other.per_gb is not None:
        per_gb = _widen_interval(per_gb, mine.per_gb, other.per_gb)
    widened = msgspec.structs.replace(
        mine, verdict=word, ci95=interval, p=least.p_value_of_zero, per_gb_ci95=per_gb,
        smallest_effect=(interval[1] - interval[0]) / 2,
    )  # fmt: skip
    text = mine.explain
    if mine.is_different and not word.is_different:
        text = (
            f"Inconclusive after {mine.rounds} rounds: by themselves {format_percent(abs(slope))} a round "
            f"{'lost' if slope < 0 else 'gained'}, which the reference reads do not confirm"
        )
    elif mine.is_different or word != mine.verdict:
        text = _explain_with_treatment(widened, treatment)
        if mine.is_different and other.verdict != word:
            text += "; the reference reads scatter too much to exclude that the host got slower as well"
    explained = msgspec.structs.replace(widened, explain=text)
    if len(part.jumps) != len(full_reference.jumps):
        return TreatedTrend(explained, part.jumps)
    return TreatedTrend(
        explained,
        tuple(_jump_by_both(a, b, freedom) for a, b in zip(part.jumps, full_reference.jumps, strict=True)),
    )


def _widen_interval(ci: tuple[float, float], own: float, other: float) -> tuple[float, float]:
    return ci[0] + min(0.0, other - own), ci[1] + max(0.0, other - own)


def _smaller_coefficient(own: float, ci: tuple[float, float], other: float, freedom: int) -> Coefficient:
    """Return the smaller of two estimates with the first one's error; 0 where they differ in sign."""
    if own * other <= 0 or freedom < 1:
        return Coefficient(0.0, 0.0, 1, 0.0, 0.0)
    error = (ci[1] - ci[0]) / 2 / t_quantile(0.975, freedom)
    return Coefficient(math.copysign(min(abs(own), abs(other)), own), error, freedom, 0.0, 0.0)


def _jump_by_both(mine: TreatmentJump, other: TreatmentJump, freedom: int) -> TreatmentJump:
    least = _smaller_coefficient(mine.gave, mine.ci95, other.gave, freedom)
    return mine._replace(
        ci95=_widen_interval(mine.ci95, mine.gave, other.gave),
        p=max(mine.p, least.p_value_of_zero),
        called=mine.called and rule_on_effect(trend_estimate(least, mine.ci95, None, 2)).word.is_different,
    )


def _fit_line_and_steps(
    xs: Sequence[float], steps: Sequence[Sequence[float]], ys: Sequence[float]
) -> LeastSquaresFit | None:
    ones = [1.0] * len(ys)
    first = least_squares([ones, list(xs), *map(list, steps)], list(ys), 0.0)
    if first is None or first.freedom < MIN_FREEDOM:
        return None
    without = [
        y - sum(c * s[i] for c, s in zip(first.values[2:], steps, strict=True)) for i, y in enumerate(ys)
    ]
    # At 1 the level would be lost in the differences, and with it the equations' solution.
    correlation = min(0.98, assumed_autocorrelation(list(xs), without))
    return least_squares([ones, list(xs), *map(list, steps)], list(ys), correlation)


def _treatment_jump(log_step: Coefficient, before_round: int, family: int, treatment: str) -> TreatmentJump:
    gave = math.expm1(log_step.value)
    low, high = log_step.interval_95
    called = rule_on_effect(trend_estimate(log_step, (low, high), None, 2, family)).word.is_different
    return TreatmentJump(
        before_round, gave, (math.expm1(low), math.expm1(high)), log_step.p_value_of_zero, called, treatment
    )


def _explained_trend(line: Coefficient, n: int, per_gb: PerGB, treatment: str) -> Trend:
    low, high = line.interval_95
    concluded = conclude_trend(line, n, math.expm1(line.value), (math.expm1(low), math.expm1(high)), per_gb)
    return msgspec.structs.replace(concluded, explain=_explain_with_treatment(concluded, treatment))


def _explain_with_treatment(trend: Trend, treatment: str) -> str:
    n, a_round, interval, shows_after = trend.rounds, trend.slope_per_round, trend.ci95, trend.shows_after
    if a_round is None or interval is None:
        return trend.explain
    if not treatment:
        total = math.expm1(math.log1p(a_round) * (n - 1)) if a_round > -1 else -1.0
        return explain_trend(trend, total)
    shown = f"{interval[0] * 100:+.1f} to {interval[1] * 100:+.1f} % a round"
    if trend.is_different:
        verb = "lost" if a_round < 0 else "gained"
        return f"{format_percent(abs(a_round))} {verb} a round between the {treatment}s ({shown})"
    if trend.is_equal:
        return (
            f"No degradation seen in {n} rounds between the {treatment}s ({shown}): "
            f"{format_percent(MATTERS_A_ROUND)} a round "
            f"would have shown after {shows_after}"
        )
    later = f"would show after about {shows_after}" if shows_after else "would not show soon"
    rounds_text = f"{n} rounds ({shown}, the {treatment}s taken out)"
    return f"Inconclusive after {rounds_text}: {format_percent(MATTERS_A_ROUND)} a round {later}"


def _relative_change_per_gb(
    ys: Sequence[float], written: Sequence[float] | None, steps: Sequence[Sequence[float]]
) -> PerGB:
    xs = cumulative_gigabytes(written, len(ys))
    fit = None if xs is None else _fit_line_and_steps(xs, steps, ys)
    if fit is None:
        return None, None
    line = fit.coefficient_at(1)
    low, high = line.interval_95
    return math.expm1(line.value), (math.expm1(low), math.expm1(high))
