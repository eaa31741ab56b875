"""Lines of kernels' logs: which rule speaks of each, and which lines of a healthy start nobody may take for a fault."""

from __future__ import annotations

import re
from pathlib import Path

from scenarios.rules.known import written
from tests.every_case import assert_each

RULES = {rule.id: rule for rule in written(Path("/nonexistent")).rules if rule.id.startswith("log.")}

DATA = Path(__file__).parents[2] / "data" / "kernel_log"
FAULTS = [line.split("\t") for line in (DATA / "faults.tsv").read_text().splitlines()]
INNOCENT = (DATA / "start.txt").read_text().splitlines()


def rules_of(line: str) -> set[str]:
    """The rule for what no other speaks of has a line only where none does."""
    named = {name for name, rule in RULES.items() if re.search(rule.log, line) and not rule.rest}
    return named or {name for name, rule in RULES.items() if re.search(rule.log, line)}


def test_each_fault_is_found() -> None:
    def check(fault: list[str]) -> None:
        rule, line = fault
        assert rule in rules_of(line)

    assert_each(FAULTS, check)


def test_no_line_of_every_start_is_a_fault() -> None:
    def check(line: str) -> None:
        assert rules_of(line) == set()

    assert_each(INNOCENT, check)
