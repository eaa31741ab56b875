"""Verdicts and severities in the words of the reports: the same in every view that is text."""

import math
from collections.abc import Collection, Iterable

from hostdx.app.recordings.session import RunSession
from hostdx.app.recordings.values import with_difference_of_values
from hostdx.probes import units
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Severity
from hostdx.scenarios.contract.plan import Variant
from hostdx.scenarios.contract.verdict.verdict import Interval, Word, missable_share
from hostdx.scenarios.experiment.wording import (
    effect_size_and_interval_cells,
    explain_verdict,
    mark_if_control,
    not_measured_text,
)

_ROLES = {Word.SLOWER: "critical", Word.FASTER: "ok", Word.EQUAL: "strong"}
COLOURS = {Word.SLOWER: "#d64545", Word.FASTER: "#2f9e5b"}


def word_role(word: Word) -> str:
    return _ROLES.get(word, "unknown")


def verdict_role(verdict: ev.RunVerdict) -> str:
    """A control is no result: one that moved is a warning, as is a difference between two places of one file system."""
    doubted = verdict.control or verdict.one_file_system
    return "warning" if doubted and verdict.is_different else word_role(verdict.verdict)


SIGNS: dict[Severity, str] = {"critical": "!", "warning": "▲", "notice": "·", "ok": "✓"}
SPREAD_TO_SAY = 1.5  # of what one load could miss over another: both are said
MAX_HEADING_CELLS = 14  # of a column of effects
QUARTERS = ("1st quarter", "2nd", "3rd", "4th")  # columns of a course

_METRICS = {"wall": "wall time"}


def workload_title(session: RunSession, workload: str) -> str:
    load = session.find_workload(workload)
    return load.title if load is not None else workload


def metric_title(name: str) -> str:
    """Return what is judged, in words; most metrics are their unit."""
    return _METRICS.get(name, name)


def legend_text(session: RunSession, mark: str, variant: str) -> str:
    """`A = itself`, `B = A' (itself again)`: a plot's marks are single letters, the sides' names need not be."""
    label = variant_label(session, variant)
    full_title = label if variant in (mark, *label.split()) else variant_title(session, variant)
    return f"{mark} = {full_title}"


def verdict_load_title(session: RunSession, verdict: ev.RunVerdict) -> str:
    """A verdict's workload, a control as such: `CPU only (control)`."""
    return mark_if_control(workload_title(session, verdict.workload), control=verdict.control)


def verdict_title(session: RunSession, verdict: ev.RunVerdict) -> str:
    """A verdict's workload, with the metric where several of the load are judged: `the command, CPU time`."""
    title = workload_title(session, verdict.workload)
    metrics = {v.metric for v in session.verdicts.values() if v.workload == verdict.workload}
    return f"{title}, {metric_title(verdict.metric)}" if len(metrics) > 1 else title


def variant_title(session: RunSession, variant: str) -> str:
    """`B (sda)`: the id and what tells it from the others."""
    label = variant_label(session, variant)
    return variant if label == variant else f"{variant} ({label})"


def variant_label(session: RunSession, variant: str) -> str:
    """Return what tells it from the others; its id where there is nothing else."""
    return next((v.label for v in session.planned_variants if v.id == variant and v.label), variant)


def describe_variant(variant: Variant) -> str:
    """Return what it is, without its id again."""
    return ", ".join(part for part in (variant.label, variant.detail) if part and part != variant.id)


def ratio_text(value: float | None) -> str:
    """`0.73`, `0.083`, `12.4`."""
    return "–" if value is None else units.format_number(value)


def interval_text(ci95: Interval | None) -> str:
    return "–" if ci95 is None else f"{units.format_number(ci95[0])} to {units.format_number(ci95[1])}"


def too_few_groups_text(session: RunSession, verdict: ev.RunVerdict) -> str:
    """`3 of 8 groups`, where a verdict needs more of them than there are: its interval says nothing yet."""
    load = session.find_workload(verdict.workload)
    least = load.min_groups if load is not None else 0
    group_count = verdict.groups
    return f"{group_count} of {least} groups" if verdict.is_undecided and 0 < group_count < least else ""


def may_miss_effect(verdict: ev.RunVerdict) -> bool:
    """Return whether an effect may have been missed: half an interval far from 1 says nothing about small effects."""
    return verdict.is_equal or verdict.is_undecided


def count_unresolved_verdicts(session: RunSession) -> int:
    """Return how many comparisons have too few groups for an interval: nothing is known of their differences."""
    return sum(bool(too_few_groups_text(session, v)) for v in session.verdicts.values() if not v.control)


def verdicts_that_may_miss(session: RunSession) -> list[ev.RunVerdict]:
    """Return the verdicts that may have missed an effect of a known size, the least certain first."""
    limited = [
        v
        for v in verdicts_with_interval(session)
        if v.smallest_effect and not v.control and may_miss_effect(v)
    ]
    return sorted(limited, key=lambda v: missable_share(v) or 0.0, reverse=True)


def emulation_text(subject: str) -> str:
    return f"{subject}'s CPU is emulated (QEMU without KVM): no figure here is that of a real machine"


def effect_heading(pairs: Collection[tuple[str, str]]) -> str:
    """Return `B against A` for the effects of one pair (baseline, variant), so that slower says which of both is."""
    if len(pairs) == 1:
        (left, right), *_ = pairs
        words = f"{right} against {left}"
        if len(words) <= MAX_HEADING_CELLS:
            return words
    return "effect"


def missable_text_of_loads(session: RunSession, verdicts: Iterable[ev.RunVerdict]) -> str:
    """Return `a difference below 3.3 % could be missed`; where the loads differ much, of the surest and of the least
    sure one. Empty where none says it."""
    shares = {
        verdict_title(session, v): missable_share(v) or 0.0
        for v in verdicts
        if v.smallest_effect and not v.control and may_miss_effect(v) and not too_few_groups_text(session, v)
    }
    if not shares:
        return ""
    surest, unsurest = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
    smallest, largest = shares[surest], shares[unsurest]
    if largest <= SPREAD_TO_SAY * smallest:
        return units.missable_difference_text(largest)
    below, above = (units.smallest_seen_difference_text(share) for share in (smallest, largest))
    return f"could be missed: less than {below} in {surest}, less than {above} in {unsurest}"


def verdicts_with_interval(session: RunSession) -> list[ev.RunVerdict]:
    """Return the verdicts that have groups enough for an interval."""
    return [v for v in session.verdicts.values() if is_measured(v) and not too_few_groups_text(session, v)]


def resolution_text(verdict: ev.RunVerdict) -> str:
    """Return which differences could be missed, where none was found."""
    share = missable_share(verdict)
    if share is None or not may_miss_effect(verdict):
        return "–"
    return f"below {units.smallest_seen_difference_text(share)}"


def delta_text(session: RunSession, verdict: ev.RunVerdict) -> str:
    delta = with_difference_of_values(session, verdict).delta
    if delta is None:
        return "–"
    size = units.metric_quantity(abs(delta), verdict.delta_unit or session.metric_of(verdict).unit)
    return f"{'−' if delta < 0 else '+'}{size}".rstrip()


def log_effect_size(verdict: ev.RunVerdict) -> float:
    """Return how far from no difference, either way, in logs; 0 where nobody knows."""
    if verdict.ratio is None or not verdict.ratio > 0 or not math.isfinite(verdict.ratio):
        return 0.0
    return abs(math.log(verdict.ratio))


def is_measured(verdict: ev.RunVerdict) -> bool:
    """Return whether there is anything behind it; the rest was not started, or does not apply."""
    return verdict.groups > 0 or verdict.ratio is not None


def word_without_figures(verdict: ev.RunVerdict) -> Word:
    """Return the word of a verdict that has no figure: what was stopped before its first group is not inconclusive."""
    return Word.NOT_MEASURED if verdict.is_undecided else verdict.verdict


def _is_cost_with_difference(session: RunSession, verdict: ev.RunVerdict) -> bool:
    """Return whether less of the metric is better, and its difference is known."""
    return (
        session.metric_of(verdict).sign < 0 and with_difference_of_values(session, verdict).delta is not None
    )


def verdict_sentence(
    session: RunSession, verdict: ev.RunVerdict, *, short: bool = False, explained: bool = False
) -> str:
    """`random read: B (sda) is 27 % slower than A (vda) in IOPS (95 % CI 24 to 29 %), this disk`.

    `short`: variants by their ids alone, where a list of them is at hand. `explained`: with how it came about.
    """
    why = explain_verdict(verdict) if explained else ""
    return _effect_sentence(session, verdict, short) + (f". {why}" if why else "")


def _effect_sentence(session: RunSession, verdict: ev.RunVerdict, short: bool) -> str:
    title = workload_title(session, verdict.workload)
    left, right = verdict.variant, verdict.baseline
    if not short:
        left, right = variant_title(session, left), variant_title(session, right)
    scope = f", {verdict.scope}" if verdict.scope else ""
    metric = metric_title(verdict.metric)
    decided = verdict.is_different
    _, interval = effect_size_and_interval_cells(verdict)
    within = f" (95 % CI {interval})" if interval and not too_few_groups_text(session, verdict) else ""
    if decided:
        size = units.format_effect(verdict.ratio) if verdict.ratio else verdict.verdict
        if _is_cost_with_difference(session, verdict):  # the interval is of the ratio, and stands beside it
            return f"{title}: {left} is {size}{within} than {right}: {delta_text(session, verdict)}{scope}"
        return f"{title}: {left} is {size} than {right} in {metric}{within}{scope}"
    if verdict.is_equal:
        return f"{title}: no material difference between {left} and {right} in {metric}{within}{scope}"
    why = f": {verdict.reason}" if verdict.reason else ""
    if verdict.is_not_measured:
        return not_measured_text(title, verdict.reason)
    return f"{title}: {left} against {right} in {metric}: {verdict.verdict}{within}{why}"


def unmeasured_lines(session: RunSession, verdicts: Iterable[ev.RunVerdict]) -> list[str]:
    """One line for each reason why something was not measured, with all that it holds for."""
    lines: dict[str, dict[str, None]] = {}
    for verdict in verdicts:
        if not is_measured(verdict):
            word = word_without_figures(verdict)
            why = f"{word}: {verdict.reason}" if verdict.reason else str(word)
            lines.setdefault(why, {})[verdict_title(session, verdict)] = None
    return [f"{'; '.join(titles)}: {why}" for why, titles in lines.items()]


def series_sentence(session: RunSession, series: ev.SeriesVerdict) -> str:
    title = workload_title(session, series.workload)
    slope = ""
    if series.slope_per_round is not None:
        slope = f": {units.format_change(series.slope_per_round)} a round"
        if series.ci95 is not None:
            slope += f" (95 % CI {' to '.join(map(units.format_change, series.ci95))})"
    why = f"; {series.reason}" if series.reason else ""
    return f"{title}: {series.verdict} over {series.rounds} rounds{slope}{why}"


def describe_left_out_events(session: RunSession) -> str:
    """Return what of a recording was counted only, or not believed; empty where nothing was."""
    sentences = []
    if session.left_out:
        counted = ", ".join(f"{number} more {kind}" for kind, number in session.left_out.items())
        sentences.append(f"not kept, as the recording holds more than is read of one: {counted}")
    if session.unsound:
        lines = units.count_noun(session.unsound, "line")
        sentences.append(
            f"left out, as a value in it is missing or out of range: {lines}, first {session.unsound_why}"
        )
    return "; ".join(sentences)
