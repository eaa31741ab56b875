"""A document where it was asked for: markdown, with colours on a terminal, or a page, or JSON for our own screen."""

import shlex
import sys

from app.report.forms import html, markdown
from app.report.json_document import encode_document
from app.report.short_forms import shorten
from app.terminal.invocation import NAME
from app.terminal.output_file import deliver_text
from scenarios.contract.results.document import ReportDocument


def deliver_document(
    subject: str, path: str | None, document: ReportDocument, form: str, *, is_shortened: bool = True
) -> None:
    """`form`: md, html or document (JSON). `subject` begins the line where it cannot be written.

    `is_shortened`: Markdown has at most `MAX_LINES` lines; the same command as HTML has all.
    """
    if form == "md":
        if is_shortened:
            whole = shlex.join((NAME, *sys.argv[1:], "--format", "html", "-o", f"{subject}.html"))
            document = shorten(document, whole)
        deliver_text(subject, path, markdown.render_markdown(document), markdown.list_blocks(document))
    elif form == "html":
        deliver_text(subject, path, html.render_html(document))
    else:
        deliver_text(subject, path, encode_document(document))
