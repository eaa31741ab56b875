"""What a stuck task waits for: a device, a scheduler, a file server, a frozen file system. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from probes.types import present
from scenarios.dstate_devices import QUIET_S, DeviceState
from scenarios.dstate_place import Place
from scenarios.knowledge.waits import wait_kind
from scenarios.stuck import Sleep

Kind: TypeAlias = Literal[
    "network",  # a file server does not answer
    "fuse",  # a program that serves a file system does not answer
    "frozen",  # the file system is frozen
    "suspended",  # a device-mapper device below is suspended
    "device",  # the device holds requests and completes none
    "scheduler",  # nothing reaches the device: the scheduler holds what tasks wait for
    "busy",  # the device completes requests: slow, not stuck
    "memory",  # reclaim
    "block",  # in the block layer, the device cannot be told
    "lock",  # waits for another task
    "unknown",
]


# An idle device looks the same for a moment; ten seconds of a waiting task and an empty driver do not.
SCHEDULER_QUIET_S = 10.0


class Stuck(msgspec.Struct, frozen=True):
    """A stuck task with what could be read about it. `functions`: wait channel and stack, innermost first."""

    sleep: Sleep
    functions: tuple[str, ...] = ()
    place: Place | None = None


class Cause(msgspec.Struct, frozen=True):
    """`subject` is the device, mount point or server that the task waits for; empty where it cannot be told."""

    kind: Kind
    subject: str = ""
    function: str = ""
    certain: bool = True


def cause_of(stuck: Stuck, devices: Mapping[str, DeviceState], suspects: Sequence[DeviceState] = ()) -> Cause:
    """`devices` holds the state of every layer below the task's place; `suspects` all that hold and complete none."""
    kind, function = wait_kind(stuck.functions)
    place = stuck.place
    if place is not None and place.network and kind not in ("memory", "fuse"):
        return Cause("network", place.source or place.mountpoint, function)
    if kind == "network":
        return Cause("network", place.mountpoint if place else "", function)
    if kind == "fuse":
        return Cause("fuse", place.mountpoint if place else "", function)
    if kind == "memory":
        return Cause("memory", "", function)
    below = [devices[name] for name in (place.device, *place.devices) if name in devices] if place else []
    halted = next((d for d in below if d.suspended), None)
    if halted is not None:
        return Cause("suspended", halted.name, function)
    if kind == "frozen":
        # The wait channel alone may be another of the kernel's per-CPU semaphores (cgroups, CPU hotplug).
        certain = any(f.startswith(("sb_start_", "__sb_start", "mnt_want_write")) for f in stuck.functions)
        idle = bool(below) and all(d.quiet_s >= QUIET_S and not d.driver_holds for d in below)
        return Cause("frozen", place.mountpoint if place else "", function, certain or idle)
    if kind != "block":
        return Cause(kind, place.mountpoint if place else "", function)
    return _in_the_block_layer(below, suspects, function)


def _in_the_block_layer(
    below: Sequence[DeviceState], suspects: Sequence[DeviceState], function: str
) -> Cause:
    leaves = below[1:] if len(below) > 1 else below
    for device in leaves:
        if device.holds_and_completes_nothing:
            return Cause("device", device.name, function)
    for device in leaves:
        idle = present(device.driver_holds) and device.driver_holds == 0 and device.quiet_s >= QUIET_S
        scheduled = present(device.scheduler) and device.scheduler != "none"
        if idle and scheduled:
            return Cause("scheduler", device.name, function, certain=device.quiet_s >= SCHEDULER_QUIET_S)
    if leaves and all(d.quiet_s < QUIET_S for d in leaves):
        return Cause("busy", leaves[0].name, function)
    if not leaves and len(suspects) == 1:
        return Cause("device", suspects[0].name, function, certain=False)
    return Cause("block", leaves[0].name if leaves else "", function)
