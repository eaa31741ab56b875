"""Who uses the host: names with every character, processes that come, go and are followed by others of the same id."""

from __future__ import annotations

from pathlib import Path

from probes.host import Host
from probes.system.processes import busiest, cpu_seconds, family_of, look


def process(
    root: Path,
    pid: int,
    name: str,
    ticks: int,
    *,
    start: int = 100,
    parent: int = 1,
    state: str = "S",
    io: str | None = None,
    children: str = "",
) -> None:
    folder = root / "proc" / str(pid)
    (folder / "task" / str(pid)).mkdir(parents=True, exist_ok=True)
    numbers = f"{parent} 0 0 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 {start} 1000 10"
    (folder / "stat").write_text(f"{pid} ({name}) {state} {numbers}\n")
    (folder / "task" / str(pid) / "children").write_text(children)
    if io is not None:
        (folder / "io").write_text(f"rchar: 1\nwchar: 1\n{io}")
    (root / "proc" / "uptime").write_text("100.00 50.00\n")


def moment(root: Path, uptime: float) -> Host:
    (root / "proc" / "uptime").write_text(f"{uptime:.2f} 50.00\n")
    return Host(str(root))


def test_the_one_that_used_most_is_named_and_ours_are_not(tmp_path: Path) -> None:
    for root, mine, theirs in ((tmp_path / "a", 100, 500), (tmp_path / "b", 400, 650)):
        process(root, 10, "hostdx", mine)
        process(root, 20, "backup) R (x", theirs)
        process(root, 30, "idle", 5)
    before = look(moment(tmp_path / "a", 100), io=False)
    after = look(moment(tmp_path / "b", 102), io=False)
    culprit = busiest(before, after, "cpu", frozenset({10}))
    assert culprit is not None
    assert culprit.label == "backup) R (x [20]"
    assert culprit.rate == 0.75
    assert busiest(before, after, "cpu", frozenset({10, 20})) is None


def test_a_new_process_is_judged_by_its_own_lifetime(tmp_path: Path) -> None:
    process(tmp_path / "a", 20, "steady", 1000)
    process(tmp_path / "b", 20, "steady", 3000)  # 20 s of CPU in 60 s
    process(tmp_path / "b", 30, "burst", 90, start=15900)  # 0.9 s of CPU in its 1 s
    before = look(moment(tmp_path / "a", 100), io=False)
    after = look(moment(tmp_path / "b", 160), io=False)
    culprit = busiest(before, after, "cpu", frozenset())
    assert culprit is not None
    assert culprit.name == "burst"


def test_a_reused_process_id_is_not_the_same_process(tmp_path: Path) -> None:
    process(tmp_path / "a", 20, "old", 9000)
    process(tmp_path / "b", 20, "new", 50, start=10050)
    before = look(moment(tmp_path / "a", 100), io=False)
    culprit = busiest(before, look(moment(tmp_path / "b", 101), io=False), "cpu", frozenset())
    assert culprit is not None
    assert culprit.name == "new"
    assert culprit.rate > 0


def test_io_that_must_not_be_read_is_counted_and_never_guessed(tmp_path: Path) -> None:
    for root, amount in ((tmp_path / "a", 0), (tmp_path / "b", 10_000_000)):
        process(root, 20, "rsync", 1, io=f"read_bytes: {amount}\nwrite_bytes: 0\n")
        process(root, 30, "secret", 1)
        process(root, 40, "stuck", 1, state="D", io="read_bytes: 9\nwrite_bytes: 9\n")
    before = look(moment(tmp_path / "a", 100), io=True)
    after = look(moment(tmp_path / "b", 102), io=True)
    assert after.unreadable == 1  # "stuck" is not asked, "secret" cannot be
    assert after.processes[30].io is None
    assert after.processes[40].io is None
    culprit = busiest(before, after, "io", frozenset())
    assert culprit is not None
    assert (culprit.name, culprit.rate) == ("rsync", 5_000_000)


def test_one_that_hung_in_d_before_is_not_charged_with_its_whole_life(tmp_path: Path) -> None:
    life = "read_bytes: 5000000000\nwrite_bytes: 0\n"
    process(tmp_path / "a", 20, "worker", 1, start=5000, state="D", io=life)
    process(tmp_path / "b", 20, "worker", 1, start=5000, io=life)
    before = look(moment(tmp_path / "a", 100), io=True)
    culprit = busiest(before, look(moment(tmp_path / "b", 100.5), io=True), "io", frozenset())
    assert culprit is not None
    assert culprit.rate == 5e9 / 50.5  # the average of its life: not 10 GB/s


def test_family_holds_descendants_and_survives_a_loop(tmp_path: Path) -> None:
    process(tmp_path, 10, "runner", 100, children="11 12")
    process(tmp_path, 11, "worker", 50, parent=10, children="13")
    process(tmp_path, 13, "helper", 25, parent=11, children="10")
    process(tmp_path, 99, "other", 999)
    family = family_of(Host(str(tmp_path)), 10)  # 12 has ended
    assert set(family) == {10, 11, 13}
    assert cpu_seconds(family) == 1.75


def test_a_tree_without_processes_gives_an_empty_look(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    seen = look(Host(str(tmp_path)), io=True)
    assert seen.processes == {}
    assert busiest(seen, seen, "cpu", frozenset()) is None
