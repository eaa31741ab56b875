"""Clock times of samples: midnight, 12-hour clocks, dates, tables that begin anew; series that are thinned."""

import pytest

from hostdx.probes.imports.sample_series import SampleClock, SeriesTable
from tests.every_case import every_case


@every_case(
    ("date", "texts", "times", "first"),
    [
        ("11/22/2026", ["23:59:50", "00:00:00", "00:00:10"], [0, 10, 20], "2026-11-22T23:59:50"),
        ("11/22/2026", ["11:59:59 PM", "12:00:01 AM", "01:00:00 AM"], [0, 2, 3601], "2026-11-22T23:59:59"),
        ("", ["12:00:00 AM", "12:00:00 PM"], [0, 43200], "00:00:00"),
        ("", ["03/14/19 23:59:00", "03/15/19 00:01:00"], [0, 120], "2019-03-14T23:59:00"),
        ("", ["2015-02-19 19:24:20", "2015-02-19 19:25:20"], [0, 60], "2015-02-19T19:24:20"),
        ("11/22/2026", ["00:00:00"] * 2 + ["00:00:01"], [0, 0, 1], "2026-11-22T00:00:00"),
    ],
)
def test_times_count_from_the_first(date: str, texts: list[str], times: list[float], first: str) -> None:
    clock = SampleClock(date)
    assert [clock.read(text) for text in texts] == times
    assert clock.times("UTC").first == first and clock.times("UTC").zone == "UTC"
    assert SampleClock(date).read_all(texts) == times


@every_case("text", ["", "12:00", "Average:", "99/99/99 12:00:00", "12:00:00 words", "x" * 500])
def test_what_is_no_time_is_none(text: str) -> None:
    clock = SampleClock()
    assert clock.read(text) is None
    assert clock.times().unit == "samples" and clock.times().first == ""


def test_seconds_since_1970_are_in_utc() -> None:
    clock = SampleClock()
    assert [clock.read_epoch(1_600_000_000.0 + n) for n in (0, 5)] == [0, 5]
    assert (clock.times().first, clock.times().zone) == ("2020-09-13T12:26:40", "UTC")
    assert clock.read_epoch(-5) is None


def test_a_table_of_series_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hostdx.probes.imports.sample_series.MAX_VALUES", 10)
    monkeypatch.setattr("hostdx.probes.imports.sample_series.MAX_SERIES", 2)
    table = SeriesTable()
    for name in ("a", "b", "c"):
        table.add(name, "x", "", (1.0,) * 4, (1.0,) * 4)
    table.add("a", "x", "", (2.0,) * 4, (1.0,) * 4)
    assert [s.subject for s in table.as_tuple()] == ["a", "b"] and table.left_out == 8


def test_a_second_column_of_one_meaning_is_no_second_sample() -> None:
    """`sadf -j` prints a disk's rates in kilobytes and in sectors."""
    table = SeriesTable()
    for at_s in (10.0, 20.0):
        table.add("disk:sda", "read rate", "B/s", (at_s,), (1024.0,))
        table.add("disk:sda", "read rate", "B/s", (at_s,), (1000.0,))
    table.add("disk:sda", "read rate", "B/s", (30.0, 40.0), (1.0, 2.0))
    table.add("disk:sda", "read rate", "B/s", (30.0, 40.0), (3.0, 4.0))
    (series,) = table.as_tuple()
    assert list(series.at_s) == [10, 20, 30, 40] and list(series.values) == [1024, 1024, 1, 2]
