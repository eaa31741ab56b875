"""`hostdx triage`: facts, what can be run, and every read-only rule, in about a second."""

from __future__ import annotations

import time
from collections.abc import Iterator

import click

from app import result, wording
from app.cli_plan import events_option, header
from app.leftovers import mentions
from app.looked_at import host_at
from app.output import complain, out, raw
from app.plain import size
from app.printable import printable
from app.recorder import encoded
from app.session import Session
from probes.host import Host
from scenarios import events as ev
from scenarios.finding import Remedy


@click.command(params=[events_option])
@click.option(
    "--root", type=click.Path(), help="Look at a captured tree (sysfs and procfs, sosreport) instead."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document.")
def triage(root: str | None, as_json: bool, events: bool) -> int:
    """The host at a glance: every read-only rule. Writes nothing and starts no load."""
    session = Session()
    for event in _events(host_at(root), root):
        session.apply(event)
        if events and not raw(encoded(event)):
            return 0  # nobody reads any more
    if as_json:
        for note in session.notes:
            complain(note.text)
        out(result.document_json(session, None))
    elif not events:
        for line in _lines(session):
            out(printable(line))
    return 0


def _events(host: Host, root: str | None) -> Iterator[ev.AnyEvent]:
    from scenarios.triage import examine

    began = time.monotonic()

    def now() -> float:
        return time.monotonic() - began

    yield header("triage", {"root": root} if root else {})
    for line in mentions() if root is None else ():
        yield ev.Note(t=now(), text=line)
    yield from examine(host, now)
    yield ev.Ended(t=now(), status="done")


def _lines(session: Session) -> list[str]:
    lines = [f"{fact.name}: {_value(fact)}" for fact in session.facts.values()]
    checks = session.checks.values()
    spoke = sum(1 for check in checks if check.state == "spoke")
    lines += ["", *(f"! {note.text}" for note in session.notes)] if session.notes else []
    count = len(session.worst_first)
    findings = f": {count} finding{'s' * (count != 1)}" if count else ""
    lines += ["", f"{spoke} of {len(checks)} checks speak{findings}"]
    for found in session.worst_first:
        lines.append(f"{wording.SIGNS[found.severity]} {found.severity}: {found.title}")
        lines += [f"    {one.text}" + (f" [{one.source}]" if one.source else "") for one in found.evidence]
        lines += [line for remedy in found.remedy for line in _remedy(remedy)]
        if found.prove:
            options = " ".join(("", *found.prove_options))
            lines.append(f"    prove it: hostdx run {found.prove}{options}")
    lines += [
        f"? {check.rule}: could not be read: {check.reason}"
        for check in checks
        if check.state == "unreadable"
    ]
    lines += [f"? {absent.name}: {absent.reason}" for absent in session.absent.values()]
    return lines


def _remedy(one: Remedy) -> list[str]:
    """What to do, as it is typed: at once, to make it last, to take it back."""
    lines = [f"    do: {one.title}", *([f"      beware: {one.warning}"] if one.warning else [])]
    for word, commands in (("", one.commands), ("to last: ", one.persistent), ("to undo: ", one.undo)):
        lines += [f"      {word}{command}" for command in commands]
    return lines


def _value(fact: ev.FactRead) -> str:
    if fact.unit == "B" and isinstance(fact.value, int) and fact.value >= 1 << 20:
        return size(fact.value)
    text = ", ".join(str(v) for v in fact.value) if isinstance(fact.value, list) else str(fact.value)
    return f"{text} {fact.unit}".rstrip()
