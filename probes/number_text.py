"""Numbers in foreign text, bounded: the one way from a host's, a tree's or a file's digits to an int or a float.

`str.isdecimal` before `int` is none: int() raises ValueError beyond 4,300 digits, what it gives below that overflows a
float, and other scripts' digits are decimal too. Nothing that a kernel or a program counts is longer than 64 bits.
Standard library only: light children read with it too.
"""

import math
import re
from collections.abc import Iterable

_WHOLE = re.compile(r"[0-9]{1,20}")  # 64 bits have 20
_HEXADECIMAL = re.compile(r"(?:0[xX])?[0-9a-fA-F]{1,16}")
_REAL = re.compile(r"[+-]?[0-9]{1,30}(?:\.[0-9]{0,30})?(?:[eE][+-]?[0-9]{1,3})?")
MAX_NUMBER_CHARACTERS = 64  # characters, blanks around a number among them


def parse_unsigned(text: str) -> int | None:
    """Decimal digits of a number of up to 64 bits, blanks around them; None for anything else, a sign too."""
    digits = text.strip() if len(text) <= MAX_NUMBER_CHARACTERS else ""
    return int(digits) if _WHOLE.fullmatch(digits) else None


def parse_unsigned_list(words: Iterable[str]) -> list[int] | None:
    """Each of them; None where one is no such number."""
    return _all_or_none(map(parse_unsigned, words))


def parse_signed(text: str) -> int | None:
    """As `parse_unsigned`, with or without a sign in front."""
    stripped = text.strip() if len(text) <= MAX_NUMBER_CHARACTERS else ""
    number = parse_unsigned(stripped[1:] if stripped[:1] in ("-", "+") else stripped)
    return -number if number is not None and stripped.startswith("-") else number


def parse_hexadecimal(text: str) -> int | None:
    """Of up to 64 bits, with or without 0x."""
    digits = text.strip() if len(text) <= MAX_NUMBER_CHARACTERS else ""
    return int(digits, 16) if _HEXADECIMAL.fullmatch(digits) else None


def parse_hexadecimal_list(words: Iterable[str]) -> list[int] | None:
    """As `parse_unsigned_list`."""
    return _all_or_none(map(parse_hexadecimal, words))


def parse_real(text: str) -> float | None:
    """A finite number as programs print it; None for anything else, as `inf` and `nan`."""
    digits = text.strip() if len(text) <= 2 * MAX_NUMBER_CHARACTERS else ""
    value = float(digits) if _REAL.fullmatch(digits) else None
    return value if value is not None and math.isfinite(value) else None


def _all_or_none(numbers: Iterable[int | None]) -> list[int] | None:
    values: list[int] = []
    for number in numbers:
        if number is None:
            return None
        values.append(number)
    return values
