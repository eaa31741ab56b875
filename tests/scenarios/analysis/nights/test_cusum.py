"""The estimator of the nights: when a sum rises, what it takes to call a load slower, and what a baseline tells."""

import math
import random
from statistics import stdev

import pytest

from hostdx.scenarios.analysis.nights.cusum import (
    BASELINE_NIGHTS,
    CEILING,
    CLIP,
    DRIFT,
    LIMIT,
    Reference,
    add_night,
    baseline_references,
    cusum_of_nights,
    night_score,
    shift_of_nights,
)

OWN = Reference(centre=0.0, deviation=0.01, alike=0.0, nights=BASELINE_NIGHTS)


def test_a_night_adds_its_clipped_shortfall_less_the_drift() -> None:
    assert add_night(0.0, -0.02, OWN) == pytest.approx(2 - DRIFT)
    assert add_night(0.0, -0.50, OWN) == pytest.approx(CLIP - DRIFT)  # however low, one night is one night
    assert add_night(1.0, 0.0, OWN) == 0.0 and add_night(3.0, 0.01, OWN) == pytest.approx(1.0)
    assert add_night(CEILING, -0.5, OWN) == CEILING


def test_the_fourth_low_night_names_it_and_not_the_third() -> None:
    logs = [0.0, 0.003, *[math.log(0.93)] * 4]
    found = cusum_of_nights(logs, OWN, 36)
    [(named, shift)] = found.shifts
    assert (named, shift.since, shift.nights, found.slow) == (5, 2, 4, True)
    assert shift.ratio == pytest.approx(0.93) and shift.ci95[0] < 0.93 < shift.ci95[1] < 1
    assert not cusum_of_nights(logs[:-1], OWN, 36).shifts


def test_a_shift_within_the_margin_is_none_however_long_it_lasts() -> None:
    precise = OWN._replace(deviation=0.004)
    assert cusum_of_nights([math.log(0.98)] * 60, precise, 36).sums[-1] > LIMIT
    assert not cusum_of_nights([math.log(0.98)] * 60, precise, 36).shifts


def test_two_disturbed_nights_in_a_row_name_nothing_and_are_forgotten() -> None:
    found = cusum_of_nights([0.0, -0.4, -0.5, *[0.0] * 4], OWN, 36)
    assert not found.shifts and found.sums[-1] == 0.0


def test_disturbed_nights_among_low_ones_do_not_make_them_lower() -> None:
    low = shift_of_nights([-0.06] * 5, OWN, 36)
    spoilt = shift_of_nights([-0.06, -0.5, -0.06, -0.4, -0.06], OWN, 36)
    assert low is not None and spoilt is not None
    assert low.ratio - spoilt.ratio < OWN.deviation


def test_where_loads_differ_in_how_alike_their_nights_are_more_is_taken_for_sure() -> None:
    rng = random.Random(6)
    columns = []
    for alike in (0.0, 0.6) * 18:
        state, logs = rng.gauss(0, 1), []
        for _ in range(BASELINE_NIGHTS):
            state = alike * state + math.sqrt(1 - alike**2) * rng.gauss(0, 1)
            logs.append(0.02 * state)
        columns.append(logs)
    found = [to.alike for to in baseline_references(columns)]
    assert sum(found[1::2]) / 18 > 0.5 and sum(found[::2]) / 18 < 0.4


def test_a_load_that_recovers_is_no_longer_slow_and_is_named_anew() -> None:
    low = [math.log(0.9)] * 5
    found = cusum_of_nights([*low, *[0.0] * 12, *low], OWN, 36)
    assert len(found.shifts) == 2 and found.slow
    assert not cusum_of_nights([*low, *[0.0] * 12], OWN, 36).slow


def test_what_follows_the_night_before_is_expected() -> None:
    alike = OWN._replace(alike=0.5)
    assert night_score(-0.02, alike, None) == pytest.approx(-2)
    assert night_score(-0.01, alike, -0.02) == pytest.approx(0.0)
    assert (
        shift_of_nights([-0.05] * 4, OWN, 36) is not None and shift_of_nights([-0.05] * 4, alike, 36) is None
    )


def test_more_loads_ask_for_a_wider_interval() -> None:
    one, many = (shift_of_nights([-0.08] * 6, OWN, loads) for loads in (1, 200))
    assert one is not None and many is not None
    assert many.ci95[0] < one.ci95[0] and many.ci95[1] > one.ci95[1]


def test_a_baseline_is_hardly_moved_by_disturbed_nights() -> None:
    rng = random.Random(3)
    clean = [[rng.gauss(5.0, 0.02) for _ in range(BASELINE_NIGHTS)] for _ in range(30)]
    spoilt = [[*logs[:-3], 4.5, 4.6, 4.4] for logs in clean]
    for logs, to in zip(clean, baseline_references(clean), strict=True):
        assert to.centre == pytest.approx(5.0, abs=0.015)
        assert to.deviation == pytest.approx(stdev(logs), rel=0.5) and to.alike < 0.2
    assert all(
        to.centre == pytest.approx(5.0, abs=0.025) and to.deviation < 0.05
        for to in baseline_references(spoilt)
    )


def test_nights_that_are_alike_are_seen_to_be_so_over_all_loads() -> None:
    rng = random.Random(4)
    columns = []
    for _ in range(36):
        state, logs = rng.gauss(0, 1), []
        for _ in range(BASELINE_NIGHTS):
            state = 0.5 * state + math.sqrt(0.75) * rng.gauss(0, 1)
            logs.append(0.02 * state)
        columns.append(logs)
    alike = [to.alike for to in baseline_references(columns)]
    assert 0.4 < sum(alike) / len(alike) < 0.6 and min(alike) > 0.15


def test_a_low_night_before_a_shift_is_not_its_first() -> None:
    to = Reference(0.0, 0.02, 0.0, 28)
    logs = [-0.06, 0.0, *[-0.1] * 6]  # the sum begins with the first and does not come back to nothing
    ((_, shift),) = cusum_of_nights(logs, to, 1).shifts
    assert shift.since == 2
