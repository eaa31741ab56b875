"""One look of the D-state watch: the tasks in D, the stuck ones among them with their cause, the devices.

Everything that could hang goes through the host's guarded read, and only for a few tasks a look: a storm of a
thousand stuck tasks has a handful of causes.
"""

import msgspec

from probes.host import Host
from probes.system.disk.block import block_devices, layers
from probes.system.disk.diskstats import disk_counters
from probes.system.kernel_log import kernel_log
from probes.system.pulse import read_counters
from probes.system.running.cgroup import cgroup
from probes.system.running.tasks import Task, stack, tasks_in_d
from probes.types import Absent, present
from scenarios.dstate.cause import Cause, Limit, Sleep, Sleeps, Stuck, cause_of
from scenarios.dstate.location import Devices, DeviceState, MountedDirectory, place_of

MOST_LOOKED_AT = 8  # tasks a look whose stack and files are read
MOST_LOG_LINES = 4000


class TaskLook(msgspec.Struct, frozen=True, kw_only=True):
    """What one look saw. `psi` is seconds since boot in which somebody waited, by resource, as far as counted."""

    at_s: float
    in_d: int
    threads: int
    load1: float | None
    psi: dict[str, float]
    stuck: tuple[tuple[Stuck, Cause], ...]
    ended: tuple[Sleep, ...]
    devices: dict[str, DeviceState]
    halted: tuple[DeviceState, ...]
    hidden: Absent | None = None


class Known(msgspec.Struct, frozen=True):
    """What is read once about a stuck task, as it costs a child process."""

    stack: tuple[str, ...] = ()
    place: MountedDirectory | None = None
    limits: tuple[Limit, ...] = ()


class Watching:
    """What is kept from look to look."""

    def __init__(self) -> None:
        self.sleeps = Sleeps()
        self.devices = Devices()
        self.known: dict[tuple[int, int], Known] = {}

    def details(self, host: Host, sleep: Sleep, may_ask: bool) -> Stuck:
        """The task's stack and place, read once a task; the wait channel alone where there was no time for it."""
        key = sleep.task.key
        if key not in self.known and may_ask:
            self.known[key] = _known(host, sleep.task)
        known = self.known.get(key, Known())
        channel = (sleep.task.wchan,) if present(sleep.task.wchan) else ()
        functions = tuple(dict.fromkeys((*channel, *known.stack)))
        return Stuck(sleep, functions, known.place, known.stack, known.limits)


def read(host: Host, watching: Watching, at_s: float) -> TaskLook | Absent:
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
    names = {
        n for s in stuck if s.place and s.place.device for n in layers(block_devices(host), s.place.device)
    }
    states = {name: watching.devices.state(host, name) for name in sorted(names)}
    halted = watching.devices.stuck(host)
    states.update({s.name: s for s in halted})
    load = read_counters(host, at_s)
    pressures = (("io", load.psi_io), ("cpu", load.psi_cpu), ("memory", load.psi_memory))
    return TaskLook(
        at_s=at_s,
        in_d=len(scan.tasks),
        threads=scan.threads,
        load1=load.load1,
        psi={name: waited_s for name, waited_s in pressures if waited_s is not None},
        stuck=tuple((s, cause_of(s, states, halted)) for s in stuck),
        ended=change.ended,
        devices=states,
        halted=halted,
        hidden=scan.hidden,
    )


def _known(host: Host, task: Task) -> Known:
    read_stack = stack(host, task)
    place = place_of(host, task)
    if isinstance(place, Absent):
        return Known(read_stack if present(read_stack) else ())
    return Known(read_stack if present(read_stack) else (), place, _limits(host, task, place))


def _limits(host: Host, task: Task, place: MountedDirectory) -> tuple[Limit, ...]:
    """What the control groups of the task (both versions) allow it on the devices below its place."""
    numbers = {
        devno.strip(): name
        for name in dict.fromkeys((*place.layers, *place.devices))
        if present(devno := host.text(f"/sys/block/{name}/dev"))
    }
    group = cgroup(host, str(task.pid)) if numbers else Absent("no device is known")
    if isinstance(group, Absent):
        return ()
    return tuple(
        Limit(
            numbers[limit.devno],
            f"{limit.what} {limit.value} for {numbers[limit.devno]} in {limit.group}",
            limit.group,
        )
        for limit in group.io
        if limit.devno in numbers
    )


def log_about(host: Host, subjects: set[str]) -> dict[str, tuple[str, ...]]:
    """The kernel's last lines that name a device or server, by name. Empty where the log cannot be read."""
    log = kernel_log(host)
    if isinstance(log, Absent):
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for subject in subjects:
        name = subject.split(":", 1)[0].rsplit("/", 1)[-1]
        if len(name) > 2:
            lines = [line.message for line in log.lines[-MOST_LOG_LINES:] if name in line.message]
            found[subject] = tuple(dict.fromkeys(lines[-3:]))
    return found
