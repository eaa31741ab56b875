"""`hostdx triage`: every read-only rule at once, in about a second. What was found comes first."""

import time
from collections.abc import Iterator, Mapping
from functools import cache

import click
from msgspec import structs

from hostdx.app.cli.look import color_option
from hostdx.app.cli.measuring.event_stream import events_option, make_stream_header
from hostdx.app.cli.root_option import captured_host_name, live_or_captured_host
from hostdx.app.recordings.session import RunSession
from hostdx.app.state import has_journals
from hostdx.app.terminal.failure import USAGE, Failure
from hostdx.app.terminal.output import print_parts, print_problem, print_raw, print_result
from hostdx.probes.reading.host import Host
from hostdx.probes.reading.time_limit import iterate_in_time
from hostdx.probes.types import Fact, UnreadFact
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import SEVERITIES, Evidence

FINDING_STATUS = 1  # exit status: a finding at or above --fail-on


# Usually a second. A host of 20,000 disks, or one that answers slowly, is read so long and no longer.
MAX_TRIAGE_S = 30.0
MAX_PROGRAMS_S = 20.0


@click.command(params=[events_option, color_option()])
@click.option(
    "--root",
    type=click.Path(),
    help="Check a captured tree (sysfs, procfs, a sosreport) or a tar of it, not this host.",
)
@click.option(
    "--programs",
    is_flag=True,
    help="Also ask this host's programs (zpool, lvs, smartctl, nvidia-smi, ceph, ...): up to 20 s.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document.")
@click.option("--format", "form", type=click.Choice(("text", "md")), default="text", show_default=True)
@click.option("--facts", is_flag=True, help="Also show the facts read from the host.")
@click.option("--unknown", is_flag=True, help="Show each check that could not be answered, with the reason.")
@click.option(
    "--fail-on",
    type=click.Choice(SEVERITIES[:3]),
    help="Exit with status 1 if a finding has this severity or a worse one.",
)
def triage(
    root: str | None,
    programs: bool,
    as_json: bool,
    form: str,
    facts: bool,
    unknown: bool,
    fail_on: str | None,
    events: bool,
) -> int:
    """The host at a glance: every read-only rule. Writes nothing and starts no load."""
    if events:
        from hostdx.app.recordings.writer import (
            encode_event,  # masks secrets by patterns that take 20 ms to compile
        )
    session = RunSession()
    if root is not None and programs:
        raise Failure(
            "--programs asks this host: a captured tree (--root) holds what its programs printed", USAGE
        )
    if programs:
        from hostdx.probes.reading.asking_host import AskingHost

        host: Host = AskingHost()
    else:
        host = live_or_captured_host(root)
    for event in _triage_events(host, root, facts=facts or as_json or events, programs=programs):
        session.apply(event)
        if events and not print_raw(encode_event(event)):
            return 0  # nobody reads any more
    if events and not fail_on:
        return 0  # what follows them has no use for a report's modules
    from hostdx.app.report import triage_text

    if as_json:
        from hostdx.app.report import json_document

        for note in session.notes:
            print_problem(note.text)
        print_result(
            json_document.to_json_text(
                json_document.run_as_json(session, None) | {"checks": json_document.list_checks(session)}
            )
        )
    elif not events and form == "md":
        from hostdx.app.report.forms import markdown

        print_result(markdown.render_markdown(triage_text.triage_document(session)).rstrip("\n"))
    elif not events:
        for line in triage_text.triage_lines(session, facts=facts, unknown=unknown):
            print_parts(line)
    if not fail_on:
        return 0
    from hostdx.app.report.json_document import has_severity_or_worse

    return FINDING_STATUS if has_severity_or_worse(session, fail_on) else 0


def add_rate_evidence(event: ev.Found, rates: Mapping[str, Fact]) -> ev.Found:
    """Return what a rule says of a disk or a card, with what that one was measured to give."""
    finding = event.finding
    rate_facts = [rates[name] for name in (finding.subject, *finding.subjects) if name in rates]
    if not rate_facts:
        return event
    lines = [Evidence(f"{fact.subject}: {fact.value}", fact.source) for fact in rate_facts]
    return structs.replace(event, finding=structs.replace(finding, evidence=(*finding.evidence, *lines)))


def add_proofs(event: ev.Found, proofs: Mapping[str, Fact]) -> ev.Found:
    """Return the finding of a rule, with what its remedy did when it was tried on this host."""
    proof = proofs.get(event.finding.key)
    if proof is None:
        return event
    line = Evidence(str(proof.value), proof.source)
    finding = structs.replace(event.finding, evidence=(line, *event.finding.evidence))
    return structs.replace(event, finding=finding)


def _leftover_journal_lines() -> list[str]:
    """Return a line for each journal of a killed run; without one, what reads them is not imported."""
    if not has_journals():
        return []
    from hostdx.app.undo.leftovers import leftover_lines

    return leftover_lines()


def _read_rates_alone() -> dict[str, Fact]:
    from hostdx.app.run.earlier_answer import read_rates_alone

    return read_rates_alone()


def _read_proved_remedies() -> dict[str, Fact]:
    from hostdx.app.run.earlier_answer import read_proved_remedies

    return read_proved_remedies()


def _triage_events(
    host: Host, root: str | None, *, facts: bool, programs: bool = False
) -> Iterator[ev.AnyEvent]:
    began = time.monotonic()
    if root is None:
        host.start_reader()  # while the rules are imported
    from hostdx.scenarios.triage.triage import examine_host

    host.is_static = True  # a second's look: a host that changes meanwhile is looked at again

    def elapsed_s() -> float:
        return time.monotonic() - began

    if root is None:
        yield make_stream_header("triage", {"programs": True} if programs else {})
    else:
        yield make_stream_header("triage", {"root": root}, captured_host_name(host, root))
    for line in _leftover_journal_lines() if root is None else ():
        yield ev.Note(t=elapsed_s(), text=line)
    for answer in host.ask_programs(MAX_PROGRAMS_S):
        yield ev.Note(t=elapsed_s(), text=f"{answer.source}: {answer.reason}")
    if programs:
        answered = Fact("programs", "answered", list(host.answering_programs), "what each printed")
        yield ev.fact_event(answered, elapsed_s())
        for name, absent in host.silent_programs.items():
            yield ev.fact_event(UnreadFact("program", name, absent), elapsed_s())
    # recordings are read where a finding asks
    rates = cache(_read_rates_alone if root is None else dict[str, Fact])
    proofs = cache(_read_proved_remedies if root is None else dict[str, Fact])
    for event in iterate_in_time(examine_host(host, elapsed_s, facts=facts), host, MAX_TRIAGE_S):
        if isinstance(event, ev.Found):
            asks = event.finding.subject or event.finding.subjects
            event = add_rate_evidence(event, rates()) if asks else event
            is_tried = any(remedy.settings for remedy in event.finding.remedy)
            event = add_proofs(event, proofs()) if is_tried else event
        yield event
    if facts:
        yield from (ev.fact_event(fact, elapsed_s()) for fact in rates().values())
    yield ev.RunEnded(t=elapsed_s(), status="done")
