"""Rows of daemons' lines, and processes that are left, by what each kind of host tells."""

from pathlib import Path

import msgspec

from hostdx.scenarios.triage.rules.rule_file import RuleText
from hostdx.scenarios.triage.rules.subjects.process import all_processes, process_fault_rows
from hostdx.scenarios.triage.rules.subjects.service_log import (
    rows_of_service_lines,
    rows_of_unlisted_service_lines,
)
from tests.fakes.hosts.tree import Tree

ALARM = "2026-11-07 [warning] <0.7.0> memory resource limit alarm set on node r@h"
CLEARED = "2026-11-07 [warning] <0.7.0> memory resource limit alarm cleared on node r@h"
LOG = "/var/log/rabbitmq/rabbit@h.log"


RULE = RuleText(
    id="service.alarm",
    title="x",
    each="log",
    when="lines > 0",
    text="x",
    why="x",
    log="alarm set on",
    log_words=("alarm set on",),
    programs=("rabbitmq", "sshd"),
    files=("/var/log/rabbitmq/*.log",),
    settled="alarm cleared",
)


def service_rows(tree: Tree) -> list[tuple[str, object, object]]:
    return [(row.subject, row["lines"], row["over"]) for row in rows_of_service_lines(tree.host(), RULE)]


def test_what_comes_after_the_fault_says_that_it_is_over(tmp_path: Path) -> None:
    tree = Tree(tmp_path).put(LOG, f"{ALARM}\n{CLEARED}\n")
    assert service_rows(tree) == [("rabbitmq", 1, True)]
    tree.put(LOG, f"{ALARM}\n{CLEARED}\n{ALARM}\n")
    assert service_rows(tree) == [("rabbitmq", 2, False)]


def test_a_daemons_line_that_no_rule_names(tmp_path: Path) -> None:
    """Those that a rule names are left out; of the others the kind that came most often is told."""
    slow = "2026-11-07 7f80 0 log_latency slow operation observed for x, latency = {}.1s"
    other = "2026-11-07 7f80 -1 osd.3 failed to open fsid file"
    lines = [*(slow.format(n) for n in range(5)), other, "2026-11-07 7f80 0 all is well"]
    tree = Tree(tmp_path).put("/var/log/ceph/ceph-osd.3.log", "\n".join(lines))
    [row] = rows_of_unlisted_service_lines(tree.host(), ())
    assert (row.subject, row["lines"], row["alike"], row["last"]) == ("ceph-osd", 6, 5, lines[4])
    rule = msgspec.structs.replace(RULE, log="slow operation", log_words=(), programs=("ceph-osd",))
    [row] = rows_of_unlisted_service_lines(tree.host(), (rule,))
    assert (row["lines"], row["last"]) == (1, other)


def test_a_program_without_lines_has_no_row(tmp_path: Path) -> None:
    assert service_rows(Tree(tmp_path)) == []


def test_processes_by_their_status_alone(tmp_path: Path) -> None:
    """A sosreport keeps /proc/PID/status, not stat."""
    tree = Tree(tmp_path)
    for pid, name, state, parent in (
        (812, "mariadbd", "T (stopped)", 1),
        (9, "ksoftirqd/0", "S (sleeping)", 2),
    ):
        tree.put(f"/proc/{pid}/status", f"Name:\t{name}\nState:\t{state}\nPid:\t{pid}\nPPid:\t{parent}\n")
    host = tree.host()
    assert [process.name for process in all_processes(host)] == ["mariadbd"]
    assert [(row.subject, row["kind"]) for row in process_fault_rows(host)] == [("mariadbd [812]", "stopped")]
