"""Does a trend over rounds hold its level on recorded noise, and what does it find? Half a minute; seeded.

    python -m tests.measured.simulation.trends

A round is some groups of ABBA blocks (A the load, B its reference), rounds follow each other without a pause: the
worst case for the noise's memory. Shares of the runs in which a trend is called, without one and with 2 % lost a
round; beside it a rank trend test (Mann-Kendall, 5 %) on the plain rounds without their reference.
"""

import math
import random
import sys
import zlib

from scenarios.experiment.statistics.distributions import normal_tail
from scenarios.experiment.statistics.stats import group_value, interval_over_groups
from scenarios.experiment.trend import fit_rounds
from tests.measured.simulation.noise_models import Noise, models
from tests.measured.simulation.verdict_table import shown

RUNS = 300
LOSS = 0.02


def rounds(
    noise: Noise, count: int, groups: int, loss: float, rng: random.Random
) -> tuple[list[float], list[float]]:
    """The rounds' ratios to their reference (the groups' robust middle), and their plain mean rates."""
    logs = noise(rng, 4 * groups * count)
    ratios, plain = [], []
    for index in range(count):
        values, own = [], []
        lost = index * math.log(1 - loss)
        for group in range(groups):
            at = 4 * (index * groups + group)
            a, b, c, d = (math.exp(log) for log in logs[at : at + 4])
            if rng.random() < 0.5:
                a, b, c, d = b, a, d, c
            load = [a * math.exp(lost), d * math.exp(lost)]
            own += load
            value = group_value([b, c], load)
            assert value is not None
            values.append(value.log_ratio)
        spread = interval_over_groups(values)
        assert spread is not None
        ratios.append(math.exp(spread.estimate))
        plain.append(sum(own) / len(own))
    return ratios, plain


def mann_kendall(values: list[float]) -> bool:
    n = len(values)
    s = sum((b > a) - (b < a) for i, a in enumerate(values) for b in values[i + 1 :])
    z = (abs(s) - 1) / math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    return 2 * normal_tail(z) < 0.05


def main() -> int:
    worst = 0.0
    print(
        f"{'noise':26}{'rounds':>7}{'groups':>7}  {'called, no trend':20} {'found, 2 % a round':20} rank test, no trend"
    )
    for name, noise in models().items():
        for count, groups in ((6, 15), (8, 15), (12, 15)):
            rng = random.Random(zlib.crc32(f"trend {name} {count}".encode()))
            called = found = ranks = 0
            for _ in range(RUNS):
                ratios, plain = rounds(noise, count, groups, 0.0, rng)
                called += fit_rounds(ratios, [1.0] * count).verdict in ("slower", "faster")
                ranks += mann_kendall(plain)
                ratios, _ = rounds(noise, count, groups, LOSS, rng)
                found += fit_rounds(ratios, [1.0] * count).verdict == "slower"
            worst = max(worst, called / RUNS)
            print(
                f"{name:26}{count:7}{groups:7}  {shown(called, RUNS):20} {shown(found, RUNS):20} {shown(ranks, RUNS)}",
                flush=True,
            )
    word = "PASS" if worst <= 0.03 else "MISS"
    print(f"\n{word}  no trend: called in <= 3 % (1 % is meant), every model: {100 * worst:.1f} %")
    return 0 if worst <= 0.03 else 1


if __name__ == "__main__":
    sys.exit(main())
