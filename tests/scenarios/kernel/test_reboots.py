"""A comparison across reboots: which boot comes next, and when the next series begins."""

from __future__ import annotations

from scenarios.kernel.reboots import Boot, Letter, open_series, series_of
from tests.every_case import every_case


def _runs(text: str, order: str = "ABBA") -> list[Boot]:
    """ "A1 B2": side and boot, in the order measured."""
    found = []
    for number, word in enumerate(text.split()):
        side: Letter = "A" if word[0] == "A" else "B"
        found.append(
            Boot(
                recording=f"{number:02}",
                side=side,
                boot=word[1:],
                wall=f"2026-11-{number + 1:02}",
                kernel=side,
                order=order,
            )
        )
    return found


@every_case(
    ("runs", "order", "done", "left"),
    [
        ("A1", "AB", "A", "B"),
        ("A1 B2", "AB", "AB", ""),
        ("A1", "ABBA", "A", "BBA"),
        ("A1 B2", "ABBA", "AB", "BA"),
        ("A1 B2 B2", "ABBA", "AB", "BA"),  # a second run of the same boot is no second boot
        ("A1 B2 B3", "ABBA", "ABB", "A"),
        ("A1 B2 B3 A4", "ABBA", "ABBA", ""),
        ("A1 A2 B3", "ABBA", "AAB", "B"),  # the order was not kept: what is missing counts
        ("A1 B2 A3", "ABBA", "ABA", "B"),
    ],
)
def test_what_is_still_to_do(runs: str, order: str, done: str, left: str) -> None:
    (series,) = series_of(_runs(runs, order))
    assert (series.measured_variants, series.remaining_variants) == (done, left)
    assert (open_series(_runs(runs, order)) is None) == (left == "")


def test_a_before_after_a_finished_series_begins_the_next() -> None:
    first, second = series_of(_runs("A1 B2 A3 B4", "AB"))
    assert first.recordings_of("A") == ("00",) and second.recordings_of("B") == ("03",)


def test_an_after_after_a_finished_series_belongs_to_it() -> None:
    (series,) = series_of(_runs("A1 B2 B3", "AB"))
    assert series.recordings_of("B") == ("01", "02")


def test_another_run_of_the_same_boot_begins_nothing() -> None:
    assert len(series_of(_runs("A1 B2 A1", "AB"))) == 1


def test_a_longer_order_asked_for_later_counts() -> None:
    runs = _runs("A1", "AB") + _runs("A1 B2", "ABBA")[1:]
    assert series_of(runs)[0].remaining_variants == "BA"


def test_nothing_measured() -> None:
    assert series_of([]) == [] and open_series([]) is None
