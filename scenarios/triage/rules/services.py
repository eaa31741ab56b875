"""What a remedy's commands need on this host: services, kernel modules that may be loaded, disks that answer SMART."""

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from hostdx.probes.reading.host import Host
from hostdx.probes.reading.patterns import lazy_pattern
from hostdx.probes.system.disk.block import block_devices
from hostdx.probes.system.disk.drive.transport import is_virtual_disk
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


_SMART = lazy_pattern(r"^smartctl -\w+ /dev/([a-z][\w-]*)(?![/\w-])")
_NO_DISKS = ("dm-", "md", "zd", "rbd", "nbd", "drbd", "bcache", "loop", "zram")
_BOOT_LINE = lazy_pattern(
    r"^# (?:the boot loader's command line|boot parameters?): ([\w.=,:-]+(?: [\w.-]+=[\w.=,:-]+)*)$"
)
_LOADS = lazy_pattern(r"(?:^|[;&|] *)modprobe (?!-)([\w-]+)")
_MODULE_SETTINGS = ("/etc/modprobe.d/*.conf", "/run/modprobe.d/*.conf", "/usr/lib/modprobe.d/*.conf")


def commands_that_work(host: Host, command: str) -> Iterator[str]:
    """Yield the command, after those that it needs first; nothing where it cannot work on this host.

    A boot parameter that is set is not named. A service that is known not to be installed is not started, and a disk
    of a hypervisor or of iSCSI has no record of its own. A module that modprobe.d(5) keeps from being loaded is let in
    first: `modprobe` itself would say nothing.
    """
    service, disk = _STARTS.match(command), _SMART.match(command)
    if (boot := _BOOT_LINE.match(command)) and {*boot[1].split()} <= {
        *str(host.read_file_text("/proc/cmdline")).split()
    }:
        return
    if service is not None and service_state(host, service[1]) == "missing":
        return
    if disk is not None and not _may_answer_smart(host, disk[1]):
        return
    for module in dict.fromkeys(_LOADS.findall(command)):
        for path in dict.fromkeys(path for path, _ in lines_that_block_module(host, module)):
            words = (
                rf"/^[[:space:]]*(install|blacklist)[[:space:]]+{_either_dash(module)}([[:space:]]|$)/s/^/#/"
            )
            yield f"sed -i.hostdx -E '{words}' {path}"
    yield command


def lines_that_block_module(host: Host, module: str) -> Iterator[tuple[str, str]]:
    """Yield each file with the line that keeps `modprobe` or the boot from loading a module."""
    name = _either_dash(module)
    blocks = re.compile(
        rf"^\s*(install\s+{name}\s+/(?:usr/)?bin/(?:true|false)\b.*|blacklist\s+{name})\s*$", re.M
    )
    for pattern in _MODULE_SETTINGS:
        for path in host.glob_paths(pattern):
            text = host.read_file_text(path, 1 << 20)
            if is_present(text) and (line := blocks.search(text)):
                yield path, line[1].strip()


def _either_dash(module: str) -> str:
    """Return a pattern: to modprobe `-` and `_` are the same letter."""
    return re.sub("[-_]", "[-_]", module)


def _may_answer_smart(host: Host, name: str) -> bool:
    """Return True for a disk that is not known here, too: the admin sees what smartctl says."""
    disk = block_devices(host).get(name)
    if disk is None:
        return True
    is_elsewhere = "/session" in disk.path or name.startswith(_NO_DISKS)
    return not is_elsewhere and not is_virtual_disk(disk.transport, disk.model)


def service_state(host: Host, name: str) -> State | Absent:
    """By the processes, the units' folders, and what a sosreport kept of `systemctl` and `ps`."""
    unit = name if name.endswith((".service", ".timer", ".socket")) else f"{name}.service"
    if name.removesuffix(".service") in host.compute_once(running_program_names):
        return "running"
    units = host.compute_once(_states_of_captured_units)
    if unit in units:
        return units[unit]
    listings = [names for folder in _UNIT_FOLDERS if is_present(names := host.list_names(folder))]
    if any(unit in names for names in listings):
        return "installed"
    return "missing" if listings or units else Absent("no folder of systemd's units can be read", "captured")


def read_processes(host: Host) -> ProcessTable:
    return read_process_table(host, io=False)


def running_program_names(host: Host) -> frozenset[str]:
    """Names of the processes that can be seen, or that a captured `ps` lists."""
    names = {process.name for process in host.compute_once(read_processes).processes.values()}
    for path in host.glob_paths("/sos_commands/process/ps_*") if not host.live else ():
        text = host.read_file_text(path, 8 << 20)
        names.update(_PS_COMMAND.findall(text) if is_present(text) else ())
    return frozenset(names)


def _states_of_captured_units(host: Host) -> dict[str, State]:
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
