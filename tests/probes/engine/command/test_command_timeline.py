"""Samples inside a run: sums over a made-up tree, none of a short run, fewer of a long one."""

from pathlib import Path

import pytest

from hostdx.probes.engine.command import command_timeline, process_tree
from hostdx.probes.engine.command.command_timeline import ClockAndHeat
from hostdx.probes.reading.process_stat import ProcessStat, parse_stat

TICKS = command_timeline._TICKS


def make_stat(pid: int, own_time: int, of_children: int, threads: int = 1, state: str = "R") -> ProcessStat:
    fields = [
        state,
        "1",
        *["0"] * 9,
        str(own_time),
        "0",
        str(of_children),
        "0",
        "20",
        "0",
        str(threads),
        *["0"] * 4,
    ]
    parsed = parse_stat(f"{pid} (a b) c) {' '.join(fields)}")
    assert parsed is not None
    return parsed


@pytest.fixture
def tree(monkeypatch: pytest.MonkeyPatch) -> dict[int, tuple[ProcessStat, tuple[int, int] | None]]:
    processes: dict[int, tuple[ProcessStat, tuple[int, int] | None]] = {}
    monkeypatch.setattr(
        command_timeline, "read_own_stat", lambda pid: processes[pid][0] if pid in processes else None
    )
    monkeypatch.setattr(process_tree, "read_and_written_bytes", lambda pid: processes[pid][1])
    return processes


Tree = dict[int, tuple[ProcessStat, tuple[int, int] | None]]


def test_sums_over_the_tree_and_what_was_waited_for(tree: Tree) -> None:
    samples: list[command_timeline.Sample] = []
    tree_timeline = command_timeline.TreeTimeline(samples.append, root="/nonexistent")
    tree[7] = (make_stat(7, 2 * TICKS, TICKS, threads=3), (10, 100))
    tree[8] = (make_stat(8, TICKS, 0), (5, 50))
    tree[9] = (make_stat(9, TICKS, 0, state="Z"), None)
    assert not tree_timeline.is_due(0.9) and tree_timeline.is_due(1.0)
    tree_timeline.take_sample(1.0, [7, 8, 9, 10], 4096, 0.5, [1, 1])  # 10 is gone
    assert not tree_timeline.is_due(1.5) and not samples
    tree[7] = (make_stat(7, 2 * TICKS, TICKS), (10, 100))
    del tree[8]  # ended between two readings: in nobody's sum
    tree_timeline.take_sample(2.0, [7, 8, 9], None, 0.5, [1, 1])
    tree_timeline.take_sample(3.0, [7], None, 0.5, None)
    assert samples[0] == {
        "celsius": None,
        "hertz": None,
        "at_s": 1.0,
        "pss_bytes": 4096,
        "cpu_s": 5.5,
        "processes": 2,
        "threads": 4,
        "read_bytes": 16,
        "written_bytes": 151,
    }
    assert (samples[1]["cpu_s"], samples[1]["written_bytes"], samples[1]["threads"]) == (5.5, 151, 1)
    assert samples[2]["read_bytes"] is None


def test_a_short_run_tells_nothing_and_a_long_one_ever_less(tree: Tree) -> None:
    samples: list[command_timeline.Sample] = []
    tree_timeline = command_timeline.TreeTimeline(samples.append)
    tree[7] = (make_stat(7, 0, 0), (0, 0))
    for second in range(1, command_timeline.MIN_SAMPLES):
        tree_timeline.take_sample(float(second), [7], None, 0.0, [0, 0])
    assert not samples
    count = 0
    for second in range(command_timeline.MIN_SAMPLES, 86400):
        if tree_timeline.is_due(float(second)):
            tree_timeline.take_sample(float(second), [7], None, 0.0, [0, 0])
            count += 1
    assert count < 3000 and samples[-1]["at_s"] > 86000  # type: ignore[operator]


def test_temperature_and_frequency_of_a_made_up_host(tmp_path: Path) -> None:
    for zone, kind, temp in (
        (0, "acpitz", "99000"),
        (1, "x86_pkg_temp", "61500"),
        (2, "x86_pkg_temp", "58000"),
    ):
        folder = tmp_path / f"class/thermal/thermal_zone{zone}"
        folder.mkdir(parents=True)
        (folder / "type").write_text(f"{kind}\n")
        (folder / "temp").write_text(f"{temp}\n")
    for cpu, khz in ((0, "2000000"), (1, "3000000"), (2, "<unknown>")):
        folder = tmp_path / f"devices/system/cpu/cpu{cpu}/cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_cur_freq").write_text(f"{khz}\n")
    assert ClockAndHeat(str(tmp_path)).read() == {"celsius": 61.5, "hertz": 2.5e9}
    assert ClockAndHeat("/nonexistent").read() == {"celsius": None, "hertz": None}
