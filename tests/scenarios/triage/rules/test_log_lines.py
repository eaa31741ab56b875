"""Lines of kernels' logs: which rule speaks of each, and which lines of a healthy start nobody may take for a fault."""

import re
from pathlib import Path

from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent
from hostdx.scenarios.triage.rules.known import load_written_rules
from hostdx.scenarios.triage.rules.subjects.log import rows_of_unlisted_lines
from tests.every_case import assert_each

RULES = {
    rule.id: rule for rule in load_written_rules(Path("/nonexistent")).rules if rule.id.startswith("log.")
}

DATA = Path(__file__).parents[3] / "data" / "kernel_log"
FAULTS = [line.split("\t") for line in (DATA / "faults.tsv").read_text().splitlines()]
INNOCENT = (DATA / "start.txt").read_text().splitlines()


def rules_of(line: str, root: Path) -> set[str]:
    """The rule for what no other speaks of has a line only where none does."""
    rule_names = {name for name, rule in RULES.items() if not rule.rest and re.search(rule.log, line)}
    log = root / "sos_commands/kernel/dmesg"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(f"[    1.0] {line}\n")
    rows = rows_of_unlisted_lines(
        Host(str(root)), {rule.log: rule.log_words for rule in RULES.values() if rule.log}
    )
    assert not isinstance(rows, Absent)
    return rule_names or ({"log.driver"} if rows[0]["lines"] else set())


def test_each_fault_is_found(tmp_path: Path) -> None:
    def check(fault: list[str]) -> None:
        rule, line = fault
        assert rule in rules_of(line, tmp_path)

    assert_each(FAULTS, check)


def test_no_line_of_every_start_is_a_fault(tmp_path: Path) -> None:
    def check(line: str) -> None:
        assert rules_of(line, tmp_path) == set()

    assert_each(INNOCENT, check)
