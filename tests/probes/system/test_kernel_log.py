"""Kernel logs as they are found: dmesg, syslog files, /dev/kmsg records; hung tasks and oopses in them."""

import os
from pathlib import Path

from hostdx.probes.system.kernel_log import (
    KernelLogFollower,
    LogLine,
    parse_line,
    parse_record,
)
from tests.every_case import every_case


@every_case(
    ("line", "expected"),
    [
        ("[   12.345678] text", LogLine("text", 12.345678)),
        ("<6>[   12.5]  indented", LogLine(" indented", 12.5, 6)),
        ("Nov 23 04:12:31 st-096 kernel: [812345.100001] text", LogLine("text", 812345.100001)),
        ("Nov 23 04:12:31 st-096 kernel: text", LogLine("text")),
        ("2026-02-10T12:34:56.1+0100 st-096 kernel: text", LogLine("text")),
        ("[Thu Feb 10 12:34:56 2022] text", LogLine("text")),
        ("text", LogLine("text")),
        ("kern  :warn  : [   12.5] text", LogLine("text", 12.5, 4)),
        (
            '{"_TRANSPORT":"kernel","PRIORITY":"3","__MONOTONIC_TIMESTAMP":"12500000","MESSAGE":"text"}',
            LogLine("text", 12.5, 3),
        ),
        ('{"MESSAGE":[1,2]', LogLine('{"MESSAGE":[1,2]')),
    ],
)
def test_prefixes_come_off(line: str, expected: LogLine) -> None:
    assert parse_line(line) == expected


def test_a_record_of_the_device() -> None:
    assert parse_record("6,339,5140900,-;NET: text\n SUBSYSTEM=net\n") == LogLine("NET: text", 5.1409, 6)
    assert parse_record("nonsense") == LogLine("", None)


def test_following_gives_only_what_is_new(tmp_path: Path) -> None:
    fifo = tmp_path / "kmsg"
    os.mkfifo(fifo)
    follower = KernelLogFollower(str(fifo))  # a pipe cannot seek: the follower says so and gives nothing
    assert "kmsg" in follower.problem and follower.read_new() == []
    missing = KernelLogFollower(str(tmp_path / "none"))
    assert "needs root" in missing.problem and missing.read_new() == []
