"""A checkup's ranked list as lines."""

from __future__ import annotations

from app.recording.session import Session
from app.report.checkup import ranked
from app.tui.glyphs import clean
from app.tui.lines import Line, crop, wrapped
from scenarios.finding import NextStep


def checkup_lines(session: Session, width: int, brief: bool = False) -> list[Line]:
    """Empty for a recording of anything else. A number is also the key that opens the part's own run.

    `brief`: a line each, for a low screen, and what is next of the first; the finding below it has all of it.
    """
    out: list[Line] = []
    for one in ranked(session):
        if brief:
            first = not out
            out.append(crop([(f"{one.sign} ", one.role), (one.words, "text")], width))
            if first and one.following is not None and one.following.command:
                more = f"   and {len(one.following.then)} more" if one.following.then else ""
                command = crop(
                    [("     next: ", "dim"), (clean(one.following.command), "accent")], width - len(more)
                )
                out.append([*command, (more, "dim")])
            continue
        rows = wrapped(one.words, width - 2, "text", hang=3)
        out += [[(f"{one.sign} " if not n else "  ", one.role), *row] for n, row in enumerate(rows)]
        if one.following is not None:
            out += _step(one.following, width, "     ")
    return out


def _step(step: NextStep, width: int, indent: str) -> list[Line]:
    words = f"next: {clean(step.title)}"
    if len(step.commands) == 1 and len(indent) + len(words) + len(step.command) + 2 <= width:
        return [[(f"{indent}{words}  ", "dim"), (clean(step.command), "accent")]]
    rows = wrapped(words, width, "dim", indent=len(indent), hang=2)
    for command in step.commands:
        rows += wrapped(command, width, "accent", indent=len(indent) + 2, hang=2)
    return rows
