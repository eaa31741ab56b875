"""All that watches where a command waits and computes: samples of its waits and, where wanted, call chains and locks.
For a light child: standard library only.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

from probes.bench.profile.call_profile import CallProfile, cpus_of
from probes.bench.profile.lock_waits import LockProfile
from probes.bench.profile.wait_samples import WaitSamples


class Sampling:
    """Opened before the command is forked; `look` when `due`, `results` at the end."""

    def __init__(self, cpus: Sequence[int], chains: int, listed: Callable[[int], list[int]]) -> None:
        """`chains`: every how many context switches one has its call chain; 0: neither chains nor locks.
        `listed`: the processes below one.
        """
        self._listed = listed
        self._waits = WaitSamples()
        self._calls = CallProfile(cpus_of(cpus), chains) if chains else None
        self._locks = LockProfile(cpus_of(cpus)) if self._calls is not None and self._calls.kernel else None
        self.follow = self._waits.follow

    @property
    def due(self) -> float:
        return min(part.due for part in (self._waits, self._calls, self._locks) if part is not None)

    def look(self) -> None:
        now = time.monotonic()
        if now >= self._waits.due:
            if self._waits.blind:
                self.follow(self._listed(os.getpid()))
            self._waits.look()
        if self._calls is not None and now >= self._calls.due:
            self._calls.read()
        if self._locks is not None and now >= self._locks.due:
            self._locks.look()

    def results(self, asleep_s: float | None, *, many: bool) -> dict[str, object]:
        """As `probes.bench.run.supervised.JobRun` has them. `many`: processes at once, more than are looked at."""
        waits = self._waits.rows(asleep_s)
        self._waits.close()
        return {
            "d_s": None if many else sum(wait.thread_s for wait in waits if wait.state == "D"),
            "waits": () if many else waits,
            "calls": self._calls.result() if self._calls is not None else None,
            "locks": self._locks.result() if self._locks is not None else None,
        }
