"""The bounding box of user expectation (IO500): from hard to easy, in bandwidth and in metadata operations.

What an application reaches lies between the hard and the easy pattern of the same benchmark. So a run whose easy
lies below its hard is broken, whatever the other runs say: that needs no vote. Where such runs are named, they are
left out before the others are compared with their own median.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

from scenarios.imported.results import Box, Corner, Odd
from scenarios.imported.snapshot import Snapshot

EASY_BELOW_HARD = 0.95  # of hard: within 5 % the two are the same
ODD_FACTOR = 1.3  # away from the median of the runs that are not broken …
ODD_SIGMAS = 5.0  # … and so many robust standard deviations
LEAST_FOR_ODD = 5  # runs

# title → corner workloads: bandwidth hard, bandwidth easy, metadata hard, metadata easy
_BOXES: dict[str, tuple[str, str, str, str]] = {
    "": ("ior-hard", "ior-easy", "mdtest-hard", "mdtest-easy"),
    "write": ("ior-hard-write", "ior-easy-write", "mdtest-hard-write", "mdtest-easy-write"),
    "read": ("ior-hard-read", "ior-easy-read", "mdtest-hard-stat", "mdtest-easy-stat"),
}


def boxes(found: Sequence[Snapshot]) -> list[Box]:
    """The boxes that the runs have all four corners for."""
    made = []
    for title, names in _BOXES.items():
        runs = [s for s in found if all(s.value(name) is not None for name in names)]
        if runs:
            made.append(_box(title, names, runs))
    return made


def _box(title: str, names: tuple[str, str, str, str], runs: Sequence[Snapshot]) -> Box:
    values: dict[str, list[float]] = {n: [run.value(n) or 0.0 for run in runs] for n in names}
    labels = tuple(run.name for run in runs)
    odd = _below(names, values, labels)
    broken = {(o.workload, o.index) for o in odd}
    odd += _elsewhere(names, values, labels, broken)
    corners = [_corner(n, values[n], {i for w, i in broken if w == n}) for n in names]
    return Box(
        title=title, runs=labels, corners=(corners[0], corners[1], corners[2], corners[3]), odd=tuple(odd)
    )


def _unit(name: str) -> str:
    return "B/s" if name.startswith("ior") else "IOPS"


def _below(
    names: tuple[str, str, str, str], values: Mapping[str, Sequence[float]], labels: Sequence[str]
) -> list[Odd]:
    found = []
    for hard, easy in ((names[0], names[1]), (names[2], names[3])):
        for i, (low, high) in enumerate(zip(values[hard], values[easy], strict=True)):
            if high < EASY_BELOW_HARD * low:
                found.append(
                    Odd(
                        run=labels[i], index=i, workload=easy, kind="easy below hard", value=high, other=low,
                        unit=_unit(easy),
                    )
                )  # fmt: skip
    return found


def _elsewhere(
    names: Sequence[str],
    values: Mapping[str, Sequence[float]],
    labels: Sequence[str],
    broken: set[tuple[str, int]],
) -> list[Odd]:
    found = []
    for name in names:
        sound = [(i, v) for i, v in enumerate(values[name]) if (name, i) not in broken and v > 0]
        if len(sound) < LEAST_FOR_ODD:
            continue
        logs = [math.log(v) for _, v in sound]
        middle = median(logs)
        sigma = 1.4826 * median([abs(x - middle) for x in logs])
        limit = max(math.log(ODD_FACTOR), ODD_SIGMAS * sigma)
        for i, value in sound:
            if abs(math.log(value) - middle) > limit:
                found.append(
                    Odd(
                        run=labels[i], index=i, workload=name, kind="elsewhere", value=value, other=math.exp(middle),
                        unit=_unit(name),
                    )
                )  # fmt: skip
    return found


def _corner(name: str, values: Sequence[float], left_out: set[int]) -> Corner:
    sound = sorted(v for i, v in enumerate(values) if i not in left_out) or sorted(values)
    return Corner(
        workload=name,
        unit=_unit(name),
        values=tuple(values),
        median=median(sound),
        low=sound[0],
        high=sound[-1],
    )


def position(value: float, hard: Corner, easy: Corner) -> float | None:
    """0 at hard, 1 at easy, on a logarithmic scale; None where the box has no extent."""
    if min(value, hard.median, easy.median) <= 0 or easy.median <= hard.median * 1.001:
        return None
    return math.log(value / hard.median) / math.log(easy.median / hard.median)
