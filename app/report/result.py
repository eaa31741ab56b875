"""The run's result as one JSON document (`--json`): the event stream summed up. Golden files pin its form."""

from __future__ import annotations

import msgspec

from app.printable import printable, printable_json
from app.recording.session import Session
from app.report.figures.latency import percentiles
from probes.types import Json
from scenarios import events as ev
from scenarios.experiment.wording import explanation
from scenarios.finding import SEVERITIES, Evidence, Finding, Remedy

UNENDED = "the recording has no end: its runner still runs, or was killed"


def document(session: Session, recording: str | None) -> dict[str, Json]:
    """`recording` is the file's name or path, None where nothing was recorded."""
    ended = session.ended
    own: dict[str, Json] = {
        "schema": ev.SCHEMA,
        "scenario": session.began.scenario if session.began is not None else "",
        "status": ended.status if ended is not None else "failed",
        "reason": ended.reason if ended is not None else UNENDED,
        "verdicts": [_verdict(verdict) for verdict in session.verdicts.values()],
        "latency": [one._asdict() for one in percentiles(session)],
        "series": [_series(series) for series in session.series],
        "findings": [finding(found) for found in session.worst_first],
        "facts": {fact.label: fact.value for fact in session.facts.values()},
        "absent": [{"fact": absent.label, "reason": absent.reason} for absent in session.absent.values()],
        "recording": recording,
    }
    if session.left_out or session.unsound:
        lines = {"lines out of range": session.unsound} if session.unsound else {}
        own["left_out"] = {**session.left_out, **lines}
    for found in session.results.values():
        own.setdefault(found.name, found.plain)  # a scenario's own part never hides ours
    return own


def document_json(session: Session, recording: str | None) -> str:
    return encoded(document(session, recording))


def encoded(value: object) -> str:
    """One document for others' programs; a byte that is no UTF-8 is written as a person reads it."""
    try:
        data = msgspec.json.encode(value)
    except UnicodeEncodeError:
        data = msgspec.json.encode(_whole(msgspec.to_builtins(value)))
    return printable_json(msgspec.json.format(data, indent=2)).decode()


def reaches(session: Session, severity: str) -> bool:
    """Whether a finding is of that severity or worse."""
    limit = SEVERITIES.index(severity)
    return any(SEVERITIES.index(found.severity) <= limit for found in session.findings.values())


_ANSWERS = {"spoke": "found", "ok": "fine", "unreadable": "unknown", "not applicable": "not applicable"}


def checks(session: Session) -> list[Json]:
    """Each rule's answer: found, fine, not applicable or unknown, with the reason."""
    return [
        {"rule": check.rule, "answer": _ANSWERS[check.state], "reason": check.reason}
        for check in session.checks.values()
    ]


def finding(found: Finding) -> dict[str, Json]:
    told: dict[str, Json] = {
        "id": found.id,
        "severity": found.severity,
        "confidence": found.confidence,
        "title": found.title,
        "evidence": [_evidence(one) for one in found.evidence],
        "remedy": [_remedy(one) for one in found.remedy],
        "references": list(found.references),
    }
    if found.subjects:
        told["subjects"] = list(found.subjects)
    return told


def _evidence(one: Evidence) -> Json:
    return {"text": one.text, "source": one.source}


def _remedy(one: Remedy) -> Json:
    return {
        "title": one.title,
        "commands": list(one.commands),
        "persistent": list(one.persistent),
        "verify": list(one.verify),
        "undo": list(one.undo),
        "warning": one.warning,
    }


def _verdict(verdict: ev.Verdict) -> Json:
    return {
        "workload": verdict.workload,
        "metric": verdict.metric,
        "baseline": verdict.baseline,
        "variant": verdict.variant,
        "verdict": verdict.verdict,
        "reason": verdict.reason,
        "ratio": verdict.ratio,
        "ci95": _pair(verdict.ci95),
        "delta": verdict.delta,
        "delta_ci95": _pair(verdict.delta_ci95),
        "delta_unit": verdict.delta_unit,
        "groups": verdict.groups,
        "look": verdict.look,
        "alpha": verdict.alpha,
        "smallest_effect": verdict.smallest_effect,
        "pairs": verdict.pairs,
        "place_scatter": verdict.place_scatter,
        "slice_scatter": verdict.slice_scatter,
        "seconds": verdict.seconds,
        "seconds_to_decide": verdict.seconds_to_decide,
        "bytes_to_decide": verdict.bytes_to_decide,
        "control": verdict.control,
        "scope": verdict.scope,
        "explain": explanation(verdict),
    }


def _series(series: ev.SeriesVerdict) -> Json:
    return {
        "workload": series.workload,
        "rounds": series.rounds,
        "verdict": series.verdict,
        "slope_per_round": series.slope_per_round,
        "ci95": _pair(series.ci95),
        "p": series.p,
        "per_gb": series.per_gb,
    }


def _pair(interval: ev.Interval | None) -> Json:
    return None if interval is None else list(interval)


def _whole(value: object) -> object:
    if isinstance(value, str):
        return "".join(printable(c) if "\ud800" <= c <= "\udfff" else c for c in value)
    if isinstance(value, dict):
        return {str(_whole(key)): _whole(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(inner) for inner in value]
    return value
