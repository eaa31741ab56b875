"""Each entry of fault_lines.toml: its example is found with its severity, its trap is not, and is no other fault."""

from contextlib import suppress
from pathlib import Path

import pytest

from hostdx.probes.reading.host import Host
from hostdx.scenarios.contract.rule import Inapplicable
from hostdx.scenarios.triage.knowledge.fault_lines import ANY, KERNEL, FaultLine, list_fault_lines
from hostdx.scenarios.triage.rules.engine import check_rule
from hostdx.scenarios.triage.rules.known import load_written_rules
from tests.every_case import assert_each

RULE = next(
    rule for rule in load_written_rules(Path("/nonexistent")).rules if rule.id == "service.fault-line"
)


def severities(root: Path, entry: FaultLine, lines: list[str]) -> list[str]:
    program = "some-daemon" if ANY in entry.programs else entry.programs[0]
    sender = "kernel" if program == KERNEL else f"{program}[{1 if program == 'systemd' else 812}]"
    log = root / "var/log/messages"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("".join(f"Nov 30 10:00:{n:02d} srv {sender}: {line}\n" for n, line in enumerate(lines)))
    host = Host(str(root))
    host.is_static = True
    severities_of_findings = []
    with suppress(Inapplicable):  # raised after what was found
        severities_of_findings += [finding.severity for finding in check_rule(RULE, host)]
    return severities_of_findings


@pytest.mark.parametrize("entry", list_fault_lines(), ids=lambda entry: entry.example[:30])
def test_its_example_is_found_and_its_trap_is_not(tmp_path: Path, entry: FaultLine) -> None:
    assert severities(tmp_path, entry, [entry.example] * entry.least) == [entry.severity]
    assert severities(tmp_path, entry, [entry.trap] * 20) == []
    if entry.least > 1:
        assert severities(tmp_path, entry, [entry.example] * (entry.least - 1)) == []


def test_a_later_line_says_that_it_is_over(tmp_path: Path) -> None:
    def check(entry: FaultLine) -> None:
        assert severities(tmp_path, entry, [entry.example] * entry.least + [entry.trap]) == []

    assert_each(
        (entry for entry in list_fault_lines() if entry.settled), check, name=lambda entry: entry.example
    )
