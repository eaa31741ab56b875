"""Who used most between two looks: processes that come, go, are reaped, and are followed by others of the same id."""

from __future__ import annotations

from pathlib import Path

import pytest

from probes.reading.host import Host
from probes.system.running.culprit import BusyProcess, Resource, completion_workers, find_busiest
from probes.system.running.processes import read_process_table
from tests.fakes.hosts.processes import moment, process

NOBODY: frozenset[int] = frozenset()


@pytest.fixture
def a(tmp_path: Path) -> Path:
    return tmp_path / "a"


@pytest.fixture
def b(tmp_path: Path) -> Path:
    return tmp_path / "b"


def between(
    a: Path, b: Path, seconds: float = 1.0, resource: Resource = "cpu", cpus: int = 2
) -> BusyProcess | None:
    """The culprit of the time from tree `a` to tree `b`."""
    for root in (a, b):
        (root / "proc").mkdir(parents=True, exist_ok=True)
        lines = [f"cpu{n} 0 0 0 0" for n in range(cpus)]
        (root / "proc/stat").write_text("\n".join(["cpu 0", *lines, "intr 9"]) + "\n")
    before = read_process_table(moment(a, 1000), io=True)
    found = find_busiest(before, read_process_table(moment(b, 1000 + seconds), io=True), resource, NOBODY)
    return found and BusyProcess(found.pid, found.name, round(found.rate, 6))


def io(amount: int) -> str:
    return f"read_bytes: {amount}\nwrite_bytes: 0\n"


def test_the_one_that_used_most_is_named_and_ours_are_not(a: Path, b: Path) -> None:
    for root, mine, theirs in ((a, 100, 500), (b, 400, 650)):
        process(root, 10, "hostdx", mine)
        process(root, 20, "backup) R (x", theirs)
        process(root, 30, "idle", 5)
    before = read_process_table(moment(a, 100), io=False)
    after = read_process_table(moment(b, 102), io=False)
    culprit = find_busiest(before, after, "cpu", frozenset({10}))
    assert culprit is not None
    assert culprit.label == "backup) R (x [20]"
    assert culprit.rate == 0.75
    assert find_busiest(before, after, "cpu", frozenset({10, 20})) is None
    assert find_busiest(before, after, "cpu", frozenset({10}), least=0.8) is None


@pytest.mark.parametrize(("users", "named"), [(4, True), (5, False)])
def test_nobody_is_named_who_used_less_than_a_quarter(a: Path, b: Path, users: int, named: bool) -> None:
    for pid in range(20, 20 + users):
        process(a, pid, "worker", 100)
        process(b, pid, "worker", 150)
    assert (between(a, b) is not None) is named


def test_a_short_new_process_does_not_outvote_one_that_used_more(a: Path, b: Path) -> None:
    process(a, 20, "steady", 1000)
    process(b, 20, "steady", 1060)
    process(b, 30, "brief", 3, start=100_090)
    assert between(a, b) == BusyProcess(20, "steady", 0.6)


def test_a_new_process_is_named(a: Path, b: Path) -> None:
    process(a, 20, "steady", 1000)
    process(b, 20, "steady", 1010)
    process(b, 30, "burst", 90, start=100_005)
    assert between(a, b) == BusyProcess(30, "burst", 0.9)


def test_one_that_could_not_be_seen_before_is_not_charged_with_its_life(a: Path, b: Path) -> None:
    process(a, 20, "steady", 1000)
    process(b, 20, "steady", 1010)
    process(b, 30, "hidden", 150, start=9000)
    assert between(a, b) == BusyProcess(20, "steady", 0.1)


def test_a_reused_process_id_is_not_the_same_process(a: Path, b: Path) -> None:
    process(a, 20, "old", 9000)
    process(b, 20, "new", 50, start=100_050)
    assert between(a, b) == BusyProcess(20, "new", 0.5)


def test_what_a_reaped_child_had_used_before_is_not_its_parents(a: Path, b: Path) -> None:
    """A batch daemon reaps a job of four hours that used a tenth of a second since the first look."""
    process(a, 20, "slurmstepd", 7)
    process(a, 21, "python3", 1_440_000, parent=20)
    process(a, 30, "steady", 500)
    process(b, 20, "slurmstepd", 7, reaped=1_440_010)
    process(b, 30, "steady", 517)
    assert between(a, b) == BusyProcess(30, "steady", 0.17)


def test_what_a_reaped_child_used_since_counts_for_its_parent(a: Path, b: Path) -> None:
    process(a, 20, "slurmstepd", 7)
    process(a, 21, "python3", 1_440_000, parent=20)
    process(b, 20, "slurmstepd", 7, reaped=1_440_080)
    assert between(a, b) == BusyProcess(20, "slurmstepd", 0.8)


def test_children_born_and_gone_in_between_count_for_their_parent(a: Path, b: Path) -> None:
    process(a, 20, "make", 5, reaped=300)
    process(b, 20, "make", 5, reaped=450)
    assert between(a, b) == BusyProcess(20, "make", 1.5)


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
        assert between(a, b) is None


def test_a_parent_that_does_not_wait_keeps_what_is_its_own(a: Path, b: Path) -> None:
    process(a, 20, "daemon", 100, io=io(0))
    process(a, 21, "child", 5000, parent=20, io=io(90_000_000))
    process(b, 20, "daemon", 150, io=io(5_000_000))
    assert between(a, b) == BusyProcess(20, "daemon", 0.5)
    assert between(a, b, resource="io") == BusyProcess(20, "daemon", 5_000_000)


def test_io_of_a_reaped_child_is_not_its_parents(a: Path, b: Path) -> None:
    process(a, 20, "bash", 1, io=io(0))
    process(a, 21, "tar", 1000, parent=20, io=io(80_000_000_000))
    process(b, 20, "bash", 1, reaped=1001, io=io(80_000_000_000))
    assert between(a, b, resource="io") is None
    process(b, 20, "bash", 1, reaped=1001, io=io(80_003_000_000))
    assert between(a, b, resource="io") == BusyProcess(20, "bash", 3_000_000)


def test_io_of_a_reaped_child_that_could_not_be_read_names_nobody(a: Path, b: Path) -> None:
    process(a, 20, "bash", 1, io=io(0))
    process(a, 21, "sudo", 1000, parent=20)
    process(b, 20, "bash", 1, reaped=1001, io=io(80_000_000_000))
    assert between(a, b, resource="io") is None


@pytest.mark.parametrize(("reaped", "rate"), [(100, 1.0), (210, 2.0), (4000, None)])
def test_more_than_all_cpus_is_capped_or_not_believed(
    a: Path, b: Path, reaped: int, rate: float | None
) -> None:
    """A child that was reaped while the first look was under way stands in neither account."""
    process(a, 20, "bash", 1, io=io(0))
    process(b, 20, "bash", 1, reaped=reaped, io=io(70_000_000))
    found = between(a, b)
    assert (found.rate if found else None) == rate
    assert (between(a, b, resource="io") is None) == (rate is None)


def test_io_that_could_not_be_read_at_either_look_is_never_guessed(a: Path, b: Path) -> None:
    for root, amount in ((a, 0), (b, 10_000_000)):
        process(root, 20, "rsync", 1, io=io(amount))
    process(a, 30, "was unreadable", 1)
    process(b, 30, "was unreadable", 1, io=io(5_000_000_000))
    process(a, 40, "is unreadable", 1, io=io(5_000_000_000))
    process(b, 40, "is unreadable", 1)
    assert between(a, b, 2.0, "io") == BusyProcess(20, "rsync", 5_000_000)


def test_a_loop_of_parents_ends(a: Path, b: Path) -> None:
    process(a, 20, "one", 100, parent=21)
    process(a, 21, "two", 100, parent=20)
    process(b, 30, "new", 50, start=100_000)
    assert between(a, b) == BusyProcess(30, "new", 0.5)


def test_empty_looks_name_nobody(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    seen = read_process_table(Host(str(tmp_path)), io=True)
    assert find_busiest(seen, seen, "cpu", NOBODY) is None


def test_a_thread_of_the_kernel_is_named_only_where_no_process_did_as_much(a: Path, b: Path) -> None:
    for root, written, back in ((a, 100, 500), (b, 160, 520)):
        process(root, 2, "kworker/u4:1", written, flags=0x00200000)
        process(root, 20, "backup", back)
    found = between(a, b)
    assert found is not None and found.name == "backup"
    process(b, 20, "backup", 501)
    found = between(a, b)
    assert found is not None and found.name == "kworker/u4:1"


@pytest.mark.parametrize(
    ("name", "backup", "ours"),
    [
        ("kworker/u8:3+ext4-rsv-conversion", 500, True),
        ("kworker/1:1-dio/sda1", 500, True),
        ("kworker/u8:3+ext4-rsv-conversion", 900, False),  # somebody else moved bytes as well
        ("kworker/u8:0-flush-8:0", 500, False),  # what anybody changed before
    ],
)
def test_a_worker_that_ends_our_io_is_nobody_else(
    a: Path, b: Path, name: str, backup: int, ours: bool
) -> None:
    for root, written, back in ((a, 100, 500), (b, 160, backup)):
        (root / "proc").mkdir(parents=True, exist_ok=True)
        (root / "proc/stat").write_text("cpu 0\ncpu0 0 0 0 0\nintr 9\n")
        process(root, 2, name, 0, flags=0x00200000, io=io(written))
        process(root, 20, "backup", 0, io=io(back))
        process(root, 30, "hostdx", 0, io=io(5 * written))
    looks = [read_process_table(moment(root, at), io=True) for root, at in ((a, 1000), (b, 1001))]
    assert (2 in completion_workers(*looks, frozenset({30}))) is ours
