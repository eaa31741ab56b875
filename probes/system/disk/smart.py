"""What disks tell of themselves (SMART): their own word on their health, wear, spare blocks, errors of the medium.

By smartctl's JSON on a live host (root), by its text in a sosreport. Attribute numbers of ATA: smartctl(8), drivedb;
NVMe: Base Specification 2.0, figure 207, SMART / Health Information; SCSI: grown defects, endurance indicator.
"""

import json
import os
import re
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from probes.host import Host
from probes.read_trace import note
from probes.system.disk.block import BlockDevice, block_devices
from probes.types import Absent, present

ALL_S = 2.0  # for all disks together: one that hangs must not hold up the first look
_PASSED = re.compile(r"(?:overall-health self-assessment test result|SMART Health Status): (\w+)")
_REALLOCATED, _PENDING, _UNCORRECTABLE = 5, 197, 198
_NUMBER = r"(0x[0-9a-fA-F]{1,8}|[0-9,]{1,20})"
_UNTOLD = Absent("the disk does not report it", "unsupported")


class Smart(msgspec.Struct, frozen=True, kw_only=True):
    """`passed` is the disk's own word. `used` is the share of its rated life (1.0 is all of it; it may go beyond).

    `spare` and `least_spare` are shares of the spare blocks; `critical` NVMe's bits (1 spare, 2 heat, 4 unreliable,
    8 read-only, 16 no power backup). The others count: blocks replaced, waiting, lost; errors of the medium.
    """

    passed: bool
    critical: int | Absent = _UNTOLD
    used: float | Absent = _UNTOLD
    spare: float | Absent = _UNTOLD
    least_spare: float | Absent = _UNTOLD
    media_errors: int | Absent = _UNTOLD
    reallocated: int | Absent = _UNTOLD
    pending: int | Absent = _UNTOLD
    uncorrectable: int | Absent = _UNTOLD


def physical(host: Host) -> list[BlockDevice]:
    """Whole disks that have SMART: SATA, SAS and NVMe."""
    return [
        d
        for d in block_devices(host).values()
        if not d.parent
        and d.kind != "rom"
        and present(d.size_bytes)
        and d.size_bytes > 0
        and d.transport in {"sata", "sas", "nvme"}
    ]


def smart_reports(host: Host) -> dict[str, Smart | Absent]:
    """By kernel name; several disks at a time, all within ALL_S seconds."""
    devices = physical(host)
    return dict(zip((d.name for d in devices), _asked(host, devices), strict=True))


def _asked(host: Host, devices: Sequence[BlockDevice]) -> list[Smart | Absent]:
    if host.live and os.geteuid() != 0:
        return [Absent("smartctl needs root", "permission", "smartctl -H")] * len(devices)
    if not host.live or len(devices) < 2:
        return [smart_report(host, device.name) for device in devices]
    until = time.monotonic() + ALL_S

    def one(device: BlockDevice) -> Smart | Absent:
        if time.monotonic() > until:
            return Absent(f"not read: the {ALL_S:g} s for all disks were used up", "timeout", "smartctl -H")
        return smart_report(host, device.name)

    for device in devices:  # the threads' own reads are in no trace of this one's
        note(f"smartctl -j -H -A /dev/{device.name}")
    from concurrent.futures import ThreadPoolExecutor  # a host without disks needs none

    with ThreadPoolExecutor(max_workers=16) as pool:
        return list(pool.map(one, devices))


def smart_report(host: Host, name: str) -> Smart | Absent:
    """Absent where smartctl told nothing of this disk."""
    # The exit status is a bit mask, and 8 for a failing disk (smartctl(8)): the answer is what counts.
    text = host.command("smartctl", "-j", "-H", "-A", f"/dev/{name}", any_status=True)
    if isinstance(text, str):
        return of_json(text)
    if host.live:
        return text
    for kept in ("-a", "-x", "-H"):
        told = host.command("smartctl", kept, f"/dev/{name}")
        if present(told) and _PASSED.search(told):
            return of_text(told)
    controller = re.match(r"nvme[0-9]+", name)
    log = host.command("nvme", "smart-log", f"/dev/{name}")
    if isinstance(log, Absent) and controller:
        log = host.command("nvme", "smart-log", f"/dev/{controller[0]}")
    return of_nvme_log(log) if present(log) else text


def of_json(answer: str) -> Smart | Absent:
    """smartctl's JSON; Absent with what smartctl says where it tells no health."""
    try:
        told = json.loads(answer)
        status = told.get("smart_status")
        if not (isinstance(status, dict) and isinstance(status.get("passed"), bool)):
            said = [str(m["string"]) for m in told["smartctl"]["messages"]]
            return Absent(said[0][:200] if said else "smartctl's answer reports no health")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Absent("smartctl's answer reports no health")
    log = told.get("nvme_smart_health_information_log")
    log = log if isinstance(log, dict) else {}
    rows = told.get("ata_smart_attributes")
    rows = rows.get("table") if isinstance(rows, dict) else None
    raw = (
        {str(r.get("id")): r.get("raw") for r in rows if isinstance(r, dict)}
        if isinstance(rows, list)
        else {}
    )

    def attribute(number: int) -> int | Absent:
        held = raw.get(str(number))
        return _count(held.get("value") if isinstance(held, dict) else None)

    replaced = attribute(_REALLOCATED)
    worn = log.get("percentage_used", told.get("scsi_percentage_used_endurance_indicator"))
    return Smart(
        passed=bool(status["passed"]),
        critical=_count(log.get("critical_warning")),
        used=_share(worn),
        spare=_share(log.get("available_spare")),
        least_spare=_share(log.get("available_spare_threshold")),
        media_errors=_count(log.get("media_errors")),
        reallocated=replaced if present(replaced) else _count(told.get("scsi_grown_defect_list")),
        pending=attribute(_PENDING),
        uncorrectable=attribute(_UNCORRECTABLE),
    )


def of_nvme_log(told: str) -> Smart | Absent:
    """`nvme smart-log` as a person reads it (nvme-cli): it tells no health of its own, so the critical bits do."""

    def line(name: str) -> int | Absent:
        return _number(told, rf"^{name}\s*: *{_NUMBER}")

    critical = line("critical_warning")
    if isinstance(critical, Absent):
        return Absent("nvme smart-log reports no critical_warning")
    return Smart(
        passed=critical & ~2 == 0,  # heat alone is no failing disk
        critical=critical,
        used=_share(line("percentage_used")),
        spare=_share(line("available_spare")),
        least_spare=_share(line("available_spare_threshold")),
        media_errors=line("media_errors"),
    )


def of_text(told: str) -> Smart | Absent:
    """`smartctl -a` as a person reads it."""
    word = _PASSED.search(told)
    if word is None:
        return Absent("smartctl's answer reports no health")

    def line(name: str) -> int | Absent:
        return _number(told, rf"^{name}: +{_NUMBER}%?\s*$")

    def attribute(number: int) -> int | Absent:
        found = re.search(
            rf"^ *{number} \S+ +0x[0-9a-f]+ +[0-9]+ +[0-9]+ .* ([0-9]{{1,15}})(?: \(.*)?$", told, re.MULTILINE
        )
        return int(found[1]) if found else _UNTOLD

    replaced = attribute(_REALLOCATED)
    worn = line("Percentage Used")
    return Smart(
        passed=word[1].upper() in ("PASSED", "OK"),
        critical=line("Critical Warning"),
        used=_share(worn if present(worn) else line("Percentage used endurance indicator")),
        spare=_share(line("Available Spare")),
        least_spare=_share(line("Available Spare Threshold")),
        media_errors=line("Media and Data Integrity Errors"),
        reallocated=replaced if present(replaced) else line("Elements in grown defect list"),
        pending=attribute(_PENDING),
        uncorrectable=attribute(_UNCORRECTABLE),
    )


def _number(told: str, line: str) -> int | Absent:
    found = re.search(line, told, re.MULTILINE)
    return int(found[1].replace(",", ""), 0) if found else _UNTOLD


def _count(found: Any) -> int | Absent:
    if isinstance(found, int) and not isinstance(found, bool) and 0 <= found < 1 << 63:
        return found
    return _UNTOLD


def _share(percent: Any) -> float | Absent:
    found = _count(percent)
    return found / 100 if present(found) and found <= 255 else _UNTOLD
