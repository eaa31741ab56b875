"""Reads that may hang are done by a child process: it is reused, abandoned when it hangs, and ends with its parent."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hostdx.probes.reading.hang_safe.client import GuardedReader, PathHangs
from hostdx.probes.reading.host import Host
from hostdx.probes.reading.process_stat import is_running
from hostdx.probes.types import Absent
from tests.fakes.hosts.tree import Tree


def child_of(reader: GuardedReader) -> int:
    assert reader._child is not None
    return reader._child.pid


def is_gone(pid: int) -> bool:
    return not is_running(pid)


def test_the_same_answers_as_without_it(tree: Tree) -> None:
    host = tree.put("/proc/a", b"\xffx\n").link("/proc/l", "/proc/a").host()
    assert host.read_file_text("/proc/l", may_hang=True) == host.read_file_text("/proc/l") == "\\xffx"
    assert host.list_names("/proc", may_hang=True) == host.list_names("/proc") == ("a", "l")
    assert host.path_exists("/proc/a", may_hang=True) and not host.path_exists("/proc/b", may_hang=True)
    absent = host.read_file_text("/proc/b", may_hang=True)
    assert absent == host.read_file_text("/proc/b") and isinstance(absent, Absent)


def test_live_answers() -> None:
    host = Host()
    assert host.read_file_text("/proc/version", may_hang=True) == host.read_file_text("/proc/version")
    assert host.resolve_path("/proc/self/../version", may_hang=True) == "/proc/version"
    space = host.read_statvfs("/")
    assert isinstance(space, os.statvfs_result) and space.f_blocks == os.statvfs("/").f_blocks
    assert isinstance(host.read_statvfs("/nothing/here"), Absent)
    host.close()


def test_one_child_serves_all_and_ends_with_close() -> None:
    reader = GuardedReader()
    reader.ask_child("exists", "/proc")
    first = child_of(reader)
    reader.ask_child("listing", "/proc/self")
    assert child_of(reader) == first
    reader.close()
    assert is_gone(first)


def test_a_child_that_hangs_is_abandoned_and_replaced() -> None:
    reader = GuardedReader(abandon_after_s=0.3)
    reader.ask_child("exists", "/proc")
    stuck = child_of(reader)
    os.kill(stuck, signal.SIGSTOP)
    try:
        reader.ask_child("exists", "/sys")
    except PathHangs:
        pass
    else:
        raise AssertionError("a stopped child answered")
    assert is_gone(stuck)
    assert reader.ask_child("exists", "/proc") is True
    assert child_of(reader) != stuck
    try:
        reader.ask_child("exists", "/sys")  # not tried again at once: every try costs a process
    except PathHangs:
        pass
    else:
        raise AssertionError("a path that hung was tried again")
    reader.close()


def test_a_hang_is_a_timeout_for_the_host() -> None:
    host = Host()
    host._guarded = GuardedReader(abandon_after_s=0.3)
    host.path_exists("/proc", may_hang=True)
    os.kill(child_of(host._guarded), signal.SIGSTOP)
    value = host.read_file_text("/proc/version", may_hang=True)
    assert isinstance(value, Absent) and value.kind == "timeout" and "0.3 s" in value.reason


def test_a_child_killed_from_outside_is_replaced() -> None:
    reader = GuardedReader()
    reader.ask_child("exists", "/proc")
    child = child_of(reader)
    os.kill(child, signal.SIGKILL)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert reader.ask_child("exists", "/proc") is True
    reader.close()


def test_after_a_fork_the_pipes_are_not_shared() -> None:
    reader = GuardedReader()
    reader.ask_child("exists", "/proc")
    pid = os.fork()
    if pid == 0:
        try:
            right = reader.ask_child("real", "/proc/self/../version") == "/proc/version"
            reader.close()
        except BaseException:
            right = False
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert reader.ask_child("exists", "/sys") is True
    reader.close()


def test_the_child_ends_with_its_parent(tmp_path: Path) -> None:
    code = (
        "from hostdx.probes.reading.host import Host; import os; h = Host(); h.path_exists('/proc', may_hang=True);"
        "print(h._guarded._child.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=30)
    assert done.returncode == -signal.SIGKILL
    child = int(done.stdout)
    # The child inherited nothing that we wait for; its stdin closed when its parent died. Wait for its end, bounded.
    try:
        waiter = os.pidfd_open(child)
    except ProcessLookupError:
        return
    import select

    assert select.select([waiter], [], [], 10)[0], "the reading child outlives its parent"
    os.close(waiter)


def test_a_child_that_cannot_be_started_is_said_and_not_told_as_the_paths_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "python"
    broken.write_text("")  # no right to execute: EACCES, as a path that may not be read
    monkeypatch.setattr(sys, "executable", str(broken))
    host = Host()
    for value in (
        host.resolve_path("/etc", may_hang=True),
        host.read_statvfs("/etc"),
        host.read_file_text("/etc/hostname", may_hang=True),
    ):
        assert isinstance(value, Absent) and value.kind == "tool"
        assert str(broken) in value.reason
    assert not host.path_exists("/etc", may_hang=True)


def _write_interpreter(tmp_path: Path, first: str) -> str:
    """Python that does something else first."""
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\n{first}\nexec {sys.executable} "$@"\n')
    script.chmod(0o755)
    return str(script)


def test_a_child_that_works_is_waited_for_and_one_that_sleeps_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A starved host or a sick disk: the interpreter alone needs longer than a hang may last."""
    busy = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done"
    monkeypatch.setattr(sys, "executable", _write_interpreter(tmp_path, busy))
    reader = GuardedReader(abandon_after_s=0.05)
    assert reader.ask_child("exists", "/proc/uptime") is True
    reader.close()
    monkeypatch.setattr(sys, "executable", _write_interpreter(tmp_path, "exec sleep 60"))
    reader = GuardedReader(abandon_after_s=0.3)
    with pytest.raises(PathHangs):
        reader.ask_child("exists", "/proc/uptime")


def test_a_child_that_works_for_ever_is_abandoned_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", _write_interpreter(tmp_path, "while :; do :; done"))
    monkeypatch.setattr("hostdx.probes.reading.hang_safe.client.MAX_WORKING_S", 0.5)
    reader = GuardedReader(abandon_after_s=0.1)
    with pytest.raises(PathHangs):
        reader.ask_child("exists", "/proc/uptime")
