"""A check in the words of a batch system or a monitor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias, get_args

import msgspec

from hostdx.app.features.health.check import Answer, HealthCheck
from hostdx.app.features.health.speed import LoadErrorRates
from hostdx.app.report.forms.openmetrics import Sample, gauge_lines
from hostdx.app.report.json_document import to_json_text
from hostdx.app.terminal.printable import make_printable
from hostdx.probes.units import format_duration
from hostdx.scenarios.contract import events as ev

Form: TypeAlias = Literal["text", "slurm", "nhc", "nagios", "openmetrics", "json"]
FORMS: tuple[Form, ...] = get_args(Form)
STATUSES: dict[Answer, int] = {Answer.FIT: 0, Answer.NOT_FIT: 1, Answer.NOT_SURE: 3}
NAGIOS: dict[Answer, tuple[int, str]] = {
    Answer.FIT: (0, "OK"),
    Answer.NOT_FIT: (2, "CRITICAL"),
    Answer.NOT_SURE: (3, "UNKNOWN"),
}
_NO_BAR = {ord("|"): "/"}  # it separates the performance data
_NO_QUOTE = {ord("'"): '"'}  # NHC's `die` gives the reason to the shell once more, between single quotes
MAX_REASON = 200  # characters: what squeue and sinfo show of a node's reason


def exit_status_of(check: HealthCheck, form: Form) -> int:
    return NAGIOS[check.answer][0] if form == "nagios" else STATUSES[check.answer]


def _text_lines(check: HealthCheck) -> Iterator[str]:
    yield check.sentence
    for reason in check.reasons[1:]:
        yield f"  {reason.answer}: {reason.text}"
    for s in check.standings:
        yield f"  {s.load} ({s.slot}): {s.ratio:.1%} of its class, limit {s.limit:.1%}, {s.rounds} rounds"
    yield from (f"  {note}" for note in check.notes)
    yield f"  took {format_duration(check.seconds)}"


def _slurm_lines(check: HealthCheck) -> Iterator[str]:
    """The reason for `scontrol update ... reason=`; nothing for a fit node."""
    if check.answer is not Answer.FIT:
        yield f"hostdx: {check.sentence}"[:MAX_REASON]


def _nhc_lines(check: HealthCheck) -> Iterator[str]:
    if check.answer is not Answer.FIT:
        # NHC's `die` says ERROR itself, its `log` says nothing
        word = "" if check.answer is Answer.NOT_FIT else "WARNING:  "
        yield f"{word}hostdx: {check.sentence}".translate(_NO_QUOTE)[:MAX_REASON]


def _nagios_lines(check: HealthCheck) -> Iterator[str]:
    """Status, text and performance data (Nagios plug-in rules: 'label'=value;warn;crit;min;max)."""
    figures = [f"'{s.load} {s.slot}'={s.ratio:.4f};;{s.limit:.4f}:;0" for s in check.standings]
    figures.append(f"'time'={check.seconds:.2f}s;;;0")
    notes = f" ({'; '.join(check.notes)})" if check.notes else ""  # fit, but of what?
    words = f"HOSTDX {NAGIOS[check.answer][1]} - {check.sentence}{notes}"
    yield f"{words.translate(_NO_BAR)} | {' '.join(figures)}"


def _openmetrics_lines(check: HealthCheck) -> Iterator[str]:
    answers: list[Sample] = [({"answer": str(answer)}, int(check.answer is answer)) for answer in STATUSES]
    loads = [({"load": s.load, "slot": s.slot}, s) for s in check.standings]
    yield from gauge_lines(
        "hostdx_health_answer", "What the last check answered: 1 for that answer.", answers
    )
    yield from gauge_lines(
        "hostdx_health_seconds", "How long the check took.", [({}, round(check.seconds, 3))]
    )
    yield from gauge_lines(
        "hostdx_health_load_ratio", "Rate over the class.", [(n, s.ratio) for n, s in loads]
    )
    limits = [(labels, s.limit) for labels, s in loads]
    yield from gauge_lines("hostdx_health_load_limit", "Ratio below which the node is slow.", limits)
    yield "# EOF"


def _json_lines(check: HealthCheck) -> Iterator[str]:
    document = {
        "schema": ev.SCHEMA,
        "answer": check.answer,
        "sentence": check.sentence,
        "seconds": round(check.seconds, 3),
        "class": check.node_class or None,
        "reasons": msgspec.to_builtins(check.reasons),
        "loads": [s._asdict() | {"slow": s.is_slow} for s in check.standings],
        "notes": check.notes,
    }
    yield to_json_text(document)


_LINES: dict[Form, Callable[[HealthCheck], Iterator[str]]] = {
    "text": _text_lines,
    "slurm": _slurm_lines,
    "nhc": _nhc_lines,
    "nagios": _nagios_lines,
    "openmetrics": _openmetrics_lines,
    "json": _json_lines,
}


def format_check(check: HealthCheck, form: Form) -> str:
    """Return the check as text; every line but those of JSON is printable."""
    lines = _LINES[form](check)
    return "\n".join(lines if form == "json" else map(make_printable, lines))


def format_error_rates(rates: list[LoadErrorRates]) -> Iterator[str]:
    """Yield both rates for each load, and for a check with all of them."""
    yield f"{'load':<14} {'CPUs':<4} {'limit':>7} {'false drains':>14} {'20 % slower: found':>19} {'in two checks':>14}"
    for r in rates:
        limit, found_once, found_twice = (
            f"{value:.1%}" for value in (r.limit, r.found_share, r.found_in_two_share)
        )
        note = "" if r.keeps_promise else "  scatters too much: a slow load makes the answer unsure"
        yield f"{r.load:<14} {r.slot:<4} {limit:>7} {r.false_drain:>14.1e} {found_once:>19} {found_twice:>14}{note}"
    yield f"false drains of a check with all loads: at most {sum(r.false_drain for r in rates if r.keeps_promise):.1e}"
