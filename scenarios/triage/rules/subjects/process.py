"""Rows about daemons: how many of their files are open."""

import re

from hostdx.probes.number_text import parse_unsigned
from hostdx.probes.reading.host import Host
from hostdx.probes.system.running.cgroup import control_group_of
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.triage.rules.expression import Value
from hostdx.scenarios.triage.rules.services import read_processes
from hostdx.scenarios.triage.rules.table import SubjectRow

_LIMIT = re.compile(r"^Max open files +([0-9]{1,19}) +([0-9]{1,19}|unlimited)", re.MULTILINE)
_SLOTS = re.compile(r"^FDSize:\s*([0-9]{1,10})", re.MULTILINE)


def open_files_rows(host: Host) -> list[SubjectRow]:
    """One row per daemon (a child of process 1) whose table of files has grown to half of its limit: `open`, the
    `soft` and the `hard` limit (-1: none), and the `unit` of systemd that it runs in.
    """
    rows = []
    for process in host.compute_once(read_processes).processes.values():
        if process.kernel_thread or process.parent != 1:
            continue
        folder = f"/proc/{process.pid}"
        limits, status = host.read_file_text(f"{folder}/limits"), host.read_file_text(f"{folder}/status")
        limit = _LIMIT.search(limits) if is_present(limits) else None
        slots = _SLOTS.search(status) if is_present(status) else None
        soft = parse_unsigned(limit[1]) if limit else None
        if limit is None or slots is None or not soft or 2 * int(slots[1]) < soft:
            continue
        files = host.list_names(f"{folder}/fd")
        unit = control_group_of(host, process.pid).rpartition("/")[2]
        columns: dict[str, Value] = {
            "name": process.name,
            "pid": process.pid,
            "open": files if isinstance(files, Absent) else len(files),
            "soft": soft,
            "hard": -1 if limit[2] == "unlimited" else parse_unsigned(limit[2]) or 0,
            "unit": unit if unit.endswith(".service") else Absent(f"{process.name} runs in no service"),
        }
        rows.append(SubjectRow(f"{process.name} [{process.pid}]", columns))
    return rows
