"""Rows about what disks tell of themselves."""

from __future__ import annotations

from probes.host import Host
from probes.system.disk.smart import Smart, smart_reports
from probes.types import Absent
from scenarios.rules.table import Row


def smart_rows(host: Host) -> list[Row] | Absent:
    """One row per physical disk; what smartctl did not tell is absent with its reason. Shares are 0..1."""
    return [
        Row(
            name,
            # absent where the disk could not be asked: then nothing is known, which is not "it does not tell"
            {"name": name, "silent": report if isinstance(report, Absent) else False}
            | {
                field: report if isinstance(report, Absent) else getattr(report, field)
                for field in Smart.__struct_fields__
            },
        )
        for name, report in host.once(smart_reports).items()
    ]
