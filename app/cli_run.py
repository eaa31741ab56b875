"""`hostdx run SCENARIO`: the experiment in the foreground."""

from __future__ import annotations

import sys
from typing import Any

import click

from app import failure, result
from app.failure import Failure
from app.output import complain, out
from app.scenario_command import Scenarios
from probes.host import Host
from probes.types import Json
from scenarios.finding import SEVERITIES
from scenarios.model import Scenario
from scenarios.plan import Option


def _run(
    scenario: Scenario,
    options: tuple[Option, ...],
    chosen: dict[str, Json],
    *,
    yes: bool,
    as_json: bool,
    events: str,
    fail_on: str | None,
    consent: str,
    recording: str,
    quiet: bool,
) -> int:
    from app.execution import Execution, Request
    from app.progress import progress

    if as_json and events == "-":
        raise Failure("run: --json and --events - both want stdout; give --events a file", failure.USAGE)
    request = Request(
        options=chosen,
        declared=options,
        command=["hostdx", *sys.argv[1:]],
        yes=yes,
        consent=consent,
        recording=recording,
        events=events,
    )
    with progress(quiet=quiet) as view:
        execution = Execution(scenario, Host(), request, view.show, view.complain)
        ended = execution.outcome()
    session = execution.session
    if ended.status != "done":
        complain(failure.of_scenario("run", scenario.id, ended.reason or "no reason given"))
    if as_json:
        out(result.document_json(session, str(execution.recording) if execution.recording else None))
    elif events != "-":
        from app.summary import summary_lines

        for line in summary_lines(session, execution.recording):
            out(line)
    if ended.exit == 0 and fail_on and result.reaches(session, fail_on):
        return 1
    return ended.exit


def _extra() -> list[click.Parameter]:
    return [
        click.Option(("--yes", "-y"), is_flag=True, help="Agree to the changes that the plan names."),
        click.Option(("--json", "as_json"), is_flag=True, help="Print the result as one JSON document."),
        click.Option(
            ("--events",), default="", metavar="FILE|-", help="Write the events there too, as they happen."
        ),
        click.Option(
            ("--fail-on",),
            type=click.Choice(SEVERITIES),
            help="Exit status 1 with a finding of this severity or worse.",
        ),
        click.Option(("--quiet", "-q"), is_flag=True, help="No progress on stderr."),
        click.Option(
            ("--consent",), default="", metavar="DIGEST", help="Agree to the plan with this digest."
        ),
        click.Option(("--recording",), default="", hidden=True),
    ]


run: Any = Scenarios(
    name="run",
    action=_run,
    extra=_extra,
    help="Run an experiment in the foreground: Ctrl-C stops it within 2 s with everything undone; a closed terminal "
    "does not stop it. `hostdx plan` says beforehand what it would do.",
)
