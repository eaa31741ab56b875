"""The smallest effect that a run could have seen, in words that stay readable however noisy it was."""

from __future__ import annotations

import pytest

from app.wording import percent


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.052, "±5.2 %"),
        (0.87, "±87 %"),
        (1.4, "a factor of 2.4"),
        (190.0, "nothing below a factor of 100"),
    ],
)
def test_from_a_hundred_per_cent_on_it_is_a_factor(value: float | None, text: str) -> None:
    assert percent(value) == text
