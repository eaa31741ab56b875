"""`hostdx rules`: what is listed, and what a rule of one's own can look at."""

from pathlib import Path

import pytest

from hostdx.app.cli.entry import run_command_line
from hostdx.scenarios.triage.rules.known import TABLES, load_written_rules


def test_each_table_is_shown_with_its_columns_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["rules", "--tables"]) == 0
    lines = capsys.readouterr().out.splitlines()
    columns = dict(zip((line.split()[0] for line in lines[::2]), lines[1::2], strict=True))
    assert list(columns) == list(TABLES)
    assert {"kernel", "cmdline", "smt"} <= set(columns["host"].replace(",", "").split())


def test_a_rule_says_what_it_reads(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["rules", "--explain", "log.heat"]) == 0
    [heat] = [rule for rule in load_written_rules(Path("/nonexistent")).rules if rule.id == "log.heat"]
    assert heat.log in capsys.readouterr().out
