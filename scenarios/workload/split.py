"""Where the time went: the difference in wall time between two variants, part by part, each with its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from scenarios import events as ev
from scenarios.experiment.distributions import t_quantile
from scenarios.experiment.stats import deviation
from scenarios.workload.arm import BLOCKED, MEMORY, OTHER_D, SYSTEM, USER, WAITING, WALL

PARTS = (USER, SYSTEM, WAITING, BLOCKED, MEMORY, OTHER_D)
REST = "rest"


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of wall time a run: mean of either side, difference (variant - baseline) with its 95 % interval."""

    name: str
    baseline_s: float
    variant_s: float
    difference_s: float
    ci95_s: tuple[float, float]


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """`parts`: the whole (`wall`) first, then those that are known and the rest. `unknown`: not told from the rest."""

    baseline: str
    variant: str
    groups: int
    parts: list[Part]
    unknown: list[str]


def divided(values: Mapping[str, float], known: Sequence[str]) -> dict[str, float]:
    """One run's wall time in its parts. They are sums over threads: where several work or wait at once, and the sums
    are more than the wall time, each second of it is divided in the proportion of the sums, and nothing is left over.
    """
    wall = values[WALL]
    parts = {name: values[name] for name in known}
    total = math.fsum(parts.values())
    scale = wall / total if total > wall else 1.0
    parts = {name: value * scale for name, value in parts.items()}
    return {WALL: wall, **parts, REST: max(0.0, wall - math.fsum(parts.values()))}


def split(blocks: Sequence[ev.Block], baseline: str, variant: str) -> Split | None:
    """Over the groups that count; None with fewer than 2. A part that is missing in one run is not known."""
    both = [
        b for b in blocks if b.variant in (baseline, variant) and b.phase == "steady" and WALL in b.values
    ]
    known = [name for name in PARTS if all(name in b.values for b in both)]
    groups: dict[int, dict[str, list[dict[str, float]]]] = {}
    for block in both:
        sides = groups.setdefault(block.group, {baseline: [], variant: []})
        sides[block.variant].append(divided(block.values, known))
    whole = [sides for sides in groups.values() if all(sides.values())]
    if len(whole) < 2:
        return None
    return Split(
        baseline=baseline,
        variant=variant,
        groups=len(whole),
        parts=[_part(name, whole, baseline, variant) for name in (WALL, *known, REST)],
        unknown=[name for name in PARTS if name not in known],
    )


def _part(
    name: str, groups: Sequence[Mapping[str, Sequence[Mapping[str, float]]]], baseline: str, variant: str
) -> Part:
    one = [_mean([run[name] for run in sides[baseline]]) for sides in groups]
    other = [_mean([run[name] for run in sides[variant]]) for sides in groups]
    differences = [b - a for a, b in zip(one, other, strict=True)]
    n, mean = len(differences), _mean(differences)
    half = t_quantile(0.975, n - 1) * deviation(differences) / math.sqrt(n)
    return Part(
        name=name,
        baseline_s=_mean(one),
        variant_s=_mean(other),
        difference_s=mean,
        ci95_s=(mean - half, mean + half),
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
