"""All that watches where processes wait and compute: samples of their waits and, where wanted, call chains and locks.
For a light child: standard library only.
"""

import os
import time
from collections.abc import Callable, Sequence

from hostdx.probes.profile.call_profile import CallProfile
from hostdx.probes.profile.lock_waits import LockProfile
from hostdx.probes.profile.wait_samples import WaitSample, WaitSamples

TOGETHER_S = 0.005  # what is due so soon is done now: to wake up costs more than to look


class ProfileSampling:
    """Opened and started before the watched is forked; `take_samples` when `next_due_s`, `all_results` at the end."""

    def __init__(
        self,
        cpus: Sequence[int] = (),
        *,
        chains: bool = False,
        locks: bool = False,
        stacks: bool = False,
        listed: Callable[[int], list[int]] | None = None,
    ) -> None:
        """`chains`: call chains; where these show the kernel there are `locks` too. `stacks`: of sleeping threads.
        `listed`: the processes below one.
        """
        cpus = list(cpus) or sorted(os.sched_getaffinity(0))
        self._listed = listed
        self._command_pids: set[int] = set()
        self._waits = WaitSamples(stacks=stacks)
        self._calls = CallProfile(cpus, self._command_pids) if chains else None
        locks = locks or (self._calls is not None and self._calls.kernel)
        self._locks = LockProfile(cpus, self._command_pids) if locks else None

    def start(self) -> None:
        for part in (self._calls, self._locks):
            if part is not None:
                part.start()

    def follow_pids(self, pids: list[int]) -> None:
        self._command_pids.update(pids)
        self._waits.follow_pids(pids)

    @property
    def next_due_s(self) -> float:
        return min(part.due for part in (self._waits, self._calls, self._locks) if part is not None)

    def take_samples(self) -> None:
        soon = time.monotonic() + TOGETHER_S
        for part in (self._locks, self._calls):
            if part is not None and soon >= part.due:
                part.take_samples()
        if soon >= self._waits.due:
            if self._waits.blind and self._listed is not None:
                self.follow_pids(self._listed(os.getpid()))
            self._waits.take_samples()

    def waits(self, asleep_s: float | None = None) -> list[WaitSample]:
        return self._waits.wait_rows(asleep_s)

    def all_results(self) -> dict[str, object]:
        """As `hostdx.probes.engine.command.supervised.JobRun` has them."""
        return {
            "looks": self._waits.looks,
            "calls": self._calls.call_result() if self._calls is not None else None,
            "locks": self._locks.lock_result() if self._locks is not None else None,
        }

    def close(self) -> None:
        for part in (self._waits, self._calls, self._locks):
            if part is not None:
                part.close()
