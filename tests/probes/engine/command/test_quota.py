"""How long the control groups of a tree were held back: both versions, groups that are entered later."""

from pathlib import Path

from hostdx.probes.engine.command.group_counters import TreeQuota
from tests.every_case import every_case


def write_file(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@every_case(
    ("line", "folder", "stat", "unit"),
    [
        ("0::/a", "", "usage_usec 9\nthrottled_usec {}", 1_000_000),
        ("0::/a", "unified", "throttled_usec {}", 1_000_000),
        ("4:cpu,cpuacct:/a", "cpu,cpuacct", "nr_throttled 2\nthrottled_time {}", 1_000_000_000),
        ("4:cpu:/a", "cpu", "throttled_time {}", 1_000_000_000),
    ],
)
def test_what_a_group_was_held_back_since_it_was_seen(
    tmp_path: Path, line: str, folder: str, stat: str, unit: int
) -> None:
    write_file(tmp_path / "proc" / "7" / "cgroup", f"3:memory:/b\n{line}\n")
    counters = tmp_path / "groups" / folder / "a" / "cpu.stat"
    write_file(counters, stat.format(5 * unit))
    quota = TreeQuota(str(tmp_path / "proc"), str(tmp_path / "groups"))
    assert quota.held_s() is None
    quota.look_at_groups([7])
    counters.write_text(stat.format(7 * unit))
    quota.look_at_groups([7])
    assert quota.held_s() == 2.0
