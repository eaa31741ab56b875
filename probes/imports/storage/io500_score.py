"""IO500's score: what the phases give, against what is printed, within the rounding of the printed digits.

Definition: `calc_score` in the program's src/main.c. BW is the geometric mean of four IOR phases (GiB/s), MD of
eight metadata phases (kIOPS), TOTAL = sqrt(BW × MD). A phase at or below 0 drops out of its mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Unpack

import msgspec

from hostdx.probes.imports.model import Contradiction, ImportedMeasure, SharedFields, compare_claim
from hostdx.probes.imports.numbers import GIB, PrintedNumber, geometric_mean, parse_printed_number

BW = ("ior-easy-write", "ior-hard-write", "ior-easy-read", "ior-hard-read")
MD = (
    "mdtest-easy-write", "mdtest-hard-write", "find", "mdtest-easy-stat",
    "mdtest-hard-stat", "mdtest-easy-delete", "mdtest-hard-read", "mdtest-hard-delete",
)  # fmt: skip
# What `[SCOREX]` of an extended run has besides: phases with a group and the flag "optional" (src/phase_*.c).
BW_EXTENDED = ("ior-rnd4K-write", "ior-rnd1MB-write", "ior-rnd4K-read", "ior-rnd1MB-read")
MD_EXTENDED = ("find-easy", "find-hard", "mdworkbench-bench")
EXTENDED = (*BW_EXTENDED, *MD_EXTENDED)
_NO_ROUNDING = PrintedNumber(0.0, 0.0)
_MASK = 0xFFFFFFFF


class Scores(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """GiB/s, kIOPS and sqrt(GiB/s × kIOPS), each with half a unit of its last digit or the error of its parts."""

    bw: float | None = None
    md: float | None = None
    total: float | None = None
    bw_half: float = 0.0
    md_half: float = 0.0
    total_half: float = 0.0
    bw_phases: int = 0
    md_phases: int = 0
    unit: str = "GiB/s"
    invalid: bool = False

    @classmethod
    def from_texts(
        cls, bw: str, md: str, total: str, tail: str = "", tag: str | None = None, unit: str = "GiB/s"
    ) -> Scores:
        b, m, t = (parse_printed_number(text, significant=6) for text in (bw, md, total))
        return cls(
            bw=b and b.value, md=m and m.value, total=t and t.value,
            bw_half=(b or _NO_ROUNDING).half, md_half=(m or _NO_ROUNDING).half,
            total_half=(t or _NO_ROUNDING).half, unit=unit, invalid=bool(tag) or "INVALID" in tail.upper(),
        )  # fmt: skip


def phase_measure(
    phase: str, value: float, *, bandwidth: bool, **more: Unpack[SharedFields]
) -> ImportedMeasure:
    """From IO500's own units: GiB/s, or kIOPS."""
    metric, unit, scale = ("bandwidth", "B/s", GIB) if bandwidth else ("IOPS", "IOPS", 1000)
    return ImportedMeasure(workload=phase, metric=metric, value=value * scale, unit=unit, **more)


def recompute_scores(phases: Mapping[str, tuple[float, float]], *, extended: bool = False) -> Scores:
    """From value and rounding of every phase; the halves are those of the result. `extended`: as SCOREX."""

    def geometric_mean_with_error(names: tuple[str, ...]) -> tuple[float | None, float, int]:
        positive = [phases[n] for n in names if n in phases and phases[n][0] > 0]
        middle = geometric_mean(v for v, _ in positive)
        if middle is None:
            return None, 0.0, 0
        low = geometric_mean(max(v - h, v / 2) for v, h in positive) or middle
        high = geometric_mean(v + h for v, h in positive) or middle
        return middle, max(high - middle, middle - low), len(positive)

    bw, bw_half, bw_n = geometric_mean_with_error((*BW, *BW_EXTENDED) if extended else BW)
    md, md_half, md_n = geometric_mean_with_error((*MD, *MD_EXTENDED) if extended else MD)
    total, total_half = None, 0.0
    if bw is not None and md is not None:
        total = math.sqrt(bw * md)
        total_half = math.sqrt((bw + bw_half) * (md + md_half)) - total
    return Scores(
        bw=bw, md=md, total=total, bw_half=bw_half, md_half=md_half, total_half=total_half,
        bw_phases=bw_n, md_phases=md_n,
    )  # fmt: skip


def find_contradictions(claimed: Scores | None, recomputed: Scores, prefix: str = "") -> list[Contradiction]:
    """Return what is printed and does not follow from the phases. A TOTAL that is the product is named as such.

    `prefix`: of an extended run's second score, "SCOREX ".
    """
    claims: list[Contradiction] = []
    if claimed is None:
        return claims
    for name, unit, rule in (
        ("bw", "GiB/s", f"geometric mean of the {recomputed.bw_phases} bandwidth phases above 0"),
        ("md", "kIOPS", f"geometric mean of the {recomputed.md_phases} metadata phases above 0"),
        ("total", "", "square root of bandwidth × metadata score"),
    ):
        claimed_value, gives = getattr(claimed, name), getattr(recomputed, name)
        if claimed_value is None or gives is None:
            continue
        slack = getattr(claimed, f"{name}_half") + getattr(recomputed, f"{name}_half") + 1e-9 * abs(gives)
        product = name == "total" and _is_total_the_product(claimed, recomputed)
        claims += compare_claim(
            "io500.total-is-product" if product else "io500.score",
            prefix + {"bw": "Bandwidth", "md": "IOPS", "total": "TOTAL"}[name],
            claimed_value, gives, rule, 0.0, slack, unit=unit,
        )  # fmt: skip
    return claims


def _is_total_the_product(claimed: Scores, again: Scores) -> bool:
    if claimed.total is None or again.bw is None or again.md is None:
        return False
    product = again.bw * again.md
    slack = again.bw_half * again.md + again.md_half * again.bw + claimed.total_half
    return abs(claimed.total - product) <= slack + 1e-6 * product


def matching_result_hash(
    version: str | None, phases: Mapping[str, str], totals: Mapping[str, str], stored: str, *, invalid: bool
) -> str:
    """The hash in the layout that gives the stored one; where none does, in the usual layout.

    32 bit; for each character x = rotl(x, 2) + c over key then value as printed, all XORed (src/main.c, src/util.c).
    phases: those that belong to the score. version: None for SCOREX, whose hash leaves it out. Results of 2021 leave
    MD and BW out; an invalid run adds ("valid", "NO").
    """
    usual = ""
    for keys in (("MD", "BW", "SCORE"), ("SCORE",)):
        x = 0 if version is None else _io500_hash("version" + version)
        for name, text in phases.items():
            x ^= _io500_hash(name + text)
        for key in keys:
            x ^= _io500_hash(key + totals.get(key, "").partition(" ")[0])
        for value in (x, x ^ _io500_hash("validNO")):
            text = f"{value:X}"
            if text == stored.upper().lstrip("0"):
                return stored.upper()
            usual = usual or f"{value ^ (_io500_hash('validNO') if invalid else 0):08X}"
    return usual


def _io500_hash(text: str) -> int:
    x = 0
    for c in text.encode("utf-8", "backslashreplace"):
        x = (((x << 2) | (x >> 30)) + c) & _MASK
    return x
