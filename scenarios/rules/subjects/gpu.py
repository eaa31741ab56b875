"""Rows about GPUs by `nvidia-smi -q`, where it was captured."""

from __future__ import annotations

import re

from probes.host import Host
from probes.types import Absent
from scenarios.rules.expression import Value
from scenarios.rules.table import Row

_SLOWED = re.compile(
    r"^ *(HW (?:Thermal |Power Brake )?Slowdown|SW Thermal Slowdown) *: Active$", re.MULTILINE
)


def gpu_rows(host: Host) -> list[Row] | Absent:
    """One row per GPU: lanes, what slows it down, errors since it was reset. A live host is not asked."""
    if host.live:
        return []
    text = host.command("nvidia-smi", "-q")
    if isinstance(text, Absent):
        return []
    parts = re.split(r"^GPU 0*([0-9A-Fa-f]{4}:\S+)$", text, flags=re.MULTILINE)[1:]
    return [_row(name, told) for name, told in zip(parts[::2], parts[1::2], strict=True)]


def _row(name: str, text: str) -> Row:
    width = re.search(r"Link Width\s+Max\s*: ([0-9]{1,2})x\s+Current\s*: ([0-9]{1,2})x", text)
    slowed = [found[1] for found in _SLOWED.finditer(text)]
    volatile = re.search(r"^ +Volatile$(.*?)^ +Aggregate$", text, re.MULTILINE | re.DOTALL)
    lost = re.findall(
        r"(?:DRAM |SRAM )?Uncorrectable\w* *: ([0-9]{1,12})$", volatile[1] if volatile else "", re.MULTILINE
    )
    model = re.search(r"^ *Product Name *: (.+)$", text, re.MULTILINE)
    unknown = Absent("nvidia-smi does not report it", "unsupported")
    columns: dict[str, Value] = {
        "name": name,
        "model": model[1] if model else unknown,
        "most_width": int(width[1]) if width else unknown,
        "width": int(width[2]) if width else unknown,
        "slowed": bool(slowed),
        "why_slowed": ", ".join(slowed),
        "uncorrectable": sum(map(int, lost)) if lost else unknown,
        "pending": bool(re.search(r"^ *Pending(?: Page Blacklist)? *: Yes$", text, re.MULTILINE)),
        "remap_failed": bool(re.search(r"^ *Remapping Failure Occurred *: Yes$", text, re.MULTILINE)),
    }
    return Row(name, columns)
