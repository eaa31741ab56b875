"""The EBS log page, from its bytes; a real volume was not at hand."""

import struct

from hostdx.probes.system.disk.drive.ebs import COUNTED, FIELDS, MAGIC, parse_log_page
from hostdx.probes.types import Absent

PAGE = FIELDS.pack(MAGIC, 0, 11, 12, 13, 14, 15, 16, 2_500_000, 300_000, 0, 40_000).ljust(4096, b"\0")


def test_the_four_times_are_seconds() -> None:
    assert parse_log_page(PAGE) == dict(zip(COUNTED, (2.5, 0.3, 0.0, 0.04), strict=True))
    assert struct.unpack_from("<Q", PAGE, 56) == (2_500_000,)  # where nvme-cli's struct has it


def test_what_is_no_such_page_is_absent() -> None:
    assert isinstance(parse_log_page(b"\0" * 4096), Absent)
    assert isinstance(parse_log_page(PAGE[:40]), Absent)
