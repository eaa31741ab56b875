"""What to do about stuck tasks, by what they wait for. Commands are shown, never run. Pure."""

from __future__ import annotations

import shlex

from probes.types import present
from scenarios.dstate.cause import Cause
from scenarios.dstate.devices import DeviceState
from scenarios.finding import Remedy
from scenarios.knowledge.kernels import KernelFault

RULE = "/etc/udev/rules.d/60-hostdx-ioscheduler-{}.rules"


def remedies(
    cause: Cause, known: KernelFault | None = None, device: DeviceState | None = None
) -> tuple[Remedy, ...]:
    """What to do. Names from the host are quoted; the commands are shown, never run."""
    name = shlex.quote(cause.subject)
    match cause.kind:
        case "network":
            return (
                Remedy(
                    title="Check the server and the network to it; the tasks continue when it answers",
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
                    title="Find the program that serves it, then restart it, or abort the connection",
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
                    title="Resume the device, once no program reloads its table any more",
                    commands=(f"dmsetup info /dev/{name}", f"dmsetup resume /dev/{name}"),
                    verify=(f"cat /sys/block/{name}/dm/suspended",),
                    warning="a suspended device may be in the middle of a snapshot or a table change",
                ),
            )
        case "device":
            if cause.subject.startswith("loop"):
                return (
                    Remedy(
                        title="A loop device: check the file system that holds its file",
                        commands=(f"losetup -l /dev/{name}", "hostdx run dstate --seconds 30"),
                        verify=(f"cat /sys/block/{name}/inflight",),
                    ),
                )
            disk = name if cause.subject else "DEVICE"
            return (
                Remedy(
                    title="Check the disk, its cable and its controller; drain the node before you touch it",
                    commands=(
                        f"dmesg | grep -e {disk} -e 'ata[0-9]' -e nvme -e 'timing out' -e 'offline device' | tail -50",
                        f"smartctl -a /dev/{disk}",
                        f"cat /sys/block/{disk}/device/state",
                    ),
                    verify=(f"cat /sys/block/{disk}/inflight",),
                    warning="smartctl may hang too: run it in a shell that you can do without",
                ),
            )
        case "scheduler":
            return (*_update(known), _another_scheduler(name, device))
        case "throttled":
            return (_limit_of_its_group(name), _look_again(name))
        case "paths":
            return (
                Remedy(
                    title="See whether any path is usable; requests wait for one as long as queue_if_no_path is set",
                    commands=(f"multipath -ll {name}", f"dmsetup status --noflush /dev/{name}"),
                    verify=("hostdx run dstate --seconds 10",),
                    warning="multipathd disablequeueing makes waiting requests fail instead of wait",
                ),
                _look_again(name),
            )
        case "idle":
            return _apart(name, device, known)
        case "busy":
            return (
                Remedy(
                    title="Not stuck: check which process loads it, and whether another scheduler suits the "
                    "load better",
                    commands=("iotop -obn3", "hostdx plan iosched --dir DIRECTORY"),
                ),
            )
        case "memory":
            return (
                Remedy(
                    title="Memory is short: check which process takes it",
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


def _update(known: KernelFault | None) -> tuple[Remedy, ...]:
    return () if known is None else (Remedy(title=known.remedy),)


def _tags(name: str) -> str:
    return f"grep -H busy= /sys/kernel/debug/block/{name}/hctx*/sched_tags"


def _another_scheduler(name: str, device: DeviceState | None) -> Remedy:
    """Never the one that is active; what the device offers, where that is known."""
    active = device.scheduler if device is not None and present(device.scheduler) else ""
    offered = device.offered if device is not None else ()
    wanted = [s for s in ("mq-deadline", "none") if s != active and (not offered or s in offered)]
    state = f"grep . /sys/kernel/debug/block/{name}/hctx*/{{state,busy,dispatch}}"
    if not wanted:
        return Remedy(
            title="Drain the node and reboot it; the device offers no other scheduler", commands=(state,)
        )
    rule = RULE.format(name)
    written = (
        f'ACTION=="add|change", SUBSYSTEM=="block", ENV{{DEVTYPE}}=="disk", KERNEL=="{shlex.split(name)[0]}", '
        f'ATTR{{queue/scheduler}}="{wanted[0]}"'
    )
    return Remedy(
        title=f"Drain the node and reboot it, with {wanted[0]} from boot on instead of {active or 'the active one'}",
        commands=(state,),
        persistent=(f"echo {shlex.quote(written)} > {rule}",),
        verify=(f"cat /sys/block/{name}/queue/scheduler",),
        undo=(f"rm {rule}",),
        warning="writing the scheduler now waits for the stuck requests and hangs as well",
    )


def _limit_of_its_group(name: str) -> Remedy:
    return Remedy(
        title="Check the limits of the control groups; raise one where it is set (a unit, a batch job)",
        commands=(
            "cat /proc/PID/cgroup",
            "grep -rs . /sys/fs/cgroup --include=io.max --include='blkio.throttle.*_device'",
            f"cat /sys/block/{name}/stat; sleep 10; cat /sys/block/{name}/stat   # grows slowly under a limit",
        ),
        verify=("hostdx run dstate --seconds 30",),
    )


def _look_again(name: str) -> Remedy:
    return Remedy(
        title="Otherwise check whether the scheduler holds requests (busy above 0, as root with debugfs)",
        commands=("mount -t debugfs none /sys/kernel/debug", _tags(name)),
        undo=("umount /sys/kernel/debug",),
    )


def _apart(name: str, device: DeviceState | None, known: KernelFault | None) -> tuple[Remedy, ...]:
    """What can hold a request above an idle driver, the likeliest first, each with what shows it."""
    unread = device is None or not present(device.scheduler_holds)
    scheduled = device is None or device.scheduler != "none"
    scheduler = Remedy(
        title="Perhaps its scheduler: if busy is above 0 here (root, debugfs) and inflight stays 0 0",
        commands=(f"cat /sys/block/{name}/inflight", _tags(name)),
    )
    throttle = Remedy(
        title="Perhaps a limit of a control group, perhaps that of another task whose data it waits for (a "
        "writer)",
        commands=("grep -rs . /sys/fs/cgroup --include=io.max --include='blkio.throttle.*_device'",),
    )
    layer = Remedy(
        title="Perhaps a layer above: a suspended mapping, an array that waits for its metadata, dm-crypt's worker",
        commands=("dmsetup info -c -o name,suspended", "grep -s . /sys/block/md*/md/array_state"),
    )
    mine = (scheduler,) if unread and scheduled else ()
    order = (*mine, throttle, layer) if known is not None else (throttle, *mine, layer)
    return (*_update(known), *order)
