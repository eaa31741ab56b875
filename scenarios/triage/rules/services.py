"""Services that a remedy starts: whether this host has them, and whether they run."""

import re
from typing import Literal, TypeAlias

from hostdx.probes.reading.host import Host
from hostdx.probes.system.running.processes import ProcessTable, read_process_table
from hostdx.probes.types import Absent, is_present

State: TypeAlias = Literal["running", "installed", "missing"]
_UNIT_FOLDERS = (
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
)
_STARTS = re.compile(r"^(?:sudo )?systemctl (?:re)?(?:start|load|enable|unmask)(?: --now)? ([\w@.-]+)")
_PS_COMMAND = re.compile(r"(?:^|[\s/])([\w.@-]+)(?=\s|$)")


def is_startable(host: Host, command: str) -> bool:
    """False for a command that starts a service which is known not to be installed here; True for all others."""
    service = _STARTS.match(command)
    return service is None or service_state(host, service[1]) != "missing"


def service_state(host: Host, name: str) -> State | Absent:
    """By the processes, the units' folders, and what a sosreport kept of `systemctl` and `ps`."""
    unit = name if name.endswith((".service", ".timer", ".socket")) else f"{name}.service"
    if name.removesuffix(".service") in host.compute_once(running_names):
        return "running"
    units = host.compute_once(_captured_unit_states)
    if unit in units:
        return units[unit]
    listings = [names for folder in _UNIT_FOLDERS if is_present(names := host.list_names(folder))]
    if any(unit in names for names in listings):
        return "installed"
    return "missing" if listings or units else Absent("no folder of systemd's units can be read", "captured")


def read_processes(host: Host) -> ProcessTable:
    return read_process_table(host, io=False)


def running_names(host: Host) -> frozenset[str]:
    """Names of the processes that can be seen, or that a captured `ps` lists."""
    names = {process.name for process in host.compute_once(read_processes).processes.values()}
    for path in host.glob_paths("/sos_commands/process/ps_*") if not host.live else ():
        text = host.read_file_text(path, 8 << 20)
        names.update(_PS_COMMAND.findall(text) if is_present(text) else ())
    return frozenset(names)


def _captured_unit_states(host: Host) -> dict[str, State]:
    """By `systemctl list-units` and `list-unit-files` of a sosreport."""
    states: dict[str, State] = {}
    for path in host.glob_paths("/sos_commands/systemd/systemctl_list-unit*") if not host.live else ():
        text = host.read_file_text(path, 4 << 20)
        line = r"^\W*([\w@.:\\-]+\.(?:service|timer|socket))\s+(\S+)(?:\s+(\S+))?"
        for unit, loaded, active in re.findall(line, text, re.MULTILINE) if is_present(text) else ():
            state: State = "running" if active == "active" else "installed"
            if loaded != "not-found" and states.get(unit) != "running":
                states[unit] = state
    return states
