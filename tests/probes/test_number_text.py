"""Digits of a foreign text: a number of up to 64 bits, or none."""

from hostdx.probes.number_text import (
    parse_hexadecimal,
    parse_hexadecimal_list,
    parse_real,
    parse_signed,
    parse_unsigned,
    parse_unsigned_list,
)
from tests.every_case import every_case


@every_case(
    ("text", "number"),
    [
        ("0", 0), (" 42\n", 42), ("18446744073709551615", (1 << 64) - 1), ("007", 7),
        ("", None), ("-1", None), ("+1", None), ("1_0", None), ("1.0", None), ("1 2", None), ("٣", None), ("²", None),
        ("9" * 21, None), ("9" * 5000, None), ("9" * 1_000_000, None), (" " * 100 + "1", None),
    ],
)  # fmt: skip
def test_whole(text: str, number: int | None) -> None:
    assert parse_unsigned(text) == number


def test_the_others() -> None:
    assert (
        parse_signed("-7"),
        parse_signed("+7"),
        parse_signed("7"),
        parse_signed("--7"),
        parse_signed(""),
    ) == (-7, 7, 7, None, None)
    assert (parse_hexadecimal("0x1F"), parse_hexadecimal("ffffffffffffffff")) == (31, (1 << 64) - 1)
    assert (
        parse_hexadecimal("f" * 17),
        parse_hexadecimal("0x"),
        parse_hexadecimal("-f"),
        parse_hexadecimal("1_f"),
    ) == (None,) * 4
    assert (
        parse_unsigned_list(["1", "2"]) == [1, 2]
        and parse_unsigned_list(["1", "x"]) is None
        and parse_unsigned_list([]) == []
    )
    assert parse_hexadecimal_list(["a", "10"]) == [10, 16] and parse_hexadecimal_list(["g"]) is None


@every_case(
    ("text", "number"),
    [("1.5", 1.5), ("-2", -2.0), ("1e3", 1000.0), ("3.", 3.0), ("1e999", None), ("inf", None), ("nan", None),
     ("9" * 5000, None), ("1_0.0", None), ("", None), ("٣.٥", None)],
)  # fmt: skip
def test_real(text: str, number: float | None) -> None:
    assert parse_real(text) == number
