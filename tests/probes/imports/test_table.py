"""Numbers, tables, line-oriented formats and series of samples."""

import msgspec
import pytest

from hostdx.probes.imports import kinds
from hostdx.probes.imports.accounting import UNKNOWN_REASON
from hostdx.probes.imports.line_format import LineFormat, evaluate_formula, fill_template
from hostdx.probes.imports.model import ImportRefusedError, ImportResult
from hostdx.probes.imports.numbers import (
    geometric_mean,
    parse_byte_size,
    parse_column,
    parse_integer,
    parse_number,
    parse_printed_number,
)
from hostdx.probes.imports.sample_series import BoundedSeries, SampleClock
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.imports.storage.io500_table import read_column_results
from tests.every_case import every_case
from tests.probes.imports.test_kinds import read_text


def _read_values(text: str) -> dict[str, dict[str, float]]:
    columns = read_column_results(ImportSource("t.tsv", text.encode()))
    return {name: {m.workload: m.value for m in result.measures} for name, result in columns.items()}


def test_a_result_a_column() -> None:
    columns = _read_values("# a talk\nphase\told\tnew\nior-hard-read\t1\t0.5\nfind\t2\t\n")
    assert columns == {
        "old": {"ior-hard-read": 1024.0**3, "find": 2000.0},
        "new": {"ior-hard-read": 1024.0**3 / 2},  # an empty cell was not measured
    }


@every_case("value", ["-", "nan", "inf", "0", "-1", "two"])
def test_what_is_no_positive_number_was_not_measured(value: str) -> None:
    assert _read_values(f"phase\told\nfind\t{value}\n") == {"old": {}}


@every_case(
    ("text", "reason"),
    [
        ("load\told\nfind\t1\n", "no table of phases"),
        ("phase\n", "no names"),
        ("phase\ta\ta\nfind\t1\t2\n", "no names"),
        ("phase\ta\nfind\t1\t2\n", "has 2 values"),
        ("\n", "no table of phases"),
    ],
)
def test_what_does_not_fit_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ImportRefusedError, match=reason):
        _read_values(text)


@every_case(
    ("text", "value"),
    [("7", 7.0), (" 1.5e3 ", 1500.0), (".5", 0.5), (-2, -2.0), ("1e-120", 0.0)]
    + [
        (text, None)
        for text in ("", "1e200", 10**101, "-nan", "inf", "1_000", "0x10", "٣", True, None, "7 s")
    ],
)
def test_a_number_is_finite_and_of_a_size_that_is_measured(text: object, value: float | None) -> None:
    assert parse_number(text) == value


def test_an_integer_has_no_fraction() -> None:
    assert [parse_integer(text) for text in ("7", "7.0", "1.5", "x")] == [7, 7, None, None]


@every_case(("text", "significant", "half"), [("12.50", None, 0.005), ("7", None, 0.5), ("123456.0", 6, 0.5)])
def test_a_printed_number_is_off_by_half_of_its_last_digit(
    text: str, significant: int | None, half: float
) -> None:
    printed = parse_printed_number(text, significant)
    assert printed is not None and (printed.value, printed.half) == (float(text), pytest.approx(half))


def test_units_of_a_size_are_binary_or_decimal_as_they_say() -> None:
    sizes = {
        "4k": 4096,
        "2 kB": 2000,
        "1 MiB": 1 << 20,
        "1.5 GB": 1_500_000_000,
        "3": 3,
        "4 q": None,
        "k": None,
    }
    assert {text: parse_byte_size(text) for text in sizes} == sizes


def test_a_score_is_a_geometric_mean_of_what_is_positive() -> None:
    assert geometric_mean([2.0, 8.0, 0.0]) == pytest.approx(4.0)
    assert geometric_mean([0.0, -1.0]) is None


@every_case("cell", ["1_000", "nan", "inf", "x", "1e30"])
def test_a_column_with_another_text_is_looked_at_cell_by_cell(cell: str) -> None:
    assert parse_column(["1", "2.5"]) == [1.0, 2.5]
    with pytest.raises(ValueError):
        parse_column(["1", cell])


TOY = {
    "kind": "toy", "title": "toy", "tool": "toy", "recognise": ["^toy "],
    "nothing": ["no figure in it", "run it again"],
    "workload": "toy {load:lower}", "several": "run {n}: ", "unfinished": "toy.unfinished",
    "line": [
        {"match": r"toy (?P<version>\S+)"},
        {"match": r"run (?P<load>\w+)", "begins": True},
        {"match": r"size (?P<size>\d+)", "conditions": {"size": "size"}},
        {"match": r"rate (?P<rate>\S+)", "values": {"rate": {"metric": "rate", "unit": "1/s", "seconds": "time"}}},
        {"match": r"time (?P<time>\S+)"},
        {"match": r"bad", "invalid": "it says bad", "trouble": "toy.bad", "said": "{count}"},
    ],
    "check": [
        {"id": "toy.rate", "at": "time", "subject": "{load}", "claimed": "rate", "formula": "size / time", "rule": "r"}
    ],
}  # fmt: skip


def parse_toy(text: str) -> ImportResult:
    return msgspec.convert(TOY, LineFormat).parse(ImportSource("x", text.encode()))


def test_a_row_is_called_invalid_and_a_block_without_a_figure_is_told() -> None:
    result = parse_toy("toy 1\nrun A\nrate 5\nbad\nrun B\nrate 7\nrun C\n")
    assert [m.invalid for m in result.measures] == ["it says bad", ""]
    assert [(t.id, t.said) for t in result.troubles] == [("toy.bad", "1"), ("toy.unfinished", "1")]
    with pytest.raises(ImportRefusedError, match="no figure"):
        parse_toy("toy 1\nrun A\n")


def test_templates_and_arithmetic() -> None:
    names = {"size": "4194304", "copies": "1", "n": "3"}
    assert fill_template("{size:bytes}, {copies:copy|copies}{missing}", names) == "4 MiB, 1 copy"
    assert evaluate_formula("2 / 3 * n ** 3 - -n", names, {}) == pytest.approx(21)
    assert evaluate_formula("geomean(i)", names, {"i": [2.0, 8.0]}) == pytest.approx(4)
    assert evaluate_formula("n / 0", names, {}) is None and evaluate_formula("gone + 1", names, {}) is None
    assert evaluate_formula("__import__('os')", names, {}) is None


def test_a_column_that_the_format_does_not_know_is_left_out_by_its_name() -> None:
    head = "# OSU MPI Bandwidth Test v7.2\n# Size      Bandwidth (MB/s)        Wobble (%)    Iterations\n"
    text = head + "1  2.5  7  100\n"
    result = read_text(text)
    assert [m.value for m in result.measures] == [2.5e6]
    reasons = {part.name: part.reason for part in result.left_out}
    assert reasons["Wobble (%)"] == UNKNOWN_REASON and reasons["Iterations"] not in ("", UNKNOWN_REASON)


@pytest.mark.parametrize("score", ["116.8305", "-1"])
def test_the_log_of_hepscore(score: str) -> None:
    line = "2023-05-21 01:55:02 hepscore [INFO] "
    messages = ("Test Benchmark", "HEPscore version:    1.2.0", "System:      Linux n1 5.15.1 #1 SMP x86_64",
            "Executing 1 run of a-bmk", f"Final result: {score}")  # fmt: skip
    text = "".join(f"{line}{part}\n" for part in messages)
    if score == "-1":
        with pytest.raises(ImportRefusedError, match="no final result"):
            read_text(text)
        return
    [measure] = read_text(text).measures
    assert (measure.workload, measure.value, measure.conditions) == ("Test", 116.8305, {"runs of a-bmk": "1"})


SECRET = "CANARY"
TEXTS = (
    "root:$6$CANARY$CANARY/abc:19000:0:99999:7:::\ndaemon:*CANARY:19000::\n",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nCANARY==\n",
    "machine CANARY login CANARY password CANARY\n",
    "CANARY",
    "CANARY,CANARY\nCANARY,1\n",
    "CANARY;CANARY;CANARY\n",
    "CANARY\t1\t2\nCANARY\t1\t2\n",
    "CANARY 1.0 2.0\n",
    '{CANARY: "CANARY"}',
    '{"CANARY": "CANARY"}',
    '["CANARY"]',
    '"CANARY"',
    "[CANARY]\nCANARY = 3\n",
    "<CANARY a='CANARY'>",
    "fio: CANARY\n",
    "CANARY: (g=0): CANARY\n",
    "CANARY\nConnecting to host CANARY\nMachine (CANARY\n",
)


@every_case("kind", [None, *kinds.KINDS])
def test_no_word_of_it_is_in_the_refusal(kind: kinds.ImportKind | None) -> None:
    for text in TEXTS:
        for data in (text, "\ufeff" + text, text + "\0"):
            with pytest.raises(ImportRefusedError) as error:
                kinds.parse_import(ImportSource("x", data.encode()), kind)
            assert SECRET not in error.value.why + error.value.hint


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
    table = BoundedSeries()
    for name in ("a", "b", "c"):
        table.add(name, "x", "", (1.0,) * 4, (1.0,) * 4)
    table.add("a", "x", "", (2.0,) * 4, (1.0,) * 4)
    assert [s.subject for s in table.as_tuple()] == ["a", "b"] and table.left_out == 8


def test_a_second_column_of_one_meaning_is_no_second_sample() -> None:
    """`sadf -j` prints a disk's rates in kilobytes and in sectors."""
    table = BoundedSeries()
    for at_s in (10.0, 20.0):
        table.add("disk:sda", "read rate", "B/s", (at_s,), (1024.0,))
        table.add("disk:sda", "read rate", "B/s", (at_s,), (1000.0,))
    table.add("disk:sda", "read rate", "B/s", (30.0, 40.0), (1.0, 2.0))
    table.add("disk:sda", "read rate", "B/s", (30.0, 40.0), (3.0, 4.0))
    (series,) = table.as_tuple()
    assert list(series.at_s) == [10, 20, 30, 40] and list(series.values) == [1024, 1024, 1, 2]
