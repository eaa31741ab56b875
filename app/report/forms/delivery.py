"""A document where it was asked for: markdown, with colours on a terminal, or a page, or JSON for our own screen."""

from app.report.forms import html, markdown
from app.report.json_document import encode_document
from app.terminal.output_file import deliver_text
from scenarios.contract.results.document import ReportDocument


def deliver_document(subject: str, path: str | None, document: ReportDocument, form: str) -> None:
    """`form`: md, html or document (JSON). `subject` begins the line where it cannot be written."""
    if form == "md":
        deliver_text(subject, path, markdown.render_markdown(document), markdown.list_blocks(document))
    elif form == "html":
        deliver_text(subject, path, html.render_html(document))
    else:
        deliver_text(subject, path, encode_document(document))
