"""Noise that a verdict must survive: the log rates of consecutive blocks of exactly the same work.

Synthetic models, and recorded series resampled by the stationary bootstrap (Politis and Romano 1994): stretches
of random length, 40 blocks (20 s) in the mean, joined. A stretch keeps the recorded autocorrelation.
"""

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

Noise: TypeAlias = Callable[[random.Random, int], list[float]]

HERE = Path(__file__).resolve()
COPIES = HERE.parents[2] / "fixtures" / "noise"
SHARED = HERE.parents[4] / "shared" / "samples" / "noise"
_STRETCH = 40


def white(deviation: float) -> Noise:
    return lambda rng, n: [rng.gauss(0, deviation) for _ in range(n)]


def ar1_noise(rho: float, deviation: float) -> Noise:
    def draw_series(rng: random.Random, n: int) -> list[float]:
        innovation = deviation * math.sqrt(1 - rho * rho)
        level = rng.gauss(0, deviation)
        values = []
        for _ in range(n):
            values.append(level)
            level = rho * level + rng.gauss(0, innovation)
        return values

    return draw_series


def drift_noise(rng: random.Random, n: int) -> list[float]:
    """Every block is 1 % slower (or faster) than the one before, with 5 % white noise."""
    slope = rng.choice((-0.01, 0.01))
    return [slope * i + rng.gauss(0, 0.05) for i in range(n)]


def burst_noise(rng: random.Random, n: int) -> list[float]:
    """White 5 %; one block in 25 begins a burst of 1 to 6 blocks that takes 20 to 70 % of the rate."""
    values = [rng.gauss(0, 0.05) for _ in range(n)]
    i = 0
    while i < n:
        if rng.random() < 0.04:
            cost = math.log(1 - rng.uniform(0.2, 0.7))
            for _ in range(rng.randint(1, 6)):
                if i < n:
                    values[i] += cost
                    i += 1
        i += 1
    return values


def periodic_noise(period: float | None) -> Noise:
    """A neighbour who takes 30 % for half of every period (in blocks; None: 1.5 to 20 by chance); white 5 %."""

    def draw_series(rng: random.Random, n: int) -> list[float]:
        length = period if period is not None else math.exp(rng.uniform(math.log(1.5), math.log(20)))
        phase = rng.uniform(0, length)
        cost = math.log(0.7)

        def busy_share(block: int) -> float:
            """The share of the block in which the neighbour is busy."""
            parts = 10
            hits = sum((block + (k + 0.5) / parts + phase) % length < length / 2 for k in range(parts))
            return hits / parts

        return [cost * busy_share(i) + rng.gauss(0, 0.05) for i in range(n)]

    return draw_series


def step_noise(rng: random.Random, n: int) -> list[float]:
    """A neighbour arrives in the middle: 40 % slower from there on and twice as noisy."""
    at = rng.randint(int(0.4 * n), int(0.6 * n))
    return [rng.gauss(0, 0.05) if i < at else math.log(0.6) + rng.gauss(0, 0.1) for i in range(n)]


def replay_rates(rates: list[float]) -> Noise:
    logs = [math.log(rate) for rate in rates]

    def draw_series(rng: random.Random, n: int) -> list[float]:
        values = []
        at = rng.randrange(len(logs))
        for _ in range(n):
            values.append(logs[at % len(logs)])
            at = rng.randrange(len(logs)) if rng.random() < 1 / _STRETCH else at + 1
        return values

    return draw_series


def _load(path: Path) -> list[float]:
    rates = [float(rate) for rate in json.loads(path.read_text())]
    if path.name == "cpu.json" and len(rates) > 600:  # blocks of 0.25 s: two make one of 0.5 s
        rates = [(a + b) / 2 for a, b in zip(rates[::2], rates[1::2], strict=False)]
    return rates


def noise_models() -> dict[str, Noise]:
    """Every noise model by name; the recorded series come last."""
    models: dict[str, Noise] = {
        "white 5 %": white(0.05),
        "white 25 %": white(0.25),
        "AR(1) 0.6, 14 %": ar1_noise(0.6, 0.14),
        "drift 1 % a block": drift_noise,
        "bursts": burst_noise,
        "periodic, any": periodic_noise(None),
        "periodic, 2 s": periodic_noise(4.0),
        "step in the middle": step_noise,
    }
    for folder in (SHARED, COPIES):
        for path in sorted(folder.glob("*.json")):
            models.setdefault(path.stem, replay_rates(_load(path)))
    return models
