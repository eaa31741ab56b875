"""Places: where on its disk a side is measured. Each is a random effect of its own.

Two like files need not be equally fast (thin images, cloud volumes, SSDs and RAID sets have fast and slow places that
no file system shows), and 200 groups on one file a side are one sample of it: an interval over them holds for these
two files. So a group stays in one pair of places, all pairs are visited equally often, and the interval is over the
pairs (Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013, for the levels).
"""

import math
import random
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from scenarios.experiment.statistics.stats import sample_deviation

MIN_PAIRS = 8  # pairs, and visits to pairs that were seen before: fewer tell nothing of the others


class PlaceScatter(NamedTuple):
    """Standard deviations of the log rate: of one place against the others, and of one slice in its place.

    pairs       of places that were visited, in so many `groups`; `all_pairs` there are.
    in_group    of a group's log ratio, places aside.
    """

    place: float
    slice: float
    in_group: float
    pairs: int
    all_pairs: int
    groups: int

    @property
    def is_known(self) -> bool:
        """Every pair was visited twice at least: only so a moment is told from a place for sure."""
        return self.groups >= 2 * self.all_pairs

    def error(self, groups: int) -> float:
        """The standard deviation of a mean log ratio over so many groups, in as many pairs as there are."""
        return math.sqrt(2 * self.place**2 / min(groups, self.all_pairs) + self.in_group**2 / groups)

    def groups_for(self, now: float, then: float) -> float:
        """So many groups narrow a half-width (ln) of `now` to `then`; math.inf where places allow none so narrow."""
        square = (then / now * self.error(self.groups)) ** 2 - 2 * self.place**2 / self.all_pairs
        return self.in_group**2 / square if square > 0 else math.inf


class PlaceVisits:
    """Which pair of places the next groups are measured in: those that were counted least often, drawn among these."""

    def __init__(self, places: int, rng: random.Random) -> None:
        self._counted = [0] * places
        self._rng = rng

    def next(self, groups: int) -> list[int]:
        """A place for each group."""
        counts, chosen = list(self._counted), []
        waiting: list[int] = []
        for _ in range(groups):
            if not waiting:
                least = min(counts)
                waiting = [place for place, count in enumerate(counts) if count == least]
                self._rng.shuffle(waiting)
            place = waiting.pop()
            counts[place] += 1
            chosen.append(place)
        return chosen

    def count_visits(self, places: Sequence[int]) -> None:
        """The groups there count; what was disturbed is visited again."""
        for place in places:
            self._counted[place] += 1


def means_by_place(
    values: Sequence[float], weights: Sequence[float] | None, places: Sequence[int]
) -> tuple[list[float], list[float]]:
    """The (weighted) mean of the groups in each pair of places, and its weight."""
    sums: dict[int, float] = {}
    weights_by_place: dict[int, float] = {}
    for at, place in enumerate(places):
        weight = 1.0 if weights is None else weights[at]
        sums[place] = sums.get(place, 0.0) + weight * values[at]
        weights_by_place[place] = weights_by_place.get(place, 0.0) + weight
    return [sums[place] / weights_by_place[place] for place in sums], list(weights_by_place.values())


def estimate_scatter(
    log_ratios: Sequence[float], scatters: Sequence[float], places: Sequence[int], all_pairs: int
) -> PlaceScatter | None:
    """The two levels, from the groups' log ratios and what slices of one side scattered within each group.

    None before `MIN_PAIRS` pairs were visited again: until then a moment is not told from a place. What is within two
    standard errors of nothing is 0.
    """
    ratios_by_place: dict[int, list[float]] = {}
    for place, ratio in zip(places, clip_outliers(log_ratios), strict=True):
        ratios_by_place.setdefault(place, []).append(ratio)
    spare = sum(len(each) - 1 for each in ratios_by_place.values())
    if len(ratios_by_place) < MIN_PAIRS or spare < MIN_PAIRS:
        return None
    again = [each for each in ratios_by_place.values() if len(each) > 1]
    group = math.fsum(sample_deviation(each) ** 2 * (len(each) - 1) for each in again) / spare
    means = [math.fsum(each) / len(each) for each in ratios_by_place.values()]
    noise = group * math.fsum(1 / len(each) for each in ratios_by_place.values()) / len(ratios_by_place)
    between = sample_deviation(means) ** 2
    sure = between > noise * (1 + 2 * math.sqrt(2 / (len(ratios_by_place) - 1) + 2 / spare))
    pair = between - noise if sure else 0.0
    within = median(scatters) / math.sqrt(math.log(2))  # their median: of two degrees of freedom
    return PlaceScatter(
        math.sqrt(pair / 2), within, math.sqrt(group), len(ratios_by_place), all_pairs, len(log_ratios)
    )


def clip_outliers(values: Sequence[float]) -> list[float]:
    """Without what a stall did: no value is farther from their median than four usual deviations."""
    middle = median(values)
    most = 4 * 1.4826 * median([abs(value - middle) for value in values])
    return [min(middle + most, max(middle - most, value)) for value in values] if most > 0 else list(values)
