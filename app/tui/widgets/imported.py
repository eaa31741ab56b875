"""Imported results on the verdict screen: the bounding box and the course over time, as the recording holds them."""

from app.lines import BLANK, Line, text
from app.recording.session import Session
from scenarios.compare.bounding_box import Boxed
from scenarios.imported.results import HistoriesResult

_WIDEST, _HIGHEST = 100, 16
_NARROW_ROWS = 8
AROUND = 30  # lines of the screen that figures, steps and findings take


def imported_lines(session: Session, width: int, height: int) -> list[Line]:
    """Nothing where the recording has neither. `height` is the panel's: on a low screen the box is drawn lower."""
    boxes, courses = session.result(Boxed), session.result(HistoriesResult)
    if boxes is None and courses is None:
        return []
    from app.report.figures.box import box_lines, drawable  # only where there is something to draw
    from app.report.results.history import course_lines, drawn

    room = min(width, _WIDEST)
    rows = max(_NARROW_ROWS, min(_HIGHEST, height - AROUND))
    out: list[Line] = []
    for box in drawable(boxes.value) if boxes is not None else ():
        out += [BLANK, *(text(line) for line in box_lines(box, room, rows))]
    if courses is not None and (course := drawn(courses.value)) is not None:
        out += [BLANK, *(text(line) for line in course_lines(course, room))]
    return out
