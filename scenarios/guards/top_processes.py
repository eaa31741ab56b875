"""Who did it: looks at the processes in the gaps, and the names that come up most often.

A look before every block, of which only the last is kept: what is named used the CPU or the device in the disturbed
block, not at some time since the run began.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

from probes.system.running.culprit import Resource, busiest, used_by_others
from probes.system.running.processes import ProcessTable, look, own_family
from probes.system.running.tasks import tasks_hidden
from scenarios import events as ev
from scenarios.disturbance import Culprit
from scenarios.guards.interference import Others
from scenarios.guards.thresholds import LOOK_SHARE, NAMED_CPUS, NAMED_SHARE
from scenarios.model import Run


class Culprits:
    """`in_gap` before every block, `name` after a disturbed one; at most LOOK_SHARE of the time is spent."""

    def __init__(self, run: Run, devices: Sequence[str]) -> None:
        self._run = run
        self._devices = tuple(devices)
        self._last: ProcessTable | None = None
        self._at = 0.0
        self._took_s: list[float] = []
        self._told = False
        self._began: ProcessTable | None = None  # the looks before and after the block under way
        self._ended: ProcessTable | None = None

    def in_gap(self) -> None:
        """Where there are so many processes that it takes long, not in every gap."""
        self._ended = None
        if self._affordable:
            self._look()
        self._began = self._last

    def after(self) -> Others | None:
        """Right after the block: what other processes used in it; None where there are so many that it takes long."""
        if self._began is None or not self._affordable:
            return None
        ours = frozenset(own_family(self._run.host)) if self._run.host.live else frozenset()
        self._ended = self._look()
        cpus, io = used_by_others(self._began, self._ended, ours)
        hidden = tasks_hidden(self._run.host) is not None
        return Others(cpus, (io or None) if hidden else io, hidden)

    @property
    def _affordable(self) -> bool:
        # The shortest of the last three: a look that had to wait for a CPU took long for another reason.
        cost_s = min(self._took_s[-3:], default=0.0)
        return self._last is None or self._run.clock.now() - self._at >= cost_s / LOOK_SHARE

    def name(self, kind: str, cpu_share: float = 0.0) -> Culprit | None:
        return self.names([kind], cpu_share).get(kind)

    def names(self, kinds: Sequence[str], cpu_share: float = 0.0) -> dict[str, Culprit]:
        """By kind ("cpu", "device") the process that used most since the last look, else the device's name.

        cpu_share  of all CPUs, that others used: who used little of it is not named.
        """
        wanted = [kind for kind in kinds if kind in ("cpu", "device")]
        before = self._last if self._ended is None else self._began
        if not wanted or before is None:
            return {}
        now = self._ended or self._look()
        ours = frozenset(own_family(self._run.host)) if self._run.host.live else frozenset()
        named: dict[str, Culprit] = {}
        for kind in wanted:
            resource: Resource = "cpu" if kind == "cpu" else "io"
            least = min(NAMED_CPUS, NAMED_SHARE * cpu_share * now.cpus) if resource == "cpu" else None
            found = busiest(before, now, resource, ours, least)
            # Whom this user may read can be named beside somebody busier whom only root may: root need not be told.
            if resource == "io" and now.unreadable and (found is None or os.geteuid()):
                self._tell(now)
            if found is not None:
                unit: Literal["CPUs", "B/s"] = "CPUs" if resource == "cpu" else "B/s"
                named[kind] = Culprit(name=found.name, pid=found.pid, rate=found.rate, unit=unit)
            elif resource == "io":
                named[kind] = Culprit(devices=self._devices, unnamed=self._unnamed(now))
        return named

    def _unnamed(self, seen: ProcessTable) -> Literal["another user's", "unreadable", "contained", "ended"]:
        hidden = tasks_hidden(self._run.host)
        if hidden is not None and hidden.kind == "container":
            return "contained"  # root there sees no more
        if not seen.unreadable and hidden is None:
            return "ended"
        return "another user's" if os.geteuid() else "unreadable"

    def _look(self) -> ProcessTable:
        began = self._run.clock.now()
        waiting = self._last is None or not self._last.hung
        self._last = look(self._run.host, io=bool(self._devices), waiting=waiting)
        self._at = self._run.clock.now()
        self._took_s = [*self._took_s[-2:], self._at - began]
        return self._last

    def _tell(self, seen: ProcessTable) -> None:
        """Once a run: among whom the culprit was sought, and how to see the others."""
        if self._told:
            return
        self._told = True
        of_all = f"{len(seen.processes) - seen.unreadable} of {len(seen.processes)} processes"
        if os.geteuid():
            text = (
                f"I/O can be attributed for {of_all}, those of this user; run as root (sudo hostdx ...) to "
                f"name the other {seen.unreadable} too: only root may read their /proc/PID/io"
            )
        else:
            text = (
                f"I/O can be attributed for {of_all}: this root may not read the others' /proc/PID/io (it "
                "lacks CAP_SYS_PTRACE, as in a container); run hostdx on the host itself to name them"
            )
        self._run.emit(ev.Note(t=self._run.time(), text=text))
