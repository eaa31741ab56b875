"""What `hostdx run` prints at its end: the report's first page, and where the whole report is."""

import shlex
from pathlib import Path

from app.recordings.session import RunSession
from app.recordings.store import shortest_argument
from app.report.first_page import first_page
from app.report.forms.cells import brief_lines, fold_spans
from app.report.headline import find_answer
from app.terminal.invocation import command_to_paste
from app.terminal.lines import Line, clean_line

WIDE = 100  # cells where no terminal says how many it has


def summary_lines(session: RunSession, recording: Path | None, width: int = WIDE) -> list[Line]:
    """Lines of at most `width` cells, but for a command, which is to be copied."""
    ended = session.ended
    lines: list[Line] = []
    if ended is None or ended.status in ("done", "interrupted"):
        headline = find_answer(session)
        role = headline.weight if headline.weight != "notice" else "strong"
        lines += map(clean_line, fold_spans([(headline.sentence, role)], width, hang="  "))
    name = shortest_argument(recording) if recording is not None else ""
    lines += brief_lines(first_page(session, name, narrow=width <= WIDE), width)
    if recording is not None:
        lines += [[], [(f"report: {command_to_paste(f'hostdx report {shlex.quote(name)}')}", "dim")]]
    return lines
