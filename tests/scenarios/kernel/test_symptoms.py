"""What shows of a kernel's fault is seen in counters that move, also where the host is otherwise read once."""

from pathlib import Path

import pytest

from hostdx.scenarios.kernel import rules
from tests.fakes.hosts.tree import Tree

STAT = "cpu  100 0 100 1000 {waited} 0 0 0 0 0\ncpu0 100 0 100 1000 {waited} 0 0 0 0 0\n"
DISK = "   8       0 sda 10 0 80 5 10 0 80 5 0 {busy_ms} 10\n"


def put_counters(tree: Tree, waited: int, busy_ms: int) -> None:
    tree.put("/proc/stat", STAT.format(waited=waited))
    tree.put("/proc/diskstats", DISK.format(busy_ms=busy_ms))


@pytest.mark.parametrize(("busy_ms", "shows"), [(0, True), (10**9, False)])
def test_io_wait_beside_idle_disks_is_what_the_disks_do_between_both_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, busy_ms: int, shows: bool
) -> None:
    """A triage reads what stands still once: the disks were never seen busy, and a saturated one was called idle."""
    tree = Tree(tmp_path)
    put_counters(tree, waited=0, busy_ms=0)
    host = tree.host()
    monkeypatch.setattr(host, "live", True)
    monkeypatch.setattr(rules.time, "sleep", lambda _: put_counters(tree, waited=400, busy_ms=busy_ms))
    with host.read_static_parts_once():
        iowait_idle_disks = rules.iowait_idle_disks(host)
    assert bool(iowait_idle_disks) is shows, iowait_idle_disks
