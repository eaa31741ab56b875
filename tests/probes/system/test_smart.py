"""What smartctl tells, as JSON and as text."""

from __future__ import annotations

import json

import pytest

from probes.system.disk.smart import Smart, parse_smart_json, parse_smart_text
from probes.types import Absent, is_present
from tests.every_case import every_case

NVME = {
    "smart_status": {"passed": True},
    "nvme_smart_health_information_log": {
        "critical_warning": 4,
        "available_spare": 7,
        "available_spare_threshold": 10,
        "percentage_used": 104,
        "media_errors": 3,
    },
}
ATA = {
    "smart_status": {"passed": True},
    "ata_smart_attributes": {
        "table": [
            {"id": 5, "name": "Reallocated_Sector_Ct", "raw": {"value": 12}},
            {"id": 197, "name": "Current_Pending_Sector", "raw": {"value": 8}},
            {"id": 198, "name": "Offline_Uncorrectable", "raw": {"value": 1}},
        ]
    },
}
NVME_TEXT = """SMART overall-health self-assessment test result: PASSED

SMART/Health Information (NVMe Log 0x02)
Critical Warning:                   0x04
Available Spare:                    7%
Available Spare Threshold:          10%
Percentage Used:                    104%
Data Units Read:                    1,234,567 [632 GB]
Media and Data Integrity Errors:    3
"""
ATA_TEXT = """SMART overall-health self-assessment test result: PASSED
ID# ATTRIBUTE_NAME          FLAG     VALUE WORST THRESH TYPE      UPDATED  WHEN_FAILED RAW_VALUE
  5 Reallocated_Sector_Ct   0x0033   100   100   010    Pre-fail  Always       -       12
197 Current_Pending_Sector  0x0012   100   100   000    Old_age   Always       -       8
198 Offline_Uncorrectable   0x0010   100   100   000    Old_age   Offline      -       1
"""


def told(found: Smart | Absent) -> dict[str, object]:
    assert isinstance(found, Smart)
    return {name: v for name in found.__struct_fields__ if is_present(v := getattr(found, name))}


@pytest.mark.parametrize("found", [parse_smart_json(json.dumps(NVME)), parse_smart_text(NVME_TEXT)])
def test_an_nvme_disk(found: Smart | Absent) -> None:
    expected = {"passed": True, "critical": 4, "used": 1.04, "spare": 0.07, "least_spare": 0.1}
    assert told(found) == expected | {"media_errors": 3}


@pytest.mark.parametrize("found", [parse_smart_json(json.dumps(ATA)), parse_smart_text(ATA_TEXT)])
def test_an_ata_disk(found: Smart | Absent) -> None:
    assert told(found) == {"passed": True, "reallocated": 12, "pending": 8, "uncorrectable": 1}


@every_case(
    "log",
    [
        [],
        "x",
        {"percentage_used": "9" * 5000, "media_errors": -1, "critical_warning": True},
        {"available_spare": 1e9},
    ],
)
def test_nonsense_beside_a_health_is_not_told(log: object) -> None:
    answer = {"smart_status": {"passed": False}, "nvme_smart_health_information_log": log}
    answer["ata_smart_attributes"] = {"table": [7, {"id": 5, "raw": "x"}, {"id": [1]}]} if log == "x" else log
    assert told(parse_smart_json(json.dumps(answer))) == {"passed": False}


def test_a_text_without_health_is_absent() -> None:
    assert isinstance(parse_smart_text("smartctl 7.2\nPermission denied\n"), Absent)
