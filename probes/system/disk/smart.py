"""What disks tell of themselves (SMART): their own word on their health, wear, spare blocks, errors of the medium.

By smartctl's JSON on a live host (root), by its text in a sosreport. Attribute numbers of ATA: smartctl(8), drivedb;
NVMe: Base Specification 2.0, figure 207, SMART / Health Information; SCSI: grown defects, endurance indicator.
"""

import json
import os
import re
import time
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.reading.read_trace import note_read
from hostdx.probes.system.disk.block import BlockDevice, block_devices
from hostdx.probes.types import Absent, is_present

ALL_S = 2.0  # for all disks together: one that hangs must not hold up the first look
_PASSED = re.compile(r"(?:overall-health self-assessment test result|SMART Health Status): (\w+)")
_REALLOCATED, _HOURS, _LOAD_CYCLES, _PENDING, _UNCORRECTABLE, _CRC_ERRORS = 5, 9, 193, 197, 198, 199
_NUMBER = r"(0x[0-9a-fA-F]{1,8}|[0-9,]{1,20})"
_UNTOLD = Absent("the disk does not report it", "unsupported")


class SmartHealth(msgspec.Struct, frozen=True, kw_only=True):
    """`passed` is the disk's own word. `used` is the share of its rated life (1.0 is all of it; it may go beyond).

    `spare` and `least_spare` are shares of the spare blocks; `critical` NVMe's bits (1 spare, 2 heat, 4 unreliable,
    8 read-only, 16 no power backup). The others count: blocks replaced, waiting, lost; errors of the medium; transfers
    damaged on the cable; how often the heads were parked, in how many hours of operation.
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
    crc_errors: int | Absent = _UNTOLD
    load_cycles: int | Absent = _UNTOLD
    hours: int | Absent = _UNTOLD


def list_smart_disks(host: Host) -> list[BlockDevice]:
    """Whole disks that have SMART: SATA, SAS and NVMe."""
    return [
        d
        for d in block_devices(host).values()
        if not d.parent
        and d.kind != "rom"
        and is_present(d.size_bytes)
        and d.size_bytes > 0
        and d.transport in {"sata", "sas", "nvme"}
    ]


def _captured_smart_disks(host: Host) -> Iterator[str]:
    """Yield the disks of which a sosreport holds SMART, also where it does not hold their buses."""
    for path in (
        *host.glob_paths("/sos_commands/*/smartctl_*.dev.*"),
        *host.glob_paths("/sos_commands/nvme/nvme_smart*"),
    ):
        name = path.rpartition(".dev.")[2]
        if re.fullmatch(r"sd[a-z]{1,4}|nvme[0-9]+(?:n[0-9]+)?", name):
            yield name


def smart_reports(host: Host) -> dict[str, SmartHealth | Absent]:
    """By kernel name; several disks at a time, all within ALL_S seconds."""
    names = [device.name for device in list_smart_disks(host)]
    if not host.live:
        known_names = {
            *names,
            *(name.partition("n1")[0] for name in names),
        }  # a controller's report is its disk's
        names += sorted(set(_captured_smart_disks(host)) - known_names)
    return dict(zip(names, _read_smart_reports(host, names), strict=True))


def _read_smart_reports(host: Host, names: Sequence[str]) -> list[SmartHealth | Absent]:
    if host.live and os.geteuid() != 0:
        return [Absent("smartctl needs root", "permission", "smartctl -H")] * len(names)
    if not host.live or len(names) < 2:
        return [smart_report(host, name) for name in names]
    until = time.monotonic() + ALL_S

    def read_report(name: str) -> SmartHealth | Absent:
        if time.monotonic() > until:
            return Absent(f"not read: the {ALL_S:g} s for all disks were used up", "timeout", "smartctl -H")
        return smart_report(host, name)

    for name in names:  # the threads' own reads are in no trace of this one's
        note_read(f"smartctl -j -H -A /dev/{name}")
    from concurrent.futures import ThreadPoolExecutor  # a host without disks needs none

    with ThreadPoolExecutor(max_workers=16) as pool:
        return list(pool.map(read_report, names))


def smart_report(host: Host, name: str) -> SmartHealth | Absent:
    """Absent where smartctl told nothing of this disk."""
    # The exit status is a bit mask, and 8 for a failing disk (smartctl(8)): the answer is what counts.
    text = host.read_command("smartctl", "-j", "-H", "-A", f"/dev/{name}", any_status=True)
    if isinstance(text, str):
        return parse_smart_json(text)
    if host.live:
        return text
    for option in ("-a", "-x", "--all", "--xall", "-H"):
        output = host.read_command("smartctl", option, f"/dev/{name}")
        if is_present(output) and _PASSED.search(output):
            return parse_smart_text(output)
    controller = re.match(r"nvme[0-9]+", name)
    log = host.read_command("nvme", "smart-log", f"/dev/{name}")
    if isinstance(log, Absent) and controller:
        log = host.read_command("nvme", "smart-log", f"/dev/{controller[0]}")
    return parse_nvme_log(log) if is_present(log) else text


def parse_smart_json(answer: str) -> SmartHealth | Absent:
    """smartctl's JSON; Absent with what smartctl says where it tells no health."""
    try:
        document = json.loads(answer)
        status = document.get("smart_status")
        if not (isinstance(status, dict) and isinstance(status.get("passed"), bool)):
            messages = [str(m["string"]) for m in document["smartctl"]["messages"]]
            return Absent(messages[0][:200] if messages else "smartctl's answer reports no health")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Absent("smartctl's answer reports no health")
    log = document.get("nvme_smart_health_information_log")
    log = log if isinstance(log, dict) else {}
    rows = document.get("ata_smart_attributes")
    rows = rows.get("table") if isinstance(rows, dict) else None
    raw = (
        {str(r.get("id")): r.get("raw") for r in rows if isinstance(r, dict)}
        if isinstance(rows, list)
        else {}
    )

    def attribute_count(number: int) -> int | Absent:
        held = raw.get(str(number))
        return _count_or_untold(held.get("value") if isinstance(held, dict) else None)

    replaced = attribute_count(_REALLOCATED)
    powered = document.get("power_on_time")
    worn = log.get("percentage_used", document.get("scsi_percentage_used_endurance_indicator"))
    return SmartHealth(
        passed=bool(status["passed"]),
        critical=_count_or_untold(log.get("critical_warning")),
        used=_percent_share(worn),
        spare=_percent_share(log.get("available_spare")),
        least_spare=_percent_share(log.get("available_spare_threshold")),
        media_errors=_count_or_untold(log.get("media_errors")),
        reallocated=replaced
        if is_present(replaced)
        else _count_or_untold(document.get("scsi_grown_defect_list")),
        pending=attribute_count(_PENDING),
        uncorrectable=attribute_count(_UNCORRECTABLE),
        crc_errors=attribute_count(_CRC_ERRORS),
        load_cycles=attribute_count(_LOAD_CYCLES),
        hours=_count_or_untold(powered.get("hours") if isinstance(powered, dict) else None),
    )


def parse_nvme_log(text: str) -> SmartHealth | Absent:
    """`nvme smart-log` as a person reads it (nvme-cli): it tells no health of its own, so the critical bits do."""

    def read_number(name: str) -> int | Absent:
        return _find_number(text, rf"^{name}\s*: *{_NUMBER}")

    critical = read_number("critical_warning")
    if isinstance(critical, Absent):
        return Absent("nvme smart-log reports no critical_warning")
    return SmartHealth(
        passed=critical & ~2 == 0,  # heat alone is no failing disk
        critical=critical,
        used=_percent_share(read_number("percentage_used")),
        spare=_percent_share(read_number("available_spare")),
        least_spare=_percent_share(read_number("available_spare_threshold")),
        media_errors=read_number("media_errors"),
    )


def parse_smart_text(text: str) -> SmartHealth | Absent:
    """`smartctl -a` as a person reads it."""
    word = _PASSED.search(text)
    if word is None:
        return Absent("smartctl's answer reports no health")

    def read_number(name: str) -> int | Absent:
        return _find_number(text, rf"^{name}: +{_NUMBER}%?\s*$")

    def attribute_count(number: int) -> int | Absent:
        match = re.search(
            rf"^ *{number} \S+ +0x[0-9a-f]+ +[0-9]+ +[0-9]+ .* ([0-9]{{1,15}})(?: \(.*)?$", text, re.MULTILINE
        )
        return int(match[1]) if match else _UNTOLD

    replaced, lost = attribute_count(_REALLOCATED), attribute_count(_UNCORRECTABLE)
    worn = read_number("Percentage Used")
    cycles, hours = attribute_count(_LOAD_CYCLES), attribute_count(_HOURS)
    of_sas = _find_number(text, rf"^\s*Accumulated power on time, hours:minutes {_NUMBER}:")
    return SmartHealth(
        passed=word[1].upper() in ("PASSED", "OK"),
        critical=read_number("Critical Warning"),
        used=_percent_share(worn if is_present(worn) else read_number("Percentage used endurance indicator")),
        spare=_percent_share(read_number("Available Spare")),
        least_spare=_percent_share(read_number("Available Spare Threshold")),
        media_errors=read_number("Media and Data Integrity Errors"),
        reallocated=replaced if is_present(replaced) else read_number("Elements in grown defect list"),
        pending=attribute_count(_PENDING),
        uncorrectable=lost if is_present(lost) else _uncorrected_of_scsi(text),
        crc_errors=attribute_count(_CRC_ERRORS),
        load_cycles=cycles if is_present(cycles) else read_number("Accumulated load-unload cycles"),
        hours=hours if is_present(hours) else of_sas,
    )


def _uncorrected_of_scsi(text: str) -> int | Absent:
    """Return the errors that a SAS disk did not correct: the last column of its error counter log."""
    counts = re.findall(r"^(?:read|write|verify):(?: +[0-9.]{1,20}){6} +([0-9]{1,15}) *$", text, re.MULTILINE)
    return sum(map(int, counts)) if counts else _UNTOLD


def _find_number(text: str, pattern: str) -> int | Absent:
    match = re.search(pattern, text, re.MULTILINE)
    return int(match[1].replace(",", ""), 0) if match else _UNTOLD


def _count_or_untold(value: Any) -> int | Absent:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63:
        return value
    return _UNTOLD


def _percent_share(percent: Any) -> float | Absent:
    count = _count_or_untold(percent)
    return count / 100 if is_present(count) and count <= 255 else _UNTOLD
