"""The EBS log page, from its bytes; a real volume was not at hand."""

from __future__ import annotations

import struct
from pathlib import Path

from probes.reading.host import Host
from probes.system.disk.drive.ebs import COUNTED, FIELDS, MAGIC, ebs_counters, parse_log_page
from probes.types import Absent
from tests.fakes.hosts.tree import Tree

PAGE = FIELDS.pack(MAGIC, 0, 11, 12, 13, 14, 15, 16, 2_500_000, 300_000, 0, 40_000).ljust(4096, b"\0")


def test_the_four_times_are_seconds() -> None:
    assert parse_log_page(PAGE) == dict(zip(COUNTED, (2.5, 0.3, 0.0, 0.04), strict=True))
    assert struct.unpack_from("<Q", PAGE, 56) == (2_500_000,)  # where nvme-cli's struct has it


def test_what_is_no_such_page_is_absent() -> None:
    assert isinstance(parse_log_page(b"\0" * 4096), Absent)
    assert isinstance(parse_log_page(PAGE[:40]), Absent)


def test_another_model_is_never_asked(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "host").put("/sys/block/nvme0n1/device/model", "Samsung PM9A3\n")
    assert "no EBS volume" in ebs_counters(Host(tree.root), "nvme0n1").reason  # type: ignore[union-attr]
