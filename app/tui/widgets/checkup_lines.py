"""A checkup's ranked list, and what to do after any run, as lines."""

from __future__ import annotations

from app.recording.session import Session
from app.report.checkup import ranked
from app.report.following import following
from app.tui.glyphs import clean
from app.tui.lines import BLANK, Line, crop, split, wrapped
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
                out.append(crop([("     next: ", "dim"), (clean(one.following.command), "accent")], width))
            continue
        rows = wrapped(one.words, width - 2, "text", hang=3)
        out += [[(f"{one.sign} " if not n else "  ", one.role), *row] for n, row in enumerate(rows)]
        if one.following is not None:
            out += _step(one.following, width, "     ", "dim")
    return out


def next_lines(session: Session, width: int, brief: bool = False) -> list[Line]:
    """What to do now that the run has ended, where nothing below says it; `brief`: for a low screen."""
    answered = next((f for f in session.findings.values() if f.answers and f.remedy), None)
    below = answered is None or answered is session.worst_first[0]  # what is shown there without being chosen
    if any(f.remedy for f in session.findings.values()) and (brief or below):
        return _brief(session, width) if brief else []
    steps = [
        step for step in following(session) if not step.command.startswith("hostdx replay")
    ]  # it is that
    return [BLANK, *(line for step in steps for line in _step(step, width, "", "strong"))] if steps else []


def _brief(session: Session, width: int) -> list[Line]:
    """In one line, with the key that copies the commands."""
    for step in following(session)[:1]:
        if not step.command.startswith("hostdx replay"):
            copies: Line = [("c", "key"), (" copies the commands", "dim")]
            words = [(f"next: {clean(step.title)}", "strong")]
            if step.command.startswith("hostdx "):  # its own next run: short enough to be read
                return [BLANK, *_step(step, width, "", "strong")]
            return [BLANK, split(words, copies, width)]
    return []


def _step(step: NextStep, width: int, indent: str, role: str) -> list[Line]:
    words, command = f"next: {clean(step.title)}", clean(step.command)
    if command and len(indent) + len(words) + len(command) + 2 <= width:
        return [[(f"{indent}{words}  ", role), (command, "accent")]]
    rows = wrapped(words, width, role, indent=len(indent), hang=2)
    return [*rows, *(wrapped(command, width, "accent", indent=len(indent) + 2, hang=2) if command else ())]
