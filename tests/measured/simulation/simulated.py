"""One simulated minute: blocks out of a noise model, decided by hostdx's way and by the usual ways."""

import math
import random
import statistics
from typing import NamedTuple

from hostdx.scenarios.contract.verdict.verdict import GroupVerdict
from hostdx.scenarios.experiment.sequential import SequentialComparison, draw_orders
from hostdx.scenarios.experiment.statistics.distributions import normal_tail, t_quantile
from hostdx.scenarios.experiment.statistics.stats import group_value
from tests.measured.simulation.noise_models import Noise

GROUPS = 30  # 60 s of ABBA groups at 0.5 s a block
GROUP_SECONDS = 2.0


class Outcome(NamedTuple):
    """What one simulated run said: -1 slower, 1 faster, 0 no material difference, None inconclusive."""

    direction: int | None
    seconds: float
    covered: bool
    early: bool


def run_hostdx(noise: Noise, true: float, rng: random.Random, family: int = 1) -> Outcome:
    """Interleaved groups until a look decides; `true` is ln(variant/baseline)."""
    logs = noise(rng, 4 * GROUPS)
    comparison = SequentialComparison("A", "B", "IOPS", planned_groups=GROUPS, family=family)
    at = 0
    for order in draw_orders(("A", "B"), rng):
        values: dict[str, list[float]] = {"A": [], "B": []}
        for variant in order:
            values[variant].append(math.exp(logs[at] + (true if variant == "B" else 0.0)))
            at += 1
        value = group_value(values["A"], values["B"])
        assert value is not None
        comparison.add(*value, baseline_first=order[0] == "A")
        decision = comparison.verdict_if_due(GROUP_SECONDS)
        if decision is not None:
            return outcome(decision, true, decision.groups * GROUP_SECONDS, early=decision.groups < GROUPS)
    raise AssertionError("the last look always decides")


def outcome(decision: GroupVerdict, true: float, seconds: float, early: bool) -> Outcome:
    """What was said, and whether its interval holds the truth."""
    direction = {"slower": -1, "faster": 1, "no material difference": 0, "inconclusive": None}.get(
        decision.verdict
    )
    if decision.ci95 is None:  # `not measured`: the orders contradict each other, and no interval is claimed
        return Outcome(None, seconds, True, early)
    low, high = decision.ci95
    covered = low * (1 - 1e-12) <= math.exp(true) <= high * (1 + 1e-12)
    return Outcome(direction, seconds, covered, early)


def a_then_b(noise: Noise, true: float, rng: random.Random) -> int | None:
    """All of A, then all of B, 30 s each, and a Mann-Whitney test at 5 % (normal approximation)."""
    logs = noise(rng, 4 * GROUPS)
    half = len(logs) // 2
    a, b = logs[:half], [log + true for log in logs[half:]]
    ranked = sorted([(value, 0) for value in a] + [(value, 1) for value in b])
    ranks = math.fsum(rank for rank, (_, is_b) in enumerate(ranked, 1) if is_b)
    mean = half * (2 * half + 1) / 2
    z = (ranks - mean) / math.sqrt(half * half * (2 * half + 1) / 12)
    if 2 * normal_tail(abs(z)) >= 0.05:
        return None
    return 1 if z > 0 else -1


def three_repetitions(noise: Noise, true: float, rng: random.Random) -> int | None:
    """A, B, A, B, A, B, 10 s each; the means are compared, and 5 % between them is believed."""
    logs = noise(rng, 4 * GROUPS)
    part = len(logs) // 6
    totals = [0.0, 0.0]
    for i, log in enumerate(logs):
        side = (i // part) % 2
        totals[side] += math.exp(log + (true if side else 0.0))
    ratio = totals[1] / totals[0]
    return None if 1 / 1.05 <= ratio <= 1.05 else (1 if ratio > 1 else -1)


def hyperfine(noise: Noise, true: float, rng: random.Random) -> int | None:
    """hyperfine's way: ten runs of A, then ten of B (3 s each), mean of the times with its deviation.

    It prints "B ran 1.10 +- 0.03 times faster than A"; a reader believes it when 1 lies outside of the +-.
    """
    logs = noise(rng, 4 * GROUPS)
    size = len(logs) // 20
    times = [
        math.fsum(
            math.exp(-log - (true if run >= 10 else 0.0)) for log in logs[run * size : (run + 1) * size]
        )
        for run in range(20)
    ]
    a, b = times[:10], times[10:]
    ratio = statistics.fmean(a) / statistics.fmean(b)
    parts = [(statistics.stdev(x) / statistics.fmean(x)) ** 2 for x in (a, b)]
    error = ratio * math.sqrt(sum(parts))
    return None if abs(ratio - 1) <= error else (1 if ratio > 1 else -1)


def plain_t(noise: Noise, true: float, rng: random.Random) -> int | None:
    """A t interval over the 30 groups without looks: what the looks and the ranks cost or gain."""
    logs = noise(rng, 4 * GROUPS)
    values = []
    for group in range(GROUPS):
        a, b, c, d = logs[4 * group : 4 * group + 4]
        values.append(true + rng.choice((-1, 1)) * (b + c - a - d) / 2)
    mean, half = statistics.fmean(values), t_quantile(0.975, GROUPS - 1) * statistics.stdev(values)
    if abs(mean) <= max(math.log(1.05), half / math.sqrt(GROUPS)):
        return None
    return 1 if mean > 0 else -1
