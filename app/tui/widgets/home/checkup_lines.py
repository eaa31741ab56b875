"""A checkup's ranked list as lines."""

from app.glyphs import clean
from app.invocation import pasted
from app.lines import Line, crop, ruled, text, wrapped
from app.recording.answers import items
from app.recording.session import Session
from app.report.results.checkup import sign_of
from scenarios.finding import SuggestedStep
from scenarios.results.result import Item

MOST_BRIEF = 2  # lines of an item where there is not room for all of them
KEYS: Line = [("its number opens its run   ", "dim"), ("c", "key"), (" copies the commands", "dim")]


def checkup_lines(session: Session, width: int, room: int = 1000, *, headed: bool = False) -> list[Line]:
    """Empty for a recording of anything else; all of it, or where `room` is less a line or two each.

    `headed`: below a head of its own, with the keys that its numbers are.
    """
    found = items(session)
    if not found:
        return []
    head = [ruled(text("ANSWER", "title"), KEYS, width)] if headed else []
    for each in (1000, 2, 1):
        out = [line for n, one in enumerate(found) for line in _item(one, width, each, first=not n)]
        if len(out) + len(head) <= room:
            break
    return [*head, *out]


def _item(one: Item, width: int, most: int, *, first: bool) -> list[Line]:
    """`most` lines of its words; where that is not all of them, only the first item says what is next, and shortly."""
    rows = wrapped(one.ranked_line, width - 2, "text", hang=3)
    if len(rows) > most:
        first_of_rest, *others = rows[most - 1 :]
        rest = [*first_of_rest, *((f" {part.lstrip()}", role) for row in others for part, role in row)]
        rows = [*rows[: most - 1], crop(rest, width - 2)]
    out: list[Line] = [
        [(f"{sign_of(one)} " if not n else "  ", one.severity), *row] for n, row in enumerate(rows)
    ]
    step = next(iter(one.following), None)
    if step is not None and most > MOST_BRIEF:
        out += _step(step, width, "     ")
    elif step is not None and first and step.command:
        more = f"   and {len(step.then)} more" if step.then else ""
        command = crop([("     next: ", "dim"), (clean(pasted(step.command)), "accent")], width - len(more))
        out.append([*command, (more, "dim")])
    return out


def _step(step: SuggestedStep, width: int, indent: str) -> list[Line]:
    words = f"next: {clean(step.title_with_price)}"
    if len(step.all_commands) == 1 and len(indent) + len(words) + len(pasted(step.command)) + 2 <= width:
        return [[(f"{indent}{words}  ", "dim"), (clean(pasted(step.command)), "accent")]]
    rows = wrapped(words, width, "dim", indent=len(indent), hang=2)
    for command in step.all_commands:
        rows += wrapped(pasted(command), width, "accent", indent=len(indent) + 2, hang=2)
    return rows
