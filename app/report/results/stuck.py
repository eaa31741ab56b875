"""The tasks that hung in D, as a recording has them: for the screen and the first page of a report."""

from __future__ import annotations

from app.recording.session import Session
from probes import units
from scenarios.results.document import Table
from scenarios.results.result import StuckTask, StuckTasks


def rows(session: Session) -> list[tuple[StuckTask, float]]:
    """Each with its seconds, longest first: until now, for a task that was still stuck when it was told."""
    found = session.result(StuckTasks)
    if found is None:
        return []
    since = max(0.0, session.time - found.t)
    told = [(task, task.seconds + since if task.now else task.seconds) for task in found.value]
    return sorted(told, key=lambda row: -row[1])


def table(session: Session) -> Table | None:
    found = tuple(
        (
            str(task.pid),
            task.comm,
            units.duration(seconds) + (" so far" if task.now else ""),
            task.waits_in,
            task.on,
        )
        for task, seconds in rows(session)
    )
    return Table(("pid", "task", "in D", "waits in", "on"), found, frozenset({0, 2})) if found else None
