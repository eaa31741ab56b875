"""The screening design: balanced, its effects unbiased, its intervals right for all settings together."""

import itertools
import random

import pytest

from hostdx.scenarios.prove.design import (
    DUMMIES,
    MAX_SETTINGS,
    MIN_REPLICATES,
    MeasuredPair,
    count_replicates,
    design_rows,
    draw_pairs,
    estimate_effects,
)
from tests.every_case import every_case
from tests.measured.simulation.screening import screen_often


@every_case("settings", [4, 9, 10, 17, 18, MAX_SETTINGS])
def test_every_two_columns_are_balanced(settings: int) -> None:
    rows = [[1 if level else -1 for level in row] for row in design_rows(settings)]
    assert {len(row) for row in rows} == {settings + DUMMIES}
    assert all(
        sum(row[a] * row[b] for row in rows) == 0 for a, b in itertools.combinations(range(len(rows[0])), 2)
    )


def test_more_settings_than_the_largest_design_holds_are_refused() -> None:
    with pytest.raises(ValueError, match=str(MAX_SETTINGS)):
        design_rows(MAX_SETTINGS + 1)


def test_half_of_the_rows_come_before_their_mirrors() -> None:
    pairs = draw_pairs(8, random.Random(3))
    assert sum(first for _, first in pairs) == len(pairs) / 2
    assert sorted(row for row, _ in pairs) == sorted(design_rows(8))


def test_without_noise_the_effects_are_exact() -> None:
    effects = [0.1, -0.2, 0.0, 0.05]
    pairs = [
        MeasuredPair(row, sum(e if on else -e for e, on in zip(effects, row, strict=False)), first)
        for _ in range(2)
        for row, first in draw_pairs(4, random.Random(1))
    ]
    estimates = estimate_effects(pairs, ["a", "b", "c", "d"])
    assert [e.ratio for e in estimates[:2]] == pytest.approx([1.10517, 0.818731], rel=1e-4)
    assert [e.dummy for e in estimates] == [False] * 4 + [True] * DUMMIES


def test_replicates_are_as_many_as_fit_and_none_below_the_least() -> None:
    assert count_replicates(8, 1.0, 24.0 * MIN_REPLICATES) == MIN_REPLICATES
    assert count_replicates(8, 1.0, 24.0 * MIN_REPLICATES - 1) == 0


@pytest.mark.parametrize("model", ["white 3 %", "dependent 5 %, 0.58"])
def test_intervals_hold_for_all_settings_together(model: str) -> None:
    screened = screen_often((0.0,) * 7 + (0.1,), model, 250)
    assert screened.false_calls <= 0.09 and screened.all_found == 1.0 and screened.covered >= 0.91
