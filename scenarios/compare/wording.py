"""The words for one effect of a comparison, for findings, reports and the screen alike."""

from __future__ import annotations

import math

from probes.units import COST, SPEED, between, direction, smallest_effect
from probes.units import effect as effect_text
from scenarios.compare.effects import Effect
from scenarios.plan import Metric

WIDEST = 100


def named(effect: Effect) -> str:
    """`system call (all)`; with its metric where the load has several: `random-read read, mean latency`."""
    title = f"{effect.title}, {effect.metric.name}" if effect.several else effect.title
    return f"{title} ({effect.key.variant})" if effect.key.variant else title


def is_cost(metric: Metric) -> bool:
    """Of memory there is more or less, it is not slower or faster."""
    return metric.unit == "B"


def of_metric(ratio: float, metric: Metric) -> str:
    """`27 % slower`; of memory `40 % less`, by its own ratio: 977 to 586 MiB are 1.67 as a speed would have it."""
    return effect_text(*_said(ratio, metric))


def interval_of_metric(ci95: tuple[float, float], ratio: float, metric: Metric) -> str:
    (low, words), (high, _) = sorted(_said(end, metric) for end in ci95)
    return between(low, high, _said(ratio, metric)[0], words)


def _said(ratio: float, metric: Metric) -> tuple[float, tuple[str, str]]:
    if not is_cost(metric):
        return ratio, SPEED
    return (1 / ratio if metric.better == "less" and ratio > 0 else ratio), COST


def word(effect: Effect) -> str:
    return direction(*_said(effect.ratio, effect.metric))


def _sized(effect: Effect) -> str:
    return of_metric(effect.ratio, effect.metric)


def sized(effect: Effect) -> str:
    """`4.13 × slower, 95 % CI 3.9 to 4.4 ×`."""
    if effect.ci95 is None:
        return _sized(effect)
    return f"{_sized(effect)}, 95 % CI {interval(effect)}"


def size(effect: Effect) -> str:
    """`23 % slower`; no direction where the interval does not allow one."""
    return _sized(effect) if effect.differs else effect.verdict


def interval(effect: Effect) -> str:
    """`26 to 42 % or wider` where its width is a lower bound; no figures where it says nothing."""
    if effect.ci95 is None:
        return "–"
    low, high = effect.ci95
    if max(high, 1 / low if low > 0 else math.inf) > WIDEST:
        return f"wider than a factor of {WIDEST}"
    text = interval_of_metric(effect.ci95, effect.ratio, effect.metric)
    if not effect.differs and not low < 1 < high:  # the size beside it names no direction
        text += f" {word(effect)}"
    return f"{text} or wider" if effect.lower_bound else text


def detectable(effect: Effect) -> str:
    """The smallest effect that the comparison could have shown."""
    if effect.smallest_effect is None:
        return "–"
    if effect.smallest_effect > WIDEST:
        return f"over a factor of {WIDEST}"
    return smallest_effect(effect.smallest_effect)
