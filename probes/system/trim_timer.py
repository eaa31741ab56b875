"""Who trims periodically: fstrim.timer, cron jobs, and the file systems that they leave out."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from probes.host import Host
from probes.types import Absent, present

_CRON = (
    "/etc/crontab",
    "/etc/cron.d/*",
    "/etc/cron.daily/*",
    "/etc/cron.weekly/*",
    "/etc/cron.monthly/*",
    "/var/spool/cron/*",
    "/var/spool/cron/crontabs/*",
)
_WANTS = "/etc/systemd/system/timers.target.wants/fstrim.timer"
_STAMP = "/var/lib/systemd/timers/stamp-fstrim.timer"
_UNITS = ("/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")


class TrimTimer(msgspec.Struct, frozen=True, kw_only=True):
    """`enabled` and `active` as systemd says; without systemd running, whether the link that enables it is there.

    `last` is when it last ran in systemd's own words; `cron` lists files that call fstrim.
    """

    enabled: bool | Absent
    active: bool | Absent
    last: str | Absent
    schedule: str | Absent
    cron: tuple[str, ...] = ()
    source: str = ""

    @property
    def trims(self) -> bool | Absent:
        """Whether something trims by itself."""
        if self.cron:
            return True
        if self.active is True or (self.enabled is True and isinstance(self.active, Absent)):
            return True
        return self.enabled if isinstance(self.enabled, Absent) else False


def trim_timer(host: Host) -> TrimTimer:
    cron = cron_jobs(host)
    schedule = timer_schedule(host)
    show = host.command(
        "systemctl", "show", "fstrim.timer", "-p", "LoadState,ActiveState,UnitFileState,LastTriggerUSec"
    )
    if present(show) and "LoadState=" in show:
        values = dict(line.split("=", 1) for line in show.splitlines() if "=" in line)
        if values.get("LoadState") == "not-found":
            off = Absent("this system has no fstrim.timer", "missing", "systemctl show fstrim.timer")
            return TrimTimer(
                enabled=False, active=False, last=off, schedule=off, cron=cron, source="systemctl"
            )
        last = values.get("LastTriggerUSec", "")
        return TrimTimer(
            enabled=values.get("UnitFileState", "").startswith("enabled"),
            active=values.get("ActiveState") == "active",
            last=last if last and last != "n/a" else stamp(host),
            schedule=schedule,
            cron=cron,
            source="systemctl show fstrim.timer",
        )
    why = (
        show if isinstance(show, Absent) else Absent("systemd does not run here", "unsupported", "systemctl")
    )
    known = any(host.exists(f"{folder}/fstrim.timer") for folder in _UNITS)
    enabled: bool | Absent = host.exists(_WANTS) or present(host.link(_WANTS)) if known else why
    return TrimTimer(
        enabled=enabled, active=why, last=stamp(host), schedule=schedule, cron=cron, source=_WANTS
    )


def stamp(host: Host) -> str | Absent:
    """When a persistent timer last fired: its stamp file's time (systemd.timer(5)); a captured file's is another."""
    if not host.exists(_STAMP):
        return Absent("no record of a run", "missing", _STAMP)
    fired = stamp_time(host)
    return f"{fired:%Y-%m-%d %H:%M:%S} UTC" if fired is not None else "once at least"


def stamp_time(host: Host) -> datetime | None:
    """None where it never fired, or where this is not the live host."""
    if not host.live or host.root is not None:
        return None
    try:
        return datetime.fromtimestamp(Path(_STAMP).stat().st_mtime, UTC)
    except (OSError, ValueError, OverflowError):
        return None


def timer_schedule(host: Host) -> str | Absent:
    """The unit's OnCalendar, drop-ins last (systemd.timer(5): an empty assignment clears those before)."""
    texts = [host.text(f"{folder}/fstrim.timer") for folder in _UNITS]
    drop_ins = [host.text(p) for p in host.glob("/etc/systemd/system/fstrim.timer.d/*.conf")]
    found: list[str] = []
    base = next((t for t in texts if present(t)), None)
    for text in ([base] if base is not None else []) + [t for t in drop_ins if present(t)]:
        for value in re.findall(r"^[ \t]*OnCalendar[ \t]*=[ \t]*(.*?)[ \t]*$", text, re.MULTILINE):
            found = [*found, value] if value else []
    return ", ".join(found) if found else Absent("no fstrim.timer", "missing", f"{_UNITS[1]}/fstrim.timer")


def cron_jobs(host: Host) -> tuple[str, ...]:
    """Files of cron that call fstrim in a line that is no comment."""
    found = []
    for pattern in _CRON:
        for path in host.glob(pattern) if "*" in pattern else (pattern,):
            text = host.text(path)
            if present(text) and any(
                re.search(r"\bfstrim\b", line.split("#", 1)[0]) for line in text.splitlines()
            ):
                found.append(path)
    return tuple(found)


def left_out_by_fstab(host: Host, mountpoint: str) -> str:
    """Why `fstrim --listed-in /etc/fstab:/proc/self/mountinfo` passes over a mount point; "" where it does not.

    It takes the first file that is not empty, so what is mounted by a unit or by hand is skipped where fstab has
    any line (fstrim(8)); `X-fstrim.notrim` excludes one line.
    """
    fstab = host.text("/etc/fstab")
    if not present(fstab):
        return ""
    lines = [
        line.split() for line in fstab.splitlines() if line.strip() and not line.lstrip().startswith("#")
    ]
    entries = [fields for fields in lines if len(fields) >= 4]
    if not entries:
        return ""
    for fields in entries:
        if fields[1].replace("\\040", " ").rstrip("/") == mountpoint.rstrip("/"):
            return "X-fstrim.notrim in /etc/fstab" if "X-fstrim.notrim" in fields[3].split(",") else ""
    return "it is not in /etc/fstab, and the timer's fstrim reads only that file where it has lines"
