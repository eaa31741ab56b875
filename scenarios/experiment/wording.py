"""A verdict in words, made from its fields: for findings here, and for every view above.

Whole sentences about what was seen: how large the effect is, how sure that is, and in how many groups it showed.
"""

import math
from collections.abc import Sequence

from hostdx.probes import units
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.verdict.verdict import missable_share
from hostdx.scenarios.experiment.places import FileSetScatter
from hostdx.scenarios.experiment.statistics.drift import Drift
from hostdx.scenarios.experiment.statistics.stats import EstimateWithInterval

FARTHEST = 10  # times what was measured


def mark_if_control(title: str, *, control: bool) -> str:
    """Return a load's title; the negative control is marked as such."""
    return f"{title} (control)" if control else title


def not_measured_text(subject: str, why: str | None = None) -> str:
    return f"{subject}: not measured" + (f": {why}" if why else "")


def effect_words(verdict: ev.RunVerdict) -> str:
    """Return the effect in words: `27 % slower (95 % CI 24 to 30 %)`, `no material difference (95 % CI 2 % slower to
    3 % faster)`.
    """
    size, interval = effect_size_and_interval_cells(verdict)
    return f"{size} (95 % CI {interval})" if interval else size


def effect_size_and_interval_cells(verdict: ev.RunVerdict) -> tuple[str, str]:
    """Return size and interval for a table: `27 % slower`, `24 to 30 %`."""
    decided = verdict.is_different and verdict.ratio is not None
    size = units.format_effect(verdict.ratio) if decided else verdict.verdict
    if verdict.ci95 is None:
        return size, ""
    if decided:
        return size, units.format_interval(*verdict.ci95, verdict.ratio)
    return size, _possible_range(*verdict.ci95)


def _possible_range(low: float, high: float) -> str:
    """Return the interval with its direction: an undecided estimate has none of its own."""
    words = units.format_interval(low, high)
    return words if low < 1 < high else f"{words} {units.effect_word(low)}"


def groups_words(verdict: ev.RunVerdict) -> str:
    """Return `B was slower in 10 of 10 groups`; empty without groups."""
    if not verdict.groups:
        return ""
    groups = units.count_noun(verdict.groups, "group")
    if verdict.is_faster:
        return f"{verdict.variant} was faster in {verdict.groups - verdict.slower_in} of {groups}"
    return f"{verdict.variant} was slower in {verdict.slower_in} of {groups}"


def estimate_seconds_to_decide(verdict: ev.RunVerdict) -> float | None:
    """Return about how many seconds would decide it; None where the groups measured are too few to say."""
    seconds = verdict.seconds_to_decide
    most = FARTHEST * verdict.seconds or units.DAY_S
    return seconds if seconds is not None and seconds <= most else None


def resolution_words(verdict: ev.RunVerdict) -> str:
    """Return which effect was too small to be decided, and how long deciding would take; empty where it was decided."""
    if not verdict.is_undecided:
        return ""
    parts = []
    if verdict.ci95 is not None and not verdict.ci95[0] <= 1 <= verdict.ci95[1]:
        margin = units.format_percent(verdict.margin)
        parts.append(f"the interval excludes no change, but not a change within the margin of {margin}")
    elif (share := missable_share(verdict)) is not None:
        parts.append(units.missable_difference_text(share))
    if verdict.bytes_to_decide is not None:  # more time would write nothing more
        size = units.format_size(verdict.bytes_to_decide)
        parts.append(f"a write limit of about {size} would decide it")
    elif seconds := estimate_seconds_to_decide(verdict):
        parts.append(f"about {units.format_duration(seconds)} more of measuring would decide it")
    elif verdict.seconds_to_decide is not None:
        groups = units.count_noun(verdict.groups, "group")
        verb = "is" if verdict.groups == 1 else "are"
        parts.append(f"{groups} {verb} too few to say how much longer it needs")
    return "; ".join(parts)


def explain_verdict(verdict: ev.RunVerdict) -> str:
    """Return in one line how the verdict came about, in a scenario's own words where it has some."""
    if verdict.explain:
        return verdict.explain
    parts = [groups_words(verdict)]
    if verdict.is_equal:
        parts.append(f"the interval lies within the margin of {units.format_percent(verdict.margin)}")
    if verdict.batch > 1 and not verdict.pairs:
        parts.append(
            f"neighbouring groups depend on each other: the interval is computed from batches of {verdict.batch}"
        )
    if verdict.place_scatter is not None and verdict.slice_scatter is not None:
        parts.append(scatter_words(verdict.pairs, verdict.place_scatter, verdict.slice_scatter))
    parts.append(resolution_words(verdict))
    return "; ".join(part for part in parts if part)


def scatter_words(pairs: int, place: float, within: float) -> str:
    """Return `file sets of one directory differ by ±2.1 %, slices differ by ±0.4 %: the interval is computed
    from 64 pairs of file sets`.

    `place`, `within`: standard deviations of the log rate.
    """
    differ = f"differ by ±{100 * math.expm1(place):.1f} %" if place else "do not differ measurably"
    return (
        f"file sets of one directory {differ}, slices differ by ±{100 * math.expm1(within):.1f} %: the interval is "
        "computed from "
        f"{units.count_noun(pairs, 'pair')} of file sets"
    )


def file_sets_limit_text(scatter: FileSetScatter) -> str:
    """Return why no further group would decide it."""
    differ = f"the file sets of one directory differ by ±{100 * math.expm1(scatter.place):.1f} %"
    return f"{differ}, and {scatter.all_pairs} pairs of them allow no narrower interval"


def drift_text(drifting: Sequence[Drift], unit: str) -> str:
    """Return `A falls from 340 k to 56 k IOPS while it is measured; the other variant does not follow, ...`."""
    alone = "; the other variant does not" if len(drifting) == 1 else ""
    return f"{_drift_courses_text(drifting, unit)}{alone}, so the effect depends on the moment of measuring"


def moves_text(moving: Sequence[Drift], unit: str) -> str:
    """Return `A rises from 10 k to 200 k ops/s while it is measured, as the other variant does ...`."""
    return (
        f"{_drift_courses_text(moving, unit)}; all variants do so alike: the comparison holds, "
        "but the values depend on the moment of measuring"
    )


def _drift_courses_text(drifting: Sequence[Drift], unit: str) -> str:
    courses = " and ".join(
        f"{d.variant} {'falls' if d.last < d.first else 'rises'} "
        f"from {units.format_prefixed(d.first).strip()} to {units.format_prefixed(d.last).strip()} {unit}".rstrip()
        for d in drifting
    )
    return f"{courses} while it is measured"


def carry_over_text(bias: EstimateWithInterval, block_s: float | None) -> str:
    """Return what the variants leave to each other. `bias` is in logs; `block_s`: the length of the flushed windows
    in which it was seen.

    Without `block_s` it was seen in shorter slices, and there was too little time to see whether it has gone.
    """
    low, high = sorted(abs(math.expm1(edge)) for edge in (bias.low, bias.high))
    extent = "slices, and whether it still does in longer ones takes more groups"
    if block_s is not None:
        extent = f"windows of {block_s:g} s, although hostdx flushed each and waited for it"
    size = f"it shifts the ratio by {units.format_percent_interval(low, high)}"
    return f"work of one variant continues into the other's {extent}: {size}"
