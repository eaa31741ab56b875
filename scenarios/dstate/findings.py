"""Stuck tasks as findings: what they wait for, what proves it, what to do. Pure."""

from collections.abc import Mapping, Sequence

import msgspec

from probes.types import present
from scenarios.dstate.cause import Cause, Kind, Limit, Stuck
from scenarios.dstate.location import DeviceState
from scenarios.finding import Confidence, Evidence, Finding, Remedy, Severity
from scenarios.knowledge.kernels import KernelFault
from scenarios.rules.texts import texts


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


SAYS = texts("dstate")
CRITICAL_AFTER_S = 60.0  # a minute in D is no recovery of a disk any more (SCSI's own time-out is 30 s)
_SHOWN = 5
_STACKS = 3

_UNNAMED: dict[Kind, str] = {
    "network": "a network file system",
    "fuse": "a FUSE file system",
    "frozen": "a file system",
    "device": "a device",
}


class StuckGroup(msgspec.Struct, frozen=True):
    """Stuck tasks with one and the same cause, the longest first."""

    cause: Cause
    stuck: tuple[Stuck, ...]


def grouped(pairs: Sequence[tuple[Stuck, Cause]]) -> tuple[StuckGroup, ...]:
    """One group a kind and subject, those with the longest wait first."""
    held: dict[tuple[Kind, str], list[tuple[Stuck, Cause]]] = {}
    for stuck, cause in pairs:
        held.setdefault((cause.kind, cause.subject), []).append((stuck, cause))
    groups = [
        StuckGroup(
            cause=next((c for _, c in members if c.certain), members[0][1]),
            stuck=tuple(sorted((s for s, _ in members), key=lambda s: -s.sleep.seconds)),
        )
        for members in held.values()
    ]
    return tuple(sorted(groups, key=lambda g: -g.stuck[0].sleep.seconds))


def finding_of(
    group: StuckGroup,
    devices: Mapping[str, DeviceState],
    faults: Sequence[KernelFault] = (),
    log: Mapping[str, tuple[str, ...]] | None = None,
) -> Finding:
    """`faults` are those of this kernel; `log` holds the kernel's lines about each device or server."""
    cause = group.cause
    count = len(group.stuck)
    subject = cause.subject or _UNNAMED.get(cause.kind, "it")
    waits = f"{count} tasks wait" if count > 1 else f"{_name(group.stuck[0])} waits"
    device = devices.get(cause.subject)
    known = _known_fault(cause, device, faults)
    evidence = [
        *(_line(s) for s in group.stuck[:_SHOWN]),
        *_stacks(group),
        *([Evidence(f"and {count - _SHOWN} more")] if count > _SHOWN else []),
        *(Evidence(limit.text, limit.path) for limit in _limits(group)),
        *_device_evidence(device),
        *_path_evidence(cause, group, devices),
        *(Evidence(text, "kernel log") for text in (log or {}).get(cause.subject, ())[:3]),
        *([Evidence(f"this kernel: {known.title}", known.id)] if known else []),
    ]
    return SAYS.finding(
        cause.kind,
        severity=_severity(group),
        confidence=_confidence(cause),
        subject=cause.subject,
        tasks=waits,
        what=subject,
        device=cause.subject,
        mountpoint=cause.subject or "MOUNTPOINT",
        evidence=evidence,
        remedy=remedies(cause, known, device),
        references=known.sources if known else (),
    )


def _severity(group: StuckGroup) -> Severity:
    # A limit was set on purpose: slow, however long.
    if group.cause.kind in ("busy", "lock", "unknown", "throttled"):
        return "notice" if group.cause.kind == "busy" else "warning"
    return "critical" if group.stuck[0].sleep.seconds >= CRITICAL_AFTER_S else "warning"


def _confidence(cause: Cause) -> Confidence:
    return "measured" if cause.certain and cause.kind not in ("unknown", "block", "lock") else "hint"


def _name(stuck: Stuck) -> str:
    return f"{stuck.sleep.task.comm} ({stuck.sleep.task.tid})"


def _line(stuck: Stuck) -> Evidence:
    task = stuck.sleep.task
    where = f" on {stuck.place.text}" if stuck.place and stuck.place.text else ""
    channel = task.wchan if present(task.wchan) else (stuck.functions[0] if stuck.functions else "?")
    text = f"{_name(stuck)}: {stuck.sleep.seconds:.0f} s in {channel}{where}"
    return Evidence(text, f"/proc/{task.pid}/task/{task.tid}/wchan")


def _stacks(group: StuckGroup) -> list[Evidence]:
    """The stacks that were read, each different one once: what the cause was told from."""
    apart: dict[tuple[str, ...], Stuck] = {}
    for stuck in group.stuck:
        if stuck.stack:
            apart.setdefault(stuck.stack, stuck)
    return [
        Evidence(
            f"{_name(s)}: {' <- '.join(frames)}", f"/proc/{s.sleep.task.pid}/task/{s.sleep.task.tid}/stack"
        )
        for frames, s in list(apart.items())[:_STACKS]
    ]


def _limits(group: StuckGroup) -> list[Limit]:
    found = {limit: None for stuck in group.stuck for limit in stuck.limits}
    return list(found)[:_SHOWN] if group.cause.kind in ("throttled", "idle", "busy") else []


def _path_evidence(cause: Cause, group: StuckGroup, devices: Mapping[str, DeviceState]) -> list[Evidence]:
    if cause.kind != "paths":
        return []
    names = dict.fromkeys(n for s in group.stuck if s.place for n in s.place.devices)
    states = [devices[n] for n in names if n in devices]
    return [
        Evidence(f"{d.name}: {d.state or 'state unknown'}, idle", f"/sys/block/{d.name}/device/state")
        for d in states
    ]


def _device_evidence(device: DeviceState | None) -> list[Evidence]:
    if device is None:
        return []
    held = (
        f"{device.driver_holds} requests" if present(device.driver_holds) else "an unknown number of requests"
    )
    scheduler = device.scheduler if present(device.scheduler) else "unknown"
    text = f"{device.name}: no completion for {device.quiet_s:.0f} s, the driver holds {held}"
    lines = [Evidence(f"{text}, scheduler {scheduler}", f"/sys/block/{device.name}/inflight")]
    if present(device.scheduler_holds):
        held = str(device.scheduler_holds) if device.scheduler_holds else "no"
        text = f"{device.name}: the scheduler holds {held} requests"
        lines.append(Evidence(text, f"/sys/kernel/debug/block/{device.name}/hctx*/sched_tags"))
    return lines


def _known_fault(
    cause: Cause, device: DeviceState | None, faults: Sequence[KernelFault]
) -> KernelFault | None:
    if cause.kind not in ("scheduler", "idle") or device is None:
        return None
    if present(device.scheduler_holds) and device.scheduler_holds == 0:
        return None
    several = present(device.hw_queues) and device.hw_queues > 1
    fitting = (f for f in faults if f.scheduler == device.scheduler and (several or not f.needs_multi_queue))
    return next(fitting, None)
