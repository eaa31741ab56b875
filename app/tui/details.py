"""A finding as lines: evidence, what to do with exact commands, how to verify and undo, references."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.glyphs import clean
from app.invocation import pasted
from app.lines import BLANK, Line, cells, columns, crop, half, ruled, split, text, wrapped
from app.tui.widgets.home.findings_panel import severity_words
from scenarios.finding import Evidence, Finding, Remedy

FIRST_EVIDENCE = 4  # lines of it before what is to be done; the rest comes after
WIDE = 150  # cells from which on there are two columns
MOST_COMMANDS = 4  # of a remedy there
LABEL = len("to make it last")
LOW_LINES = 2  # of a command on a low screen

CONFIDENCE = {"measured": "measured here", "rule": "read from this host", "hint": "a hint, to be checked"}


def finding_lines(
    finding: Finding, width: int, *, prove: bool = True, from_files: bool = False, about: str = ""
) -> list[Line]:
    """`prove`: ends with the key that measures it. `from_files`: of an import, nothing was read from this host.
    `about`: its subject in words. Where there is room what to do stands beside what it rests on.
    """
    wide = width >= WIDE
    room = half(width) if wide else width
    head = _head(finding, room, from_files, about)
    first, more = finding.evidence[:FIRST_EVIDENCE], finding.evidence[FIRST_EVIDENCE:]
    if not finding.remedy or wide:
        first, more = finding.evidence, ()
    to_do: list[Line] = []
    if finding.remedy:
        to_do += [BLANK, ruled(text("WHAT TO DO", "title"), [], room)]
        for number, remedy in enumerate(finding.remedy, 1):
            to_do += _remedy(number, remedy, room)
    rest = _evidence("MORE EVIDENCE", more, room)
    if finding.references:
        rest += [BLANK, ruled(text("REFERENCES", "title"), [], room)]
        for reference in finding.references:
            rest += wrapped(reference, room, "dim", indent=2)
    last: list[Line] = []
    if finding.prove and prove:
        last = [BLANK, [("Enter", "key"), (f" measures it: scenario {finding.prove}", "text")]]
    evidence = _evidence("EVIDENCE", first, room)
    if not wide:
        return [*head, *evidence, *to_do, *rest, *last]
    return columns([*head, *to_do, *last], [*evidence, *rest][1:], width)


def _head(finding: Finding, width: int, from_files: bool, about: str) -> list[Line]:
    known = CONFIDENCE[finding.confidence]
    if from_files and finding.confidence != "hint":
        known = "read from the imported files"
    out: list[Line] = [[*severity_words(finding), (f"  {finding.id}   ", "dim"), (known, "dim")]]
    out += wrapped(finding.title, width, "strong")
    if finding.subject:
        out.append([("about      ", "dim"), (about or finding.subject, "text")])
    return out


def _evidence(title: str, some: Sequence[Evidence], width: int) -> list[Line]:
    """Empty without any."""
    if not some:
        return []
    out = [BLANK, ruled(text(title, "title"), [], width)]
    for evidence in some:
        words, source = clean(evidence.text), clean(evidence.source)
        rows = wrapped(words, width, indent=2, hang=2)
        if source and source != "measured":  # that stands above already
            if cells(rows[-1]) + len(source) + 3 <= width:
                rows[-1] = [*rows[-1], (f"   {source}", "dim")]
            else:
                rows += wrapped(source, width, "dim", indent=4, hang=2)
        out += rows
    return out


def to_do_lines(steps: Sequence[Remedy], width: int, *, room: int, brief: bool = False) -> list[Line]:
    """What to do: the first step, and as many more as `room` lines hold whole; empty without any.

    `brief`: of the first step the title and the first command.
    """
    if not steps:
        return []
    head: Line = [("c", "key"), (" copies the commands", "dim")] if any(s.commands for s in steps) else []
    if brief:
        if steps[0].warning:
            head = [("▲ mind the risk: Enter on the finding   ", "warning"), *head]
        return [ruled(text("WHAT TO DO", "title"), head, width), *_first_command(steps[0], width)]
    out: list[Line] = []
    shown = 0
    for remedy in steps:
        lines = _step_lines(remedy, width)
        if shown and len(out) + len(lines) + 1 > room:
            break
        out += lines
        shown += 1
    if shown < len(steps):
        head = [(f"and {len(steps) - shown} more   ", "dim"), *head]
    return [ruled(text("WHAT TO DO", "title"), head, width), *out]


def _first_command(remedy: Remedy, width: int) -> list[Line]:
    if not remedy.commands:
        return wrapped(remedy.title, width, "text", indent=2, hang=2)
    more = len(remedy.commands) - 1
    rows = wrapped(pasted(remedy.commands[0]), width - 16 * (more > 0), "accent", indent=4, hang=2)
    if len(rows) > LOW_LINES:
        rows = [*rows[: LOW_LINES - 1], crop([*rows[LOW_LINES - 1], (" …", "dim")], width)]
    if more:
        rows[-1] = crop([*rows[-1], (f"   and {more} more: c", "dim")], width)
    return [crop(text(f"  {remedy.title}"), width), *rows]


def _step_lines(remedy: Remedy, width: int) -> list[Line]:
    out = wrapped(remedy.title, width, "text", indent=2, hang=2)
    if remedy.warning:
        warned = wrapped(f"▲ {remedy.warning}", width - 2, "warning", indent=4, hang=2)
        out += warned[:2]
        if len(warned) > 2:
            out[-1] = split(out[-1], text(" … Enter on the finding: all of it", "dim"), width)
    for command in remedy.commands[:MOST_COMMANDS]:
        out += wrapped(pasted(command), width, "accent", indent=4, hang=2)
    if (more := len(remedy.commands) - MOST_COMMANDS) > 0:
        out.append(text(f"    and {more} more: c", "dim"))
    return out


def _remedy(number: int, remedy: Remedy, width: int) -> list[Line]:
    out = wrapped(f"{number}  {remedy.title}", width, "strong", indent=1, hang=3)
    if remedy.warning:
        out += wrapped(f"▲ {remedy.warning}", width, "warning", indent=4, hang=2)
    parts = (
        ("now", remedy.commands),
        ("to make it last", remedy.persistent),
        ("to verify", remedy.verify),
        ("to undo", remedy.undo),
    )
    for name, commands in parts:
        for place, command in enumerate(commands):
            rows = wrapped(pasted(command), max(20, width - LABEL - 5), "accent", hang=2)
            head = name if not place else ""
            out += [[(f"    {head if not n else '':<{LABEL}} ", "dim"), *row] for n, row in enumerate(rows)]
    return out


def commands_of(remedies: Iterable[Remedy]) -> str:
    """What `c` copies: every command, with its remedy's title as a comment."""
    out: list[str] = []
    for remedy in remedies:
        out.append(f"# {clean(remedy.title)}")
        out += [clean(pasted(c)) for c in (*remedy.commands, *remedy.persistent)]
    return "\n".join(out)
