"""A document where it was asked for: markdown, with colours on a terminal, or a page, or JSON for our own screen."""

import shlex
import sys
from pathlib import Path

from hostdx.app.recordings.session import RunSession
from hostdx.app.recordings.store import shortest_name
from hostdx.app.report.first_page import first_page
from hostdx.app.report.forms import html, markdown
from hostdx.app.report.forms.cells import run_end_lines
from hostdx.app.report.headline import find_headline_answer
from hostdx.app.report.json_document import to_json_text
from hostdx.app.report.short_forms import shorten_document
from hostdx.app.terminal.invocation import NAME, command_to_paste
from hostdx.app.terminal.lines import Line, clean_line, fold_spans
from hostdx.app.terminal.output_file import deliver_text
from hostdx.scenarios.contract.results.document import ReportDocument


def deliver_document(
    command: str, path: str | None, document: ReportDocument, form: str, *, is_shortened: bool = True
) -> None:
    """`form`: md, html or document (JSON). `command` begins the line where it cannot be written.

    `is_shortened`: Markdown has at most `MAX_LINES` lines; the same command as HTML has all.
    """
    if form == "md":
        if is_shortened:
            whole_command = shlex.join((NAME, *sys.argv[1:], "--format", "html", "-o", f"{command}.html"))
            document = shorten_document(document, whole_command)
        deliver_text(command, path, markdown.render_markdown(document), markdown.markdown_blocks(document))
    elif form == "html":
        deliver_text(command, path, html.render_html(document))
    else:
        deliver_text(command, path, to_json_text(document))


WIDE = 100  # cells where no terminal says how many it has


def summary_lines(session: RunSession, recording: Path | None, width: int = WIDE) -> list[Line]:
    """Lines of at most `width` cells, but for a command, which is to be copied."""
    ended = session.ended
    lines: list[Line] = []
    title = ""
    if ended is None or ended.status in ("done", "interrupted"):
        headline = find_headline_answer(session)
        title = headline.sentence
        role = headline.weight if headline.weight != "notice" else "strong"
        lines += map(clean_line, fold_spans([(headline.sentence, role)], width, hang="  "))
    name = shortest_name(recording) if recording is not None else ""
    lines += run_end_lines(first_page(session, name, narrow=width <= WIDE, title=title), width)
    if recording is not None:
        lines += [[], [(f"report: {command_to_paste(f'hostdx report {shlex.quote(name)}')}", "dim")]]
    return lines
