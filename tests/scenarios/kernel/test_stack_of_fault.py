"""A known fault of the kernel that shows by the functions of a stack: without them nothing is said."""

from pathlib import Path

import pytest

from hostdx.probes.reading.host import Host
from hostdx.scenarios.triage.triage import findings_about
from tests.fakes.hosts.server import Server

STUCK = "nfs_lock_and_join_requests+0x8e/0x2c0 [nfs]"


@pytest.mark.parametrize(
    ("release", "line", "severity"),
    [
        ("6.11.7", STUCK, "warning"),
        ("6.11.7", "nfs_flush_incompatible+0x8e/0x2c0 [nfs]", ""),
        ("6.11.11", STUCK, ""),
    ],
)
def test_a_function_shows_a_known_fault(tmp_path: Path, release: str, line: str, severity: str) -> None:
    server = Server(tmp_path).put("proc/sys/kernel/osrelease", release)
    server.put("sos_commands/kernel/dmesg", f"[ 0.0] Linux version {release}\n[ 9.1]  {line}")
    host = Host(str(tmp_path))
    host.is_static = True
    found = [
        finding.severity
        for finding in findings_about(host, frozenset({"kernel"}))
        if finding.id == "kernel.nfs-6.11-spin"
    ]
    assert found == ([severity] if severity else [])
