"""Who is stuck: the tasks in D, longest first, with what they wait for; over it how many there were, look by look."""

from __future__ import annotations

from rich.cells import cell_len

from app.glyphs import clean, spark
from app.lines import Line, crop, pad, ruled, split, text
from app.recording.session import Session
from app.report.results import stuck
from probes import units

_TRACE = 60  # looks drawn
_PID, _TASK, _TIME, _WAITS = 8, 16, 9, 22


def stuck_lines(session: Session, width: int, most: int) -> list[Line]:
    """Empty where nothing was told to be stuck."""
    found = stuck.rows(session)
    if not found or most < 3:
        return []
    now = sum(task.now is True for task, _ in found)
    count = f"{now} now, {len(found)} in all" if now else f"{len(found)} in all"
    out = [ruled(text("STUCK TASKS", "title"), text(count, "dim"), width)]
    # as wide as its words: where there is little room, that is for what they wait for
    name = min(_TASK, max(4, *(cell_len(clean(task.comm)) for task, _ in found)))
    waits = min(_WAITS, max(8, *(cell_len(clean(task.waits_in)) for task, _ in found)))
    head = f"{'pid':>{_PID}}  {'task':<{name}}  {'in D':>{_TIME}}  {'waits in':<{waits}}  on"
    out.append(crop(text(head, "dim"), width))
    room = most - len(out)
    shown = found if len(found) <= room else found[: room - 1]
    for task, seconds in shown:
        line: Line = [
            (f"{task.pid:>{_PID}}  ", "text"),
            *pad(text(task.comm, "strong"), name),
            (f"  {units.duration(seconds):>{_TIME}}", "warning" if task.now else "text"),
            ("  ", "text"),
            *pad(text(task.waits_in), waits),
            (f"  {clean(task.on)}", "text"),
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
