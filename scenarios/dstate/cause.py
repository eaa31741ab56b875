"""What a stuck task waits for: a device, a scheduler, a file server, a frozen file system. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from hostdx.probes.system.running.tasks import BlockedTask
from hostdx.probes.types import is_present
from hostdx.scenarios.dstate.location import QUIET_S, DeviceState, MountedDirectory
from hostdx.scenarios.triage.knowledge.waits import wait_kind_and_function

# A disk under load keeps tasks in D for milliseconds each; three samples, a second apart, of one and the same
# sleep are no ordinary wait.
STUCK_AFTER_S = 3.0


class TaskSleep(msgspec.Struct):
    """One sleep of one task, as seen: `since_s` and `seen_s` are seconds of the watch."""

    task: BlockedTask
    since_s: float
    seen_s: float
    samples: int = 1

    @property
    def watched_seconds(self) -> float:
        """Return how long it has been watched in this sleep; it may have begun before the watch."""
        return self.seen_s - self.since_s

    @property
    def is_stuck(self) -> bool:
        return self.samples >= 3 and self.watched_seconds >= STUCK_AFTER_S

    def continues_in(self, task: BlockedTask) -> bool:
        """False when the task ran in between: its voluntary switches count on."""
        own_switches, now = self.task.switches, task.switches
        same_place = self.task.wchan == task.wchan or not (
            is_present(self.task.wchan) and is_present(task.wchan)
        )
        return same_place and (own_switches == now or not (is_present(own_switches) and is_present(now)))


class SleepChange(msgspec.Struct, frozen=True):
    """What a sample changed: sleeps that became stuck, and stuck ones that ended."""

    stuck: tuple[TaskSleep, ...]
    ended: tuple[TaskSleep, ...]


class TaskSleeps:
    """Every sleep under way, by task."""

    def __init__(self) -> None:
        self.current: dict[tuple[int, int], TaskSleep] = {}
        self.longest: dict[tuple[int, int], TaskSleep] = {}  # of each task that was ever stuck

    def add(self, tasks: Iterable[BlockedTask], now_s: float) -> SleepChange:
        """Takes one sample in; `now_s` never goes back."""
        before, self.current = self.current, {}
        became: list[TaskSleep] = []
        ended: list[TaskSleep] = []
        for task in tasks:
            sleep = before.pop(task.key, None)
            if sleep is None or not sleep.continues_in(task):
                if sleep is not None and sleep.is_stuck:
                    ended.append(sleep)
                self.current[task.key] = TaskSleep(task, now_s, now_s)
                continue
            was = sleep.is_stuck
            sleep.task, sleep.seen_s, sleep.samples = task, now_s, sleep.samples + 1
            self.current[task.key] = sleep
            if sleep.is_stuck:
                self._keep_longest_of_task(sleep)
                if not was:
                    became.append(sleep)
        ended.extend(sleep for sleep in before.values() if sleep.is_stuck)
        return SleepChange(tuple(became), tuple(ended))

    def stuck_sleeps(self) -> tuple[TaskSleep, ...]:
        """The stuck ones now, the longest first."""
        return tuple(
            sorted((s for s in self.current.values() if s.is_stuck), key=lambda s: -s.watched_seconds)
        )

    def _keep_longest_of_task(self, sleep: TaskSleep) -> None:
        longest_sleep = self.longest.get(sleep.task.key)
        if longest_sleep is None or longest_sleep.watched_seconds <= sleep.watched_seconds:
            self.longest[sleep.task.key] = sleep


Kind: TypeAlias = Literal[
    "network",  # a file server does not answer
    "fuse",  # a program that serves a file system does not answer
    "frozen",  # the file system is frozen
    "suspended",  # a device-mapper device below is suspended
    "device",  # the device holds requests and completes none
    "scheduler",  # nothing reaches the device, and the scheduler has requests
    "throttled",  # nothing reaches the device, and the task's control group has a limit for it
    "paths",  # nothing reaches the paths of a multipath device
    "idle",  # nothing reaches the device; who holds it is not known
    "busy",  # the device completes requests: slow, not stuck
    "memory",  # reclaim
    "block",  # in the block layer, the device cannot be told
    "lock",  # waits for another task
    "unknown",
]


class DeviceLimit(msgspec.Struct, frozen=True):
    """A limit of a control group for one device (io.max, blkio.throttle.*), and where it stands."""

    device: str
    text: str
    path: str


class StuckTaskDetails(msgspec.Struct, frozen=True):
    """A stuck task with what could be read about it. `functions`: wait channel and stack, innermost first.

    `stack` is the stack alone, `limits` the I/O limits of the task's control group, by "8:16" and by the device's
    kernel name below the task's place.
    """

    sleep: TaskSleep
    functions: tuple[str, ...] = ()
    place: MountedDirectory | None = None
    stack: tuple[str, ...] = ()
    limits: tuple[DeviceLimit, ...] = ()


class TaskWaitCause(msgspec.Struct, frozen=True):
    """`subject` is the device, mount point or server that the task waits for; empty where it cannot be told."""

    kind: Kind
    subject: str = ""
    function: str = ""
    certain: bool = True


def wait_cause_of(
    stuck: StuckTaskDetails, devices: Mapping[str, DeviceState], suspects: Sequence[DeviceState] = ()
) -> TaskWaitCause:
    """`devices` holds the state of every layer below the task's place; `suspects` all that hold and complete none."""
    kind, function = wait_kind_and_function(stuck.functions)
    place = stuck.place
    if place is not None and place.is_network and kind not in ("memory", "fuse"):
        return TaskWaitCause("network", place.source or place.mountpoint, function)
    if kind == "network":
        return TaskWaitCause("network", place.mountpoint if place else "", function)
    if kind == "fuse":
        return TaskWaitCause("fuse", place.mountpoint if place else "", function)
    if kind == "memory":
        return TaskWaitCause("memory", "", function)
    names = dict.fromkeys((place.device, *place.layers, *place.devices)) if place else {}
    below = [devices[name] for name in names if name in devices]
    halted = next((d for d in below if d.suspended), None)
    if halted is not None:
        return TaskWaitCause("suspended", halted.name, function)
    if kind == "frozen":
        # The wait channel alone may be another of the kernel's per-CPU semaphores (cgroups, CPU hotplug).
        certain = any(f.startswith(("sb_start_", "__sb_start", "mnt_want_write")) for f in stuck.functions)
        idle = bool(below) and all(d.quiet_s >= QUIET_S and not d.driver_holds for d in below)
        return TaskWaitCause("frozen", place.mountpoint if place else "", function, certain or idle)
    if kind != "block":
        return TaskWaitCause(kind, place.mountpoint if place else "", function)
    leaves = [d for d in below if place and d.name in place.devices] or below
    return _block_layer_cause(stuck, below, leaves, suspects, function)


def _block_layer_cause(
    stuck: StuckTaskDetails,
    below: Sequence[DeviceState],
    leaves: Sequence[DeviceState],
    suspects: Sequence[DeviceState],
    function: str,
) -> TaskWaitCause:
    """An idle driver alone says only that somebody above it holds the request: who, must be shown or stays open."""
    for device in leaves:
        if device.holds_and_completes_nothing:
            return TaskWaitCause("device", device.name, function)
    limited = {limit.device for limit in stuck.limits}
    for device in below:
        if device.name in limited and device.is_driver_idle:
            return TaskWaitCause("throttled", device.name, function, certain=False)
    silent = [d for d in leaves if d.is_driver_idle and d.quiet_s >= QUIET_S]
    for device in silent:
        if is_present(device.scheduler_holds) and device.scheduler_holds > 0:
            return TaskWaitCause("scheduler", device.name, function)
    above = next((d for d in below if d.multipath), None)
    if above is not None and silent and len(silent) == len(leaves):
        return TaskWaitCause("paths", above.name, function, certain=False)
    if silent:
        return TaskWaitCause("idle", silent[0].name, function, certain=False)
    if leaves and all(d.quiet_s < QUIET_S for d in leaves):
        return TaskWaitCause("busy", leaves[0].name, function)
    if not leaves and len(suspects) == 1:
        return TaskWaitCause("device", suspects[0].name, function, certain=False)
    return TaskWaitCause("block", leaves[0].name if leaves else "", function)
