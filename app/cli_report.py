"""`hostdx report RECORDING`: markdown for a ticket, a page, or JSON."""

from __future__ import annotations

import os
from pathlib import Path

import click

from app import recordings, result
from app.failure import Failure
from app.output import out
from app.recording import load
from app.recording_argument import recording_argument
from app.session import Session


@click.command()
@recording_argument(required=True)
@click.option("--format", "form", type=click.Choice(("md", "html", "json")), default="md", show_default=True)
@click.option("-o", "--output", type=click.Path(), help="Write it there instead of to stdout.")
def report(recording: str, form: str, output: str | None) -> int:
    """A recording as a report. RECORDING: a path, a name, `last`, or `demo:NAME`."""
    path = recordings.resolve(recording)
    session = load(path)
    text = _json(path, session) if form == "json" else _document(path, session, form)
    if output is None or output == "-":
        out(text.rstrip("\n"))
        return 0
    try:
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as error:
        raise Failure(f"report: {output}: cannot be written: {error.strerror}") from None
    return 0


def _json(path: Path, session: Session) -> str:
    return result.document_json(session, path.name) + "\n"


def _document(path: Path, session: Session, form: str) -> str:
    from app import document_html, document_markdown
    from app.report import report as made

    document = made(session, path.name)
    return document_html.rendered(document) if form == "html" else document_markdown.rendered(document)
