"""Rows about limits of the kernel whose use it tells, too (knowledge/limits.toml)."""

import re
from collections.abc import Iterator

from hostdx.probes.number_text import parse_hexadecimal, parse_unsigned
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.contract.knowledge_file import KnowledgeEntry, load_entries
from hostdx.scenarios.triage.rules.expression import Value
from hostdx.scenarios.triage.rules.table import SubjectRow

MAX_TABLE_BYTES = 16 << 20


class KernelLimit(KnowledgeEntry, frozen=True, forbid_unknown_fields=True):
    """`resource`: of what there is a limit; `look`: a command that shows its use; `head`: lines above its rows."""

    resource: str
    effect: str
    look: str
    source: str
    used: str = ""
    used_match: str = r"(\d+)"
    hexadecimal: bool = False
    entries: str = ""
    head: int = 0
    most: str = ""
    constant: int = 0
    setting: str = ""


def limit_rows(host: Host) -> list[SubjectRow]:
    """One row per limit of which this host tells both numbers."""
    rows = []
    for limit in load_entries("limits", "limit", KernelLimit).entries:
        most = limit.constant if limit.constant else _number_matched_in(host, limit.most, r"(\d+)")
        for path, used in _files_and_used_counts(host, limit) if most is not None else ():
            columns: dict[str, Value] = {
                "name": path.split("/")[4] if limit.entries.startswith("/sys/class/net/") else limit.resource,
                "resource": limit.resource,
                "used": used,
                "most": most,
                "doubled": 2 * (most or 0),
                "setting": limit.setting,
                "effect": limit.effect,
                "look": limit.look,
                "basis": limit.source,
                "source": f"{path}, {limit.most}" if limit.most else path,
            }
            rows.append(SubjectRow(str(columns["name"]), columns))
    return rows


def _files_and_used_counts(host: Host, limit: KernelLimit) -> Iterator[tuple[str, int]]:
    if limit.used:
        if (used := _number_matched_in(host, limit.used, limit.used_match, limit.hexadecimal)) is not None:
            yield limit.used, used
        return
    for path in host.glob_paths(limit.entries) if "*" in limit.entries else (limit.entries,):
        names = host.list_names(path)
        if is_present(names):
            yield path, len(names)
        elif is_present(text := host.read_file_text(path, MAX_TABLE_BYTES)):
            yield path, max(0, len(text.splitlines()) - limit.head)


def _number_matched_in(host: Host, path: str, pattern: str, hexadecimal: bool = False) -> int | None:
    text = host.read_file_text(path, 1 << 16)
    match = None if isinstance(text, Absent) else re.search(pattern, text)
    if match is None:
        return None
    return parse_hexadecimal(match[1]) if hexadecimal else parse_unsigned(match[1])
