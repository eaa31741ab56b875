"""Each entry of fault_lines.toml: its example is found with its severity, its trap is not, and is no other fault."""

from contextlib import suppress
from pathlib import Path

import pytest

from hostdx.probes.reading.host import Host
from hostdx.scenarios.contract.finding import Finding, fold_alike_findings
from hostdx.scenarios.contract.rule import RuleInapplicable
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
    with suppress(RuleInapplicable):  # raised after what was found
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


def findings_of(root: Path, *lines: tuple[str, str]) -> list[Finding]:
    log = root / "var/log/messages"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(
        "".join(
            f"Nov 30 10:00:00 srv {program}[812]: {line} {n}\n" for n in range(9) for program, line in lines
        )
    )
    host = Host(str(root))
    host.is_static = True
    with suppress(RuleInapplicable):
        return fold_alike_findings(check_rule(RULE, host))
    return []


def test_what_any_program_says_is_not_said_again_where_an_entry_names_its_line(tmp_path: Path) -> None:
    full = "write failed: No space left on device"
    assert [f.subject for f in findings_of(tmp_path, ("rsyslogd", full))] == ["rsyslogd"]
    assert [f.subject for f in findings_of(tmp_path, ("some-daemon", full))] == ["some-daemon"]
    assert findings_of(tmp_path, ("some-daemon", f"level=info {full}")) == []


def test_programs_with_one_fault_are_one_finding_and_two_faults_are_two(tmp_path: Path) -> None:
    (alike,) = findings_of(tmp_path, ("first", "Stale file handle"), ("second", "Stale file handle"))
    assert alike.subjects == ("first", "second")
    unlike = findings_of(tmp_path, ("first", "Stale file handle"), ("second", "No buffer space available"))
    assert {finding.subject for finding in unlike} == {"first", "second"}
