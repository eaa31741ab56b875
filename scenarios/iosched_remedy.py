"""How to choose an I/O scheduler for good: once by hand, by a udev rule, by a tuned profile. Pure text.

Sources: switching-sched.rst; udev(7); tuned-profiles(7) and tuned's consts.py (since 2.23 the profiles of an
administrator lie in /etc/tuned/profiles/NAME/tuned.conf, before in /etc/tuned/NAME/tuned.conf).
"""

from __future__ import annotations

import re
import shlex

from probes.host import Host
from probes.system.scheduler_origin import Why, tuned_profile
from probes.types import present
from scenarios.finding import Remedy

RULE = "/etc/udev/rules.d/60-hostdx-ioscheduler.rules"
APPLY = "udevadm control --reload && udevadm trigger --type=devices --action=change --subsystem-match=block"
_MODULES = {"bfq": "bfq", "kyber": "kyber-iosched", "mq-deadline": "mq-deadline"}


def udev_match(device: str) -> str:
    """The rule's match on the device's name: all disks of its kind, as one rule a class is what is wanted."""
    family = re.match(r"(sd|nvme|vd|xvd|dasd|mmcblk|loop)", device)
    pattern = {"sd": "sd*", "nvme": "nvme*n*", "mmcblk": "mmcblk*"}.get(
        family.group(1) if family else "", device
    )
    return f'KERNEL=="{pattern}"'


def tuned_path(host: Host) -> str:
    """Where a profile of one's own belongs, by the layout of the tuned that is installed."""
    new = host.exists("/usr/lib/tuned/profiles") or host.exists("/etc/tuned/profiles")
    return "/etc/tuned/profiles/our-disks/tuned.conf" if new else "/etc/tuned/our-disks/tuned.conf"


def use(
    host: Host, device: str, scheduler: str, now: str, rotational: bool | None, why: Why | None
) -> Remedy:
    """How to use `scheduler` on `device` from now on; `why` says what would undo it at the next boot."""
    path = f"/sys/block/{shlex.quote(device)}/queue/scheduler"
    flag = "" if rotational is None else f', ATTR{{queue/rotational}}=="{int(rotational)}"'
    rule = (
        f'ACTION=="add|change", SUBSYSTEM=="block", ENV{{DEVTYPE}}=="disk", {udev_match(device)}{flag}, '
        f'ATTR{{queue/scheduler}}="{scheduler}"'
    )
    persistent = [f"echo {shlex.quote(rule)} > {RULE}", APPLY]
    profiles = tuned_profile(host)
    if present(profiles):
        lines = f"[main]\\ninclude={profiles.split()[-1]}\\n\\n[disk]\\nelevator={scheduler}\\n"
        target = tuned_path(host)
        persistent = [
            f"mkdir -p {target.rsplit('/', 1)[0]}",
            f"printf {shlex.quote(lines)} > {target}",
            "tuned-adm profile our-disks && tuned-adm verify",
        ]
    module = _MODULES.get(scheduler)
    if scheduler in ("bfq", "kyber"):
        persistent.insert(0, f"echo {module} > /etc/modules-load.d/{module}.conf")
    conflict = (
        f"{why.source} sets {why.says}: change it there" if why and why.kind in ("udev", "tuned") else ""
    )
    return Remedy(
        title=f"Use {scheduler} on {device}",
        commands=(f"echo {scheduler} > {path}",),
        persistent=tuple(persistent),
        verify=(f"cat {path}", "after a reboot again"),
        undo=(f"echo {now} > {path}", f"rm -f {RULE}"),
        warning=conflict,
    )


def throughput_of_bfq(device: str) -> Remedy:
    """The kernel's own advice for bfq where throughput counts more than the answer times of a desktop."""
    base = f"/sys/block/{shlex.quote(device)}/queue/iosched"
    return Remedy(
        title="Where bfq stays: set it for throughput (bfq-iosched.rst)",
        commands=(f"echo 0 > {base}/low_latency", f"echo 0 > {base}/slice_idle   # flash and RAID only"),
        verify=(f"grep . {base}/*",),
        undo=(f"echo 1 > {base}/low_latency", f"echo 8 > {base}/slice_idle"),
        warning="a change of the scheduler resets both",
    )
