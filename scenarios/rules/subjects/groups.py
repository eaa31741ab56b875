"""Rows about all control groups that can be seen: services, containers, batch jobs."""

from __future__ import annotations

from probes.host import Host
from probes.system.running.quota_groups import folders_with
from scenarios.rules.table import Row

_KINDS = (
    ("memory", ("memory.events", "memory.failcnt")),
    ("pids", ("pids.current",)),
    ("blkio", ("io.max", "blkio.throttle.write_bps_device")),
)


def all_groups(host: Host) -> list[Row]:
    """One row per control group, to a depth of four: version 2, and 1's memory, pids and blkio controllers."""
    rows: dict[str, Row] = {}
    for controller, files in _KINDS:
        for root, folder in folders_with(host, controller, files)[0]:
            name = folder.removeprefix(f"{root}/")
            rows.setdefault(
                folder, Row(name, {"name": name, "path": folder, "controller": controller}, folder)
            )
    return list(rows.values())
