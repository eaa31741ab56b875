"""The verdict in plain words: pinned."""

from __future__ import annotations

import pytest

from scenarios.explain import between, duration, percent, record, side, verdict_text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.05, "5 %"),
        (0.0526, "5.3 %"),
        (-0.27, "27 %"),
        (0.0004, "0 %"),
        (0.0013, "0.1 %"),
        (0.996, "100 %"),
        (40, "over 1000 %"),
    ],
)
def test_percent(share: float, text: str) -> None:
    assert percent(share) == text


@pytest.mark.parametrize(
    ("ratio", "text"), [(0.73, "27 % slower"), (1.12, "12 % faster"), (1.0002, "the same")]
)
def test_side(ratio: float, text: str) -> None:
    assert side(ratio) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.71, 0.78, "between 22 and 29 % slower"),
        (1.08, 1.2, "between 8 and 20 % faster"),
        (0.97, 1.02, "between 3 % slower and 2 % faster"),
        (1.0, 1.02, "between the same and 2 % faster"),
    ],
)
def test_between(low: float, high: float, text: str) -> None:
    assert between(low, high) == text


def test_the_example_of_the_report() -> None:
    text = verdict_text("slower", [-0.3] * 12, (0.71, 0.78), 0.05)
    assert text == "12 pairs; the slower one lost in 12 of 12; between 22 and 29 % slower"


def test_who_lost_how_often() -> None:
    assert record([0.2, 0.1, -0.1, 0.3]) == "4 pairs; the slower one lost in 3 of 4"


def test_no_material_difference() -> None:
    text = verdict_text("no material difference", [0.01, -0.01], (0.98, 1.03), 0.05)
    assert text == (
        "2 pairs; the variant lost in 1 of 2; between 2 % slower and 3 % faster, which is within the 5 % that matter"
    )


def test_inconclusive() -> None:
    text = verdict_text("inconclusive", [0.1, -0.2], (0.8, 1.1), 0.05, 0.15, 400.0)
    assert text == (
        "2 pairs; the variant lost in 1 of 2; between 20 % slower and 10 % faster; "
        "this run could have shown 15 % or more; about 7 min of measuring would decide it"
    )
    assert verdict_text("inconclusive", [0.1], None, 0.05) == "1 pair; too few to say anything"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (42, "42 s"), (400, "7 min"), (7200, "2 h"), (1e6, "days"), (float("inf"), "days")],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text
