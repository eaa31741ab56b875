"""Who used most between two looks: processes that come, go, are reaped, and are followed by others of the same id."""

from pathlib import Path

import msgspec
import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.system.running.culprit import (
    BusyGroup,
    BusyProcess,
    Resource,
    completion_threads,
    find_dominant_family,
    find_dominant_group,
    find_dominant_process,
)
from hostdx.probes.system.running.processes import read_process_table
from tests.fakes.hosts.processes import host_at, process

NOBODY: frozenset[int] = frozenset()


@pytest.fixture
def a(tmp_path: Path) -> Path:
    return tmp_path / "a"


@pytest.fixture
def b(tmp_path: Path) -> Path:
    return tmp_path / "b"


def culprit_of(
    a: Path, b: Path, seconds: float = 1.0, resource: Resource = "cpu", cpus: int = 2
) -> BusyProcess | None:
    """The culprit of the time from tree `a` to tree `b`."""
    for root in (a, b):
        (root / "proc").mkdir(parents=True, exist_ok=True)
        lines = [f"cpu{n} 0 0 0 0" for n in range(cpus)]
        (root / "proc/stat").write_text("\n".join(["cpu 0", *lines, "intr 9"]) + "\n")
    before = read_process_table(host_at(a, 1000), io=True)
    busiest = find_dominant_process(
        before, read_process_table(host_at(b, 1000 + seconds), io=True), resource, NOBODY
    )
    return busiest and BusyProcess(busiest.pid, busiest.name, round(busiest.rate, 6))


def io_text(amount: int) -> str:
    return f"read_bytes: {amount}\nwrite_bytes: 0\n"


@pytest.mark.parametrize(("users", "is_named"), [(4, True), (5, False)])
def test_nobody_is_named_who_used_less_than_a_quarter(a: Path, b: Path, users: int, is_named: bool) -> None:
    for pid in range(20, 20 + users):
        process(a, pid, "worker", 100)
        process(b, pid, "worker", 150)
    assert (culprit_of(a, b) is not None) is is_named


def test_many_small_ones_are_found_by_what_they_share(a: Path, b: Path) -> None:
    """Forty compilers of 0.03 CPUs below one make, forty others that process 1 has adopted, and a daemon of 0.2."""
    process(a, 10, "bash", 5)
    process(b, 10, "bash", 5)
    process(a, 11, "make", 10, parent=10)
    process(b, 11, "make", 10, parent=10)
    for pid in range(100, 180):
        parent = 11 if pid < 140 else 1
        process(a, pid, "cc1" if pid < 140 else "job", 100, parent=parent)
        process(b, pid, "cc1" if pid < 140 else "job", 103, parent=parent)
    process(a, 200, "daemon", 100)
    process(b, 200, "daemon", 120)
    assert culprit_of(a, b) is None
    before, after = (read_process_table(Host(str(root)), io=False) for root in (a, b))
    family = find_dominant_family(before, after, NOBODY)
    assert family is not None and (family.pid, family.name, round(family.rate, 6)) == (11, "make", 1.2)
    assert find_dominant_family(before, after, frozenset(range(100, 140))) is None  # a daemon is alone
    for root in (a, b):  # below a user's service manager they are no family
        process(root, 11, "systemd", 10, parent=1)
    before, after = (read_process_table(host_at(root, t), io=False) for root, t in ((a, 1000), (b, 1001)))
    assert find_dominant_family(before, after, NOBODY) is None
    group = find_dominant_group(before, after, NOBODY, lambda pid: "1" if 140 <= pid < 180 else "")
    assert group is not None and msgspec.structs.replace(group, rate=round(group.rate, 6)) == BusyGroup(
        "1", 1.2, 40
    )
    assert find_dominant_group(before, after, NOBODY, lambda pid: "2" if pid < 120 else "") is None


def test_one_that_could_not_be_seen_before_is_not_charged_with_its_life(a: Path, b: Path) -> None:
    process(a, 20, "steady", 1000)
    process(b, 20, "steady", 1010)
    process(b, 30, "hidden", 150, start=9000)
    assert culprit_of(a, b) == BusyProcess(20, "steady", 0.1)


def test_a_reused_process_id_is_not_the_same_process(a: Path, b: Path) -> None:
    process(a, 20, "old", 9000)
    process(b, 20, "new", 50, start=100_050)
    assert culprit_of(a, b) == BusyProcess(20, "new", 0.5)


def test_a_whole_tree_that_ends_is_nobodys_burst(a: Path, b: Path) -> None:
    """The worker dies after its parent and is adopted by the subreaper or reaped by the parent: both are possible."""
    for adopted in (False, True):
        process(a, 1, "init", 1, parent=0)
        process(a, 10, "systemd", 1)
        process(a, 20, "shell", 1, parent=10)
        process(a, 30, "make", 5, parent=20)
        process(a, 40, "cc1plus", 150, parent=30)
        process(b, 1, "init", 1, parent=0)
        process(b, 10, "systemd", 1, reaped=150 if adopted else 0)
        process(b, 20, "shell", 1, parent=10, reaped=5 if adopted else 155)
        assert culprit_of(a, b) is None


def test_a_parent_that_does_not_wait_keeps_what_is_its_own(a: Path, b: Path) -> None:
    process(a, 20, "daemon", 100, io=io_text(0))
    process(a, 21, "child", 5000, parent=20, io=io_text(90_000_000))
    process(b, 20, "daemon", 150, io=io_text(5_000_000))
    assert culprit_of(a, b) == BusyProcess(20, "daemon", 0.5)
    assert culprit_of(a, b, resource="io") == BusyProcess(20, "daemon", 5_000_000)


def test_a_loop_of_parents_ends(a: Path, b: Path) -> None:
    process(a, 20, "one", 100, parent=21)
    process(a, 21, "two", 100, parent=20)
    process(b, 30, "new", 50, start=100_000)
    assert culprit_of(a, b) == BusyProcess(30, "new", 0.5)


@pytest.mark.parametrize(
    ("name", "backup", "is_ours"),
    [
        ("kworker/u8:3+ext4-rsv-conversion", 500, True),
        ("kworker/1:1-dio/sda1", 500, True),
        ("kworker/u8:3+ext4-rsv-conversion", 900, False),  # somebody else moved bytes as well
        ("kworker/u8:0-flush-8:0", 500, False),  # what anybody changed before
    ],
)
def test_a_worker_that_ends_our_io_is_nobody_else(
    a: Path, b: Path, name: str, backup: int, is_ours: bool
) -> None:
    for root, written, back in ((a, 100, 500), (b, 160, backup)):
        (root / "proc").mkdir(parents=True, exist_ok=True)
        (root / "proc/stat").write_text("cpu 0\ncpu0 0 0 0 0\nintr 9\n")
        process(root, 2, name, 0, flags=0x00200000, io=io_text(written))
        process(root, 20, "backup", 0, io=io_text(back))
        process(root, 30, "hostdx", 0, io=io_text(5 * written))
    looks = [read_process_table(host_at(root, at), io=True) for root, at in ((a, 1000), (b, 1001))]
    assert (2 in completion_threads(*looks, frozenset({30}))) is is_ours
