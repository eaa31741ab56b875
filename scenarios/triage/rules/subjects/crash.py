"""Rows about crashes of the kernel whose last log this host kept: kdump's dumps and the firmware's pstore."""

import re
from collections.abc import Iterator
from typing import cast

from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.triage.rules.expression import Value
from hostdx.scenarios.triage.rules.read import without_long_lines
from hostdx.scenarios.triage.rules.table import SubjectRow

MAX_LOG_BYTES = 16 << 20
TAIL_CHARACTERS = 1 << 18  # of a log, which ends with the crash
MAX_CRASHES = 20  # the newest by name: names of dumps begin or end with their date

# Of kdump (Red Hat, SUSE and Debian), of abrtd, and of systemd-pstore(8), which empties /sys/fs/pstore at boot.
_LOGS = (
    "/var/crash/*/vmcore-dmesg*.txt",
    "/var/crash/*/dmesg*.txt",
    "/var/crash/*/dmesg.*",
    "/var/spool/abrt/vmcore-*/dmesg",
    "/var/lib/systemd/pstore/*/*dmesg*",
    "/var/lib/systemd/pstore/dmesg-*",
    "/sys/fs/pstore/dmesg-*",
)
# One dump in the EFI variables is many records: the time, two digits of the part, three of the count (efi-pstore.c).
_EFI_RECORD = re.compile(r"(dmesg-efi(?:_pstore)?-\d+)\d{5}$")
_PANIC = re.compile(r"Kernel panic - not syncing: (.+)")
_CAUSE = re.compile(
    r"(BUG: (?!workqueue|sleeping|Bad (?:page|rss))[^\n]+|kernel BUG at [^\n]+|general protection fault[^\n]*"
    r"|Unable to handle kernel [^\n]+|(?:Watchdog detected )?hard LOCKUP on cpu[^\n]*"
    r"|(?:mce: )?\[Hardware Error\]: CPU \d+: Machine Check[^\n]*)"
)
_PLACE = re.compile(
    r"\b(?:R?IP|pc) ?: (?:[0-9a-f]{4}:)?(?:\[<[0-9a-f() nul]+>\] *)*([\w.]+)\+0x\w+/0x\w+(?: \[(\w+)\])?"
)
_RELEASE = re.compile(
    r"Comm: .{1,20}? (?:Kdump: \w+ )?(?:Not tainted|Tainted: [A-Z ]+?(?:\[\w.*?\] ?)?) ?(\d\S+) #"
)
_UNTOLD = Absent("the log does not tell it")
_STAMP = re.compile(r"^(?:<\d+>)?\[ *\d+\.\d+\](?:\[ *[CT]\d+\])? ?", re.MULTILINE)
# Who crashes a kernel on purpose, to try kdump, says so.
_ON_PURPOSE = re.compile(r"sysrq: ?(?:SysRq : )?Trigger a crash|sysrq triggered crash|lkdtm: Performing")


def _name_path_and_text_of_logs(host: Host) -> Iterator[tuple[str, str, str]]:
    """The name of each crash, the path and the text of its log; the records of one crash are one text."""
    paths_by_crash: dict[str, list[str]] = {}
    for pattern in _LOGS:
        for path in host.glob_paths(pattern):
            folder, _, name = path.rpartition("/")
            record = _EFI_RECORD.match(name)
            crash = record[1] if record else name if folder.endswith("/pstore") else folder.rpartition("/")[2]
            paths_by_crash.setdefault(crash, []).append(path)
    for crash in sorted(paths_by_crash, reverse=True)[:MAX_CRASHES]:
        paths = sorted(paths_by_crash[crash], reverse=True)  # the first part is the end of the log
        texts = [text for path in paths if is_present(text := host.read_file_text(path, MAX_LOG_BYTES))]
        if texts:
            tail = without_long_lines("\n".join(texts)[-TAIL_CHARACTERS:])
            yield crash, paths[0], _STAMP.sub("", tail)


def crash_rows(host: Host) -> list[SubjectRow]:
    """One row per place in the kernel where it crashed, named by the newest dump: the `reason` of the panic, the
    `cause` before it, `function` and `module` (absent in the kernel itself), the kernel's `release`, how many `times`;
    `foreign`: that module is not the kernel's own.
    """
    rows: dict[str, dict[str, Value]] = {}
    for crash, path, text in _name_path_and_text_of_logs(host):
        panic, cause, place = _PANIC.search(text), _CAUSE.search(text), _PLACE.search(text)
        first_line = cause or panic
        if first_line is None:
            continue
        module, release = place[2] if place else None, _RELEASE.search(text)
        loaded = re.search(rf"\b{module}\([A-Z+-]*[OP]", text) if module else None
        columns: dict[str, Value] = {
            "name": crash,
            "path": path,
            "times": 0,
            "reason": panic[1].strip() if panic else _UNTOLD,
            "cause": cause[1].strip() if cause else _UNTOLD,
            "function": place[1] if place else _UNTOLD,
            "module": module or _UNTOLD,
            "foreign": loaded is not None,
            "release": release[1] if release else _UNTOLD,
            "on_purpose": _ON_PURPOSE.search(text) is not None,
        }
        key = place[1] if place else re.sub(r"0x\w+|\d+", "", first_line[1])
        row = rows.setdefault(key, columns)
        row["times"] = cast(int, row["times"]) + 1
    return [SubjectRow(str(columns["name"]), columns) for columns in rows.values()]


def stored_crash_rows(host: Host) -> list[SubjectRow]:
    """One row per store of EFI variables that holds records of crashes: how many."""
    counts = {
        "/sys/firmware/efi/efivars": len(host.glob_paths("/sys/firmware/efi/efivars/dump-type0-*")),
        "/sys/fs/pstore": len(host.glob_paths("/sys/fs/pstore/dmesg-efi*")),
    }
    path, count = max(counts.items(), key=lambda item: item[1])
    return (
        [SubjectRow("EFI variables", {"name": "EFI variables", "path": path, "records": count})]
        if count
        else []
    )
