"""Who trims periodically: fstrim.timer and cron jobs; and whether they reach a file system."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.trim.trim_jobs import (
    UNITS,
    TrimJob,
    cron_trim_jobs,
    explain_job_skip,
    fstrim_service_jobs,
    read_unit_values,
)
from hostdx.probes.types import Absent, is_present

_WANTS = "/etc/systemd/system/timers.target.wants/fstrim.timer"
_STAMP = "/var/lib/systemd/timers/stamp-fstrim.timer"


class TrimTimer(msgspec.Struct, frozen=True, kw_only=True):
    """`enabled` and `active` as systemd says; without systemd running, whether the link that enables it is there.

    `last` is when it last ran in systemd's own words; `service` what it calls then; `jobs` what cron and other timers
    call; `exists`: this system has the timer.
    """

    enabled: bool | Absent
    active: bool | Absent
    last: str | Absent
    schedule: str | Absent
    jobs: tuple[TrimJob, ...] = ()
    service: tuple[TrimJob, ...] = ()
    exists: bool = True
    source: str = ""

    @property
    def cron_files(self) -> tuple[str, ...]:
        """The files that call fstrim."""
        return tuple(dict.fromkeys(job.where for job in self.jobs))

    @property
    def is_timer_on(self) -> bool | Absent:
        """Return whether the timer itself fires."""
        if self.active is True or (self.enabled is True and isinstance(self.active, Absent)):
            return True
        return self.enabled if isinstance(self.enabled, Absent) else False


def trim_timer(host: Host) -> TrimTimer:
    jobs = cron_trim_jobs(host)
    schedule = trim_timer_schedule(host)
    service = fstrim_service_jobs(host)
    show = host.read_command(
        "systemctl", "show", "fstrim.timer", "-p", "LoadState,ActiveState,UnitFileState,LastTriggerUSec"
    )
    if is_present(show) and "LoadState=" in show:
        values = dict(line.split("=", 1) for line in show.splitlines() if "=" in line)
        if values.get("LoadState") == "not-found":
            off = Absent("this system has no fstrim.timer", "missing", "systemctl show fstrim.timer")
            return TrimTimer(
                enabled=False,
                active=False,
                last=off,
                schedule=off,
                jobs=jobs,
                exists=False,
                source="systemctl",
            )
        last = values.get("LastTriggerUSec", "")
        return TrimTimer(
            enabled=values.get("UnitFileState", "").startswith("enabled"),
            active=values.get("ActiveState") == "active",
            last=last if last and last != "n/a" else read_trim_timer_stamp(host),
            schedule=schedule,
            jobs=jobs,
            service=service,
            source="systemctl show fstrim.timer",
        )
    why = (
        show if isinstance(show, Absent) else Absent("systemd does not run here", "unsupported", "systemctl")
    )
    # Where systemd is not what runs (a container, another init), its timers are files that nobody looks at.
    fires = not host.live or host.path_exists("/run/systemd/system")
    has_timer = fires and any(host.path_exists(f"{folder}/fstrim.timer") for folder in UNITS)
    enabled: bool | Absent = (
        host.path_exists(_WANTS) or is_present(host.read_link(_WANTS)) if has_timer else fires and why
    )
    return TrimTimer(
        enabled=enabled,
        active=why,
        last=read_trim_timer_stamp(host),
        schedule=schedule,
        jobs=jobs,
        service=service,
        exists=has_timer,
        source=_WANTS,
    )


def read_trim_timer_stamp(host: Host) -> str | Absent:
    """When a persistent timer last fired: its stamp file's time (systemd.timer(5)); a captured file's is another."""
    if not host.path_exists(_STAMP):
        return Absent("no record of a run", "missing", _STAMP)
    fired = read_last_timer_trim(host)
    return f"{fired:%Y-%m-%d %H:%M:%S} UTC" if fired is not None else "once at least"


def read_last_timer_trim(host: Host) -> datetime | None:
    """None where it never fired, or where this is not the live host."""
    if not host.live or host.root is not None:
        return None
    try:
        return datetime.fromtimestamp(Path(_STAMP).stat().st_mtime, UTC)
    except (OSError, ValueError, OverflowError):
        return None


def trim_timer_schedule(host: Host) -> str | Absent:
    """The unit's OnCalendar (systemd.timer(5))."""
    calendars = read_unit_values(host, "fstrim.timer", "OnCalendar")
    return (
        ", ".join(calendars)
        if calendars
        else Absent("no fstrim.timer", "missing", f"{UNITS[2]}/fstrim.timer")
    )


def explain_untrimmed(host: Host, timer: TrimTimer, mountpoints: Sequence[str]) -> str | Absent:
    """Return why nothing trims the file system that is mounted at `mountpoints`; "" where something does, or may."""
    missed = [explain_job_skip(host, job, mountpoints) for job in timer.jobs]
    if "" in missed:
        return ""
    if isinstance(timer.is_timer_on, Absent):
        return timer.is_timer_on
    if timer.is_timer_on:
        by_timer = explain_timer_miss(host, timer, mountpoints)
        return by_timer and "; ".join(dict.fromkeys((by_timer, *missed)))
    off = "fstrim.timer is off" if timer.exists else "no fstrim.timer runs here"
    cron = "; ".join(dict.fromkeys(missed)) or "no cron job calls fstrim"
    return f"{off}, {cron}, and it is mounted without online discard"


def explain_timer_miss(host: Host, timer: TrimTimer, mountpoints: Sequence[str]) -> str:
    """Return why the timer, on or off, would pass over it; "" where it would not."""
    called = timer.service or (TrimJob(where="fstrim.service", reach="listed"),)
    missed = [explain_job_skip(host, job, mountpoints) for job in called]
    return "" if "" in missed else "; ".join(dict.fromkeys(missed))
