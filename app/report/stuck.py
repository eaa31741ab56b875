"""The tasks that hung in D, as a recording has them: for the screen and the first page of a report."""

from __future__ import annotations

from collections.abc import Mapping

from app.recording.session import Session
from app.report.document import Table
from probes import units
from probes.types import Json

EXTRA = "stuck"


def rows(session: Session) -> list[Mapping[str, Json]]:
    """Longest first; what is no record is passed over."""
    extra = session.extras.get(EXTRA)
    value = extra.value if extra is not None else None
    found = [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
    return sorted(found, key=lambda row: -seconds(session, row))


def seconds(session: Session, row: Mapping[str, Json]) -> float:
    """Until now, for a task that was still stuck when it was told."""
    told = row.get("seconds")
    known = float(told) if isinstance(told, int | float) else 0.0
    return known + max(0.0, session.time - session.extras[EXTRA].t) if row.get("now") is True else known


def word(row: Mapping[str, Json], *names: str) -> str:
    """The first of the fields that says anything."""
    values = (row.get(name) for name in names)
    return next(
        (str(v) for v in values if isinstance(v, str | int) and not isinstance(v, bool) and v != ""), ""
    )


def table(session: Session) -> Table | None:
    found = tuple(
        (
            word(row, "pid"),
            word(row, "comm"),
            units.duration(seconds(session, row)) + (" so far" if row.get("now") is True else ""),
            word(row, "wchan", "cause"),
            word(row, "where", "subject"),
        )
        for row in rows(session)
    )
    return Table(("pid", "task", "in D", "waits in", "on"), found, frozenset({0, 2})) if found else None
