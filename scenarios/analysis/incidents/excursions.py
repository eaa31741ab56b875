"""Stretches of a series that stand out from its own quiet level."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

import msgspec

SPREADS = 6.0  # of the quiet values, that a value must lie above their level
MAX_SHARE = 0.45  # of the samples: what stands out longer than that is usual here; the median holds to a half
MIN_SAMPLES = 20  # a quiet level of fewer is none
MIN_DURATION_S = 180.0
MIN_DURATION_SHARE = 0.02  # of the file, where that is shorter
_MAD_TO_SIGMA = 1.4826


class Excursion(msgspec.Struct, frozen=True, kw_only=True):
    """From the first to the last sample above the limit, as places in the series. `level`: their median."""

    first: int
    last: int
    level: float
    peak: float
    quiet: float


def find_excursions(
    at_s: Sequence[float], values: Sequence[float], *, floor: float, rise: float
) -> list[Excursion]:
    """Return the stretches in order of time.

    The quiet level is the median, its spread 1.48 × the median absolute deviation. A stretch begins and ends where the
    values pass half of the way from the quiet level to the stretch's own median. It lasts three minutes, or 2 % of a
    shorter file, and two samples; one sample is enough where it stands for so long. Shorter gaps do not end a stretch.
    """
    if len(values) < MIN_SAMPLES:
        return []
    quiet = median(values)
    spread = _MAD_TO_SIGMA * median([abs(value - quiet) for value in values])
    limit = max(floor, quiet + rise, quiet + SPREADS * spread)
    places = [place for place, value in enumerate(values) if value >= limit]
    if not places or len(places) > MAX_SHARE * len(values):
        return []
    interval_s = median(after - before for before, after in pairwise(at_s))
    min_duration_s = min(MIN_DURATION_S, MIN_DURATION_SHARE * (at_s[-1] - at_s[0]))
    found: list[Excursion] = []
    for first, last in _join_places(places, at_s, max(2 * interval_s, min_duration_s / 3)):
        level = median(values[first : last + 1])
        half = quiet + (level - quiet) / 2
        while first > 0 and values[first - 1] >= half:
            first -= 1
        while last < len(values) - 1 and values[last + 1] >= half:
            last += 1
        if found and first <= found[-1].last:
            continue
        lasted_s = at_s[last] - at_s[first] + interval_s
        is_long = last > first or interval_s >= min_duration_s
        if is_long and lasted_s >= min_duration_s and level >= limit:
            part = values[first : last + 1]
            found.append(Excursion(first=first, last=last, level=median(part), peak=max(part), quiet=quiet))
    return found


def _join_places(places: Sequence[int], at_s: Sequence[float], gap_s: float) -> list[tuple[int, int]]:
    """Return (first, last) of the runs of places; a gap in time up to `gap_s` belongs to the run."""
    runs = [[places[0], places[0]]]
    for place in places[1:]:
        if at_s[place] - at_s[runs[-1][1]] <= gap_s:
            runs[-1][1] = place
        else:
            runs.append([place, place])
    return [(first, last) for first, last in runs]
