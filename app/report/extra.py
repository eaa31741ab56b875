"""A scenario's own part of the report (such as a ledger), and values as text."""

from __future__ import annotations

from app.recording.session import Session
from app.report import wording
from app.report.box import box_lines, box_svg, boxes_of
from app.report.document import Code, Heading, Part, Picture, Table, say
from app.report.history import course_lines, course_of, course_svg
from app.report.ledger import ledger
from probes import units
from probes.types import Json
from scenarios.checkup.item import EXTRA as CHECKUP
from scenarios.numa.picture import machine_picture

WIDTH = 78  # cells of a drawing
DEEPEST = 8  # a foreign recording nests as deeply as it likes


def extra_part(session: Session, name: str, value: Json, depth: int = 0) -> tuple[Part, ...]:
    """A picture where there is one of it; else a list of records is a table without its empty columns, a record its
    fields, anything else as it is.
    """
    if name == "ledger" and (parts := ledger(value)):
        return parts
    if name == CHECKUP:
        return ()  # it stands on the first page
    if name == "box":
        return tuple(Picture(tuple(box_lines(box, WIDTH, 20)), box_svg(box)) for box in boxes_of(value))
    if name == "history":
        course = course_of(value)
        return (Picture(tuple(course_lines(course, WIDTH)), course_svg(course)),) if course else ()
    if name == "machine" and (lines := machine_picture(value)):
        return (Code(lines),)
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        records = [row for row in value if isinstance(row, dict)]
        header = tuple(dict.fromkeys(key for row in records for key in row))
        numeric = frozenset(
            n
            for n, key in enumerate(header)
            if all(isinstance(row.get(key), int | float | None) for row in records)
        )
        rows = tuple(tuple(_cell(session, key, row.get(key)) for key in header) for row in records)
        table = Table(tuple(map(_words, header)), rows, numeric).without_empty_columns()
        return (table,) if table.header else ()
    if isinstance(value, dict):
        return _record(session, value, depth)
    return (say(value_text(value)),)


def _record(session: Session, value: dict[str, Json], depth: int) -> tuple[Part, ...]:
    """What is one value stands in a table; what holds more comes after it under its own name."""
    nested = {key: inner for key, inner in value.items() if depth < DEEPEST and _nests(inner)}
    rows = tuple((_words(key), value_text(inner)) for key, inner in value.items() if key not in nested)
    parts: list[Part] = [Table(("what", "value"), rows)] if rows else []
    for key, inner in nested.items():
        below = extra_part(session, "", inner, depth + 1)
        parts += [Heading(_words(key)), *below] if below else []
    return tuple(parts)


def _nests(value: Json) -> bool:
    many = isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)
    return many or (isinstance(value, dict) and bool(value))


def _words(key: str) -> str:
    return key.replace("_", " ")


def _cell(session: Session, key: str, value: Json) -> str:
    if key == "workload" and isinstance(value, str):
        return wording.workload_title(session, value)
    return value_text(value)


def value_text(value: Json, unit: str = "", depth: int = 0) -> str:
    """In one line; bytes in binary multiples beside the exact number. What is nested deeper than 8 is left out."""
    if depth > DEEPEST:
        return "…"
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if unit == "B" and isinstance(value, int) and value >= 1 << 20:
        return f"{units.size(value)} ({value} B)"
    if isinstance(value, float):
        text = units.number(value, 5)
    elif isinstance(value, list):
        text = ", ".join(value_text(inner, depth=depth + 1) for inner in value)
    elif isinstance(value, dict):
        text = ", ".join(f"{key} {value_text(inner, depth=depth + 1)}" for key, inner in value.items())
    else:
        text = str(value)
    return f"{text} {unit}".rstrip()
