"""The tasks that hung in D, as a watch records them."""

from typing import ClassVar

import msgspec

from hostdx.probes import units
from hostdx.scenarios.contract import ranges as of
from hostdx.scenarios.contract.results.document import Part, ReportSection, Table, Toned, paragraph_of
from hostdx.scenarios.contract.results.result import Result


class StuckTask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`now`: stuck at the event's time, None where it is told at the end."""

    now: bool | None = None
    pid: of.Number
    tid: of.Number
    comm: str
    wchan: str | None
    seconds: of.Duration
    stack: tuple[str, ...] | None = None  # None: while it goes on
    cause: str
    subject: str
    where: str


class TasksInDResult(Result, frozen=True, tag="dstate.stuck/1"):
    """Who waits, longest first: on the live screen and the first page; a finding's evidence has the stacks."""

    name: ClassVar[str] = "stuck"
    value: tuple[StuckTask, ...]

    @property
    def appendix_parts(self) -> tuple[Part, ...]:
        return ()

    def section_on_top(self, now: float) -> ReportSection | None:
        """Longest first; the seconds of a task that was still stuck when it was told go on until now."""
        since = max(0.0, now - self.t)
        rows_by_seconds = sorted(
            ((t.seconds + since if t.now else t.seconds, t) for t in self.value), key=lambda pair: -pair[0]
        )
        if not rows_by_seconds:
            return None
        rows = tuple(
            (
                str(task.pid),
                task.comm,
                Toned(f"{units.format_duration(seconds)} so far", "warning")
                if task.now
                else units.format_duration(seconds),
                task.wchan or task.cause,
                task.where or task.subject,
            )
            for seconds, task in rows_by_seconds
        )
        stuck_now = sum(task.now is True for task in self.value)
        count = f"{stuck_now} now, {len(rows)} in all" if stuck_now else f"{len(rows)} in all"
        return ReportSection(
            "stuck tasks",
            (paragraph_of(count), Table(("pid", "task", "in D", "waits in", "on"), rows, frozenset({0, 2}))),
        )
