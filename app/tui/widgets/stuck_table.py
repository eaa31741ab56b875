"""Who is stuck: the tasks in D, longest first, with what they wait for; over it how many there were, look by look."""

from __future__ import annotations

from collections.abc import Mapping

from rich.cells import cell_len

from app.recording.session import Session
from app.report import stuck
from app.tui.glyphs import clean, spark
from app.tui.lines import Line, crop, pad, ruled, split, text
from probes import units
from probes.types import Json

_TRACE = 60  # looks drawn
_PID, _TASK, _TIME, _WAITS = 8, 16, 9, 22


def _word(row: Mapping[str, Json], *names: str) -> str:
    return clean(stuck.word(row, *names))


def _channel(row: Mapping[str, Json]) -> str:
    return _word(row, "wchan", "cause")


def stuck_lines(session: Session, width: int, most: int) -> list[Line]:
    """Empty where nothing was told to be stuck."""
    found = stuck.rows(session)
    if not found or most < 3:
        return []
    now = sum(row.get("now") is True for row in found)
    count = f"{now} now, {len(found)} in all" if now else f"{len(found)} in all"
    out = [ruled(text("STUCK TASKS", "title"), text(count, "dim"), width)]
    # as wide as its words: where there is little room, that is for what they wait for
    task = min(_TASK, max(4, *(cell_len(_word(row, "comm")) for row in found)))
    waits = min(_WAITS, max(8, *(cell_len(_channel(row)) for row in found)))
    head = f"{'pid':>{_PID}}  {'task':<{task}}  {'in D':>{_TIME}}  {'waits in':<{waits}}  on"
    out.append(crop(text(head, "dim"), width))
    room = most - len(out)
    shown = found if len(found) <= room else found[: room - 1]
    for row in shown:
        still = row.get("now") is True
        line: Line = [
            (f"{_word(row, 'pid'):>{_PID}}  ", "text"),
            *pad(text(_word(row, "comm"), "strong"), task),
            (f"  {units.duration(stuck.seconds(session, row)):>{_TIME}}", "warning" if still else "text"),
            ("  ", "text"),
            *pad(text(_channel(row)), waits),
            (f"  {_word(row, 'where', 'subject')}", "text"),
        ]
        out.append(crop(line, width))
    if len(shown) < len(found):
        out.append(text(f"{'':>{_PID}}  and {len(found) - len(shown)} more", "dim"))
    return out


def trace_line(session: Session, width: int) -> Line:
    """`tasks in D ▁▁▂▂ 2`: the last looks, on a scale of their own."""
    samples = session.samples.get("tasks in D", [])[-min(_TRACE, max(1, width - 56)) :]
    if not samples:
        return []
    most = max(1.0, *(s.value for s in samples))
    drawn = "".join(spark(s.value / most) for s in samples)
    now = f" {samples[-1].value:.0f}"
    left: Line = [("tasks in D (a wait no signal ends) ", "dim"), (drawn, "accent"), (now, "strong")]
    return split(left, text(f"{most:.0f} at most", "dim") if most > 1 else [], width)
