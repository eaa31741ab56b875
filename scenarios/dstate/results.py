"""The tasks that hung in D, as a watch records them."""

from __future__ import annotations

from typing import ClassVar

from scenarios.results.result import StuckTasks


class InD(StuckTasks, frozen=True, tag="dstate.stuck/1"):
    name: ClassVar[str] = "stuck"
