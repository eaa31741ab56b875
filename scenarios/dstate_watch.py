"""One look of the D-state watch: the tasks in D, the stuck ones among them with their cause, the devices.

Everything that could hang goes through the host's guarded read, and only for a few tasks a look: a storm of a
thousand stuck tasks has a handful of causes.
"""

from __future__ import annotations

import msgspec

from probes.host import Host
from probes.system.block import layers
from probes.system.diskstats import disk_counters
from probes.system.kernel_log import kernel_log
from probes.system.pulse import read_counters
from probes.system.tasks import Task, stack, tasks_in_d
from probes.types import Absent, present
from scenarios.dstate_cause import Cause, Stuck, cause_of
from scenarios.dstate_devices import Devices, DeviceState
from scenarios.dstate_place import Place, place_of
from scenarios.stuck import Sleep, Sleeps

MOST_LOOKED_AT = 8  # tasks a look whose stack and files are read
MOST_LOG_LINES = 4000


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What one look saw. `psi_io` is seconds since boot in which somebody waited; None: not counted here."""

    at_s: float
    in_d: int
    threads: int
    load1: float | None
    psi_io_s: float | None
    stuck: tuple[tuple[Stuck, Cause], ...]
    ended: tuple[Sleep, ...]
    devices: dict[str, DeviceState]
    halted: tuple[DeviceState, ...]


class Watching:
    """What is kept from look to look."""

    def __init__(self) -> None:
        self.sleeps = Sleeps()
        self.devices = Devices()
        self.known: dict[tuple[int, int], tuple[tuple[str, ...], Place | None]] = {}

    def details(self, host: Host, sleep: Sleep, may_ask: bool) -> Stuck:
        """The task's stack and place, read once a task; the wait channel alone where there was no time for it."""
        key = sleep.task.key
        if key not in self.known and may_ask:
            self.known[key] = (_functions(host, sleep.task), _place(host, sleep.task))
        functions, place = self.known.get(key, ((), None))
        channel = (sleep.task.wchan,) if present(sleep.task.wchan) else ()
        return Stuck(sleep, tuple(dict.fromkeys((*channel, *functions))), place)


def read(host: Host, watching: Watching, at_s: float) -> Look | Absent:
    """One look. Absent where /proc shows no tasks."""
    scan = tasks_in_d(host)
    if isinstance(scan, Absent):
        return scan
    counters = disk_counters(host)
    if present(counters):
        watching.devices.add(counters, at_s)
    change = watching.sleeps.add(scan.tasks, at_s)
    sleeps = watching.sleeps.stuck()
    new = [s.task.key for s in sleeps if s.task.key not in watching.known][:MOST_LOOKED_AT]
    stuck = [watching.details(host, s, s.task.key in new) for s in sleeps]
    names = {n for s in stuck if s.place and s.place.device for n in layers(host, s.place.device)}
    states = {name: watching.devices.state(host, name) for name in sorted(names)}
    halted = watching.devices.stuck(host)
    states.update({s.name: s for s in halted})
    load = read_counters(host, at_s)
    return Look(
        at_s=at_s,
        in_d=len(scan.tasks),
        threads=scan.threads,
        load1=load.load1,
        psi_io_s=load.psi_io.some_s if load.psi_io else None,
        stuck=tuple((s, cause_of(s, states, halted)) for s in stuck),
        ended=change.ended,
        devices=states,
        halted=halted,
    )


def _functions(host: Host, task: Task) -> tuple[str, ...]:
    read_stack = stack(host, task)
    return read_stack if present(read_stack) else ()


def _place(host: Host, task: Task) -> Place | None:
    place = place_of(host, task)
    return place if present(place) else None


def log_about(host: Host, subjects: set[str]) -> dict[str, tuple[str, ...]]:
    """The kernel's last lines that name a device or server, by name. Empty where the log cannot be read."""
    log = kernel_log(host)
    if isinstance(log, Absent):
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for subject in subjects:
        name = subject.split(":", 1)[0].rsplit("/", 1)[-1]
        if len(name) > 2:
            lines = [line.text for line in log.lines[-MOST_LOG_LINES:] if name in line.text]
            found[subject] = tuple(dict.fromkeys(lines[-3:]))
    return found
