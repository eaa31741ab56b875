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

from hostdx.scenarios.experiment.statistics.stats import sample_deviation

MIN_PAIRS = 8  # pairs, and visits to pairs that were seen before: fewer tell nothing of the others


class FileSetScatter(NamedTuple):
    """Standard deviations of the log rate: of one file set against the others, and of one slice within its file set.

    pairs: of file sets that were measured, in so many `groups`; there are `all_pairs`.
    in_group: of a group's log ratio without the part of the file sets.
    """

    place: float
    slice: float
    in_group: float
    pairs: int
    all_pairs: int
    groups: int

    @property
    def is_known(self) -> bool:
        """Return whether every pair was measured twice, so that a moment can be told from a file set."""
        return self.groups >= 2 * self.all_pairs

    def error(self, groups: int) -> float:
        """Return the standard deviation of a mean log ratio over so many groups, in as many pairs as there are."""
        return math.sqrt(2 * self.place**2 / min(groups, self.all_pairs) + self.in_group**2 / groups)

    def measured_groups_for_width(self, now: float, then: float) -> float:
        """Return how many measured groups narrow a half-width (logarithm) from `now` to `then`; math.inf where
        the file sets allow no interval so narrow.
        """
        square = (then / now * self.error(self.groups)) ** 2 - 2 * self.place**2 / self.all_pairs
        return self.in_group**2 / square if square > 0 else math.inf


class FileSetVisits:
    """Chooses the pair of file sets of the next groups: one of those that were counted least often, at random."""

    def __init__(self, places: int, rng: random.Random) -> None:
        self._counted = [0] * places
        self._rng = rng

    def choose_for(self, groups: int) -> list[int]:
        """Return a file set for each of so many measured groups: at random, of those used least."""
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
        """Count groups that were not disturbed; a disturbed one is measured again in the same pair."""
        for place in places:
            self._counted[place] += 1


def file_set_means_and_weights(
    values: Sequence[float], weights: Sequence[float] | None, places: Sequence[int]
) -> tuple[list[float], list[float]]:
    """Return the (weighted) mean of the groups in each pair of file sets, and its weight."""
    sums: dict[int, float] = {}
    weights_by_place: dict[int, float] = {}
    for at, place in enumerate(places):
        weight = 1.0 if weights is None else weights[at]
        sums[place] = sums.get(place, 0.0) + weight * values[at]
        weights_by_place[place] = weights_by_place.get(place, 0.0) + weight
    return [sums[place] / weights_by_place[place] for place in sums], list(weights_by_place.values())


def estimate_scatter(
    log_ratios: Sequence[float], scatters: Sequence[float], places: Sequence[int], all_pairs: int
) -> FileSetScatter | None:
    """Return the two deviations, from the groups' log ratios and from the scatter of a variant's slices in a group.

    None before `MIN_PAIRS` pairs were measured again: until then a moment cannot be told from a file set. A deviation
    within two standard errors of 0 is 0.
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
    return FileSetScatter(
        math.sqrt(pair / 2), within, math.sqrt(group), len(ratios_by_place), all_pairs, len(log_ratios)
    )


def clip_outliers(values: Sequence[float]) -> list[float]:
    """Return the values, limited to four usual deviations from their median, so that a stall does not decide."""
    middle = median(values)
    most = 4 * 1.4826 * median([abs(value - middle) for value in values])
    return [min(middle + most, max(middle - most, value)) for value in values] if most > 0 else list(values)
