"""The run's result as one JSON document (`--json`): the event stream summed up. Golden files pin its form."""

from collections.abc import Sequence

import msgspec

from hostdx.app.recordings.session import RunSession
from hostdx.app.recordings.values import baseline_and_variant_values, with_difference_of_values
from hostdx.app.report.figures.latency import latency_summaries
from hostdx.app.terminal.printable import make_json_printable, make_printable
from hostdx.probes.types import Json
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import SEVERITIES, Finding
from hostdx.scenarios.experiment.wording import explain_verdict

_VERDICT = (
    "workload", "metric", "baseline", "variant", "verdict", "reason", "ratio", "ci95", "delta", "delta_ci95",
    "delta_unit", "groups", "look", "alpha", "smallest_effect", "pairs", "place_scatter", "slice_scatter", "seconds",
    "seconds_to_decide", "bytes_to_decide", "control", "scope", "order",
)  # fmt: skip
_SERIES = ("workload", "rounds", "verdict", "slope_per_round", "ci95", "p", "per_gb")
UNENDED = "the recording has no end: its runner still runs, or was killed"


def run_as_json(session: RunSession, recording: str | None) -> dict[str, Json]:
    """`recording` is the file's name or path, None where nothing was recorded."""
    ended = session.ended
    own: dict[str, Json] = {
        "schema": ev.SCHEMA,
        "scenario": session.began.scenario if session.began is not None else "",
        "status": ended.status if ended is not None else "failed",
        "reason": ended.reason if ended is not None else UNENDED,
        "verdicts": [
            {
                **_fields_to_json(with_difference_of_values(session, verdict), _VERDICT),
                "values": list(baseline_and_variant_values(session, verdict)),
                "explain": explain_verdict(verdict),
            }
            for verdict in session.verdicts.values()
        ],
        "latency": [entry._asdict() for entry in latency_summaries(session)],
        "series": [_fields_to_json(series, _SERIES) for series in session.series],
        "findings": [finding_document(item) for item in session.worst_first],
        "facts": {fact.label: fact.value for fact in session.facts.values()},
        "absent": [{"fact": absent.label, "reason": absent.reason} for absent in session.absent.values()],
        "recording": recording,
    }
    if session.left_out or session.unsound:
        lines = {"lines out of range": session.unsound} if session.unsound else {}
        own["left_out"] = {**session.left_out, **lines}
    for item in session.results.values():
        own.setdefault(item.name, item.as_json)  # a scenario's own part never hides ours
    return own


def document_json(session: RunSession, recording: str | None) -> str:
    return to_json_text(run_as_json(session, recording))


def to_json_text(value: object) -> str:
    """One document for others' programs; a byte that is no UTF-8 is written as a person reads it."""
    try:
        data = msgspec.json.encode(value)
    except UnicodeEncodeError:
        data = msgspec.json.encode(_escape_surrogates_in(msgspec.to_builtins(value)))
    return make_json_printable(msgspec.json.format(data, indent=2)).decode()


def has_severity_or_worse(session: RunSession, severity: str) -> bool:
    """Return whether a finding is of that severity or worse."""
    limit = SEVERITIES.index(severity)
    return any(SEVERITIES.index(item.severity) <= limit for item in session.findings.values())


_ANSWERS = {"spoke": "found", "ok": "fine", "unreadable": "unknown", "not applicable": "not applicable"}


def list_checks(session: RunSession) -> list[Json]:
    """Each rule's answer: found, fine, not applicable or unknown, with the reason."""
    return [
        {"rule": check.rule, "answer": _ANSWERS[check.state], "reason": check.reason}
        for check in session.checks.values()
    ]


def finding_document(item: Finding) -> dict[str, Json]:
    fields = _fields_to_json(
        item, ("id", "severity", "confidence", "title", "evidence", "remedy", "references")
    )
    return fields | {"subjects": list(item.subjects)} if item.subjects else fields


def _fields_to_json(value: object, names: Sequence[str]) -> dict[str, Json]:
    """With what a Struct leaves out where it is as usual."""
    return {name: _to_plain(getattr(value, name)) for name in names}


def _to_plain(value: object) -> Json:
    if isinstance(value, msgspec.Struct):
        return _fields_to_json(value, value.__struct_fields__)
    if isinstance(value, tuple):
        return [_to_plain(inner) for inner in value]
    plain: Json = msgspec.to_builtins(value)
    return plain


def _escape_surrogates_in(value: object) -> object:
    if isinstance(value, str):
        return "".join(make_printable(c) if "\ud800" <= c <= "\udfff" else c for c in value)
    if isinstance(value, dict):
        return {str(_escape_surrogates_in(key)): _escape_surrogates_in(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_escape_surrogates_in(inner) for inner in value]
    return value
