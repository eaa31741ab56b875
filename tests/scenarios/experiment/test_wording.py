"""A verdict in words, from its fields: pinned."""

from __future__ import annotations

from typing import Any

import pytest

from scenarios.contract import events as ev
from scenarios.experiment.places import PlaceScatter
from scenarios.experiment.wording import effect_words, explain_verdict, places_text


def verdict(word: str, **fields: Any) -> ev.RunVerdict:
    return ev.RunVerdict(
        t=0, workload="w", metric="IOPS", baseline="A", variant="B", verdict=word, **{"groups": 12, **fields}
    )


@pytest.mark.parametrize(
    ("given", "words", "why"),
    [
        (
            verdict("slower", ratio=0.75, ci95=(0.71, 0.78), slower_in=12),
            "25 % slower (95 % CI 22 to 29 %)",
            "B was slower in 12 of 12 groups",
        ),
        (
            verdict("slower", ratio=0.08, ci95=(0.076, 0.083), slower_in=12),
            "12.5 × slower (95 % CI 12 to 13.2 ×)",
            "B was slower in 12 of 12 groups",
        ),
        (
            verdict("faster", ratio=1.3, ci95=(1.2, 1.4), slower_in=1),
            "30 % faster (95 % CI 20 to 40 %)",
            "B was faster in 11 of 12 groups",
        ),
        (
            verdict("no material difference", ratio=1.0, ci95=(0.98, 1.03), slower_in=6),
            "no material difference (95 % CI 2 % slower to 3 % faster)",
            "B was slower in 6 of 12 groups; the interval lies within the margin of 5 %",
        ),
        (
            verdict("inconclusive", ratio=0.9, ci95=(0.8, 1.1), smallest_effect=0.15, seconds_to_decide=400.0),
            "inconclusive (95 % CI 20 % slower to 10 % faster)",
            "B was slower in 0 of 12 groups; smallest detectable effect here: ±15 %; "
            "about 6 min 40 s of measuring would decide it",
        ),
        (verdict("inconclusive", smallest_effect=1.7, groups=1, seconds_to_decide=1e7), "inconclusive",
         "B was slower in 0 of 1 group; smallest detectable effect here: a factor of 2.7; 1 group is too "
             "few to say how much longer it needs"),
        (verdict("no material difference", ratio=1.02, ci95=(1.003, 1.035)),
         "no material difference (95 % CI 0.3 to 3.5 % faster)",
         "B was slower in 0 of 12 groups; the interval lies within the margin of 5 %"),
        (verdict("not measured", groups=0, reason="needs 16 s"), "not measured", ""),
        (verdict("no material difference", ratio=1.0, ci95=(0.98, 1.03), slower_in=6, pairs=64, place_scatter=0.021,
                 slice_scatter=0.004),
         "no material difference (95 % CI 2 % slower to 3 % faster)",
         "B was slower in 6 of 12 groups; the interval lies within the margin of 5 %; file sets of one directory "
         "differ by ±2.1 %, slices by ±0.4 %: the interval is over 64 pairs of file sets"),
        (verdict("slower", ratio=0.8, ci95=(0.7, 0.9), slower_in=12, pairs=16, place_scatter=0.0, slice_scatter=0.004),
         "20 % slower (95 % CI 10 to 30 %)",
         "B was slower in 12 of 12 groups; file sets of one directory do not differ measurably, slices by ±0.4 %: the "
         "interval is over 16 pairs of file sets"),
        (verdict("slower", ratio=0.8, ci95=(0.7, 0.9), explain="own words"), "20 % slower (95 % CI 10 to 30 %)",
         "own words"),
    ],
)  # fmt: skip
def test_said(given: ev.RunVerdict, words: str, why: str) -> None:
    assert effect_words(given) == words
    assert explain_verdict(given) == why


def test_places_that_allow_no_narrower_interval() -> None:
    said = places_text(PlaceScatter(0.09, 0.01, 0.01, 16, 16, 48))
    assert (
        said
        == "the file sets of one directory differ by ±9.4 %, and 16 pairs of them allow no narrower interval"
    )
