"""The kernel's log and the system's log."""

import os
from pathlib import Path

from hostdx.probes.reading.host import Host
from hostdx.probes.system.kernel_log import (
    KernelLog,
    KernelLogFollower,
    LogLine,
    find_hung_tasks,
    parse_kmsg_record,
    parse_log_line,
    read_kernel_log,
)
from hostdx.probes.system.software.system_log import read_system_log
from tests.every_case import every_case
from tests.fakes.hosts.tree import Tree


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
    assert parse_log_line(line) == expected


def test_a_record_of_the_device() -> None:
    assert parse_kmsg_record("6,339,5140900,-;NET: text\n SUBSYSTEM=net\n") == LogLine("NET: text", 5.1409, 6)
    assert parse_kmsg_record("nonsense") == LogLine("", None)


def test_following_gives_only_what_is_new(tmp_path: Path) -> None:
    fifo = tmp_path / "kmsg"
    os.mkfifo(fifo)
    follower = KernelLogFollower(str(fifo))  # a pipe cannot seek: the follower says so and gives nothing
    assert "kmsg" in follower.problem and follower.read_new() == []
    none = KernelLogFollower(str(tmp_path / "none"))
    assert "needs root" in none.problem and none.read_new() == []


def test_an_older_report_of_the_systems_log_keeps_its_stack_and_other_hosts_lines_are_none(
    tmp_path: Path,
) -> None:
    """Both reports have the same frames; the kernel's own log has the second one alone."""

    def report(pid: int) -> list[str]:
        return [
            f"INFO: task cp:{pid} blocked for more than 120 seconds.",
            " io_schedule+0x1/0x2",
            " vfs_read+0x1/0x2",
        ]

    older, newer = report(10), report(11)
    files = {
        "dmesg": "".join(f"[  9.0] {line}\n" for line in newer),
        "var/log/messages": "".join(f"Nov 29 11:00:00 disk17 kernel: {line}\n" for line in [*older, *newer])
        + "Nov 29 11:00:01 other kernel: EXT4-fs error (device sda1): bad\n",
        "etc/hostname": "disk17.example.org\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    log = read_kernel_log(Host(str(tmp_path)))
    assert isinstance(log, KernelLog) and log.source.endswith("dmesg, /var/log/messages")
    assert [line.message for line in log.lines] == [*older, *newer]
    assert [(task.pid, len(task.stack)) for task in find_hung_tasks(log.lines)] == [(10, 2), (11, 2)]


def test_lines_of_programs_are_not_the_kernels(tmp_path: Path) -> None:
    """A system's log that holds none of the kernel's tells nothing of it; the next file may."""
    log = tmp_path / "var/log"
    log.mkdir(parents=True)
    line = "Nov  3 14:00:01 app3 crond[22031]: pam_systemd(crond:session): Failed to create session"
    (log / "messages").write_text(f"{line}\n{line}\n")
    assert not isinstance(read_kernel_log(Host(str(tmp_path))), KernelLog)
    (log / "syslog").write_text(f"{line}\nNov  3 14:00:02 app3 kernel: : mpt2sas0: fault_state(0x5841)!\n")
    kernel_log = read_kernel_log(Host(str(tmp_path)))
    assert isinstance(kernel_log, KernelLog)
    assert [line.message for line in kernel_log.lines] == ["mpt2sas0: fault_state(0x5841)!"]


OWN = "Nov 24 02:11:0{n} node7 slurmd[812]: line {n}\n"
OTHER = "2026-11-24T02:11:00.1+01:00 node8.example.org sshd[9]: other {n}\n"


def read_messages(tree: Tree, program: str) -> list[str]:
    return [line.message for line in read_system_log(tree.host()).get(program, [])]


def test_lines_of_other_hosts_are_left_out(tmp_path: Path) -> None:
    text = OWN.format(n=1) + "".join(OTHER.format(n=n) for n in range(9))
    tree = Tree(tmp_path).put("/var/log/messages", text).put("/etc/hostname", "node7.example.org\n")
    assert read_messages(tree, "slurmd") == ["line 1"]
    assert read_messages(tree, "sshd") == []


def test_a_line_in_log_and_journal_counts_once(tmp_path: Path) -> None:
    tree = Tree(tmp_path).put("/var/log/messages", OWN.format(n=1) * 2)
    tree.put("/sos_commands/logs/journalctl_--no-pager_--boot", OWN.format(n=1) + OWN.format(n=2))
    tree.put("/sos_commands/logs/journalctl_--no-pager_--boot_-1", OWN.format(n=3))
    tree.put("/sos_commands/logs/journalctl_--no-pager", OWN.format(n=4))
    assert read_messages(tree, "slurmd") == ["line 1", "line 1", "line 2"]
