"""What smartctl tells, as JSON and as text."""

import json

import pytest

from hostdx.probes.system.disk.smart import Smart, parse_smart_json, parse_smart_text
from hostdx.probes.types import Absent, is_present

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

NVME_TEXT = """SMART overall-health self-assessment test result: PASSED

SMART/Health Information (NVMe Log 0x02)
Critical Warning:                   0x04
Available Spare:                    7%
Available Spare Threshold:          10%
Percentage Used:                    104%
Data Units Read:                    1,234,567 [632 GB]
Media and Data Integrity Errors:    3
"""


def present_fields(smart: Smart | Absent) -> dict[str, object]:
    assert isinstance(smart, Smart)
    return {name: v for name in smart.__struct_fields__ if is_present(v := getattr(smart, name))}


@pytest.mark.parametrize("smart", [parse_smart_json(json.dumps(NVME)), parse_smart_text(NVME_TEXT)])
def test_an_nvme_disk(smart: Smart | Absent) -> None:
    expected = {"passed": True, "critical": 4, "used": 1.04, "spare": 0.07, "least_spare": 0.1}
    assert present_fields(smart) == expected | {"media_errors": 3}


def test_a_text_without_health_is_absent() -> None:
    assert isinstance(parse_smart_text("smartctl 7.2\nPermission denied\n"), Absent)
