"""Numbers of other tools: which texts are one, how exact they are, and what a unit stands for."""

import pytest

from hostdx.probes.imports.numbers import (
    geometric_mean,
    parse_byte_size,
    parse_column,
    parse_integer,
    parse_number,
    parse_printed_number,
)
from tests.every_case import every_case


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
