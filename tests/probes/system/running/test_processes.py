"""Looks at the processes: names with every character, what cannot be read, families."""

import os
import re
from pathlib import Path

import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.system.running import processes
from hostdx.probes.system.running.processes import own_family, read_process_table
from hostdx.probes.types import Absent
from tests.fakes.hosts.processes import host_at, process


def test_a_name_may_hold_parentheses_and_more(tmp_path: Path) -> None:
    process(tmp_path, 20, "backup) R (x", 650)
    entry = read_process_table(host_at(tmp_path, 100), io=False).processes[20]
    assert (entry.name, entry.state, entry.parent, entry.cpu_s) == ("backup) R (x", "S", 1, 6.5)


class Stuck(Host):
    """A live host whose processes in D state do not answer."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def list_names(self, path: str, *, may_hang: bool = False) -> tuple[str, ...] | Absent:
        return (str(os.getpid()), str(os.getppid()))

    def read_file_text(
        self, path: str, limit_bytes: int = 1 << 20, *, may_hang: bool = False
    ) -> str | Absent:
        if not may_hang:
            return super().read_file_text(path, limit_bytes)
        self.asked += 1
        return Absent("did not answer", "timeout", path)


def test_after_one_that_hangs_no_other_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    read = processes._read_small_file

    def read_as_waiting(host: Host, path: str) -> bytes | Absent:
        data = read(host, path)
        return data if isinstance(data, Absent) else re.sub(rb"\) [A-Z] ", b") D ", data, count=1)

    monkeypatch.setattr(processes, "_read_small_file", read_as_waiting)
    host = Stuck()
    process_table = read_process_table(host, io=True)
    assert (host.asked, process_table.hung, process_table.unreadable) == (1, True, 0)
    assert [p.io for p in process_table.processes.values()] == [None, None]
    assert read_process_table(host, io=True, waiting=False).hung
    assert host.asked == 1


def test_the_app_above_us_is_no_other_and_the_shell_above_it_is(tmp_path: Path) -> None:
    process(tmp_path, 5, "bash", 10, children="10")
    process(tmp_path, 10, "hostdx", 100, parent=5, children="11 14")
    process(tmp_path, 11, "python3", 50, parent=10, children="13")
    process(tmp_path, 13, "python3", 25, parent=11)
    process(tmp_path, 14, "viewer", 25, parent=10)
    for pid, program in ((5, "bash"), (10, "python3.11"), (11, "python3.11"), (13, "python3.11")):
        (tmp_path / f"proc/{pid}/exe").symlink_to(f"/usr/bin/{program}")
    assert set(own_family(Host(str(tmp_path)), 13)) == {10, 11, 13, 14}
    (tmp_path / "proc/10/exe").unlink()  # another user's: not readable, so not ours
    assert set(own_family(Host(str(tmp_path)), 13)) == {11, 13}
