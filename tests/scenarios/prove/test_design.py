"""The screening design: balanced, its effects unbiased, its intervals right for all settings together."""

import itertools

import pytest

from hostdx.scenarios.prove.design import (
    DUMMIES,
    MAX_SETTINGS,
    design_rows,
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


@pytest.mark.parametrize("model", ["white 3 %", "dependent 5 %, 0.58"])
def test_intervals_hold_for_all_settings_together(model: str) -> None:
    screened = screen_often((0.0,) * 7 + (0.1,), model, 250)
    assert screened.false_calls <= 0.09 and screened.all_found == 1.0 and screened.covered >= 0.91
