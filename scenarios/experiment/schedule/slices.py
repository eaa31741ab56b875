"""How long a slice must be, found in the warm-up: long enough to count in, and for the switch not to show.

A slice is the shortest that holds enough operations of the slowest side and whose first quarter does not differ from
its rest by more than a quarter of the margin: what a switch costs the side (cold caches, a drive waking up, a control
group) lies there. Called again over all slices measured so far it knows the first quarter ever better.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.plan import Workload
from hostdx.scenarios.experiment.looks import CHEAP_FIRST
from hostdx.scenarios.experiment.statistics.distributions import t_quantile
from hostdx.scenarios.experiment.statistics.stats import sample_deviation

MIN_SLICE_S = 0.02
MIN_SLICE_OPERATIONS = 50  # times the queue depth
SLOW_S = 0.1  # a slice that its operations make longer holds fewer of them
SLOW_OPERATIONS, SLOW_SHARE = 15, 0.3  # at least, and of those that it should hold
MIN_SLICES = 8  # slices of a side, before its first quarter can be told from noise
SURE = 0.01  # a clean slice is called too short so often, all sides together
FIRST_LOOK_S = 5.0
_PART_OF_MARGIN = 4
_ALIKE = 1.35  # slices whose lengths are within this factor are judged as of one length

Why: TypeAlias = Literal["shortest", "operations", "switch", "block"]


class WarmUpSlice(NamedTuple):
    """One slice, measured right after a switch to `variant`.

    `parts`: the rate (any unit) of its four quarters, the first quarter first.
    """

    variant: str
    seconds: float
    operations: int
    parts: Sequence[float]


class FirstQuarter(NamedTuple):
    """How far a variant's rate in the first quarter differs from the rest, a share of its mean (-0.2: 20 % lower).

    `low` to `high`: the interval at 99 % for all variants together.
    """

    variant: str
    difference: float
    low: float
    high: float


class ChosenSliceLength(NamedTuple):
    """What to measure with, and why.

    seconds     of a slice, `onset_s` included. onset_s: cut off at its start and never pooled with the rest; 0 where
                the switch does not show.
    why         what decided: `shortest` (20 ms), `operations`, `switch` (longer, so that the switch does not show),
                `block` (as long as a block: cut off, or too slow).
    settled     slices of this length were seen, at least 8 a side. If not: measure some and ask again.
    rate        operations a second of the slowest side, 0 where none finished.
    quarter     of the side where the switch shows most, in the longest slices judged; None before there are 8 a side.
    """

    seconds: float
    onset_s: float
    why: Why
    settled: bool
    rate: float
    quarter: FirstQuarter | None


def choose_slice_length(
    warm: Iterable[WarmUpSlice],
    *,
    margin: float,
    most_s: float,
    least_operations: int = MIN_SLICE_OPERATIONS,
    least_s: float = MIN_SLICE_S,
) -> ChosenSliceLength:
    """Return the slice length to go on with. Of slices of several lengths those count that are about as long as the
    one asked for.

    most_s: the length of a window; no slice is longer.
    least_operations: 50 times the queue depth; 15 where that takes over 100 ms (a hard disk).
    """
    slices = list(warm)
    if not slices:
        raise ValueError("no warm-up slice")
    by_side: dict[str, list[WarmUpSlice]] = {}
    for w in slices:
        by_side.setdefault(w.variant, []).append(w)
    rate = min(sum(w.operations for w in side) / sum(w.seconds for w in side) for side in by_side.values())
    needed = least_operations / rate if rate > 0 else most_s
    if rate > 0 and needed > SLOW_S:
        needed = max(SLOW_S, needed * min(1.0, max(SLOW_SHARE, SLOW_OPERATIONS / least_operations)))
    length = min(most_s, max(least_s, _round_up_to_ms(needed)))
    why: Why = "block" if needed >= most_s else "operations" if needed > least_s else "shortest"
    tolerated = margin / _PART_OF_MARGIN
    worst: FirstQuarter | None = None
    while True:
        last = length >= 0.95 * most_s
        # An operation under way is waited for, so a slice may be longer than asked for.
        alike = [w for w in slices if length / _ALIKE < w.seconds and (last or w.seconds < length * _ALIKE)]
        quarters = first_quarters(alike) if {w.variant for w in alike} == by_side.keys() else None
        if quarters is None:
            return ChosenSliceLength(length, 0.0, why, False, rate, worst)
        worst = max(quarters, key=lambda q: max(q.low, -q.high))
        if max(worst.low, -worst.high) <= tolerated:
            return ChosenSliceLength(length, 0.0, why, True, rate, worst)
        if last:
            return ChosenSliceLength(most_s, most_s / 4, "block", True, rate, worst)
        # What a switch costs does not grow with the slice, so its share of the first quarter falls with the length.
        length = min(most_s, _round_up_to_ms(length * max(2.0, abs(worst.difference) / tolerated)))
        why = "switch"


def _round_up_to_ms(seconds: float) -> float:
    return math.ceil(seconds * 1000) / 1000


def first_quarters(slices: Sequence[WarmUpSlice]) -> list[FirstQuarter] | None:
    """Return the first quarter of each variant, from slices of about one length; None while one has fewer than 8
    slices or stood still.
    """
    by_side: dict[str, list[Sequence[float]]] = {}
    for w in slices:
        by_side.setdefault(w.variant, []).append(w.parts)
    quarters = []
    for variant, parts in by_side.items():
        level = sum(math.fsum(p) / len(p) for p in parts) / len(parts)
        if len(parts) < MIN_SLICES or level <= 0:
            return None
        differences = [(p[0] - math.fsum(p[1:]) / (len(p) - 1)) / level for p in parts]
        mean = math.fsum(differences) / len(differences)
        half = t_quantile(1 - SURE / len(by_side) / 2, len(parts) - 1) * sample_deviation(differences)
        half /= math.sqrt(len(parts))
        quarters.append(FirstQuarter(variant, mean, mean - half, mean + half))
    return quarters


def longest_slice_s(
    load: Workload, warm_up_slices: Sequence[WarmUpSlice], variants: int, affordable_s: float
) -> float:
    """Return the longest slice that is allowed: a window of half a second or of its operations, at most its bound.

    A slice may be that long for the operations that it must hold. For the cost of a switch it may be only so long that
    the first interim analysis comes within seconds and that enough groups fit into the bytes that may be written; then
    the onset is cut off.
    """
    rate = sum(w.operations for w in warm_up_slices) / sum(w.seconds for w in warm_up_slices)
    needed = load.min_operations / rate if rate > 0 else load.max_block_s
    block_s = min(max(load.block_s, needed), max(load.max_block_s, load.block_s))
    counted_s = load.slice_operations / rate if rate > 0 else block_s
    switched_s = min(FIRST_LOOK_S / (CHEAP_FIRST * 2 * variants), affordable_s)
    return min(block_s, max(load.slice_s or MIN_SLICE_S, counted_s, switched_s))


def slice_length_event(t: float, workload: str, chosen: ChosenSliceLength) -> ev.SliceLengthChosen:
    quarter = chosen.quarter
    return ev.SliceLengthChosen(
        t=t,
        workload=workload,
        seconds=chosen.seconds,
        why=chosen.why,
        onset_s=chosen.onset_s,
        settled=chosen.settled,
        variant=quarter.variant if quarter else "",
        difference=round(quarter.difference, 5) if quarter else None,
        ci99=(round(quarter.low, 5), round(quarter.high, 5)) if quarter else None,
    )
