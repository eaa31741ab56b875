"""`hostdx report RECORDING`: markdown for a ticket, a page, JSON, or the numbers as CSV."""

import shlex

import click

from hostdx.app.cli.look import add_color_option, recording_argument_decorator
from hostdx.app.cli.options import format_option, output_option
from hostdx.app.feature import import_and_call, report_forms
from hostdx.app.recordings import store as recordings
from hostdx.app.recordings.reader import load_recording
from hostdx.app.report import json_document
from hostdx.app.report.delivery import deliver_document
from hostdx.app.terminal.failure import USAGE, Failure
from hostdx.app.terminal.output_file import deliver_text


@add_color_option
@click.command()
@recording_argument_decorator(default="last")
@format_option(
    "md",
    "html",
    "json",
    "csv",
    *report_forms(),
    help="; ".join(
        (
            "csv: the numbers, a row a load, `hostdx man` says the columns",
            *(f"{name}: {entry.help}" for name, entry in report_forms().items()),
        )
    )
    + ".",
)
@click.option("--one-page", is_flag=True, help="Write the first page alone (md, html).")
@click.option("--long", "is_whole", is_flag=True, help="Write all of the Markdown, not only 200 lines.")
@click.option("--with-arguments", is_flag=True, help="Show whole command lines, not only the program.")
@output_option
def report(
    recording: str, form: str, output: str | None, one_page: bool, is_whole: bool, with_arguments: bool
) -> int:
    """Write a report of a recording (default: the last run). RECORDING: a path, a name, `last`, or `demo:NAME`."""
    if one_page and (is_whole or form not in ("md", "html")):
        raise Failure("report: --one-page is for md and html, and without --long", USAGE)
    path = recordings.resolve_recording(recording)
    session, name = load_recording(path), recordings.shortest_name(path)
    if form == "json":
        deliver_text("report", output, json_document.document_json(session, path.name) + "\n")
    elif form == "csv":
        from hostdx.app.report.forms import csv_rows

        deliver_text("report", output, csv_rows.csv_of_recording(session, name))
    elif form in report_forms():
        deliver_text("report", output, str(import_and_call(report_forms()[form].target, session, path.name)))
    else:
        from hostdx.app.report.full_report import make_report_document as full_report
        from hostdx.app.report.short_forms import cut_to_first_page, shorten_document

        label = recordings.read_label(path)
        document = full_report(session, name, label=label, with_arguments=with_arguments)
        command = shlex.join(("hostdx", "report", name, "--long"))
        if one_page:
            document = cut_to_first_page(document, command)
        elif form == "md" and not is_whole:
            document = shorten_document(document, command)
        deliver_document("report", output, document, form, is_shortened=False)
    return 0
