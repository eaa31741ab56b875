"""Noise models: a factor around 1 as a function of the time; variants that share one share the machine."""

import math
import random
from collections.abc import Callable, Sequence
from typing import TypeAlias

Noise: TypeAlias = Callable[[float], float]  # seconds on the clock -> factor


def no_noise(_at_s: float) -> float:
    return 1.0


def white(seed: int, sigma: float) -> Noise:
    """Independent from block to block; `sigma` is the standard deviation of the logarithm."""
    rng = random.Random(seed)
    return lambda _at_s: math.exp(rng.gauss(0.0, sigma))


def ar1_noise(seed: int, rho: float, sigma: float) -> Noise:
    """AR(1) over the blocks: `sigma` is the logarithm's standard deviation, `rho` its lag-1 correlation."""
    rng = random.Random(seed)
    state = rng.gauss(0.0, sigma)

    def next_factor(_at_s: float) -> float:
        nonlocal state
        value = math.exp(state)
        state = rho * state + math.sqrt(1.0 - rho * rho) * rng.gauss(0.0, sigma)
        return value

    return next_factor


def drift_noise(per_s: float) -> Noise:
    """Grows or falls by a constant fraction a second."""
    return lambda at_s: math.exp(per_s * at_s)


def step_noise(at_s: float, factor: float) -> Noise:
    """A neighbour arrives."""
    return lambda now_s: factor if now_s >= at_s else 1.0


def replay(values: Sequence[float]) -> Noise:
    """A recorded series, block after block, round and round, divided by its mean."""
    mean = sum(values) / len(values)
    position = -1

    def next_factor(_at_s: float) -> float:
        nonlocal position
        position = (position + 1) % len(values)
        return values[position] / mean

    return next_factor


def noise_product(*noises: Noise) -> Noise:
    return lambda at_s: math.prod(noise(at_s) for noise in noises)
