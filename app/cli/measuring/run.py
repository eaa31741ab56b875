"""`hostdx run SCENARIO`: the experiment in the foreground."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
import msgspec

from hostdx.app.cli.look import color_option, output_line_width
from hostdx.app.cli.measuring.progress import PlainProgress, QuietProgress
from hostdx.app.cli.measuring.several_runs import check_follows_earlier_runs, describe_series_progress
from hostdx.app.cli.scenario_command import ScenarioGroup
from hostdx.app.report import json_document
from hostdx.app.terminal import failure
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.invocation import command_to_paste
from hostdx.app.terminal.output import print_line, print_parts, print_problem, print_result
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Json
from hostdx.scenarios.analysis.compare.comparison import ComparedRecordings
from hostdx.scenarios.contract.finding import SEVERITIES
from hostdx.scenarios.contract.model import Scenario
from hostdx.scenarios.contract.plan import Option


@contextmanager
def _open_progress(*, quiet: bool) -> Iterator[QuietProgress]:
    """rich on a terminal, plain lines else, only complaints with `quiet`."""
    if quiet:
        yield QuietProgress()
    elif sys.stderr is not None and sys.stderr.isatty():
        from hostdx.app.cli.measuring.progress_rich import DrawnProgress

        with DrawnProgress() as drawn:
            yield drawn
    else:
        yield PlainProgress()


def _run_and_get_status(
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
    against: str,
    with_arguments: bool,
    tied: int | None,
) -> int:
    from hostdx.app.run.execution import RunExecution, RunRequest

    if tied is not None:
        import signal

        from hostdx.probes.children.parent_death import die_with_parent

        die_with_parent(tied, signal.SIGTERM)

    if against:
        from hostdx.app.recordings.baselines import load_baseline_runs

        # that there is one, and that it can be read, is asked before anything is measured
        load_baseline_runs(against, scenario.id)
    if as_json and events == "-":
        raise Failure("run: --json and --events - both want stdout; give --events a file", failure.USAGE)
    several = check_follows_earlier_runs("run", scenario, chosen)
    request = RunRequest(
        options=chosen,
        declared=options,
        command=["hostdx", *sys.argv[1:]],
        yes=yes,
        consent=consent,
        recording=recording,
        events=events,
        with_arguments=with_arguments,
    )
    with _open_progress(quiet=quiet) as view:
        execution = RunExecution(scenario, Host(), request, view.show, view.show_problem)
        ended = execution.run_to_end()
    session = execution.run_session
    if ended.status != "done":
        print_problem(failure.scenario_failure_text("run", scenario.id, ended.reason or "no reason given"))
    compared = None
    if against and execution.recording_path is not None and ended.status == "done":
        from hostdx.app.recordings.baselines import compare_since

        compared = compare_since(against, execution.recording_path)
    if as_json:
        document = json_document.run_as_json(
            session, str(execution.recording_path) if execution.recording_path else None
        )
        if compared is not None:
            document["against"] = {"baseline": against, **msgspec.to_builtins(compared)}
        print_result(json_document.to_json_text(document))
    elif events != "-" and ended.exit != failure.USAGE:  # nothing was begun: its one line says all
        from hostdx.app.report.delivery import summary_lines

        for line in summary_lines(session, execution.recording_path, output_line_width()):
            print_parts(line)
        if several and ended.status == "done":
            for text in describe_series_progress(scenario):
                print_line(text)
        if compared is not None and execution.recording_path is not None:
            for text in _baseline_comparison_lines(against, compared, execution.recording_path.name):
                print_line(text)
    if ended.exit == 0 and fail_on and json_document.has_severity_or_worse(session, fail_on):
        return 1
    return ended.exit


def _baseline_comparison_lines(name: str, compared: ComparedRecordings, recording: str) -> Iterator[str]:
    """Yield what got worse, what else to know, and the command for the rest."""
    from hostdx.scenarios.analysis.compare import worse

    finding = worse.worse_finding(compared, name, recording)
    yield f"against the baseline: {finding.title}"
    for evidence in finding.evidence:
        yield f"  {evidence.text}"
    yield f"comparison: {command_to_paste(f'hostdx compare --against {name} {recording}')}"


def _run_command_options() -> list[click.Parameter]:
    return [
        click.Option(("--yes", "-y"), is_flag=True, help="Agree to the changes listed in the plan."),
        click.Option(("--json", "as_json"), is_flag=True, help="Print the result as one JSON document."),
        click.Option(
            ("--events",),
            default="",
            metavar="FILE|-",
            help="Also write the events to this file (-: stdout) as they happen.",
        ),
        click.Option(
            ("--fail-on",),
            type=click.Choice(SEVERITIES),
            help="Exit with status 1 if a finding has this severity or a worse one.",
        ),
        click.Option(
            ("--against",),
            default="",
            metavar="NAME",
            help="Compare the run with the baseline of this name (`hostdx baseline save NAME`).",
        ),
        color_option(),
        click.Option(("--quiet", "-q"), is_flag=True, help="Show no progress on stderr."),
        click.Option(
            ("--consent",), default="", metavar="DIGEST", help="Agree to the plan with this digest."
        ),
        click.Option(
            ("--with-arguments",),
            is_flag=True,
            help="Record names of hosts, users and objects of the command line, too. Unknown words stay out.",
        ),
        click.Option(("--recording",), default="", hidden=True),
        click.Option(("--tied",), type=int, hidden=True, help="The process whose death stops the run."),
    ]


run: Any = ScenarioGroup(
    name="run",
    action=_run_and_get_status,
    extra=_run_command_options,
    help="Run an experiment in the foreground: Ctrl-C stops it within 2 s with everything undone; a closed terminal "
    "does not stop it. `hostdx plan` shows beforehand what it would do.",
)
