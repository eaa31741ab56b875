"""Stuck tasks as findings: what they wait for, what proves it, what to do. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

import msgspec

from probes.types import present
from scenarios.dstate_cause import Cause, Kind, Stuck
from scenarios.dstate_devices import DeviceState
from scenarios.finding import Confidence, Evidence, Finding, Remedy, Severity
from scenarios.knowledge.kernels import KernelFault

CRITICAL_AFTER_S = 60.0  # a minute in D is no recovery of a disk any more (SCSI's own time-out is 30 s)
_SHOWN = 5

_TITLES: dict[Kind, str] = {
    "network": "{n} for the file server behind {subject}",
    "fuse": "{n} for the program that serves {subject}",
    "frozen": "{n} for {subject} to be thawed: the file system is frozen",
    "suspended": "{n} for {subject}: the device-mapper device is suspended",
    "device": "{n} for {subject}: the device holds requests and completes none",
    "scheduler": "{n} for {subject}, and nothing reaches the device: its scheduler holds the requests",
    "busy": "{n} long for {subject}, which is slow but completes requests",
    "memory": "{n} for memory to be reclaimed",
    "block": "{n} in the block layer; which device is not known",
    "lock": "{n} for a lock that another task holds",
    "unknown": "{n} in the kernel, in a function that is not known here",
}
_UNNAMED: dict[Kind, str] = {
    "network": "a network file system",
    "fuse": "a FUSE file system",
    "frozen": "a file system",
    "device": "a device",
}


class Group(msgspec.Struct, frozen=True):
    """Stuck tasks with one and the same cause, the longest first."""

    cause: Cause
    stuck: tuple[Stuck, ...]


def grouped(pairs: Sequence[tuple[Stuck, Cause]]) -> tuple[Group, ...]:
    """One group a kind and subject, those with the longest wait first."""
    held: dict[tuple[Kind, str], list[tuple[Stuck, Cause]]] = {}
    for stuck, cause in pairs:
        held.setdefault((cause.kind, cause.subject), []).append((stuck, cause))
    groups = [
        Group(
            cause=next((c for _, c in members if c.certain), members[0][1]),
            stuck=tuple(sorted((s for s, _ in members), key=lambda s: -s.sleep.seconds)),
        )
        for members in held.values()
    ]
    return tuple(sorted(groups, key=lambda g: -g.stuck[0].sleep.seconds))


def finding_of(
    group: Group,
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
        *([Evidence(f"and {count - _SHOWN} more")] if count > _SHOWN else []),
        *_device_evidence(device),
        *(Evidence(text, "kernel log") for text in (log or {}).get(cause.subject, ())[:3]),
        *([Evidence(f"this kernel: {known.title}", known.id)] if known else []),
    ]
    remedy = remedies(cause, known)
    return Finding(
        id=f"dstate.{cause.kind}",
        severity=_severity(group),
        confidence=_confidence(cause),
        title=_TITLES[cause.kind].format(n=waits, subject=subject),
        evidence=tuple(evidence),
        remedy=remedy,
        references=known.sources if known else (),
        subject=cause.subject,
        prove="iosched" if cause.kind == "scheduler" else "",
    )


def _severity(group: Group) -> Severity:
    if group.cause.kind in ("busy", "lock", "unknown"):
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


def _device_evidence(device: DeviceState | None) -> list[Evidence]:
    if device is None:
        return []
    held = (
        f"{device.driver_holds} requests" if present(device.driver_holds) else "an unknown number of requests"
    )
    scheduler = device.scheduler if present(device.scheduler) else "unknown"
    text = f"{device.name}: no completion for {device.quiet_s:.0f} s, the driver holds {held}"
    return [Evidence(f"{text}, scheduler {scheduler}", f"/sys/block/{device.name}/inflight")]


def _known_fault(
    cause: Cause, device: DeviceState | None, faults: Sequence[KernelFault]
) -> KernelFault | None:
    if cause.kind != "scheduler" or device is None:
        return None
    several = present(device.hw_queues) and device.hw_queues > 1
    fitting = (f for f in faults if f.scheduler == device.scheduler and (several or not f.needs_multi_queue))
    return next(fitting, None)


def remedies(cause: Cause, known: KernelFault | None = None) -> tuple[Remedy, ...]:
    """What to do. Names from the host are quoted; the commands are shown, never run."""
    name = shlex.quote(cause.subject)
    match cause.kind:
        case "network":
            return (
                Remedy(
                    title="Look at the server and the way to it; the tasks go on by themselves when it answers",
                    commands=(
                        "findmnt -t nfs,nfs4,cifs,ceph,lustre",
                        "nfsstat -m",
                        "dmesg | grep -i 'not responding' | tail",
                    ),
                    verify=("hostdx run dstate --seconds 10",),
                    warning="umount -f makes waiting writes fail; umount -l only hides the mount",
                ),
            )
        case "fuse":
            return (
                Remedy(
                    title="Find the program that serves it, then restart it, or break the connection off",
                    commands=(
                        "findmnt -t fuse,fuseblk",
                        "grep . /sys/fs/fuse/connections/*/waiting",
                        "echo 1 > /sys/fs/fuse/connections/NUMBER/abort",
                    ),
                    verify=("hostdx run dstate --seconds 10",),
                    warning="abort makes every waiting call fail",
                ),
            )
        case "frozen":
            mountpoint = name if cause.subject else "MOUNTPOINT"
            return (
                Remedy(
                    title="Find out who froze it (a snapshot, a backup agent, qemu-ga); then thaw it",
                    commands=("pgrep -a 'qemu-ga|fsfreeze|xfs_freeze|lvcreate'", f"fsfreeze -u {mountpoint}"),
                    verify=("hostdx run dstate --seconds 10",),
                    warning="thawing under a snapshot that is being taken makes that snapshot inconsistent",
                ),
            )
        case "suspended":
            return (
                Remedy(
                    title="Resume the device, once nothing reloads its table any more",
                    commands=(f"dmsetup info /dev/{name}", f"dmsetup resume /dev/{name}"),
                    verify=(f"cat /sys/block/{name}/dm/suspended",),
                    warning="a suspended device may be in the middle of a snapshot or a table change",
                ),
            )
        case "device":
            device = name if cause.subject else "DEVICE"
            return (
                Remedy(
                    title="Look at the disk, its cable and its controller; drain the node before it is touched",
                    commands=(
                        f"dmesg | grep -E '{device}|ata[0-9]|nvme|timing out|offline device' | tail -50",
                        f"smartctl -a /dev/{device}",
                        f"cat /sys/block/{device}/device/state",
                    ),
                    verify=(f"cat /sys/block/{device}/inflight",),
                    warning="smartctl may hang as well: run it in a shell that you can lose",
                ),
            )
        case "scheduler":
            update = () if known is None else (Remedy(title=known.remedy),)
            return (
                *update,
                Remedy(
                    title="Drain the node and reboot it, with another scheduler from boot on",
                    commands=(f"grep . /sys/kernel/debug/block/{name}/hctx*/{{state,busy,dispatch}}",),
                    persistent=(
                        'echo \'ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", '
                        f'KERNEL=="{cause.subject}", ATTR{{queue/scheduler}}="mq-deadline"\''
                        " > /etc/udev/rules.d/60-ioscheduler.rules",
                    ),
                    verify=(f"cat /sys/block/{name}/queue/scheduler",),
                    undo=("rm /etc/udev/rules.d/60-ioscheduler.rules",),
                    warning="writing the scheduler now waits for the stuck requests and hangs as well",
                ),
            )
        case "busy":
            return (
                Remedy(
                    title="Not stuck: see who loads it, and whether another scheduler serves the waiting better",
                    commands=("iotop -obn3", "hostdx plan iosched --dir DIRECTORY"),
                ),
            )
        case "memory":
            return (
                Remedy(
                    title="Memory is short: see who takes it",
                    commands=("cat /proc/pressure/memory", "ps -eo pid,rss,comm --sort=-rss | head"),
                ),
            )
        case _:
            return (
                Remedy(
                    title="Have the kernel write every blocked task's stack to its log, and read it",
                    commands=("echo w > /proc/sysrq-trigger", "dmesg | tail -200"),
                ),
            )
