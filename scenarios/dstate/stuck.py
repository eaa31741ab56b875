"""From samples of tasks in D to stuck tasks: the same task in the same sleep, sample after sample."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from probes.system.running.tasks import Task
from probes.types import present

# A disk under load keeps tasks in D for milliseconds each; three samples, a second apart, of one and the same
# sleep are no ordinary wait.
STUCK_AFTER_S = 3.0


class Sleep(msgspec.Struct):
    """One sleep of one task, as seen: `since_s` and `seen_s` are seconds of the watch."""

    task: Task
    since_s: float
    seen_s: float
    samples: int = 1

    @property
    def seconds(self) -> float:
        """How long it has been watched in this sleep; it may have begun before the watch."""
        return self.seen_s - self.since_s

    @property
    def stuck(self) -> bool:
        return self.samples >= 3 and self.seconds >= STUCK_AFTER_S

    def continues_in(self, task: Task) -> bool:
        """False when the task ran in between: its voluntary switches count on."""
        ours, now = self.task.switches, task.switches
        same_place = self.task.wchan == task.wchan or not (present(self.task.wchan) and present(task.wchan))
        return same_place and (ours == now or not (present(ours) and present(now)))


class Change(msgspec.Struct, frozen=True):
    """What a sample changed: sleeps that became stuck, and stuck ones that ended."""

    stuck: tuple[Sleep, ...]
    ended: tuple[Sleep, ...]


class Sleeps:
    """Every sleep under way, by task."""

    def __init__(self) -> None:
        self.current: dict[tuple[int, int], Sleep] = {}
        self.longest: dict[tuple[int, int], Sleep] = {}  # of each task that was ever stuck

    def add(self, tasks: Iterable[Task], now_s: float) -> Change:
        """Takes one sample in; `now_s` never goes back."""
        before, self.current = self.current, {}
        became: list[Sleep] = []
        ended: list[Sleep] = []
        for task in tasks:
            sleep = before.pop(task.key, None)
            if sleep is None or not sleep.continues_in(task):
                if sleep is not None and sleep.stuck:
                    ended.append(sleep)
                self.current[task.key] = Sleep(task, now_s, now_s)
                continue
            was = sleep.stuck
            sleep.task, sleep.seen_s, sleep.samples = task, now_s, sleep.samples + 1
            self.current[task.key] = sleep
            if sleep.stuck:
                self._keep(sleep)
                if not was:
                    became.append(sleep)
        ended.extend(sleep for sleep in before.values() if sleep.stuck)
        return Change(tuple(became), tuple(ended))

    def stuck(self) -> tuple[Sleep, ...]:
        """The stuck ones now, the longest first."""
        return tuple(sorted((s for s in self.current.values() if s.stuck), key=lambda s: -s.seconds))

    def _keep(self, sleep: Sleep) -> None:
        known = self.longest.get(sleep.task.key)
        if known is None or known.seconds <= sleep.seconds:
            self.longest[sleep.task.key] = sleep
