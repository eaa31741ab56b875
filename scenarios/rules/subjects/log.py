"""Rows about the kernel's log: the devices that its lines name."""

import re

from probes.host import Host
from probes.system.kernel_log import kernel_log
from probes.types import Absent
from scenarios.rules.expression import Value
from scenarios.rules.table import SubjectRow

LONGEST = 300
_DISK = r"(?!vdev\b)(?:(?:sd|vd|xvd)[a-z]{1,4}|nvme\d+(?:c\d+)?n\d+|dm-\d+|md\d+|mmcblk\d+|rbd\d+|drbd\d+|bcache\d+)"
_ADDRESS = r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
# By kind: of a line that names a card by its own name and by its bus address, its own name counts.
_NAMES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b({_DISK}(?:p?\d+)?)\b",
        r"NETDEV WATCHDOG: (?!CPU)(\S+)|\b((?:en[opsxP]|eth|ib[ps]?|bond|wl|hsn|em|p\dp)\w*\d\w*)(?=[:\s(]| )",
        r"\b(nvme\d+|ata\d+(?:\.\d\d)?|mpt[23]sas_cm\d+|mlx[45]_\d+|hfi1_\d+|card\d+|(?:scsi )?host\d+|session\d+)\b",
        r"\bsd (\d+:\d+:\d+:\d+):|(?:thin: |swap-device \()(\d+:\d+)",
        r"vdev=(?:/dev/(?:disk/by-\w+/)?)?(\S+?)(?:-part\d+)? ",
        r"pids controller in (/\S+)",
        r"Request device \[((?:0000:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\]",
        rf"(?<![\w:])(?:PCI:)?({_ADDRESS}|0000:[0-9a-f]{{2}}:[0-9a-f]{{2}})(?![\w.]|:[0-9a-f])",
        r"(?i)\b(?:EDAC )?(mc\d+)\b",
        r"(?:server|mds|osd|ceph:?) (\S+?)[,:]? (?:not responding|hung|session lost|OK|down)",
        r"[Ll]ustre\w*: (\S+-(?:OST|MDT)\w+)",
    )
)


def lines_of(
    host: Host, pattern: str, worse: str = "", without: tuple[str, ...] = ()
) -> list[SubjectRow] | Absent:
    """One row per device that the matching lines name, one for those that name none; without any, one of no lines.

    `lines`: how many; `last`: the last of them; `worse`: how many are of the worse kind. `without`: lines that meet
    one of these patterns are left out.
    """
    log = host.once(kernel_log)
    if isinstance(log, Absent):
        return log
    meets, is_worse = re.compile(pattern).search, re.compile(worse).search if worse else None
    found: dict[str, dict[str, Value]] = {}
    for line in log.lines:
        if not meets(line.message) or any(re.search(other, line.message) for other in without):
            continue
        for name in named(line.message) or ("",):
            row = found.setdefault(name, {"name": name, "lines": 0, "worse": 0})
            row["lines"] += 1
            row["last"] = line.message[:LONGEST]
            row["worse"] += bool(is_worse and is_worse(line.message))
    if not found:
        found[""] = {"name": "", "lines": 0, "worse": 0, "last": ""}
    return [SubjectRow(name, {**columns, "source": log.source}) for name, columns in found.items()]


def named(message: str) -> tuple[str, ...]:
    """The devices that a line names, by the first kind of name that is in it."""
    for kind in _NAMES:
        if names := [next(filter(None, found.groups())) for found in kind.finditer(message)]:
            return tuple(dict.fromkeys(names))
    return ()


# Words of a line at fault; what every start says of the handling of errors is none.
FAULT = (
    r"(?i)(?!.*\b(?:no|0|without) (?:error|fault|fail)s?)"
    r".*\b(?:error|fail(?:ed|ure|ing)?|fault(?:ed|y)?|time(?:d[- ]?out|out)|abort(?:ed|ing)?|hung|hang|stuck|"
    r"stall(?:ed)?|degraded|uncorrect\w*|unrecover\w*|corrupt\w*|offline|dead|lost|overheat\w*|throttl\w*|fatal|panic|poison\w*|"
    r"unresponsive|not responding|reset(?:ting)?)\b"
)


def log_rows(host: Host) -> list[SubjectRow] | Absent:
    """What the log says of any device in words of a fault."""
    return lines_of(host, FAULT)
