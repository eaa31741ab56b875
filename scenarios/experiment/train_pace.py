"""How long a group takes in trains, and how many still fit: its seconds pass only while the load is measured."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from scenarios.experiment.budget import Pace
from scenarios.model import Clock


class TrainPace(Pace):
    """Groups are counted by the train, with all that lies around them: readings, the workers' answers."""

    def __init__(self, clock: Clock, budget_s: float, expected_group_s: float) -> None:
        super().__init__(clock, budget_s, expected_group_s)
        self._spent_s = 0.0
        self._running: float | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        self._running = self._clock.now()
        try:
            yield
        finally:
            self._spent_s, self._running = self.spent_s, None

    @property
    def spent_s(self) -> float:
        return self._spent_s + (0.0 if self._running is None else self._clock.now() - self._running)

    def expect(self, group_s: float) -> None:
        """Of another length than before: what was measured until now tells nothing of it."""
        super().expect(group_s)
        self._measured = 0

    def took(self, groups: int, seconds: float) -> None:
        self._measured += groups
        self._group_s += (seconds / groups - self._group_s) * groups / self._measured
