"""`hostdx report RECORDING`: markdown for a ticket, a page, JSON, or the numbers as CSV."""

import click

from app.cli.look import add_color_option
from app.cli.options import form_option, output_option
from app.cli.recording_argument import recording_argument
from app.recordings import store as recordings
from app.recordings.reader import load
from app.recordings.session import RunSession
from app.report import json_document
from app.report.forms.delivery import deliver_document
from app.terminal.failure import USAGE, Failure
from app.terminal.output_file import deliver_text


@add_color_option
@click.command()
@recording_argument(default="last")
@form_option(
    "md",
    "html",
    "json",
    "csv",
    "folded",
    help="csv: the numbers, a row a load; `hostdx man` says the columns. folded: call paths, for speedscope or "
    "flamegraph.pl, in microseconds a run.",
)
@click.option("--with-arguments", is_flag=True, help="Show whole command lines, not only the program.")
@output_option
def report(recording: str, form: str, output: str | None, with_arguments: bool) -> int:
    """Write a report of a recording (default: the last run). RECORDING: a path, a name, `last`, or `demo:NAME`."""
    path = recordings.resolve_recording(recording)
    session = load(path)
    if form == "json":
        deliver_text("report", output, json_document.document_json(session, path.name) + "\n")
    elif form == "csv":
        from app.report.forms import csv_rows

        deliver_text("report", output, csv_rows.csv_of_recording(session, path.name))
    elif form == "folded":
        deliver_text("report", output, _folded_stacks(session, path.name))
    else:
        from app.report.full_report import report as made

        name, label = recordings.shortest_argument(path), recordings.read_label(path)
        document = made(session, name, label=label, with_arguments=with_arguments)
        deliver_document("report", output, document, form)
    return 0


def _folded_stacks(session: RunSession, name: str) -> str:
    from app.report.figures.flame import fold_stacks
    from scenarios.analysis.profile.results import CallPaths

    call_paths = session.find_result(CallPaths)
    if call_paths is None:
        raise Failure(f"report: {name} holds no call paths: its run was made without --call-paths", USAGE)
    return "".join(f"{line}\n" for tree in call_paths.value for line in fold_stacks(tree))
