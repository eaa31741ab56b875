"""A checkup's ranked list as lines."""

from hostdx.app.recordings.answers import ranked_items
from hostdx.app.recordings.session import RunSession
from hostdx.app.report.results.finding_parts import item_sign
from hostdx.app.terminal.glyphs import clean_text
from hostdx.app.terminal.invocation import command_to_paste
from hostdx.app.terminal.lines import (
    Line,
    crop_line,
    digit_link,
    link_line,
    process_link,
    ruled_head,
    text_line,
    wrap_text,
)
from hostdx.scenarios.contract.finding import SuggestedStep
from hostdx.scenarios.contract.results.result import Item

MAX_BRIEF_LINES = 2  # lines of an item where there is not room for all of them
KEYS: Line = [("press a number to open that run   ", "dim"), ("c", "key"), (" copies the commands", "dim")]


def checkup_lines(session: RunSession, width: int, room: int = 1000, *, headed: bool = False) -> list[Line]:
    """Empty for a recording of anything else; all of it, or where `room` is less a line or two each.

    `headed`: below a head of its own, with the keys that its numbers are.
    """
    ranked = ranked_items(session)
    if not ranked:
        return []
    head = [ruled_head(text_line("ANSWER", "title"), KEYS, width)] if headed else []
    for each in (1000, 2, 1):
        out = [
            link_line(line, process_link(item.pid) or (digit_link(item.rank) if item.recording else ""))
            for n, item in enumerate(ranked)
            for line in _item_and_next_lines(item, width, each, first=not n)
        ]
        if len(out) + len(head) <= room:
            break
    return [*head, *out]


def _item_and_next_lines(item: Item, width: int, most: int, *, first: bool) -> list[Line]:
    """`most` lines of its words; where that is not all of them, only the first item says what is next, and shortly."""
    rows = wrap_text(item.ranked_line, width - 2, "text", hang=3)
    if len(rows) > most:
        first_of_rest, *others = rows[most - 1 :]
        rest = [*first_of_rest, *((f" {part.lstrip()}", role) for row in others for part, role in row)]
        rows = [*rows[: most - 1], crop_line(rest, width - 2)]
    out: list[Line] = [
        [(f"{item_sign(item)} " if not n else "  ", item.severity), *row] for n, row in enumerate(rows)
    ]
    step = next(iter(item.following), None)
    if step is not None and most > MAX_BRIEF_LINES:
        out += _step_and_command_lines(step, width, "     ")
    elif step is not None and first and step.command:
        more = f"   and {len(step.then)} more" if step.then else ""
        command = crop_line(
            [("     next: ", "dim"), (clean_text(command_to_paste(step.command)), "accent")],
            width - len(more),
        )
        out.append([*command, (more, "dim")])
    return out


def _step_and_command_lines(step: SuggestedStep, width: int, indent: str) -> list[Line]:
    words = f"next: {clean_text(step.title_with_price)}"
    if (
        len(step.all_commands) == 1
        and len(indent) + len(words) + len(command_to_paste(step.command)) + 2 <= width
    ):
        return [[(f"{indent}{words}  ", "dim"), (clean_text(command_to_paste(step.command)), "accent")]]
    rows = wrap_text(words, width, "dim", indent=len(indent), hang=2)
    for command in step.all_commands:
        rows += wrap_text(command_to_paste(command), width, "accent", indent=len(indent) + 2, hang=2)
    return rows
