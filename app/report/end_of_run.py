"""What `hostdx run` prints at its end: the report's first page, and where the whole report is."""

import shlex
from pathlib import Path

from app.invocation import pasted
from app.lines import Line, cleaned
from app.recording.session import Session
from app.recording.store import argument
from app.report.first_page import first_page
from app.report.forms.cells import brief_lines, folded
from app.report.headline import answer

WIDE = 100  # cells where no terminal says how many it has


def summary(session: Session, recording: Path | None, width: int = WIDE) -> list[Line]:
    """Lines of at most `width` cells, but for a command, which is to be copied."""
    ended = session.ended
    lines: list[Line] = []
    if ended is None or ended.status in ("done", "interrupted"):
        said = answer(session)
        role = said.weight if said.weight != "notice" else "strong"
        lines += map(cleaned, folded([(said.sentence, role)], width, hang="  "))
    name = argument(recording) if recording is not None else ""
    lines += brief_lines(first_page(session, name, narrow=width <= WIDE), width)
    if recording is not None:
        lines += [[], [(f"report: {pasted(f'hostdx report {shlex.quote(name)}')}", "dim")]]
    return lines
