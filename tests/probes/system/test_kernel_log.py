"""Kernel logs as they are found: dmesg, syslog files, /dev/kmsg records; hung tasks and oopses in them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from probes.reading.host import Host
from probes.system.kernel_log import (
    KernelLog,
    KernelLogFollower,
    LogLine,
    find_hung_tasks,
    find_null_dereferences,
    parse_line,
    parse_record,
    read_kernel_log,
)
from probes.types import Absent
from tests.every_case import every_case
from tests.fakes.answering import Answering

DATA = Path(__file__).parents[2] / "data" / "kernel_log"


def captured(tmp_path: Path, name: str, at: str) -> Host:
    (tmp_path / "proc").mkdir()
    target = tmp_path / at
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(DATA / name, target)
    return Host(str(tmp_path))


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


def test_the_talks_hung_tasks_are_read_from_a_syslog_file(tmp_path: Path) -> None:
    log = read_kernel_log(captured(tmp_path, "bfq-stall.txt", "var/log/messages"))
    assert isinstance(log, KernelLog) and log.source == "/var/log/messages"
    first, second = find_hung_tasks(log.lines)
    assert (first.comm, first.pid, first.seconds) == ("xrootd", 13150, 120)
    assert first.release == "4.18.0-348.el8.x86_64"
    assert first.stack[:4] == ("__schedule", "schedule", "io_schedule", "blk_mq_get_tag")
    assert "finish_wait" not in first.stack  # a guess of the unwinder, marked with ?
    assert (second.comm, second.stack) == ("smartctl", ("blk_execute_rq", "sg_io"))


def test_a_sosreports_dmesg_comes_before_a_syslog_file(tmp_path: Path) -> None:
    host = captured(tmp_path, "null-dereference.txt", "sos_commands/kernel/dmesg")
    log = read_kernel_log(host)
    assert isinstance(log, KernelLog)
    (oops,) = find_null_dereferences(log.lines)
    assert oops.function == "blk_mq_put_rq_ref"
    assert oops.worker == "kblockd blk_mq_timeout_work"
    assert oops.time_s == pytest.approx(912.0011)


def test_newer_wordings_of_the_hung_task_report() -> None:
    lines = [
        LogLine("INFO: task a b:c:12 blocked for more than 241 seconds."),
        LogLine("INFO: task jbd2/dm-0-8:55 blocked in I/O wait for more than 122 seconds."),
    ]
    assert [(h.comm, h.pid, h.seconds) for h in find_hung_tasks(lines)] == [
        ("a b:c", 12, 241),
        ("jbd2/dm-0-8", 55, 122),
    ]


def test_lines_after_a_report_are_not_its_stack() -> None:
    lines = [
        LogLine("INFO: task sync:7 blocked for more than 120 seconds."),
        LogLine("Call Trace:"),
        LogLine(" io_schedule+0x12/0x40"),
        LogLine("usb 1-1: new device"),
        LogLine(" other_function+0x1/0x2"),
    ]
    assert [h.stack for h in find_hung_tasks(lines)] == [("io_schedule",)]


def test_no_log_is_absent(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    assert isinstance(read_kernel_log(Host(str(tmp_path))), Absent)


def test_the_missing_right_is_the_reason_though_another_tool_is_not_installed(tmp_path: Path) -> None:
    denied = Absent("journalctl exited with status 1: permission denied", "permission")
    journalctl = "journalctl -k -b -o short-monotonic --no-pager -n 20000"
    assert read_kernel_log(Answering(tmp_path, {journalctl: denied})) == denied


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


def test_a_report_of_an_old_kernel_keeps_its_stack() -> None:
    """Before 5.8 the task has a line of its own, on 32 bits words of its stack follow."""
    lines = [
        LogLine("INFO: task auditd:2185 blocked for more than 120 seconds."),
        LogLine('"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.'),
        LogLine("auditd        D 0000012D  2216  2185      1          2216  2184 (NOTLB)"),
        LogLine("       f7fcaed0 00000086 eb3e3159 0000012d 0000012c 0000000e 00000000 00000007"),
        LogLine("Call Trace:"),
        LogLine(" [<f885f2f1>] log_wait_commit+0x80/0xc7 [jbd]"),
        LogLine("eth0: link is up"),
    ]
    (report,) = find_hung_tasks(lines)
    assert (report.stack, report.modules) == (("log_wait_commit",), {"log_wait_commit": "jbd"})
