"""How often does the watch call a load slower that is not, and how soon one that is? Ten minutes; seeded.

    python -m tests.measured.simulation.nights [--nodes 400] [--planted 500] [--seed 2]

A node's battery has 36 figures a night; their night-to-night deviations are drawn between 0.5 and 8 % (median 2 %),
half of the variance from the night and half from the run, so that a retest in the same night draws the second half
anew. 28 nights are the baseline, 180 follow. Clean: nights are independent. AR(1): each figure is correlated with that
of the night before by 0.5, a retest tells nothing new. Disturbed: in 5 % of the nights all loads run 10 to 50 % slower,
and in half of these the retest does, too. A false alarm is a night on which something is named. Found: the load that
was made slower after the baseline is named by that night.
"""

import argparse
import math
import random
from typing import NamedTuple

from hostdx.scenarios.analysis.nights.cusum import (
    BASELINE_NIGHTS,
    MARGIN,
    BaselineReference,
    baseline_references,
    cusum_after_night,
    cusum_of_nights,
    night_deviation,
)
from hostdx.scenarios.analysis.nights.history import RETEST_SCORE, RETEST_SUM

AFTER = 180
MONTH = 30
LOADS = 36
BESIDE = 36  # loads that tell how alike nights are, where one of them is slower


class Noise(NamedTuple):
    """`alike`: of what comes from the night; `night`: its share of the variance; `disturbed`: share of the nights."""

    alike: float = 0.0
    night: float = 0.5
    disturbed: float = 0.0


class Load:
    """Draws a night's value, and the same night's again."""

    def __init__(self, rng: random.Random, deviation: float, noise: Noise) -> None:
        self.rng, self.noise = rng, noise
        self.of_night, self.of_run = (
            deviation * math.sqrt(noise.night),
            deviation * math.sqrt(1 - noise.night),
        )
        self.state = rng.gauss(0, 1)

    def night(self) -> None:
        alike = self.noise.alike
        self.state = alike * self.state + math.sqrt(1 - alike * alike) * self.rng.gauss(0, 1)

    def value(self) -> float:
        return self.of_night * self.state + self.of_run * self.rng.gauss(0, 1)


def draw_losses(rng: random.Random, noise: Noise) -> tuple[float, float]:
    """What a disturbed night takes from the first run, and from the retest; 0 in most nights."""
    if rng.random() >= noise.disturbed:
        return 0.0, 0.0
    lost = math.log(1 - rng.uniform(0.1, 0.5))
    return lost, lost if rng.random() < 0.5 else 0.0


def watch_nights(
    rng: random.Random, loads: list[Load], noise: Noise, nights: int, lost: float = 0.0
) -> list[list[float]]:
    """The figures of the nights that follow, after the baseline's; of the first load so much less."""
    logs: list[list[float]] = [[] for _ in loads]
    references: list[BaselineReference] = []
    sums = [0.0] * len(loads)
    for night in range(BASELINE_NIGHTS + nights):
        first, second = draw_losses(rng, noise)
        change = [math.log(1 - lost) if references else 0.0, *[0.0] * (len(loads) - 1)]
        for load in loads:
            load.night()
        values = [load.value() + first + by for load, by in zip(loads, change, strict=True)]
        lasts = [column[-1] if night > BASELINE_NIGHTS else None for column in logs]
        if references and is_retested(values, sums, references, lasts):
            fresh = [load.value() + second + by for load, by in zip(loads, change, strict=True)]
            values = [
                max(a, b) if abs(a - b) > MARGIN else (a + b) / 2 for a, b in zip(values, fresh, strict=True)
            ]
        for column, value in zip(logs, values, strict=True):
            column.append(value)
        if night == BASELINE_NIGHTS - 1:
            references = baseline_references(logs)
        elif references:
            sums = list(map(cusum_after_night, sums, values, references, lasts))
    return logs


def is_retested(
    values: list[float], sums: list[float], references: list[BaselineReference], lasts: list[float | None]
) -> bool:
    return any(
        night_deviation(v, to, last) < RETEST_SCORE and cusum_after_night(total, v, to, last) >= RETEST_SUM
        for total, v, to, last in zip(sums, values, references, lasts, strict=True)
    )


def count_alarms(rng: random.Random, loads: int, noise: Noise, alike: float = 1.0) -> tuple[int, int]:
    """Of one node in the nights after the baseline: nights on which something was named, and how many loads.
    `alike`: of so many of the loads the nights are correlated at all."""
    drawn_loads = [
        Load(
            rng,
            min(0.08, max(0.005, 0.02 * math.exp(rng.gauss(0, 0.7)))),
            noise if n < alike * loads else noise._replace(alike=0.0),
        )
        for n in range(loads)
    ]
    logs = watch_nights(rng, drawn_loads, noise, AFTER)
    references = baseline_references([column[:BASELINE_NIGHTS] for column in logs])
    nights = [
        night
        for column, to in zip(logs, references, strict=True)
        for night, _ in cusum_of_nights(column[BASELINE_NIGHTS:], to, loads).shifts
    ]
    return len(set(nights)), len(nights)


def found_on(rng: random.Random, deviation: float, lost: float, noise: Noise, bound: int = 14) -> int:
    """The night on which one of a node's loads that lost so much is named; `bound + 1` where it is not."""
    logs = watch_nights(rng, [Load(rng, deviation, noise) for _ in range(BESIDE)], noise, bound, lost)
    to = baseline_references([column[:BASELINE_NIGHTS] for column in logs])[0]
    shifts = cusum_of_nights(logs[0][BASELINE_NIGHTS:], to, LOADS).shifts
    return shifts[0][0] + 1 if shifts else bound + 1


NOISES = {
    "clean": Noise(),
    "AR(1) 0.5": Noise(alike=0.5, night=1.0),
    "AR(1) 0.5 of half": Noise(alike=0.5, night=1.0),
    "5 % disturbed": Noise(disturbed=0.05),
    "both": Noise(alike=0.5, night=1.0, disturbed=0.05),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=400)
    parser.add_argument("--planted", type=int, default=500)
    parser.add_argument("--loads", type=int, default=LOADS)
    parser.add_argument("--seed", type=int, default=2)
    options = parser.parse_args()
    print(f"{'nights':20} {'node-months':>12} {'false alarms':>13} {'loads named':>12} {'a node-month':>13}")
    for name, noise in NOISES.items():
        rng = random.Random(f"{options.seed} {name}")
        share = 0.5 if name.endswith("half") else 1.0
        counts = [count_alarms(rng, options.loads, noise, share) for _ in range(options.nodes)]
        wrong, loads = (sum(column) for column in zip(*counts, strict=True))
        span = options.nodes * AFTER / MONTH
        print(f"{name:20} {span:12.0f} {wrong:13} {loads:12} {wrong / span:13.4f}", flush=True)
    print(
        f"\n{'slower by':10} {'deviation':>9} {'nights':20} {'by night 4':>10} {'by night 8':>10} {'by 14':>7}"
    )
    for lost in (0.07, 0.05):
        for deviation in (0.01, 0.015, 0.02):
            for name in ("clean", "AR(1) 0.5", "5 % disturbed"):
                rng = random.Random(f"{options.seed} {lost} {deviation} {name}")
                nights = [found_on(rng, deviation, lost, NOISES[name]) for _ in range(options.planted)]
                shares = [sum(n <= by for n in nights) / len(nights) for by in (4, 8, 14)]
                print(
                    f"{lost:9.0%}  {deviation:9.1%} {name:20} {shares[0]:10.1%} {shares[1]:10.1%} {shares[2]:7.1%}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
