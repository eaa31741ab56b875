"""A document where it was asked for: markdown, with colours on a terminal, or a page, or JSON for our own screen."""

from app.output_file import deliver
from app.report.forms import html, markdown
from app.report.json_document import encoded
from scenarios.results.document import ReportDocument


def deliver_document(what: str, path: str | None, document: ReportDocument, form: str) -> None:
    """`form`: md, html or document (JSON). `what` begins the line where it cannot be written."""
    if form == "md":
        deliver(what, path, markdown.rendered(document), markdown.blocks(document))
    elif form == "html":
        deliver(what, path, html.rendered(document))
    else:
        deliver(what, path, encoded(document))
