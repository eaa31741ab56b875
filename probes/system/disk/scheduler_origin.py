"""Who chose a device's I/O scheduler: a udev rule, a tuned profile, a boot parameter, or the kernel.

Sources: udev(7), udev_rules(5), tuned's disk plugin (`elevator`), tuned-profiles(7).
"""

import re
from fnmatch import fnmatchcase
from typing import Literal

import msgspec

from hostdx.probes.reading.host import Host, compute_once_per_host
from hostdx.probes.reading.patterns import lazy_pattern
from hostdx.probes.system.disk.scheduler import SchedulerState, kernel_default_scheduler
from hostdx.probes.system.software.kernel import read_kernel
from hostdx.probes.system.software.tuned import FOLDERS, active_tuned_sections
from hostdx.probes.types import Absent, is_present
from hostdx.probes.units import count_noun

# The schedulers of the single-queue block layer (until 4.20). Its default was cfq; EL7 takes deadline except for SATA.
LEGACY = frozenset({"noop", "deadline", "cfq"})
LEGACY_DEFAULTS = frozenset({"deadline", "cfq"})
_UDEV_DIRECTORIES = ("/etc/udev/rules.d", "/run/udev/rules.d", "/usr/lib/udev/rules.d", "/lib/udev/rules.d")
_UDEV_MATCH = lazy_pattern(r'(KERNEL|ATTR\{[^}]*\})\s*(==|!=)\s*"([^"]*)"')
_UDEV_SETS = lazy_pattern(r'ATTR\{queue/scheduler\}\s*=\s*"([^"]*)"')


class SchedulerOrigin(msgspec.Struct, frozen=True):
    """Who chose the scheduler. `says` is what the rule, profile or parameter asks for."""

    kind: Literal["udev", "tuned", "boot", "default", "unknown"]
    text: str
    source: str
    says: str = ""


@compute_once_per_host
def scheduler_rules(host: Host) -> tuple[tuple[str, str, str], ...]:
    """Every udev line that sets a scheduler: (path, scheduler, line).

    A file in /etc hides its namesake in the directories after it.
    """
    known_names: set[str] = set()
    rules: list[tuple[str, str, str]] = []
    for directory in _UDEV_DIRECTORIES:
        names = host.list_names(directory)
        if isinstance(names, Absent):
            continue
        for name in sorted(n for n in names if n.endswith(".rules") and n not in known_names):
            known_names.add(name)
            text = host.read_file_text(f"{directory}/{name}")
            if isinstance(text, Absent) or "queue/scheduler" not in text:
                continue
            for line in text.replace("\\\n", " ").splitlines():
                match = _UDEV_SETS.search(line)
                if match and not line.lstrip().startswith("#"):
                    rules.append((f"{directory}/{name}", match.group(1), " ".join(line.split())))
    return tuple(rules)


def _matches_tuned_devices(expression: str, device: str) -> bool:
    """tuned's `devices=`: names and wildcards by comma, `!` takes one out, none at all means every disk."""
    names = [name for name in re.split(r"[,\s]+", expression) if name]
    if any(fnmatchcase(device, name[1:]) for name in names if name.startswith("!")):
        return False
    wanted = [name for name in names if not name.startswith("!")]
    return not wanted or any(fnmatchcase(device, name) for name in wanted)


def find_tuned_elevator_and_path(host: Host, device: str) -> tuple[str, str] | Absent:
    """Return what the active profiles set as `elevator` of this device: (scheduler, path)."""
    for path, plugin, options in reversed(active_tuned_sections(host)):
        elevator = options.get("elevator", "").strip()
        if plugin == "disk" and elevator and _matches_tuned_devices(options.get("devices", ""), device):
            return elevator, path
    return Absent("no active profile sets an elevator")


def find_scheduler_origin(host: Host, state: SchedulerState) -> SchedulerOrigin:
    """The likeliest reason for the active scheduler; udev and tuned come after the kernel's own choice."""
    active = state.active if is_present(state.active) else ""
    asked = find_tuned_elevator_and_path(host, state.device)
    if is_present(asked) and asked[0] == active:
        return SchedulerOrigin("tuned", f"tuned's profile sets elevator={asked[0]}", asked[1], asked[0])
    for path, scheduler, line in scheduler_rules(host):
        if scheduler == active and rule_fits(host, line, state.device):
            return SchedulerOrigin("udev", f"a udev rule sets {scheduler}: {line}", path, scheduler)
    boot = read_kernel(host).boot_parameters().get("elevator", "")
    legacy = {"deadline": "mq-deadline", "noop": "none"}
    if boot and active in (boot, legacy.get(boot)) and _heeds_elevator_parameter(host, state):
        return SchedulerOrigin("boot", f"the boot parameter elevator={boot}", "/proc/cmdline", boot)
    ignored = f"; elevator={boot} on the kernel's command line does nothing" if boot else ""
    default = kernel_default_scheduler(state.hw_queues, state.offered)
    if active == default and is_present(state.hw_queues):
        text = f"the kernel's default with {count_noun(state.hw_queues, 'hardware queue')}{ignored}"
        return SchedulerOrigin("default", text, f"/sys/block/{state.device}/mq", default)
    if active in LEGACY_DEFAULTS and LEGACY & set(state.offered):
        text = f"a default of the kernel's single-queue block layer{ignored}"
        return SchedulerOrigin("default", text, f"/sys/block/{state.device}/queue/scheduler", active)
    guess = (
        "not the kernel's default"
        if is_present(state.hw_queues) or active != default
        else "perhaps the default"
    )
    if not are_scheduler_rules_known(host):
        text = f"{guess} ({default}); udev rules and tuned profiles were not captured{ignored}"
    else:
        text = f"{guess} ({default}), and no udev rule or tuned profile asks for it{ignored}"
    return SchedulerOrigin("unknown", text, "")


def are_scheduler_rules_known(host: Host) -> bool:
    """Return whether what asks for a scheduler is known: a live host, or a capture with udev's or tuned's folders."""
    return host.live or any(host.path_exists(folder) for folder in (*_UDEV_DIRECTORIES, *FOLDERS))


def _heeds_elevator_parameter(host: Host, state: SchedulerState) -> bool:
    """The single-queue block layer heeded it; it went with 5.0, and blk-mq has never heeded it (block/elevator.c).

    A device of that layer offers noop, deadline or cfq.
    """
    release = host.read_file_text("/proc/sys/kernel/osrelease")
    major = re.match(r"[0-9]{1,9}", release) if is_present(release) else None
    old = not major or int(major.group()) < 5
    return old and bool(LEGACY & set(state.offered))


def rule_fits(host: Host, line: str, device: str) -> bool:
    """Return whether a rule's matches on name and attributes hold for the device; others are taken to hold."""
    for key, operator, value in _UDEV_MATCH.findall(line):
        if key == "KERNEL":
            own = device
        elif key.startswith("ATTR{"):
            text = host.read_word(f"/sys/block/{device}/{key[5:-1]}")
            own = text if is_present(text) else ""
        else:
            continue
        matches = any(fnmatchcase(own, pattern) for pattern in value.split("|"))
        if matches != (operator == "=="):
            return False
    return True
