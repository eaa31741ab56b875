"""How often a screening of settings calls right and wrong: `python -m tests.measured.simulation.screening`.

The design and its estimates are those of `scenarios/prove/design.py`; the windows' rates are drawn: quiet, noisy and
dependent, with a drift, with a neighbour who comes and goes.
"""

import argparse
import math
import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hostdx.scenarios.prove.design import DUMMIES, MeasuredPair, ScreenedEffect, draw_pairs, estimate_effects
from tests.fakes.noise import Noise, ar1_noise, drift_noise, noise_product, step_noise, white

WINDOW_S = 0.7
REPLICATES = 4


class Screened(NamedTuple):
    """Shares of runs: some setting without an effect or dummy called; all planted ones called; all intervals right."""

    false_calls: float
    all_found: float
    covered: float


def noise_models(seed: int) -> dict[str, Noise]:
    """Return the models of a run. A neighbour takes a third of the rate between two moments of it."""
    begins, lasts = random.Random(seed).uniform(0, 60), 15.0
    neighbour = noise_product(step_noise(begins, 0.67), step_noise(begins + lasts, 1 / 0.67))
    return {
        "white 3 %": white(seed, 0.03),
        "dependent 5 %, 0.58": ar1_noise(seed, 0.58, 0.05),
        "drift of 0.2 % a second": noise_product(white(seed, 0.03), drift_noise(-0.002)),
        "a neighbour for 15 s": noise_product(ar1_noise(seed, 0.5, 0.03), neighbour),
    }


def _estimate(effects: Sequence[float], noise: Noise, seed: int, interaction: float) -> list[ScreenedEffect]:
    rng, at_s, pairs = random.Random(seed), 0.0, list[MeasuredPair]()
    for _ in range(REPLICATES):
        for levels, row_first in draw_pairs(len(effects), rng):
            logs: list[float] = []
            for is_row in (row_first, not row_first):
                at_s += WINDOW_S
                new = [level == is_row for level in levels[: len(effects)]]
                value = math.fsum(effect for effect, on in zip(effects, new, strict=True) if on)
                value += interaction if new[0] and new[1] else 0.0
                logs.append(value + math.log(noise(at_s)))
            row, mirror = logs if row_first else logs[::-1]
            pairs.append(MeasuredPair(levels, row - mirror, row_first))
    return estimate_effects(pairs, [str(number) for number in range(len(effects))])


def screen_often(effects: Sequence[float], model: str, runs: int, interaction: float = 0.0) -> Screened:
    """Return the shares. A setting in an interaction has half of it as its own effect, averaged over the other one."""
    trues = list(effects) + [0.0] * DUMMIES
    for column in (0, 1) if interaction else ():
        trues[column] += interaction / 2
    false = all_called = covered = 0
    for seed in range(runs):
        estimates = _estimate(effects, noise_models(seed)[model], seed, interaction)
        paired = list(zip(estimates, trues, strict=True))
        false += any(e.is_beyond_chance for e, true in paired if not true)
        all_called += all(e.is_beyond_chance for e, true in paired if true)
        covered += all(e.ci95[0] <= math.exp(true) <= e.ci95[1] for e, true in paired)
    return Screened(false / runs, all_called / runs, covered / runs)


CASES: Mapping[str, tuple[tuple[float, ...], float]] = {
    "8 settings, no effect": ((0.0,) * 8, 0.0),
    "8 settings, +10 % and -10 %": ((0.0, 0.0, 0.095, 0.0, 0.0, -0.105, 0.0, 0.0), 0.0),
    "8 settings, two that give 10 % only together": ((0.0,) * 8, 0.095),
    "17 settings, one of +10 %": ((0.095, *(0.0,) * 16), 0.0),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=2000)
    runs = parser.parse_args().runs
    print("| settings | noise | wrong calls | all found | all intervals right |\n|---|---|---:|---:|---:|")
    for case, (effects, interaction) in CASES.items():
        for model in noise_models(0):
            s = screen_often(effects, model, runs, interaction)
            found_text = f"{100 * s.all_found:.1f} %" if any(effects) or interaction else "–"
            print(
                f"| {case} | {model} | {100 * s.false_calls:.1f} % | {found_text} | {100 * s.covered:.1f} % |",
                flush=True,
            )


if __name__ == "__main__":
    main()
