"""Rows for loads.toml: which group a load is of."""

from __future__ import annotations

from probes.engine.battery_loads import CALLS, disk_loads
from scenarios.triage.knowledge.loads import group_of, load_groups, load_scores
from tests.every_case import every_case

ROWS = [
    ("ior-hard-read", "IO500 bandwidth"),
    ("mdtest-hard-stat", "IO500 metadata"),
    ("find", "IO500 metadata"),
    ("cpu", "CPU"),
    ("cpu-hash", "CPU"),
    ("memory-copy", "memory"),
    ("page-fault", "memory"),
    ("syscall", "system calls"),
    ("context-switch", "system calls"),
    ("fork", "processes"),
    ("file-create", "files"),
    ("metadata", "files"),
    ("randread-4k-qd1", "storage"),
    ("write-1m", "storage"),
    ("tcp-stream", "network"),
    ("something new", "other"),
    ("CPU", "CPU"),  # by its own name: a mean
]


@every_case(("load", "group"), ROWS)
def test_a_load_meets_its_group(load: str, group: str) -> None:
    assert group_of(load).name == group


def test_every_entry_is_sourced_and_has_a_row() -> None:
    named = {group for _, group in ROWS}
    for entry in load_groups().entries:
        assert entry.sources and 0 < entry.run_to_run < 0.5 and entry.name in named
    assert all(score.sources for score in load_scores().entries)


def test_no_load_of_the_battery_is_in_the_last_group() -> None:
    assert "other" not in {group_of(load.id).name for load in (*CALLS, *disk_loads(1))}
