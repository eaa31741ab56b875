"""One look of the D-state watch: the tasks in D, the stuck ones among them with their cause, the devices.

Everything that could hang goes through the host's guarded read, and only for a few tasks a look: a storm of a
thousand stuck tasks has a handful of causes.
"""

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.block import block_devices, device_and_layers_below
from hostdx.probes.system.disk.diskstats import disk_counters
from hostdx.probes.system.kernel_log import read_kernel_log
from hostdx.probes.system.pulse import read_host_counters
from hostdx.probes.system.running.cgroup import read_cgroup
from hostdx.probes.system.running.tasks import BlockedTask, find_blocked_tasks, read_task_stack
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.dstate.cause import (
    DeviceLimit,
    StuckTaskDetails,
    TaskSleep,
    TaskSleeps,
    TaskWaitCause,
    wait_cause_of,
)
from hostdx.scenarios.dstate.location import (
    DeviceActivity,
    DeviceState,
    MountedDirectory,
    directory_waited_for,
)

MAX_DETAILED_TASKS = 8  # tasks a look whose stack and files are read
MAX_LOG_LINES = 4000


class TaskLook(msgspec.Struct, frozen=True, kw_only=True):
    """What one look saw. `psi` is seconds since boot in which somebody waited, by resource, as far as counted."""

    at_s: float
    in_d: int
    threads: int
    load1: float | None
    psi: dict[str, float]
    stuck: tuple[tuple[StuckTaskDetails, TaskWaitCause], ...]
    ended: tuple[TaskSleep, ...]
    devices: dict[str, DeviceState]
    halted: tuple[DeviceState, ...]
    hidden: Absent | None = None


class TaskDetails(msgspec.Struct, frozen=True):
    """What is read once about a stuck task, as it costs a child process."""

    stack: tuple[str, ...] = ()
    place: MountedDirectory | None = None
    limits: tuple[DeviceLimit, ...] = ()


class TaskHistory:
    """What is kept from look to look."""

    def __init__(self) -> None:
        self.sleeps = TaskSleeps()
        self.devices = DeviceActivity()
        self.details_by_task: dict[tuple[int, int], TaskDetails] = {}

    def stuck_details(self, host: Host, sleep: TaskSleep, may_ask: bool) -> StuckTaskDetails:
        """The task's stack and place, read once a task; the wait channel alone where there was no time for it."""
        key = sleep.task.key
        if key not in self.details_by_task and may_ask:
            self.details_by_task[key] = _task_details(host, sleep.task)
        task_details = self.details_by_task.get(key, TaskDetails())
        channel = (sleep.task.wchan,) if is_present(sleep.task.wchan) else ()
        functions = tuple(dict.fromkeys((*channel, *task_details.stack)))
        return StuckTaskDetails(sleep, functions, task_details.place, task_details.stack, task_details.limits)


def look_at_tasks(host: Host, history: TaskHistory, at_s: float) -> TaskLook | Absent:
    """One look. Absent where /proc shows no tasks."""
    scan = find_blocked_tasks(host)
    if isinstance(scan, Absent):
        return scan
    counters = disk_counters(host)
    if is_present(counters):
        history.devices.add(counters, at_s)
    change = history.sleeps.add(scan.tasks, at_s)
    sleeps = history.sleeps.stuck_sleeps()
    new = [s.task.key for s in sleeps if s.task.key not in history.details_by_task][:MAX_DETAILED_TASKS]
    stuck = [history.stuck_details(host, s, s.task.key in new) for s in sleeps]
    names = {
        n
        for s in stuck
        if s.place and s.place.device
        for n in device_and_layers_below(block_devices(host), s.place.device)
    }
    states = {name: history.devices.device_state(host, name) for name in sorted(names)}
    halted = history.devices.stuck_devices(host)
    states.update({s.name: s for s in halted})
    load = read_host_counters(host, at_s)
    pressures = (("io", load.psi_io), ("cpu", load.psi_cpu), ("memory", load.psi_memory))
    return TaskLook(
        at_s=at_s,
        in_d=len(scan.tasks),
        threads=scan.threads,
        load1=load.load1,
        psi={name: waited_s for name, waited_s in pressures if waited_s is not None},
        stuck=tuple((s, wait_cause_of(s, states, halted)) for s in stuck),
        ended=change.ended,
        devices=states,
        halted=halted,
        hidden=scan.hidden,
    )


def _task_details(host: Host, task: BlockedTask) -> TaskDetails:
    read_stack = read_task_stack(host, task)
    place = directory_waited_for(host, task)
    if isinstance(place, Absent):
        return TaskDetails(read_stack if is_present(read_stack) else ())
    return TaskDetails(read_stack if is_present(read_stack) else (), place, _device_limits(host, task, place))


def _device_limits(host: Host, task: BlockedTask, place: MountedDirectory) -> tuple[DeviceLimit, ...]:
    """Return what the control groups of the task (both versions) allow it on the devices below its place."""
    numbers = {
        devno.strip(): name
        for name in dict.fromkeys((*place.layers, *place.devices))
        if is_present(devno := host.read_file_text(f"/sys/block/{name}/dev"))
    }
    group = read_cgroup(host, str(task.pid)) if numbers else Absent("no device is known")
    if isinstance(group, Absent):
        return ()
    return tuple(
        DeviceLimit(
            numbers[limit.devno],
            f"{limit.limit_name} {limit.value} for {numbers[limit.devno]} in {limit.group}",
            limit.group,
        )
        for limit in group.io
        if limit.devno in numbers
    )


def kernel_log_about(host: Host, subjects: set[str]) -> dict[str, tuple[str, ...]]:
    """The kernel's last lines that name a device or server, by name. Empty where the log cannot be read."""
    log = read_kernel_log(host)
    if isinstance(log, Absent):
        return {}
    lines_by_subject: dict[str, tuple[str, ...]] = {}
    for subject in subjects:
        name = subject.split(":", 1)[0].rsplit("/", 1)[-1]
        if len(name) > 2:
            lines = [line.message for line in log.lines[-MAX_LOG_LINES:] if name in line.message]
            lines_by_subject[subject] = tuple(dict.fromkeys(lines[-3:]))
    return lines_by_subject
