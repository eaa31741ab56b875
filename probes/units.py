"""Every size, rate, duration, share and effect as a person reads it: one way for screen, command line and report.

A number has three digits that count (a size of 1000 to 1023 four) and never an exponent; everywhere number, blank,
unit (`99 %`, `4.2 GiB`, `12.3 µs`). Sizes are binary (as `ls -h` and `free -h` say them), rates decimal (as disks
and links are sold).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from hostdx.probes.number_text import parse_real

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_POWERS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_DECIMAL = ("", "k", "M", "G", "T", "P")
_TIMES = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0))

# beyond any figure of a host: only a foreign file holds such a value, and it overflows when scaled
_MAX_VALUE = 1e300
MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86400


def parse_size(text: str) -> int | None:
    """`512M`, `4GiB`, `1048576`: binary multiples; None for what is no size between 1 byte and 1 EiB."""
    text = text.strip().lower()
    number = text.rstrip("kmgtib")
    power = _POWERS.get(text[len(number) :].replace("ib", "").replace("b", ""))
    value = parse_real(number)
    if power is None or value is None or not 1 <= value * (1 << power) < 1 << 60:
        return None
    return int(value * (1 << power))


def format_number(value: float, digits: int = 3) -> str:
    """So many digits that count: `0.0021`, `12.4`, `14100`; trailing noughts are left out."""
    if not abs(value) < _MAX_VALUE:
        return "?"
    if value == 0:
        return "0"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, places)
    if abs(rounded) >= 10 ** (digits - 1):
        return f"{rounded:.0f}"
    text = f"{rounded:.{max(0, places)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_signed(value: float) -> str:
    """`+0.3`, `−12.4`."""
    return f"{'−' if value < 0 else '+'}{format_number(abs(value))}"


def format_size(value: float, digits: int = 3) -> str:
    """Bytes: `512 B`, `4.2 GiB`, `1.5 MiB`; of a unit's whole numbers none is rounded: `1016 MiB`."""
    if not abs(value) < _MAX_VALUE:
        return "? B"
    if abs(value) < 1024:
        return f"{value:.0f} B"
    for unit in _BINARY:
        if abs(value) < 1023.5 or unit == _BINARY[-1]:
            break
        value /= 1024
    return f"{format_number(value, max(digits, 4) if abs(value) >= 1000 else digits)} {unit}"


_NANOSECONDS = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}


class DisplayQuantity(NamedTuple):
    """A value as it is read, in its two parts: `12.9` and `k IOPS`."""

    number: str
    unit: str

    def __str__(self) -> str:
        blank = "" if self.unit[:1] in ("", "/") else " "
        return f"{self.number}{blank}{self.unit}"

    @property
    def without_unit(self) -> "DisplayQuantity":
        """Where the unit stands beside it: `12.9 k`; a prefix belongs to its number."""
        prefix, _, unit = self.unit.partition(" ")
        return DisplayQuantity(self.number, prefix if unit and len(prefix) == 1 else "")


_UNIT_ABBREVIATIONS = {"iterations": "it", "products": "prod", "packets": "pkt", "packet": "pkt"}


def abbreviate_unit(value: DisplayQuantity) -> DisplayQuantity:
    """The same with its unit in few letters, for a narrow column: `k it/s`, `ns/pkt`."""
    words = " ".join(
        "/".join(_UNIT_ABBREVIATIONS.get(part, part) for part in word.split("/"))
        for word in value.unit.split(" ")
    )
    return DisplayQuantity(value.number, words)


PREFIXED_UNITS = frozenset({"FLOP/s", "bit/s", "Hz", "W", "J"})


def scale_decimal(value: float, unit: str = "", digits: int = 3) -> DisplayQuantity:
    """With a decimal prefix right before the unit: `14.1` and `kB/s`."""
    if not math.isfinite(value):
        return DisplayQuantity("?", unit)
    for prefix in _DECIMAL:
        if abs(value) < 999.5 or prefix == _DECIMAL[-1]:
            break
        value /= 1000
    return DisplayQuantity(format_number(value, digits), prefix + unit)


def format_prefixed(value: float) -> str:
    """A decimal prefix without a unit: `14.1 k`, `3.46 M`, `998 `: the unit follows at once."""
    parts = scale_decimal(value)
    return f"{parts.number} {parts.unit}"


def format_capacity(value: float) -> str:
    """Bytes of a device, as it is sold: `1.92 TB`."""
    return f"{format_prefixed(value)}B"


def metric_quantity(value: float, unit: str) -> DisplayQuantity:
    """A metric's value as a person reads it: `8.14 k IOPS`, `213 µs`, `98.4 MB/s`."""
    time, slash, each = unit.partition("/")
    if time in _NANOSECONDS:  # of an operation, or per packet
        scaled = latency_quantity(value * _NANOSECONDS[time])
        return DisplayQuantity(scaled.number, f"{scaled.unit}{slash}{each}")
    if unit in ("MB/s", "B/s"):
        return scale_decimal(value * (1e6 if unit == "MB/s" else 1), "B/s")
    if unit == "1/s":
        return scale_decimal(value, "/s")
    if unit in PREFIXED_UNITS:
        return scale_decimal(value, unit)
    if unit == "B":
        return DisplayQuantity(*format_size(value).split(" ", 1))
    scaled = scale_decimal(value)
    return DisplayQuantity(scaled.number, f"{scaled.unit} {unit}".strip())


def format_rate(bytes_per_s: float) -> str:
    """`98.4 MB/s`, `3.4 GB/s`."""
    return f"{format_prefixed(bytes_per_s)}B/s"


def format_bit_rate(bits_per_s: float) -> str:
    """`25 Gbit/s`."""
    return f"{format_prefixed(bits_per_s)}bit/s"


def format_frequency(hertz: float) -> str:
    """`2.1 GHz`."""
    return f"{format_prefixed(hertz)}Hz"


def latency_quantity(nanoseconds: float) -> DisplayQuantity:
    """A latency or cost of an operation, in its parts: `12.3` and `µs`."""
    if not math.isfinite(nanoseconds):
        return DisplayQuantity("?", "ns")
    for unit, least in _TIMES:
        if abs(nanoseconds) >= 0.9995 * least or unit == "ns":
            break
    return DisplayQuantity(format_number(nanoseconds / least), unit)


def format_latency(nanoseconds: float) -> str:
    """A latency or cost of an operation: `850 ns`, `12.3 µs`, `1.4 ms`, `2.5 s`."""
    return str(latency_quantity(nanoseconds))


def format_duration(seconds: float) -> str:
    """`0.4 s`, `95 s`, `8 min 20 s`, `2 h 5 min`, `3 d 4 h`. Seconds of a run or of waiting."""
    if not abs(seconds) < _MAX_VALUE:
        return "? s"
    if abs(seconds) < 10:
        return f"{format_number(round(seconds, 1), 2)} s"
    rounded = round(seconds)
    if rounded < 2 * MINUTE_S:
        return f"{rounded} s"
    if rounded < 2 * HOUR_S:
        return _in_two_units(rounded, MINUTE_S, "min", 1, "s")
    if rounded < 2 * DAY_S:
        return _in_two_units(rounded, HOUR_S, "h", MINUTE_S, "min")
    return _in_two_units(rounded, DAY_S, "d", HOUR_S, "h")


def _in_two_units(seconds: int, large: int, name: str, small: int, smaller: str) -> str:
    head, rest = divmod(seconds, large)
    tail = rest // small
    return f"{head} {name} {tail} {smaller}" if tail else f"{head} {name}"


def count_noun(count: float, noun: str) -> str:
    """ "1 group", "12 groups", "2 slice batches"."""
    return f"{count:g} {noun if count == 1 else plural_noun(noun)}"


def plural_noun(noun: str) -> str:
    return f"{noun}{'es' if noun.endswith(('ch', 's')) else 's'}"


def format_cpus(cores: float) -> str:
    """A quota or a use, which need not be whole: "1 CPU", "0.75 CPUs"."""
    return f"{format_number(cores)} {'CPU' if cores == 1 else 'CPUs'}"


def join_names(names: Sequence[str], limit: int) -> str:
    """`a, b, c and 4 more`."""
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")


def format_percent(share: float) -> str:
    """A share (0.052): `5.2 %`; below ten per cent with one digit, above with none."""
    if not abs(share) < _MAX_VALUE:
        return "? %"
    value = share * 100
    return f"{value:.1f} %".replace(".0 %", " %") if abs(value) < 9.95 else f"{value:.0f} %"


def format_percent_interval(low: float, high: float) -> str:
    """Two ends of a share (0.58, 0.64): `58 to 64 %`, `9.4 to 12 %`; with one digit more where both read the same."""
    if format_percent(low) != format_percent(high):
        return f"{format_percent(low).removesuffix(' %')} to {format_percent(high)}"
    fine = f"{100 * low:.1f}", f"{100 * high:.1f}"  # `23 to 23 %` tells nothing
    return f"{' to '.join(fine)} %" if fine[0] != fine[1] else format_percent(low)


def format_change(share: float) -> str:
    """A share with its direction, in two digits that count: `+0.014 %`, `-4.7 %`, `+190 %`."""
    return f"{'+' if share >= 0 else ''}{format_number(share * 100, 2)} %"


def format_factor(factor: float) -> str:
    """`12.4 ×`."""
    return f"{format_number(factor)} ×"


SPEED = ("slower", "faster")
COST = ("less", "more")  # of a ratio of what is used up, not of speeds


def effect_word(ratio: float, words: tuple[str, str] = SPEED) -> str:
    return words[ratio >= 1]


def format_effect(ratio: float | None, words: tuple[str, str] = SPEED) -> str:
    """Variant over baseline, under 1 is slower: `27 % slower`, from a factor of two on `12.4 × slower`."""
    if ratio is None or ratio <= 0 or not math.isfinite(ratio):
        return "?"
    word = effect_word(ratio, words)
    if not is_factor(ratio):
        share = abs(1 - ratio)
        return "the same" if share < 0.0005 else f"{format_percent(share)} {word}"
    return f"{format_factor(_factor_above_one(ratio))} {word}"


def is_factor(ratio: float) -> bool:
    """Return whether an effect is said as a factor: from two on, either way."""
    return not 0.5 < ratio < 2


def _factor_above_one(ratio: float) -> float:
    return 1 / ratio if ratio < 1 else ratio


def format_interval(
    low: float, high: float, ratio: float | None = None, words: tuple[str, str] = SPEED
) -> str:
    """An interval of ratios in the words that `format_effect` has for its estimate.

    `24 to 30 %`, `11.9 to 13.1 ×`; on both sides of 1 each end says its direction: `2.1 % slower to 4 % faster`.
    """
    if min(low, high) <= 0 or not (math.isfinite(low) and math.isfinite(high)):
        return "unknown"
    if low < 1 < high:
        return f"{format_effect(low, words)} to {format_effect(high, words)}"
    factor = is_factor(ratio) if ratio else is_factor(low) and is_factor(high)
    if factor:
        ends = sorted((_factor_above_one(low), _factor_above_one(high)))
        return f"{format_number(ends[0])} to {format_number(ends[1])} ×"
    least, most = sorted((abs(1 - low), abs(1 - high)))
    return format_percent_interval(least, most)


def smallest_effect_text(share: float) -> str:
    """Half the width of an interval in logs, as a share (0.13): `±13 %`; from a factor of two on `a factor of 2.7`."""
    return f"±{format_percent(share)}" if share < 1 else f"a factor of {format_number(1 + share)}"


def smallest_seen_difference_text(share: float) -> str:
    """Return the same without a sign: `13 %`, from a factor of two on `2.7 ×`."""
    return format_percent(share) if share < 1 else format_factor(1 + share)


def missable_difference_text(share: float) -> str:
    """Return `a difference below 13 % could be missed`."""
    return f"a difference below {smallest_seen_difference_text(share)} could be missed"
