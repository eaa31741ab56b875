"""How a file system comes to be trimmed regularly, from where this host is now; exact, and undone without a trace."""

import re
import shlex
from collections.abc import Sequence

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.trim.trim_jobs import is_trim_excluded_in_fstab
from hostdx.probes.system.disk.trim.trim_timer import TrimTimer, explain_timer_miss, explain_untrimmed
from hostdx.scenarios.contract.finding import Remedy
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("fstrim")


def remedies_to_trim(host: Host, timer: TrimTimer, mountpoints: Sequence[str]) -> tuple[Remedy, ...]:
    """Return what makes something trim this file system; empty where something does, or may, or the admin chose not
    to.
    """
    because = explain_untrimmed(host, timer, mountpoints)
    if because == "" or is_trim_excluded_in_fstab(host, mountpoints):
        return ()
    if not timer.exists:
        return (cron_remedy(mountpoints[0]),)
    missed = (
        (timer_service_remedy(host, mountpoints[0]),) if explain_timer_miss(host, timer, mountpoints) else ()
    )
    return missed if timer.is_timer_on is True else (SAYS.remedy("enable"), *missed)


def cron_remedy(mountpoint: str) -> Remedy:
    """Where there is no timer. A file of run-parts has no dot in its name (run-parts(8))."""
    path = f"/etc/cron.weekly/hostdx-fstrim-{_file_name_part(mountpoint)}"
    return SAYS.remedy("cron", mountpoint=mountpoint, path=path, command=f"fstrim {shlex.quote(mountpoint)}")


def timer_service_remedy(host: Host, mountpoint: str) -> Remedy:
    """A call more for the timer's service, in a drop-in of its own: an admin's other drop-ins and fstab's
    X-fstrim.notrim stay as they are. The leading dash: a mount that is not there fails nothing (systemd.service(5)).
    """
    program = next(
        (p for p in ("/usr/sbin/fstrim", "/sbin/fstrim") if host.path_exists(p)), "/usr/sbin/fstrim"
    )
    place = mountpoint.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    text = (
        f'ExecStart=-{program} -v "{place}"'
        if place != _without_shell_signs(place)
        else f"ExecStart=-{program} -v {place}"
    )
    return unit_drop_in_remedy(
        "fstrim.service",
        f"zz-hostdx-{_file_name_part(mountpoint)}.conf",
        ("[Service]", text),
        title=SAYS.text("too", mountpoint=mountpoint),
        verify=SAYS.text("start"),
    )


def unit_drop_in_remedy(unit: str, name: str, lines: tuple[str, ...], *, title: str, verify: str) -> Remedy:
    """A file of its own for a unit; its name sorts last. `systemctl revert` would take an admin's drop-ins away too."""
    return SAYS.remedy(
        "drop-in",
        title=title,
        folder=f"/etc/systemd/system/{unit}.d",
        file=name,
        content=" ".join(shlex.quote(line) for line in lines),
        verify=verify,
    )


def _file_name_part(mountpoint: str) -> str:
    return re.sub(r"[^0-9A-Za-z]+", "-", mountpoint).strip("-")[:60] or "root"


def _without_shell_signs(text: str) -> str:
    """The text without what systemd or a shell would take for more than a letter."""
    return re.sub(r"[^0-9A-Za-z/._+-]", "", text)
