"""Verdicts and severities in the words of the reports: the same in every view that is text."""

from __future__ import annotations

import math
from collections.abc import Iterable

from app.session import Session
from scenarios import events as ev
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
    return "–" if value is None else f"±{value * 100:.2g} %"


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


def verdict_sentence(session: Session, verdict: ev.Verdict, *, short: bool = False) -> str:
    """`random read: B (sda) is slower than A (vda): 0.73 times (0.71 … 0.76), IOPS, this disk`.

    `short`: variants by their ids alone, where a list of them is at hand.
    """
    title = workload_title(session, verdict.workload)
    left, right = verdict.variant, verdict.baseline
    if not short:
        left, right = variant_title(session, left), variant_title(session, right)
    scope = f", {verdict.scope}" if verdict.scope else ""
    if verdict.verdict in ("slower", "faster"):
        how = f"{ratio(verdict.ratio)} times ({interval(verdict.ci95)}) in {verdict.metric}"
        if _cost(session, verdict):  # the ratio is turned: "0.7 times in ns" would say the opposite
            how = f"{delta(verdict)}, {ratio(verdict.ratio)} times as fast ({interval(verdict.ci95)})"
        return f"{title}: {left} is {verdict.verdict} than {right}: {how}{scope}"
    if verdict.verdict == "no material difference":
        same = f"no material difference between {left} and {right} in {verdict.metric}"
        return f"{title}: {same}: {interval(verdict.ci95)}{scope}"
    why = f": {verdict.reason}" if verdict.reason else ""
    seen = ""
    if verdict.verdict == "inconclusive" and verdict.smallest_effect is not None:
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


def _asked(session: Session) -> ev.Verdict | None:
    """Where a workload holds several pairs and controls of its own, its first pair is the question.

    The others, however clear, only stand beside it.
    """
    if session.plan is None:
        return None
    order = {variant.id: place for place, variant in enumerate(session.plan.variants)}
    for workload in session.plan.workloads:
        pairs = [v for v in session.verdicts.values() if v.workload == workload.id and not v.control]
        if workload.controls and any(measured(v) for v in pairs):
            first = min(pairs, key=lambda v: order.get(v.variant, len(order)))
            return first if measured(first) else None
    return None


def headline(session: Session) -> str:
    """The answer in one sentence: the clearest verdict, else the worst finding, else how it ended."""
    ended = session.ended
    if ended is not None and ended.status in ("skipped", "failed"):
        return f"{ended.status}: {ended.reason}"
    stopped = "" if ended is not None and ended.status == "done" else "broken off; until then: "
    if ended is None:
        stopped = "without its end; until there: "
    judged = [v for v in session.verdicts.values() if not v.control and v.verdict in ("slower", "faster")]
    if judged:
        clearest = min(judged, key=lambda v: min(v.ratio or 1.0, 1.0 / (v.ratio or 1.0)))
        return stopped + verdict_sentence(session, _asked(session) or clearest)
    trends = [s for s in session.series if s.verdict in ("slower", "faster")]
    if trends:
        return stopped + series_sentence(session, trends[0])
    verdicts = [v for v in session.verdicts.values() if not v.control]
    if verdicts and all(v.verdict == "no material difference" for v in verdicts):
        return stopped + "no material difference in anything that was measured"
    loud = [f for f in session.worst_first if f.severity != "ok"]
    if loud:
        return stopped + loud[0].title
    if verdicts:
        return stopped + verdict_sentence(
            session, next(v for v in verdicts if v.verdict != "no material difference")
        )
    if ended is None:
        return "the run has not ended, or was killed"
    if session.findings:
        return stopped + session.worst_first[0].title
    return stopped + "nothing to report"
