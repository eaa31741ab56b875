"""Where the time went: the difference in wall time between two variants, part by part, each with its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from scenarios import events as ev
from scenarios.experiment.distributions import t_quantile
from scenarios.experiment.stats import deviation
from scenarios.workload.arm import BLOCKED, MEMORY, OTHER_D, OWN_RECLAIM, SYSTEM, USER, WAITING, WALL

PARTS = (USER, SYSTEM, WAITING, BLOCKED, MEMORY, OTHER_D)
REST = "rest"
LEAST_S = 1e-9  # the clock's own step: less is what the division leaves of nothing


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
    Reclaim of its own is system CPU by the kernel's account (it seldom sleeps): where it is known it counts once.
    """
    wall = values[WALL]
    parts = {name: values[name] for name in known}
    if SYSTEM in parts and MEMORY in parts:
        parts[SYSTEM] = max(0.0, parts[SYSTEM] - values.get(OWN_RECLAIM, 0.0))
    total = math.fsum(parts.values())
    scale = wall / total if total > wall else 1.0
    parts = {name: value * scale for name, value in parts.items()}
    rest = wall - math.fsum(parts.values())
    return {WALL: wall, **parts, REST: rest if rest > LEAST_S else 0.0}


class Groups(NamedTuple):
    """Groups that count, with every run of either side divided; `known` parts are in all of them."""

    known: list[str]
    runs: list[dict[str, list[dict[str, float]]]]

    def part(self, baseline: str, variant: str, *names: str) -> Part:
        """These parts together."""
        one, other = (
            [_mean([math.fsum(run[name] for name in names) for run in sides[side]]) for sides in self.runs]
            for side in (baseline, variant)
        )
        differences = [b - a for a, b in zip(one, other, strict=True)]
        n, mean = len(differences), _mean(differences)
        half = t_quantile(0.975, n - 1) * deviation(differences) / math.sqrt(n)
        return Part(
            name=", ".join(names),
            baseline_s=_mean(one),
            variant_s=_mean(other),
            difference_s=mean,
            ci95_s=(mean - half, mean + half),
        )


def steady(blocks: Sequence[ev.Block], baseline: str, variant: str) -> list[ev.Block]:
    """The runs of the two that count and were measured."""
    return [
        b for b in blocks if b.variant in (baseline, variant) and b.phase == "steady" and WALL in b.values
    ]


def groups_of(blocks: Sequence[ev.Block], baseline: str, variant: str) -> Groups | None:
    """None with fewer than 2. A part that is missing in one run is not known."""
    both = steady(blocks, baseline, variant)
    known = [name for name in PARTS if all(name in b.values for b in both)]
    groups: dict[int, dict[str, list[dict[str, float]]]] = {}
    for block in both:
        sides = groups.setdefault(block.group, {baseline: [], variant: []})
        sides[block.variant].append(divided(block.values, known))
    whole = [sides for sides in groups.values() if all(sides.values())]
    return Groups(known, whole) if len(whole) >= 2 else None


def split(blocks: Sequence[ev.Block], baseline: str, variant: str) -> Split | None:
    """Over the groups that count; None with fewer than 2."""
    groups = groups_of(blocks, baseline, variant)
    if groups is None:
        return None
    return Split(
        baseline=baseline,
        variant=variant,
        groups=len(groups.runs),
        parts=[groups.part(baseline, variant, name) for name in (WALL, *groups.known, REST)],
        unknown=[name for name in PARTS if name not in groups.known],
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
