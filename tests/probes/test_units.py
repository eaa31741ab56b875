"""One way to say a number: digits, prefixes and the border between per cent and factor."""

import re

from hypothesis import given
from hypothesis import strategies as st

from hostdx.probes import units
from tests.every_case import every_case


@every_case("share, text", [(0.00014, "+0.014 %"), (-0.047, "-4.7 %"), (1.894, "+190 %"), (0, "+0 %")])
def test_a_change_has_its_direction_and_no_exponent(share: float, text: str) -> None:
    assert units.format_change(share) == text


@every_case(
    ("words", "expected"),
    [
        (units.format_size(0), "0 B"),
        (units.format_size(512), "512 B"),
        (units.format_size(1023), "1023 B"),
        (units.format_size(1536), "1.5 KiB"),
        (units.format_size(10**12), "931 GiB"),
        (units.format_size(1023.9 * 2**30), "1 TiB"),
        (units.format_size(1016 << 20), "1016 MiB"),
        (units.format_size(1023 << 20), "1023 MiB"),
        (units.format_capacity(1_920_383_410_176), "1.92 TB"),
        (units.format_rate(98_400_000), "98.4 MB/s"),
        (units.format_rate(999_600), "1 MB/s"),
        (units.format_bit_rate(25e9), "25 Gbit/s"),
        (units.format_frequency(2.095e9), "2.1 GHz"),
        (units.format_latency(639), "639 ns"),
        (units.format_latency(12_345), "12.3 µs"),
        (units.format_latency(999_900), "1 ms"),
        (units.format_latency(2.5e9), "2.5 s"),
        (units.format_duration(0), "0 s"),
        (units.format_duration(0.44), "0.4 s"),
        (units.format_duration(95), "95 s"),
        (units.format_duration(500), "8 min 20 s"),
        (units.format_duration(7500), "2 h 5 min"),
        (units.format_duration(3 * 86400 + 4 * 3600), "3 d 4 h"),
        (units.format_percent(0.052), "5.2 %"),
        (units.format_percent(0.05), "5 %"),
        (units.format_percent(0.0996), "10 %"),
        (units.format_percent(-0.5), "-50 %"),
        (units.format_number(14080), "14100"),
        (units.format_number(0.0021), "0.0021"),
        (units.format_number(99.96), "100"),
        (units.format_effect(0.73), "27 % slower"),
        (units.format_effect(1.0001), "the same"),
        (units.format_effect(0.5), "2 × slower"),
        (units.format_effect(12.44), "12.4 × faster"),
        (units.format_effect(None), "?"),
        (str(units.metric_quantity(98.4, "MB/s")), "98.4 MB/s"),
        (str(units.metric_quantity(2500.0, "MB/s")), "2.5 GB/s"),
        (str(units.metric_quantity(98.4e6, "B/s")), "98.4 MB/s"),
        (str(units.metric_quantity(213.0, "µs")), "213 µs"),
        (str(units.metric_quantity(2.5, "ms")), "2.5 ms"),
        (str(units.metric_quantity(0.25, "s")), "250 ms"),
        (str(units.metric_quantity(1390.0, "ns/packet")), "1.39 µs/packet"),
        (str(units.metric_quantity(12_900.0, "IOPS")), "12.9 k IOPS"),
        (units.format_interval(0.7, 0.76, 0.73), "24 to 30 %"),
        (units.format_interval(0.7661, 0.7709, 0.77), "22.9 to 23.4 %"),  # not `23 to 23 %`
        (units.format_interval(0.77, 0.77001, 0.77), "23 %"),
        (units.format_interval(0.076, 0.084, 0.08), "11.9 to 13.2 ×"),
        (units.format_interval(0.98, 1.04, 1.01), "2 % slower to 4 % faster"),
        (units.format_interval(0.2, 5, 1), "5 × slower to 5 × faster"),
        (units.smallest_effect_text(0.13), "±13 %"),
        (units.smallest_seen_difference_text(0.13), "13 %"),
        (units.smallest_seen_difference_text(1.7), "2.7 ×"),
        (units.format_percent_interval(0.58, 0.64), "58 to 64 %"),
        (units.format_percent_interval(0.094, 0.12), "9.4 to 12 %"),
        (units.format_percent_interval(0.121, 0.124), "12.1 to 12.4 %"),
        (units.smallest_effect_text(1.7), "a factor of 2.7"),
    ],
)
def test_said(words: str, expected: str) -> None:
    assert words == expected


@every_case(
    ("text", "size"),
    [
        ("512", 512), ("4k", 4 << 10), ("1.5M", 3 << 19), ("512MB", 512 << 20), ("4G", 4 << 30), ("4 GiB", 4 << 30),
        ("2T", 2 << 40), ("0", None), ("-1k", None), ("4X", None), ("", None), ("9999999999T", None),
    ],
)  # fmt: skip
def test_a_size_that_is_typed(text: str, size: int | None) -> None:
    assert units.parse_size(text) == size


@given(st.integers(1, 1023), st.sampled_from("KMGT"))
def test_a_whole_size_that_is_typed_is_said_as_typed(number: int, unit: str) -> None:
    size = units.parse_size(f"{number}{unit}")
    assert size and units.format_size(size) == f"{number} {unit}iB"


SAYERS = [
    units.format_size,
    units.format_capacity,
    units.format_rate,
    units.format_bit_rate,
    units.format_frequency,
    units.format_latency,
    units.format_duration,
    units.format_percent,
    units.format_factor,
    units.format_effect,
    units.smallest_effect_text,
    units.format_number,
    units.format_change,
]


@given(st.sampled_from(SAYERS), st.floats(allow_nan=True, allow_infinity=True))
def test_whatever_comes_no_exponent_and_no_failure(say: object, value: float) -> None:
    text = say(value)  # type: ignore[operator]
    assert text and not re.search(r"\de[+-]?\d|nan|inf", text)
