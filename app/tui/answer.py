"""A run's answer in one sentence: how it went, or the effect that matters most."""

from __future__ import annotations

from app.session import Session
from app.tui.glyphs import clean
from app.tui.lines import Span
from app.tui.widgets.effects import title_of
from app.tui.widgets.interval_bar import factor, span
from scenarios import events as ev


def _who(session: Session, variant: str) -> str:
    label = next((v.label for v in session.plan.variants if v.id == variant), "") if session.plan else ""
    return clean(f"{variant} ({label})" if label and label != variant else variant)


def _distance(verdict: ev.Verdict) -> float:
    if not verdict.ratio or verdict.ratio <= 0:
        return 1.0
    return max(verdict.ratio, 1 / verdict.ratio)


def answer(session: Session) -> Span:
    """The sentence and its role. Nothing is claimed that no verdict says."""
    ended = session.ended
    verdicts = [v for v in session.verdicts.values() if not v.control]
    moved = [v for v in session.verdicts.values() if v.control and v.verdict in ("slower", "faster")]
    if ended is not None and ended.status != "done" and not verdicts:
        return (
            f"{ended.status}: {clean(ended.reason or 'no reason given')}",
            "critical" if ended.status == "failed" else "warning",
        )
    if moved:
        return (
            "The control moved, which it must not: something else changed; the verdicts below do not hold.",
            "warning",
        )
    effects = [v for v in verdicts if v.verdict in ("slower", "faster")]
    if effects:
        worst = max(effects, key=_distance)
        scope = f"{worst.scope[0].upper()}{worst.scope[1:]} is {worst.verdict}: " if worst.scope else ""
        size = factor(worst.ratio) if worst.ratio else worst.verdict
        ci = f" ({span(worst.ci95)})" if worst.ci95 else ""
        pair = f"{_who(session, worst.variant)} is {size} than {_who(session, worst.baseline)}"
        said = f"{scope}{pair} for {title_of(session, worst.workload)}{ci}."
        return clean(said), "critical" if worst.verdict == "slower" else "ok"
    trends = [s for s in session.series if s.verdict in ("slower", "faster")]
    if trends:
        return clean(
            f"{title_of(session, trends[0].workload)} gets {trends[0].verdict} from round to round."
        ), "critical"
    findings = session.worst_first
    if findings and findings[0].severity in ("critical", "warning"):
        return clean(findings[0].title), findings[0].severity
    if any(v.verdict == "inconclusive" for v in verdicts):
        seen = max((v.smallest_effect or 0 for v in verdicts), default=0)
        small = f" The smallest effect this run could have shown is {seen * 100:.0f} %." if seen else ""
        return f"Inconclusive: the noise hides whatever there is.{small}", "unknown"
    if any(v.verdict == "no material difference" for v in verdicts):
        return "No material difference in what was measured.", "ok"
    if verdicts:
        return f"Not applicable: {clean(verdicts[0].reason or 'no reason given')}", "unknown"
    if ended is None:
        return "No verdict yet.", "dim"
    return ("Nothing speaks against it." if not findings else clean(findings[0].title)), "ok"
