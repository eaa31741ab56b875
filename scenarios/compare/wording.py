"""The words for one effect of a comparison, for findings, reports and the screen alike."""

from __future__ import annotations

from probes.units import between
from probes.units import effect as effect_text
from scenarios.compare.effects import Effect


def named(effect: Effect) -> str:
    """`system call (all)`."""
    return f"{effect.title} ({effect.key.variant})" if effect.key.variant else effect.title


def sized(effect: Effect) -> str:
    """`4.13 × slower, 95 % CI 3.9 to 4.4 ×`."""
    if effect.ci95 is None:
        return effect_text(effect.ratio)
    return f"{effect_text(effect.ratio)}, 95 % CI {interval(effect)}"


def interval(effect: Effect) -> str:
    """`at least 26 to 42 %` where it is a lower bound of the interval's width."""
    if effect.ci95 is None:
        return "–"
    text = between(*effect.ci95, effect.ratio)
    return f"at least {text}" if effect.lower_bound else text
