"""Stuck tasks as findings: what they wait for, what proves it, what to do. Pure."""

from collections.abc import Mapping, Sequence

import msgspec

from hostdx.probes.types import is_present
from hostdx.scenarios.contract.finding import Confidence, Evidence, Finding, Remedy, Severity
from hostdx.scenarios.dstate.cause import DeviceLimit, Kind, StuckTaskDetails, TaskWaitCause
from hostdx.scenarios.dstate.location import DeviceState
from hostdx.scenarios.triage.knowledge.kernels import KernelFault
from hostdx.scenarios.triage.rules.texts import finding_texts


def remedies_for(
    cause: TaskWaitCause, kernel_fault: KernelFault | None = None, device: DeviceState | None = None
) -> tuple[Remedy, ...]:
    """Besides those that the kind's own finding names."""
    match cause.kind:
        case "device" if cause.subject.startswith("loop"):
            return (SAYS.remedy("loop", device=cause.subject),)
        case "device":
            return (SAYS.remedy("disk", disk=cause.subject or "DEVICE"),)
        case "scheduler":
            return (*_update_remedies(kernel_fault), _another_scheduler_remedy(cause.subject, device))
        case "idle":
            return _holder_remedies(cause.subject, device, kernel_fault)
    return ()


def _update_remedies(kernel_fault: KernelFault | None) -> tuple[Remedy, ...]:
    return () if kernel_fault is None else (SAYS.remedy("update", update=kernel_fault.remedy),)


def _another_scheduler_remedy(name: str, device: DeviceState | None) -> Remedy:
    """Never the one that is active; what the device offers, where that is known."""
    active = device.scheduler if device is not None and is_present(device.scheduler) else ""
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


def _holder_remedies(name: str, device: DeviceState | None, fault: KernelFault | None) -> tuple[Remedy, ...]:
    """Return what can hold a request above an idle driver, the likeliest first, each with what shows it."""
    unread = device is None or not is_present(device.scheduler_holds)
    scheduled = device is None or device.scheduler != "none"
    throttle = SAYS.remedy("perhaps-limit")
    scheduler_remedies = (SAYS.remedy("perhaps-scheduler", device=name),) if unread and scheduled else ()
    order = (*scheduler_remedies, throttle) if fault is not None else (throttle, *scheduler_remedies)
    return (*_update_remedies(fault), *order, SAYS.remedy("perhaps-layer"))


SAYS = finding_texts("dstate")
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

    cause: TaskWaitCause
    stuck: tuple[StuckTaskDetails, ...]


def group_by_cause(pairs: Sequence[tuple[StuckTaskDetails, TaskWaitCause]]) -> tuple[StuckGroup, ...]:
    """One group a kind and subject, those with the longest wait first."""
    held: dict[tuple[Kind, str], list[tuple[StuckTaskDetails, TaskWaitCause]]] = {}
    for stuck, cause in pairs:
        held.setdefault((cause.kind, cause.subject), []).append((stuck, cause))
    groups = [
        StuckGroup(
            cause=next((c for _, c in members if c.certain), members[0][1]),
            stuck=tuple(sorted((s for s, _ in members), key=lambda s: -s.sleep.watched_seconds)),
        )
        for members in held.values()
    ]
    return tuple(sorted(groups, key=lambda g: -g.stuck[0].sleep.watched_seconds))


def stuck_group_finding(
    group: StuckGroup,
    devices: Mapping[str, DeviceState],
    faults: Sequence[KernelFault] = (),
    log: Mapping[str, tuple[str, ...]] | None = None,
) -> Finding:
    """`faults` are those of this kernel; `log` holds the kernel's lines about each device or server."""
    cause = group.cause
    count = len(group.stuck)
    subject = cause.subject or _UNNAMED.get(cause.kind, "it")
    waits = f"{count} tasks wait" if count > 1 else f"{_task_label(group.stuck[0])} waits"
    device = devices.get(cause.subject)
    kernel_fault = _fault_that_fits(cause, device, faults)
    evidence = [
        *(_task_evidence(s) for s in group.stuck[:_SHOWN]),
        *_stack_evidence(group),
        *([Evidence(f"and {count - _SHOWN} more")] if count > _SHOWN else []),
        *(Evidence(limit.text, limit.path) for limit in _limits_to_show(group)),
        *_device_evidence(device),
        *_path_evidence(cause, group, devices),
        *(Evidence(text, "kernel log") for text in (log or {}).get(cause.subject, ())[:3]),
        *([Evidence(f"this kernel: {kernel_fault.title}", kernel_fault.id)] if kernel_fault else []),
    ]
    return SAYS.finding(
        cause.kind,
        severity=_severity_by_cause(group),
        confidence=_cause_confidence(cause),
        subject=cause.subject,
        tasks=waits,
        what=subject,
        device=cause.subject,
        mountpoint=cause.subject or "MOUNTPOINT",
        evidence=evidence,
        remedy=remedies_for(cause, kernel_fault, device),
        references=kernel_fault.sources if kernel_fault else (),
    )


def _severity_by_cause(group: StuckGroup) -> Severity:
    # A limit was set on purpose: slow, however long.
    if group.cause.kind in ("busy", "lock", "unknown", "throttled"):
        return "notice" if group.cause.kind == "busy" else "warning"
    return "critical" if group.stuck[0].sleep.watched_seconds >= CRITICAL_AFTER_S else "warning"


def _cause_confidence(cause: TaskWaitCause) -> Confidence:
    return "measured" if cause.certain and cause.kind not in ("unknown", "block", "lock") else "hint"


def _task_label(stuck: StuckTaskDetails) -> str:
    return f"{stuck.sleep.task.comm} ({stuck.sleep.task.tid})"


def _task_evidence(stuck: StuckTaskDetails) -> Evidence:
    task = stuck.sleep.task
    place_suffix = f" on {stuck.place.text}" if stuck.place and stuck.place.text else ""
    channel = task.wchan if is_present(task.wchan) else (stuck.functions[0] if stuck.functions else "?")
    text = f"{_task_label(stuck)}: {stuck.sleep.watched_seconds:.0f} s in {channel}{place_suffix}"
    return Evidence(text, f"/proc/{task.pid}/task/{task.tid}/wchan")


def _stack_evidence(group: StuckGroup) -> list[Evidence]:
    """The stacks that were read, each different one once: what the cause was told from."""
    tasks_by_stack: dict[tuple[str, ...], StuckTaskDetails] = {}
    for stuck in group.stuck:
        if stuck.stack:
            tasks_by_stack.setdefault(stuck.stack, stuck)
    return [
        Evidence(
            f"{_task_label(s)}: {' <- '.join(frames)}",
            f"/proc/{s.sleep.task.pid}/task/{s.sleep.task.tid}/stack",
        )
        for frames, s in list(tasks_by_stack.items())[:_STACKS]
    ]


def _limits_to_show(group: StuckGroup) -> list[DeviceLimit]:
    distinct_limits = {limit: None for stuck in group.stuck for limit in stuck.limits}
    return list(distinct_limits)[:_SHOWN] if group.cause.kind in ("throttled", "idle", "busy") else []


def _path_evidence(
    cause: TaskWaitCause, group: StuckGroup, devices: Mapping[str, DeviceState]
) -> list[Evidence]:
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
        f"{device.driver_holds} requests"
        if is_present(device.driver_holds)
        else "an unknown number of requests"
    )
    scheduler = device.scheduler if is_present(device.scheduler) else "unknown"
    text = f"{device.name}: no completion for {device.quiet_s:.0f} s, the driver holds {held}"
    lines = [Evidence(f"{text}, scheduler {scheduler}", f"/sys/block/{device.name}/inflight")]
    if is_present(device.scheduler_holds):
        held = str(device.scheduler_holds) if device.scheduler_holds else "no"
        text = f"{device.name}: the scheduler holds {held} requests"
        lines.append(Evidence(text, f"/sys/kernel/debug/block/{device.name}/hctx*/sched_tags"))
    return lines


def _fault_that_fits(
    cause: TaskWaitCause, device: DeviceState | None, faults: Sequence[KernelFault]
) -> KernelFault | None:
    if cause.kind not in ("scheduler", "idle") or device is None:
        return None
    if is_present(device.scheduler_holds) and device.scheduler_holds == 0:
        return None
    several = is_present(device.hw_queues) and device.hw_queues > 1
    fitting = (f for f in faults if f.scheduler == device.scheduler and (several or not f.needs_multi_queue))
    return next(fitting, None)
