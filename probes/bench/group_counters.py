"""What a version 2 control group has counted: stalls (PSI), swap-ins, reclaim. Standard library only: a light child
reads it. Documentation/admin-guide/cgroup-v2.rst, Documentation/accounting/psi.rst."""

from __future__ import annotations

import os
from pathlib import Path

from probes.number_text import whole

_PAGE = os.sysconf("SC_PAGE_SIZE")
PRESSURES = {"cpu_pressure_s": "cpu", "io_pressure_s": "io", "memory_pressure_s": "memory"}
# pswpin is counted by group since Linux 6.13; before it what was evicted and came back tells the same (since 5.9)
SWAPPED_IN = ("pswpin", "workingset_refault_anon")
RECLAIMED = ("pgsteal",)


def counted(folder: str) -> dict[str, float | None]:
    """Since the group was made: seconds in which at least one of its tasks waited, bytes; None where not counted."""
    found: dict[str, float | None] = {
        name: _stalled(f"{folder}/{which}.pressure") for name, which in PRESSURES.items()
    }
    stat = _pairs(f"{folder}/memory.stat")
    found["swapped_in_bytes"] = _pages(stat, SWAPPED_IN)
    found["reclaimed_bytes"] = _pages(stat, RECLAIMED)
    return found


def since(before: dict[str, float | None], now: dict[str, float | None]) -> dict[str, float | None]:
    """What came along between two looks at one group."""
    found: dict[str, float | None] = {}
    for name, after in now.items():
        earlier = before.get(name)
        found[name] = None if after is None or earlier is None else max(0.0, after - earlier)
    return found


def enter(folder: str) -> None:
    """The calling process alone. Raises OSError."""
    Path(folder, "cgroup.procs").write_text("0\n", encoding="ascii")


def _stalled(path: str) -> float | None:
    """Of the line `some avg10=0.00 avg60=0.00 avg300=0.00 total=1234` (microseconds)."""
    for line in _text(path).splitlines():
        kind, total = line.partition(" ")[0], whole(line.rpartition("total=")[2])
        if kind == "some" and total is not None:
            return total / 1e6
    return None


def _pages(stat: dict[str, str], names: tuple[str, ...]) -> float | None:
    found = whole(next((stat[name] for name in names if name in stat), ""))
    return None if found is None else float(found * _PAGE)


def _pairs(path: str) -> dict[str, str]:
    words = (line.split() for line in _text(path).splitlines())
    return {pair[0]: pair[1] for pair in words if len(pair) == 2}


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
