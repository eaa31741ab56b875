"""Tasks in D from captured trees, hostile names among them, and the priorities that processes ask for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from probes.reading.host import Host
from probes.reading.process_stat import parse_stat
from probes.system.running.ioprio import decode_priority, read_priorities
from probes.system.running.tasks import (
    Scan,
    explain_hidden_tasks,
    find_blocked_tasks,
    parse_frame,
    read_task_stack,
)
from probes.types import Absent
from tests.every_case import every_case


def stat_line(pid: int, comm: str, state: str, flags: int = 0, threads: int = 1, start: int = 77) -> str:
    rest = ["1"] * 50
    rest[5], rest[16], rest[18] = str(flags), str(threads), str(start)
    return f"{pid} ({comm}) {state} {' '.join(rest)}\n"


def process(root: Path, pid: int, comm: str, state: str, wchan: str = "0", **more: int) -> None:
    for folder in (root / "proc" / str(pid), root / "proc" / str(pid) / "task" / str(pid)):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "stat").write_text(stat_line(pid, comm, state, **more))
        (folder / "wchan").write_text(wchan)
        (folder / "status").write_text(f"Name:\t{comm}\nvoluntary_ctxt_switches:\t12\nnonvol: 1\n")


@every_case("comm", ["sh", "a b", ") D (", "(sd-pam)", "x) S 1 2 3", "ü\\x1b[31m"])
def test_a_name_with_parentheses_does_not_shift_the_fields(comm: str) -> None:
    read = parse_stat(stat_line(9, comm, "D", 64, 3, 1234))
    assert read is not None
    assert (
        read.pid,
        read.name,
        read.state_letter,
        read.is_kernel_thread,
        read.thread_count,
        read.start_ticks,
    ) == (
        9,
        comm,
        "D",
        False,
        3,
        1234,
    )


@every_case("text", ["", "12", "12 (sh D 1 2", "12 (sh", "12 (sh)", "12 (sh) S", "x (sh) D " + "1 " * 50])
def test_what_is_no_stat_is_none(text: str) -> None:
    assert parse_stat(text) is None


def test_only_tasks_in_d_are_found(tmp_path: Path) -> None:
    process(tmp_path, 1, "init", "S")
    process(tmp_path, 20, "xrootd", "D", "percpu_rwsem_wait")
    process(tmp_path, 30, "kworker/0:1", "I", flags=0x00200000)
    process(tmp_path, 40, "make", "D", "kernel_clone")  # a vfork parent, for a millisecond
    process(tmp_path, 50, "kswapd0", "D", "0", flags=0x00200000)
    scan = find_blocked_tasks(Host(str(tmp_path)))
    assert isinstance(scan, Scan) and scan.processes == 5
    assert [(t.pid, t.comm, t.kernel_thread) for t in scan.tasks] == [
        (20, "xrootd", False),
        (50, "kswapd0", True),
    ]
    assert scan.tasks[0].wchan == "percpu_rwsem_wait" and scan.tasks[0].switches == 12
    assert isinstance(scan.tasks[1].wchan, Absent)  # "0" is no channel


def test_a_thread_in_d_is_found_below_a_sleeping_leader(tmp_path: Path) -> None:
    process(tmp_path, 20, "server", "S", threads=2)
    thread = tmp_path / "proc/20/task/21"
    thread.mkdir()
    (thread / "stat").write_text(stat_line(21, "worker", "D"))
    scan = find_blocked_tasks(Host(str(tmp_path)))
    assert isinstance(scan, Scan)
    assert [(t.pid, t.tid, t.comm) for t in scan.tasks] == [(20, 21, "worker")]
    assert isinstance(scan.tasks[0].wchan, Absent) and isinstance(scan.tasks[0].switches, Absent)


def test_no_processes_is_absent(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    assert isinstance(find_blocked_tasks(Host(str(tmp_path))), Absent)


@every_case(
    ("line", "function"),
    [
        ("[<0>] percpu_rwsem_wait+0x15f/0x1d0", "percpu_rwsem_wait"),
        (" xfs_buf_iowait+0x22/0xd0 [xfs]", "xfs_buf_iowait"),
        (" ? finish_wait+0x80/0x80", "finish_wait"),
        ("[<ffffffff8123>] sleep_on_page.isra.3+0xe/0x20", "sleep_on_page.isra.3"),
        ("Call Trace:", ""),
        ("task:xrootd state:D", ""),
    ],
)
def test_frames(line: str, function: str) -> None:
    assert parse_frame(line) == function


def test_a_stack_is_read_through_the_guard(tmp_path: Path) -> None:
    process(tmp_path, 20, "xrootd", "D", "percpu_rwsem_wait")
    (tmp_path / "proc/20/task/20/stack").write_text(
        "[<0>] percpu_rwsem_wait+0x1/0x2\n[<0>] vfs_write+0x3/0x4\n"
    )
    host = Host(str(tmp_path))
    scan = find_blocked_tasks(host)
    assert isinstance(scan, Scan)
    assert read_task_stack(host, scan.tasks[0]) == ("percpu_rwsem_wait", "vfs_write")
    host.close()


@every_case(
    ("value", "nice", "expected"),
    [
        (0, 0, None),
        (4, 0, None),
        ((2 << 13) | 4, 0, None),
        ((2 << 13) | 0, -20, None),  # what follows the nice value was not asked for
        ((2 << 13) | 0, 0, ("best-effort", 0)),
        ((1 << 13) | 2, 0, ("real-time", 2)),
        (3 << 13, 0, ("idle", 0)),
    ],
)
def test_priorities_are_decoded(value: int, nice: int, expected: tuple[str, int] | None) -> None:
    assert decode_priority(value, nice) == expected


@pytest.mark.real("cpu")
def test_a_process_of_ours_with_idle_priority_is_found() -> None:
    code = (
        "import sys, psutil; psutil.Process().ionice(psutil.IOPRIO_CLASS_IDLE); "
        "print(1, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(os.environ)
    ) as child:
        assert child.stdout is not None and child.stdin is not None
        child.stdout.readline()
        found = read_priorities(Host())
        child.stdin.close()
    assert not isinstance(found, Absent)
    assert (child.pid, "idle") in {(p.pid, p.kind) for p in found}


class Seen(Host):
    """A live host whose /proc shows what is given: the pid namespace, and whether process 1 can be read."""

    def __init__(self, namespace: str | Absent, first: str | Absent) -> None:
        super().__init__()
        self.given: dict[str, str | Absent] = {"/proc/self/ns/pid": namespace, "/proc/1/stat": first}

    def read_link(self, path: str) -> str | Absent:
        return self.given[path] if path in self.given else super().read_link(path)

    def read_file_text(self, path: str, *args: int, **more: bool) -> str | Absent:
        return self.given[path] if path in self.given else super().read_file_text(path, *args, **more)


MACHINE, CONTAINER = "pid:[4026531836]", "pid:[4026532281]"
NO = Absent("no such file")


@every_case(
    ("namespace", "first", "kind"),
    [
        (MACHINE, stat_line(1, "systemd", "S"), ""),
        (NO, stat_line(1, "init", "S"), ""),  # a kernel without pid namespaces
        (MACHINE, NO, "permission"),
        (MACHINE, Absent("no", "permission"), "permission"),
        (CONTAINER, stat_line(1, "sh", "S"), "container"),
    ],
)
def test_whether_other_users_tasks_are_hidden(
    namespace: str | Absent, first: str | Absent, kind: str
) -> None:
    host = Seen(namespace, first)
    why = explain_hidden_tasks(host)
    assert (why.kind if why is not None else "") == kind
    host.close()


def test_a_captured_tree_does_not_tell(tmp_path: Path) -> None:
    assert explain_hidden_tasks(Host(str(tmp_path))) is None
