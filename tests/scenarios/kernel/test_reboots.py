"""A comparison across reboots: which boot comes next, and when the next series begins."""

from hostdx.scenarios.kernel.reboots import Boot, Letter, boot_series_of, unfinished_series
from tests.every_case import every_case


def _make_runs(text: str, order: str = "ABBA") -> list[Boot]:
    """ "A1 B2": side and boot, in the order measured."""
    boots = []
    for number, word in enumerate(text.split()):
        side: Letter = "A" if word[0] == "A" else "B"
        boots.append(
            Boot(
                recording=f"{number:02}",
                side=side,
                boot=word[1:],
                wall=f"2026-11-{number + 1:02}",
                kernel=side,
                order=order,
            )
        )
    return boots


@every_case(
    ("runs", "order", "done", "remaining"),
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
def test_what_is_still_to_do(runs: str, order: str, done: str, remaining: str) -> None:
    (series,) = boot_series_of(_make_runs(runs, order))
    assert (series.measured_variants, series.remaining_variants) == (done, remaining)
    assert (unfinished_series(_make_runs(runs, order)) is None) == (remaining == "")
