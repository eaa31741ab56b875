"""How to choose an I/O scheduler for good: once by hand, by a udev rule, by a tuned profile. Pure text.

Sources: switching-sched.rst; udev(7); tuned-profiles(7), tuned.conf(5) and tuned's code: since 2.23 the profiles of
an administrator lie in /etc/tuned/profiles/NAME/tuned.conf, before in /etc/tuned/NAME/tuned.conf (consts.py);
`tuned-adm profile A B` merges profiles, a device belongs to the first instance by priority that asks for it
(units/manager.py).
"""

import re
import shlex
from collections.abc import Mapping

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.scheduler_origin import SchedulerOrigin, find_tuned_elevator_and_path
from hostdx.probes.system.software.tuned import active_tuned_profiles
from hostdx.probes.types import is_present
from hostdx.scenarios.contract.finding import Remedy
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("iosched")
# One file a device: the remedy of a second one must not take the first one's away.
RULE = "/etc/udev/rules.d/60-hostdx-ioscheduler-{}.rules"
APPLY = (
    "udevadm control --reload",
    "udevadm trigger --type=devices --action=change --sysname-match={}",
)
_MODULES = {"bfq": "bfq", "kyber": "kyber-iosched"}


def udev_rule_of_device(device: str, scheduler: str, rotational: bool | None = None) -> str:
    """For this device by its kernel name. A rule for a whole class is for the administrator to write."""
    flag = "" if rotational is None else f', ATTR{{queue/rotational}}=="{int(rotational)}"'
    return (
        f'ACTION=="add|change", SUBSYSTEM=="block", ENV{{DEVTYPE}}=="disk", KERNEL=="{device}"{flag}, '
        f'ATTR{{queue/scheduler}}="{scheduler}"'
    )


def tuned_profile_path(host: Host, profile: str) -> str:
    """Where a profile of one's own belongs, by the layout of the tuned that is installed."""
    new = host.path_exists("/usr/lib/tuned/profiles") or host.path_exists("/etc/tuned/profiles")
    return f"/etc/tuned/profiles/{profile}/tuned.conf" if new else f"/etc/tuned/{profile}/tuned.conf"


def make_scheduler_remedy(
    host: Host, device: str, scheduler: str, now: str, rotational: bool | None, why: SchedulerOrigin | None
) -> Remedy:
    """Return how to use `scheduler` on `device` from now on; `why` says what would undo it at the next boot.

    tuned is needed only where a profile of its own sets a scheduler, which then wins over udev's.
    """
    if is_present(find_tuned_elevator_and_path(host, device)):
        persistent, undo, warning = _tuned_commands_undo_warning(host, device, scheduler)
    else:
        persistent, undo, warning = _udev_commands_undo_warning(device, scheduler, rotational, why)
    module = _MODULES.get(scheduler, "")
    file = f"/etc/modules-load.d/hostdx-{re.sub(r'[^A-Za-z0-9_.-]', '-', device)}.conf"
    return SAYS.remedy(
        "use",
        scheduler=scheduler,
        device=device,
        now=now,
        module=module,
        module_file=(file,) if module else (),
        persistent=persistent,
        undo=undo,
        warning=warning,
    )


def _udev_commands_undo_warning(
    device: str, scheduler: str, rotational: bool | None, why: SchedulerOrigin | None
) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    file = RULE.format(re.sub(r"[^A-Za-z0-9_.-]", "-", device))
    rule = udev_rule_of_device(device, scheduler, rotational)
    warning = SAYS.text("sd-names") if device.startswith("sd") else ""
    if why and why.kind in ("udev", "tuned"):
        warning = SAYS.text("set-elsewhere", source=why.source, says=why.says)
    apply = tuple(line.format(shlex.quote(device)) for line in APPLY)
    return (
        (f"echo {shlex.quote(rule)} > {file}", *apply),
        (f"rm -f {file}", "udevadm control --reload"),
        warning,
    )


def _tuned_commands_undo_warning(
    host: Host, device: str, scheduler: str
) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """A profile beside those that are active: none is replaced, none includes itself, one disk is set."""
    own = "hostdx-" + re.sub(r"[^A-Za-z0-9_.-]", "-", device)
    read = active_tuned_profiles(host)
    before = read.split() if is_present(read) else []
    active = [name for name in before if name != own]
    path = tuned_profile_path(host, own)
    folder = path.rsplit("/", 1)[0]
    # The lower number is served first, before the profile's own [disk] takes every disk.
    lines = f"[{own}]\\ntype=disk\\npriority=-10\\ndevices={device}\\nelevator={scheduler}\\n"
    asked = find_tuned_elevator_and_path(host, device)
    conflict_text = f"{asked[1]} sets {asked[0]}; " if is_present(asked) else ""
    names = " ".join(shlex.quote(name) for name in active)
    return (
        (
            f"mkdir -p {folder}",
            f"printf {shlex.quote(lines)} > {path}",
            f"tuned-adm profile {names} {own}".replace("  ", " "),
            "tuned-adm verify",
        ),
        (f"tuned-adm profile {names}" if names else "tuned-adm off", f"rm -r {folder}"),
        SAYS.text("old-tuned", asked=conflict_text, device=device),
    )


def bfq_throughput_remedy(device: str, tunables: Mapping[str, str] | None = None) -> Remedy:
    """The kernel's own advice for bfq where throughput counts more than the answer times of a desktop.

    `tunables`: as bfq has them now; where it is not active yet it will have its own (block/bfq-iosched.c).
    """
    were = {"low_latency": "1", "slice_idle": "8", **(tunables or {})}
    return SAYS.remedy(
        "throughput-of-bfq", device=device, low_latency=were["low_latency"], slice_idle=were["slice_idle"]
    )
