"""What to do about stuck tasks, where it is more than the kind of wait tells. Commands are shown, never run. Pure."""

from __future__ import annotations

from probes.types import present
from scenarios.dstate.cause import Cause
from scenarios.dstate.devices import DeviceState
from scenarios.finding import Remedy
from scenarios.knowledge.kernels import KernelFault
from scenarios.rules.texts import texts

SAYS = texts("dstate")


def remedies(
    cause: Cause, known: KernelFault | None = None, device: DeviceState | None = None
) -> tuple[Remedy, ...]:
    """Besides those that the kind's own finding names."""
    match cause.kind:
        case "device" if cause.subject.startswith("loop"):
            return (SAYS.remedy("loop", device=cause.subject),)
        case "device":
            return (SAYS.remedy("disk", disk=cause.subject or "DEVICE"),)
        case "scheduler":
            return (*_update(known), _another_scheduler(cause.subject, device))
        case "idle":
            return _apart(cause.subject, device, known)
    return ()


def _update(known: KernelFault | None) -> tuple[Remedy, ...]:
    return () if known is None else (SAYS.remedy("update", update=known.remedy),)


def _another_scheduler(name: str, device: DeviceState | None) -> Remedy:
    """Never the one that is active; what the device offers, where that is known."""
    active = device.scheduler if device is not None and present(device.scheduler) else ""
    offered = device.offered if device is not None else ()
    wanted = [s for s in ("mq-deadline", "none") if s != active and (not offered or s in offered)]
    if not wanted:
        return SAYS.remedy("no-other-scheduler", device=name)
    rule = (
        f'ACTION=="add|change", SUBSYSTEM=="block", ENV{{DEVTYPE}}=="disk", KERNEL=="{name}", '
        f'ATTR{{queue/scheduler}}="{wanted[0]}"'
    )
    return SAYS.remedy(
        "another-scheduler", device=name, wanted=wanted[0], active=active or "the active one", rule=rule
    )


def _apart(name: str, device: DeviceState | None, known: KernelFault | None) -> tuple[Remedy, ...]:
    """What can hold a request above an idle driver, the likeliest first, each with what shows it."""
    unread = device is None or not present(device.scheduler_holds)
    scheduled = device is None or device.scheduler != "none"
    throttle = SAYS.remedy("perhaps-limit")
    mine = (SAYS.remedy("perhaps-scheduler", device=name),) if unread and scheduled else ()
    order = (*mine, throttle) if known is not None else (throttle, *mine)
    return (*_update(known), *order, SAYS.remedy("perhaps-layer"))
