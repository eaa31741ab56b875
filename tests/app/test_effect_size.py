"""An effect's size and its interval speak of the same thing in the same unit."""

from __future__ import annotations

import pytest

from app.effect_size import factor, span


@pytest.mark.parametrize(
    ("ratio", "ci95", "size", "ends"),
    [
        (0.73, (0.7, 0.76), "27 % slower", "24.0–30.0 %"),
        (0.53, (0.46, 0.62), "47 % slower", "38.0–54.0 %"),  # an end beyond half stays in per cent
        (0.48, (0.45, 0.51), "2.08 × slower", "1.96–2.22 ×"),
        (2.9, (1.4, 4.1), "2.90 × faster", "1.40–4.10 ×"),
        (1.9, (1.5, 2.4), "90 % faster", "50.0–140.0 %"),
        (0.995, (0.97, 1.02), "0.5 % slower", "-3.0…+2.0 %"),
        (1.0, (1.0, 1.0), "the same", "0.0–0.0 %"),
        (0.0, (0.0, 1.0), "?", ""),
        (float("nan"), (0.5, float("inf")), "?", ""),
    ],
)
def test_size_and_interval(ratio: float, ci95: tuple[float, float], size: str, ends: str) -> None:
    assert factor(ratio) == size
    assert span(ci95, ratio) == ends
