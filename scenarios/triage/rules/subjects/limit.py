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
    """`resource`: of what there is a limit; `look`: a command that shows its use; `head`: lines above its rows.

    `pair`: in what a program printed (`outputs`), each match has both numbers, in the groups `used` and `most`, and may
    have a `name`. Paths may hold `*`: the first that is there is read. `advice`: what helps where no sysctl does.
    """

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
    most_match: str = r"(\d+)"
    constant: int = 0
    setting: str = ""
    outputs: tuple[str, ...] = ()
    pair: str = ""
    advice: str = ""


def limit_rows(host: Host) -> list[SubjectRow]:
    """One row per limit of which this host tells both numbers."""
    rows = []
    for limit in load_entries("limits", "limit", KernelLimit).entries:
        rows += [_limit_row(limit, *values) for values in _printed_pairs(host, limit)]
        most = limit.constant or (
            _number_matched_in(host, limit.most, limit.most_match) if limit.most else None
        )
        if most is None:
            continue
        for path, used in _files_and_used_counts(host, limit):
            name = path.split("/")[4] if limit.entries.startswith("/sys/class/net/") else limit.resource
            rows.append(_limit_row(limit, name, used, most, f"{path}, {limit.most}" if limit.most else path))
    return rows


def _limit_row(limit: KernelLimit, name: str, used: int, most: int, source: str) -> SubjectRow:
    columns: dict[str, Value] = {
        "name": name,
        "resource": limit.resource,
        "used": used,
        "most": most,
        "doubled": 2 * most,
        "setting": limit.setting,
        "effect": limit.effect,
        "look": limit.look,
        "advice": limit.advice or "remove what is left over, or spread it over several",
        "basis": limit.source,
        "source": source,
    }
    return SubjectRow(f"{limit.resource} {name}", columns)


def _printed_pairs(host: Host, limit: KernelLimit) -> Iterator[tuple[str, int, int, str]]:
    """Yield what it is about, its use, its limit and the path, of each pair that a program printed."""
    for path in dict.fromkeys(path for pattern in limit.outputs for path in host.glob_paths(pattern)):
        text = host.read_file_text(path, MAX_TABLE_BYTES)
        for match in re.finditer(limit.pair, text, re.MULTILINE) if is_present(text) else ():
            name = match.groupdict().get("name") or limit.resource
            yield name, int(match["used"]), int(match["most"]), path


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
    path = next(iter(host.glob_paths(path)), path) if "*" in path else path
    text = host.read_file_text(path, 1 << 16)
    match = None if isinstance(text, Absent) else re.search(pattern, text, re.MULTILINE)
    if match is None:
        return None
    return parse_hexadecimal(match[1]) if hexadecimal else parse_unsigned(match[1])
