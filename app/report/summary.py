"""What `hostdx run` prints at its end: the answer, both sides' numbers, the findings, and where the report is."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from app.printable import printable
from app.recording.session import Session
from app.recording.store import argument
from app.report import checkup, trust, verdict_style, wording
from app.report.answer import alone, answer
from app.report.following import following
from app.report.verdict_table import beside, rows, table
from scenarios.finding import NextStep
from scenarios.results.document import Table, plain

WIDE = 100  # cells where no terminal says how many it has
_GAP = 2
_KEPT = "\u00a0"
_NUMBER = re.compile(r"(?<=\d) (?=(?:[%×]|[kMGT] |[a-zµ]?[sB](?:\b|/)))")

Line: TypeAlias = list[tuple[str, str]]  # (text, role): app.output.out_parts prints it


def summary(session: Session, recording: Path | None, width: int = WIDE) -> list[Line]:
    """Lines of at most `width` cells, unless a word is longer: nothing is broken within a word."""
    ended = session.ended
    lines: list[Line] = []
    if ended is None or ended.status in ("done", "interrupted"):
        said = answer(session)
        lines += _wrapped(said.sentence, width, said.weight if said.weight != "notice" else "strong")
    for text in alone(session):
        lines += _wrapped(text, width, "", "  ")
    list_of = checkup.ranked(session)
    for one in list_of:
        lines += _wrapped(f"{one.sign} {one.words}", width, one.role, "  ")
        if one.following is not None:
            lines += _following(one.following, width, "      ")
    verdicts = list(session.verdicts.values())
    compared = table(session, narrow=width < WIDE)
    if compared is not None:
        named = [f"{v.id}: {v.label}" for v in session.variants if v.label not in ("", v.id)]
        lines.append([("", "")])
        for name in named:
            lines += _wrapped(name, width, "dim", "  ")
        roles = [verdict_style.role(row.verdict.verdict) for row in rows(session)]
        lines += table_lines(compared, width, roles)
        if values := beside(session):
            lines += _wrapped(values, width, "dim", "  ")
    for text in wording.unmeasured(session, verdicts):
        lines += _wrapped(text, width, "unknown", "  ")
    for series in session.series:
        lines += _wrapped(wording.series_sentence(session, series), width, "", "  ")
    signs = trust.trust(session)
    if signs:
        lines.append([("", "")])
    for sign in signs:
        role = {"critical": "critical", "notice": "warning", "unknown": "unknown"}.get(sign.state, "")
        lines += _wrapped(f"{trust.MARKS[sign.state]} {sign.text}", width, role, "  ")
    headline = answer(session).finding
    findings = [f for f in checkup.beside(session) if f != headline or f.severity in ("critical", "warning")]
    if findings:
        lines.append([("", "")])
    for found in findings:
        hint = "a hint: " if found.confidence == "hint" else ""
        text = f"{wording.SIGNS[found.severity]} {found.severity}: {hint}{found.title}"
        lines += _wrapped(text, width, found.severity, "  ")
    if more := wording.beyond_bounds(session):
        lines += _wrapped(more, width, "warning", "  ")
    for step in following(session, argument(recording) if recording is not None else ""):
        lines += _following(step, width)
    if recording is not None:
        lines.append([(f"report: hostdx report {shlex.quote(argument(recording))}", "dim")])
    return lines


def _following(step: NextStep, width: int, indent: str = "") -> list[Line]:
    """Each command on a line of its own: it is to be copied."""
    lines = _wrapped(f"next: {step.title}", width, "strong" if not indent else "dim", indent)
    return [*lines, *([(f"{indent}  {printable(command)}", "")] for command in step.commands)]


def table_lines(found: Table, width: int, roles: Sequence[str]) -> list[Line]:
    """Columns as wide as their cells; where that is too much, the widest text columns break between words."""
    cells = [[_unbroken(printable(plain(cell))) for cell in row] for row in (found.header, *found.rows)]
    widths = [max(len(row[n]) for row in cells) for n in range(len(found.header))]
    least = [
        max(len(word) for row in cells for word in (row[n].split(" ") or [""])) for n in range(len(widths))
    ]
    room = width - 2 - _GAP * (len(widths) - 1)
    if sum(widths) > room and found.header[-1] == "groups":  # the report has them
        cells = [row[:-1] for row in cells]
        room += _GAP
        del widths[-1], least[-1]
    gap = " " * _GAP
    if sum(least) > room:  # no word is cut: the columns move together first
        gap = " "
        room += (_GAP - 1) * (len(widths) - 1)
    while sum(widths) > room:
        slack = [widths[n] - least[n] for n in range(len(widths))]
        if max(slack) <= 0:
            break  # the terminal may wrap the line
        widths[max(range(len(widths)), key=lambda n: (slack[n] > 0, widths[n]))] -= 1
    out: list[Line] = []
    for index, row in enumerate(cells):
        parts = [
            textwrap.wrap(c, w, break_long_words=False, break_on_hyphens=False) or [""]
            for c, w in zip(row, widths, strict=True)
        ]
        role = "dim" if index == 0 else roles[index - 1]
        for height in range(max(map(len, parts))):
            shown = [part[height].replace(_KEPT, " ") if height < len(part) else "" for part in parts]
            aligned = [
                text.rjust(w) if n in found.right else text.ljust(w)
                for n, (text, w) in enumerate(zip(shown, widths, strict=True))
            ]
            effect = found.header.index("effect") if index and "effect" in found.header else 0
            before, after = gap.join(aligned[:effect]), gap.join(aligned[effect:])
            head = "  " + before + (gap if effect else "")
            out.append([(head, ""), (after.rstrip(), role)])
    return out


def _wrapped(text: str, width: int, role: str, indent: str = "") -> list[Line]:
    shown = textwrap.wrap(
        _unbroken(printable(text)),
        max(20, width),
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [[(line.replace(_KEPT, " "), role)] for line in shown]


def _unbroken(text: str) -> str:
    """A number stays with its unit."""
    return _NUMBER.sub(_KEPT, text)
