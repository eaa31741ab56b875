"""Verdicts and severities in the words of the reports: the same in every view that is text."""

from __future__ import annotations

import math
from collections.abc import Iterable

from app.effect_size import factor, span
from app.session import Session
from scenarios import events as ev
from scenarios.explain import percent as share_in_percent
from scenarios.finding import Severity

SIGNS: dict[Severity, str] = {"critical": "!", "warning": "▲", "notice": "·", "ok": "✓"}


def workload_title(session: Session, workload: str) -> str:
    if session.plan is not None:
        for planned in session.plan.workloads:
            if planned.id == workload:
                return planned.title
    return workload


def variant_title(session: Session, variant: str) -> str:
    """`B (sda)`: the id and what tells it from the others."""
    if session.plan is not None:
        for planned in session.plan.variants:
            if planned.id == variant:
                return variant if planned.label in ("", variant) else f"{variant} ({planned.label})"
    return variant


def variant_label(session: Session, variant: str) -> str:
    """What tells it from the others; its id where there is nothing else."""
    planned = session.plan.variants if session.plan is not None else ()
    return next((v.label for v in planned if v.id == variant and v.label), variant)


def number(value: float, digits: int = 4) -> str:
    """So many digits that count, never an exponent where a person would write none: `14080`, `0.0021`."""
    if not math.isfinite(value) or value == 0 or not 1e-4 <= abs(value) < 1e15:
        return f"{value:.{digits}g}"
    whole = round(value, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{whole:.0f}" if abs(whole) >= 10 ** (digits - 1) else f"{whole:.{digits}g}"


def ratio(value: float | None) -> str:
    """`0.73`, `0.083`, `12.4`."""
    return "–" if value is None else f"{value:.3g}"


def interval(pair: ev.Interval | None) -> str:
    return "–" if pair is None else f"{pair[0]:.3g} … {pair[1]:.3g}"


def percent(value: float | None) -> str:
    """The smallest effect: from 100 % on a share says less than a factor."""
    if value is not None and value >= 1:
        return f"a factor of {1 + value:.2g}" if value < 99 else "nothing below a factor of 100"
    return "–" if value is None else f"±{share_in_percent(value)}"


def delta(verdict: ev.Verdict) -> str:
    if verdict.delta is None:
        return "–"
    sign = "+" if verdict.delta > 0 else ""
    return f"{sign}{number(verdict.delta, 3)} {verdict.delta_unit}".rstrip()


def measured(verdict: ev.Verdict) -> bool:
    """Whether there is anything behind it; the rest was not started, or does not apply."""
    return verdict.groups > 0 or verdict.ratio is not None


def _cost(session: Session, verdict: ev.Verdict) -> bool:
    """Whether less of the metric is better, and its difference is known."""
    planned = session.plan.workloads if session.plan is not None else ()
    metrics = [m for w in planned if w.id == verdict.workload for m in w.metrics]
    return verdict.delta is not None and any(m.name == verdict.metric and m.better == "less" for m in metrics)


def verdict_sentence(
    session: Session, verdict: ev.Verdict, *, short: bool = False, explained: bool = False
) -> str:
    """`random read: B (sda) is 27 % slower than A (vda) in IOPS (24–29 %), this disk`.

    `short`: variants by their ids alone, where a list of them is at hand. `explained`: what could have been seen
    follows in the verdict's own explanation.
    """
    title = workload_title(session, verdict.workload)
    left, right = verdict.variant, verdict.baseline
    if not short:
        left, right = variant_title(session, left), variant_title(session, right)
    scope = f", {verdict.scope}" if verdict.scope else ""
    ends = span(verdict.ci95, verdict.ratio) if verdict.ci95 is not None else ""
    within = f" ({ends})" if ends else ""
    if verdict.verdict in ("slower", "faster"):
        size = factor(verdict.ratio) if verdict.ratio else verdict.verdict
        cost = f": {delta(verdict)}" if _cost(session, verdict) else f" in {verdict.metric}"
        return f"{title}: {left} is {size} than {right}{cost}{within}{scope}"
    if verdict.verdict == "no material difference":
        return (
            f"{title}: no material difference between {left} and {right} in {verdict.metric}{within}{scope}"
        )
    why = f": {verdict.reason}" if verdict.reason else ""
    seen = ""
    if verdict.verdict == "inconclusive" and not explained and verdict.smallest_effect is not None:
        seen = f"; this run could have seen {percent(verdict.smallest_effect)}"
    return f"{title}: {left} against {right} in {verdict.metric}: {verdict.verdict}{why}{seen}"


def unmeasured(session: Session, verdicts: Iterable[ev.Verdict]) -> list[str]:
    """One line for each reason why something was not measured, with all that it holds for."""
    lines: dict[str, dict[str, None]] = {}
    for verdict in verdicts:
        if not measured(verdict):
            why = f"{verdict.verdict}: {verdict.reason}" if verdict.reason else verdict.verdict
            lines.setdefault(why, {})[workload_title(session, verdict.workload)] = None
    return [f"{'; '.join(titles)}: {why}" for why, titles in lines.items()]


def series_sentence(session: Session, series: ev.SeriesVerdict) -> str:
    title = workload_title(session, series.workload)
    slope = ""
    if series.slope_per_round is not None:
        slope = f": {series.slope_per_round * 100:+.2g} % a round"
        if series.ci95 is not None:
            slope += f" ({series.ci95[0] * 100:+.2g} … {series.ci95[1] * 100:+.2g} %)"
    why = f"; {series.reason}" if series.reason else ""
    return f"{title}: {series.verdict} over {series.rounds} rounds{slope}{why}"
