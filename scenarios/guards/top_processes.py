"""Who did it: looks at the processes in the gaps, and the names that come up most often.

A look before every block, of which only the last is kept: what is named used the CPU or the device in the disturbed
block, not at some time since the run began.
"""

import os
from collections.abc import Collection, Sequence
from typing import Literal

from probes.host import Host
from probes.system.pulse import Counters, pulse, read_counters
from probes.system.running.culprit import (
    Resource,
    busiest,
    completion_workers,
    loop_workers,
    ranking,
    used_by_others,
)
from probes.system.running.processes import ProcessTable, family_of, io_bytes, look, own_family
from probes.system.running.tasks import tasks_hidden
from scenarios import events as ev
from scenarios.disturbance import Culprit
from scenarios.guards.interference import Others
from scenarios.guards.thresholds import LOOK_SHARE, NAMED_CPUS, NAMED_SHARE
from scenarios.model import Run


class Culprits:
    """`in_gap` before every block, `name` after a disturbed one; at most LOOK_SHARE of the time is spent.

    loops  loop devices of ours: the kernel's threads that work for them are nobody else.
    """

    def __init__(self, run: Run, devices: Sequence[str], loops: Collection[str] = ()) -> None:
        self._run = run
        self._devices = tuple(devices)
        self._loops = loops
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

    def after(self, *, suspected: bool = False) -> Others | None:
        """Right after the block: what other processes used in it, or since the last look before; None where there are
        so many that it takes long, unless the block is `suspected`.
        """
        if self._began is None or not (suspected or self._affordable):
            return None
        self._ended = self._look()
        workers = self._workers(self._began, self._ended)
        cpus, io = used_by_others(self._began, self._ended, self._ours())
        for_us = io_for_us = 0.0
        if workers:
            not_for_us = frozenset(self._ended.processes.keys() - workers)
            for_us = sum((one.rate for one in ranking(self._began, self._ended, "cpu", not_for_us)), 0.0)
            io_for_us = sum((one.rate for one in ranking(self._began, self._ended, "io", not_for_us)), 0.0)
        hidden = tasks_hidden(self._run.host) is not None
        return Others(cpus, (io or None) if hidden else io, hidden, for_us, io_for_us)

    def _workers(self, before: ProcessTable, after: ProcessTable) -> frozenset[int]:
        """The kernel's threads that work for us: for our loop devices, and those that end our own I/O."""
        return loop_workers(self._loops, before, after) | completion_workers(before, after, self._ours())

    def _ours(self) -> frozenset[int]:
        return frozenset(own_family(self._run.host)) if self._run.host.live else frozenset()

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
        ours = self._ours() | self._workers(before, now)
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


# They repeat a whole disk's traffic or have none; partitions stay in, for they carry file systems.
_NEVER = ("loop", "ram", "zram", "sr", "fd")


class PulseSource:
    """Reads the counters at each call; the first pulse speaks of the time since it was made.

    devices: the run's own, by kernel name: shown even where they are idle, or loop devices. With one device only,
    our own process family's traffic is told apart as `ours`; with more, no counter says which of them it went to.
    """

    def __init__(self, host: Host, devices: Sequence[str] = ()) -> None:
        self._host = host
        self._before: Counters = read_counters(host)
        # A plan names the leaves of an array together: "sda, sdb".
        named = {name.strip() for device in devices for name in device.split(",")}
        self._devices = frozenset(named & self._before.disks.keys())
        self._ours_before = self._our_bytes()

    def next(self, t: float) -> ev.Pulse:
        now = read_counters(self._host)
        rates = pulse(self._before, now)
        self._before = now
        idle: dict[str, tuple[float, float, float]] = dict.fromkeys(
            self._devices & now.disks.keys(), (0.0, 0.0, 0.0)
        )
        busy: dict[str, tuple[float, float, float]] = {
            name: (round(read), round(written), round(used, 3))
            for name, (read, written, used) in rates.devices.items()
            if name in self._devices or not name.startswith(_NEVER)
        }
        ours_before, self._ours_before = self._ours_before, self._our_bytes()
        ours: dict[str, tuple[float, float]] = {}
        if len(self._devices) == 1:
            read, written = (
                max(0, after - before) for after, before in zip(self._ours_before, ours_before, strict=True)
            )
            ours = {next(iter(self._devices)): (round(read / rates.seconds), round(written / rates.seconds))}
        return ev.Pulse(
            t=t,
            load1=rates.load1,
            cpu=round(rates.cpu, 4),
            steal=round(rates.steal, 4),
            iowait=round(rates.iowait, 4),
            psi_cpu=_rounded(rates.psi_cpu),
            psi_io=_rounded(rates.psi_io),
            psi_memory=_rounded(rates.psi_memory),
            devices={**idle, **busy},
            ours=ours,
        )

    def _our_bytes(self) -> tuple[int, int]:
        if len(self._devices) != 1:
            return 0, 0
        used = [io_bytes(self._host, pid) or (0, 0) for pid in family_of(self._host)]
        return sum(read for read, _ in used), sum(written for _, written in used)


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 4)
