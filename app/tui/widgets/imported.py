"""Imported results on the verdict screen: the bounding box and the course over time, as the recording holds them."""

from __future__ import annotations

from app.recording.session import Session
from app.tui.lines import BLANK, Line, text

_WIDEST, _HIGHEST = 100, 16
_NARROW_ROWS = 9


def imported_lines(session: Session, width: int, height: int) -> list[Line]:
    """Nothing where the recording has neither. `height` is the panel's: on a low screen the box is drawn lower."""
    if not ("box" in session.extras or "history" in session.extras):
        return []
    from app.report.box import box_lines, boxes_of  # only where there is something to draw
    from app.report.history import course_lines, course_of

    room = min(width, _WIDEST)
    rows = _HIGHEST if height > 24 else _NARROW_ROWS
    out: list[Line] = []
    if "box" in session.extras:
        for box in boxes_of(session.extras["box"].value):
            out += [BLANK, *(text(line) for line in box_lines(box, room, rows))]
    if "history" in session.extras:
        course = course_of(session.extras["history"].value)
        if course is not None:
            out += [BLANK, *(text(line) for line in course_lines(course, room))]
    return out
