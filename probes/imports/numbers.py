"""Numbers as other tools print them: finite or absent, with the rounding that their digits carry."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hostdx.probes import units

_NUMBER = re.compile(r"[+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,3})?", re.ASCII)

_LARGEST, _SMALLEST = 1e100, 1e-100

KIB, MIB, GIB, TIB = 1 << 10, 1 << 20, 1 << 30, 1 << 40

_SIZES = {
    "": 1, "b": 1, "bytes": 1, "byte": 1,
    "k": KIB, "kib": KIB, "kb": 1000, "m": MIB, "mib": MIB, "mb": 10**6,
    "g": GIB, "gib": GIB, "gb": 10**9, "t": TIB, "tib": TIB, "tb": 10**12,
    "p": 1 << 50, "pib": 1 << 50, "e": 1 << 60, "eib": 1 << 60,
}  # fmt: skip


class PrintedNumber(NamedTuple):
    """A printed number and half a unit of its last digit: the true value lies within value ± half."""

    value: float
    half: float


def parse_number(text: object) -> float | None:
    """A finite number, from a JSON value or its text; None for "", "-nan", "NA", "<not counted>" and the like.

    What no tool measures (beyond 1e100) is no number either: so products and quotients of two stay finite.
    """
    kind = type(text)
    if kind is float or kind is int:
        value = float(text) if -_LARGEST < text < _LARGEST else None  # type: ignore[arg-type,operator]
    elif kind is str and text.isdecimal() and text.isascii() and len(text) < 16:  # type: ignore[attr-defined,arg-type]
        return float(text)  # type: ignore[arg-type]
    elif kind is str:
        stripped = text.strip()  # type: ignore[attr-defined]
        value = float(stripped) if _NUMBER.fullmatch(stripped) else None
    else:
        return None
    if value is None or not -_LARGEST < value < _LARGEST:
        return None
    return value if abs(value) > _SMALLEST else 0.0


def parse_column(column: Sequence[str]) -> list[float]:
    """A column of a long table at once, a hundred times quicker than one by one. Raises ValueError: look at each."""
    read = list(map(float, column))
    # NaN, infinity, 1_000: `parse_number` takes none of them
    if not abs(sum(read)) < 1e30 or "_" in "".join(column):
        raise ValueError("a column with other texts than plain numbers")
    return read


def parse_truncated(text: object) -> int | None:
    value = parse_number(text)
    return int(value) if value is not None else None


def parse_integer(text: object) -> int | None:
    value = parse_number(text)
    return int(value) if value is not None and value == int(value) else None


def parse_printed_number(text: str, significant: int | None = None) -> PrintedNumber | None:
    """The number with its rounding. `significant`: the tool prints at most so many digits (%g filled up with zeros)."""
    value = parse_number(text)
    if value is None:
        return None
    decimals = len(text.strip().partition(".")[2]) if "e" not in text.lower() else 6
    half = 0.5 * 10.0**-decimals
    if significant is not None and value:
        half = max(half, 0.5 * 10.0 ** (math.floor(math.log10(abs(value))) + 1 - significant))
    return PrintedNumber(value, half)


def parse_byte_size(text: str) -> int | None:
    """Bytes of "47008 bytes", "1 MiB", "218.90 GiB", "2048k", "4k", "1m"; None where it is no size."""
    match = re.fullmatch(r"\s*(\d{1,18}(?:\.\d{1,18})?)\s*([A-Za-z]*)\s*", text)
    unit = _SIZES.get(match[2].lower()) if match else None
    return round(float(match[1]) * unit) if match and unit is not None else None


def geometric_mean(values: Iterable[float]) -> float | None:
    """Of the positive values; None where there is none."""
    logs = [math.log(v) for v in values if v > 0]
    return math.exp(math.fsum(logs) / len(logs)) if logs else None


def is_claim_close(claimed: float, recomputed: float, relative: float, absolute: float = 0.0) -> bool:
    return abs(claimed - recomputed) <= max(absolute, relative * max(abs(claimed), abs(recomputed)))


# A value of an imported file as a person reads it.
def imported_text(value: float | str, unit: str) -> str:
    """A value as a person reads it; text of the file stays as it is."""
    if isinstance(value, str):
        return f"{value} {unit}".rstrip()
    match unit:
        case "B/s":
            return units.format_rate(value)
        case "B":
            return units.format_size(value)
        case "s":
            return units.format_latency(value * 1e9) if abs(value) < 10 else units.format_duration(value)
        case "%":
            return f"{units.format_number(value, 4)} %"
        case "1/s":
            return str(units.scale_decimal(value, "/s", 4))
        case _ if unit in units.PREFIXED_UNITS:
            return str(units.scale_decimal(value, unit, 4))
    return f"{units.format_number(value, 4)} {unit}".rstrip()
