"""Digits of a foreign text: a number of up to 64 bits, or none."""

import pytest

from probes.number_text import hexadecimal, hexadecimals, real, signed, whole, wholes


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0), (" 42\n", 42), ("18446744073709551615", (1 << 64) - 1), ("007", 7),
        ("", None), ("-1", None), ("+1", None), ("1_0", None), ("1.0", None), ("1 2", None), ("٣", None), ("²", None),
        ("9" * 21, None), ("9" * 5000, None), ("9" * 1_000_000, None), (" " * 100 + "1", None),
    ],
)  # fmt: skip
def test_whole(text: str, number: int | None) -> None:
    assert whole(text) == number


def test_the_others() -> None:
    assert (signed("-7"), signed("+7"), signed("7"), signed("--7"), signed("")) == (-7, 7, 7, None, None)
    assert (hexadecimal("0x1F"), hexadecimal("ffffffffffffffff")) == (31, (1 << 64) - 1)
    assert (hexadecimal("f" * 17), hexadecimal("0x"), hexadecimal("-f"), hexadecimal("1_f")) == (None,) * 4
    assert wholes(["1", "2"]) == [1, 2] and wholes(["1", "x"]) is None and wholes([]) == []
    assert hexadecimals(["a", "10"]) == [10, 16] and hexadecimals(["g"]) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [("1.5", 1.5), ("-2", -2.0), ("1e3", 1000.0), ("3.", 3.0), ("1e999", None), ("inf", None), ("nan", None),
     ("9" * 5000, None), ("1_0.0", None), ("", None), ("٣.٥", None)],
)  # fmt: skip
def test_real(text: str, number: float | None) -> None:
    assert real(text) == number
