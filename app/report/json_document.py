"""The run's result as one JSON document (`--json`): the event stream summed up. Golden files pin its form."""

from collections.abc import Sequence

import msgspec

from app.printable import printable, printable_json
from app.recording.session import Session
from app.recording.values import values_beside
from app.report.figures.latency import percentiles
from probes.types import Json
from scenarios import events as ev
from scenarios.experiment.wording import explain_verdict
from scenarios.finding import SEVERITIES, Finding

_VERDICT = (
    "workload", "metric", "baseline", "variant", "verdict", "reason", "ratio", "ci95", "delta", "delta_ci95",
    "delta_unit", "groups", "look", "alpha", "smallest_effect", "pairs", "place_scatter", "slice_scatter", "seconds",
    "seconds_to_decide", "bytes_to_decide", "control", "scope", "order",
)  # fmt: skip
_SERIES = ("workload", "rounds", "verdict", "slope_per_round", "ci95", "p", "per_gb")
UNENDED = "the recording has no end: its runner still runs, or was killed"


def document(session: Session, recording: str | None) -> dict[str, Json]:
    """`recording` is the file's name or path, None where nothing was recorded."""
    ended = session.ended
    own: dict[str, Json] = {
        "schema": ev.SCHEMA,
        "scenario": session.began.scenario if session.began is not None else "",
        "status": ended.status if ended is not None else "failed",
        "reason": ended.reason if ended is not None else UNENDED,
        "verdicts": [
            {
                **_fields(verdict, _VERDICT),
                "values": list(values_beside(session, verdict)),
                "explain": explain_verdict(verdict),
            }
            for verdict in session.verdicts.values()
        ],
        "latency": [one._asdict() for one in percentiles(session)],
        "series": [_fields(series, _SERIES) for series in session.series],
        "findings": [finding(found) for found in session.worst_first],
        "facts": {fact.label: fact.value for fact in session.facts.values()},
        "absent": [{"fact": absent.label, "reason": absent.reason} for absent in session.absent.values()],
        "recording": recording,
    }
    if session.left_out or session.unsound:
        lines = {"lines out of range": session.unsound} if session.unsound else {}
        own["left_out"] = {**session.left_out, **lines}
    for found in session.results.values():
        own.setdefault(found.name, found.as_json)  # a scenario's own part never hides ours
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
    told = _fields(found, ("id", "severity", "confidence", "title", "evidence", "remedy", "references"))
    return told | {"subjects": list(found.subjects)} if found.subjects else told


def _fields(value: object, names: Sequence[str]) -> dict[str, Json]:
    """With what a Struct leaves out where it is as usual."""
    return {name: _plain(getattr(value, name)) for name in names}


def _plain(value: object) -> Json:
    if isinstance(value, msgspec.Struct):
        return _fields(value, value.__struct_fields__)
    if isinstance(value, tuple):
        return [_plain(inner) for inner in value]
    plain: Json = msgspec.to_builtins(value)
    return plain


def _whole(value: object) -> object:
    if isinstance(value, str):
        return "".join(printable(c) if "\ud800" <= c <= "\udfff" else c for c in value)
    if isinstance(value, dict):
        return {str(_whole(key)): _whole(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(inner) for inner in value]
    return value
