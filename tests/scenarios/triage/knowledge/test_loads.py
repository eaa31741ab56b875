"""Rows for loads.toml: which group a load is of."""

from hostdx.scenarios.triage.knowledge.loads import load_groups, load_scores

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


def test_every_entry_is_sourced_and_has_a_row() -> None:
    rows = {group for _, group in ROWS}
    for entry in load_groups().entries:
        assert entry.sources and 0 < entry.run_to_run < 0.5 and entry.name in rows
    assert all(score.sources for score in load_scores().entries)
