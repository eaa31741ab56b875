"""The estimator of the nights: when a sum rises, what it takes to call a load slower, and what a baseline tells."""

import math
import random

import pytest

from hostdx.scenarios.analysis.nights.cusum import (
    BASELINE_NIGHTS,
    LIMIT,
    BaselineReference,
    baseline_references,
    cusum_of_nights,
    night_score,
    shift_of_nights,
)

OWN = BaselineReference(centre=0.0, deviation=0.01, alike=0.0, nights=BASELINE_NIGHTS)


def test_a_shift_within_the_margin_is_none_however_long_it_lasts() -> None:
    precise = OWN._replace(deviation=0.004)
    assert cusum_of_nights([math.log(0.98)] * 60, precise, 36).sums[-1] > LIMIT
    assert not cusum_of_nights([math.log(0.98)] * 60, precise, 36).shifts


def test_two_disturbed_nights_in_a_row_name_nothing_and_are_forgotten() -> None:
    cusum = cusum_of_nights([0.0, -0.4, -0.5, *[0.0] * 4], OWN, 36)
    assert not cusum.shifts and cusum.sums[-1] == 0.0


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
    correlations = [to.alike for to in baseline_references(columns)]
    assert sum(correlations[1::2]) / 18 > 0.5 and sum(correlations[::2]) / 18 < 0.4


def test_what_follows_the_night_before_is_expected() -> None:
    alike = OWN._replace(alike=0.5)
    assert night_score(-0.02, alike, None) == pytest.approx(-2)
    assert night_score(-0.01, alike, -0.02) == pytest.approx(0.0)
    assert (
        shift_of_nights([-0.05] * 4, OWN, 36) is not None and shift_of_nights([-0.05] * 4, alike, 36) is None
    )


def test_a_low_night_before_a_shift_is_not_its_first() -> None:
    to = BaselineReference(0.0, 0.02, 0.0, 28)
    logs = [-0.06, 0.0, *[-0.1] * 6]  # the sum begins with the first and does not come back to nothing
    ((_, shift),) = cusum_of_nights(logs, to, 1).shifts
    assert shift.since == 2
