"""What to do about it, where that depends on this host; the words stand in `findings.toml`."""

import shlex

from hostdx.probes.system.processor.clocksource import Clocksource
from hostdx.probes.system.running.cgroup import systemd_unit_of
from hostdx.probes.system.running.culprit import BusyProcess
from hostdx.scenarios.contract.finding import Remedy
from hostdx.scenarios.numa.settings import Held
from hostdx.scenarios.triage.cpus.quota import persistent_quota_commands
from hostdx.scenarios.triage.knowledge.bios import VENDORS, BiosReading
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("numa")
_HELD: dict[Held, str] = {"boost off": "boost", "performance limit": "performance-limit"}
_SAVING = frozenset({"dell", "hpe", "supermicro", "lenovo"})  # vendors with a `[line.save-…]`


def quota_remedy(folder: str) -> Remedy:
    """`folder`: of the control group that has it; "" where not known."""
    unit = systemd_unit_of(folder)
    return SAYS.remedy(
        "quota",
        unit=(unit,) if unit else (),
        lasting=persistent_quota_commands(folder),
        folder=shlex.quote(folder) if folder else "/sys/fs/cgroup/*",
    )


def competitor_remedy(culprit: BusyProcess | None) -> Remedy:
    """Who took it comes first: a quiet host to measure on is the second step."""
    if culprit is None:
        return SAYS.remedy("find-competitor")
    return SAYS.remedy("competitor", label=culprit.label, pid=culprit.pid)


def held_clock_remedy(held_by: Held) -> Remedy:
    return SAYS.remedy(_HELD.get(held_by, "full-clock"))


def clocksource_remedy(clock: Clocksource) -> Remedy:
    was_requested = clock.asked == clock.current
    better = "tsc" in clock.available
    return SAYS.remedy(
        "clocksource",
        command=SAYS.text("use-clock", clock="tsc") if better else SAYS.text("look-for-tsc"),
        undo=(SAYS.text("use-clock", clock=clock.current),) if better else (),
        asked=(f"clocksource={clock.asked}",) if was_requested else (),
        warning="" if was_requested else SAYS.text("perhaps-unstable"),
    )


def bios_remedy(readings: tuple[BiosReading, ...], vendor: str) -> Remedy:
    return SAYS.remedy(
        "bios",
        changes="; ".join(f"{r.title} ({r.where})" for r in readings),
        saved=(SAYS.text(f"save-{vendor}"),) if vendor in _SAVING else (),
    )


def ask_firmware_remedy(vendor: str) -> Remedy:
    return SAYS.remedy("ask-firmware", whose=f" of {VENDORS[vendor]}" if vendor in VENDORS else "")
