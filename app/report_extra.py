"""A scenario's own part of the report (such as a ledger), and values as text."""

from __future__ import annotations

from app import wording
from app.document import Part, Table, say
from app.plain import size
from app.report_ledger import ledger
from app.session import Session
from probes.types import Json

DEEPEST = 8  # a foreign recording nests as deeply as it likes


def extra_part(session: Session, name: str, value: Json) -> tuple[Part, ...]:
    """A list of records is a table without its empty columns, anything else is shown as it is."""
    if name == "ledger" and (parts := ledger(value)):
        return parts
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        records = [row for row in value if isinstance(row, dict)]
        header = tuple(dict.fromkeys(key for row in records for key in row))
        numeric = frozenset(
            n
            for n, key in enumerate(header)
            if all(isinstance(row.get(key), int | float | None) for row in records)
        )
        rows = tuple(tuple(_cell(session, key, row.get(key)) for key in header) for row in records)
        table = Table(header, rows, numeric).without_empty_columns()
        return (table,) if table.header else ()
    if isinstance(value, dict):
        return (Table(("what", "value"), tuple((key, value_text(inner)) for key, inner in value.items())),)
    return (say(value_text(value)),)


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
        return f"{size(value)} ({value} B)"
    if isinstance(value, float):
        text = wording.number(value, 5)
    elif isinstance(value, list):
        text = ", ".join(value_text(inner, depth=depth + 1) for inner in value)
    elif isinstance(value, dict):
        text = ", ".join(f"{key} {value_text(inner, depth=depth + 1)}" for key, inner in value.items())
    else:
        text = str(value)
    return f"{text} {unit}".rstrip()
