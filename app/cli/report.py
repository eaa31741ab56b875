"""`hostdx report RECORDING`: markdown for a ticket, a page, or JSON."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from app.cli.recording_argument import recording_argument
from app.output_file import deliver
from app.printable import printable_json
from app.recording import store as recordings
from app.recording.reader import load
from app.recording.session import Session
from app.report import result

FORMS = ("md", "html", "json", "document")  # the last one is for our own screen, which draws it


@click.command()
@recording_argument(default="last")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    default="md",
    show_default=True,
    metavar="[md|html|json]",
)
@click.option("--with-arguments", is_flag=True, help="Show command lines whole, not the program only.")
@click.option("-o", "--output", type=click.Path(), help="Write it there instead of to stdout.")
def report(recording: str, form: str, output: str | None, with_arguments: bool) -> int:
    """A recording as a report, without a name of the last run. RECORDING: a path, a name, `last`, or `demo:NAME`."""
    path = recordings.resolve(recording)
    session = load(path)
    text = _json(path, session) if form == "json" else _document(path, session, form, with_arguments)
    deliver("report", output, text)
    return 0


def _json(path: Path, session: Session) -> str:
    return result.document_json(session, path.name) + "\n"


def _document(path: Path, session: Session, form: str, with_arguments: bool) -> str:
    from app.report import html as document_html
    from app.report import markdown as document_markdown
    from app.report.report import report as made

    document = made(session, path.name, with_arguments=with_arguments)
    if form == "document":
        return printable_json(msgspec.json.encode(document)).decode()
    return document_html.rendered(document) if form == "html" else document_markdown.rendered(document)
