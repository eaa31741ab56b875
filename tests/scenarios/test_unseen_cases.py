"""Faults, kernel lines and odd but healthy hosts that were written down before anybody looked at the rules for them.

What the rules made of them then stands in tests/measured/README.md; here they are kept with what was mended since. A
case without a rule is a choice, or a fault that is not looked for.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.every_case import assert_each, every_case
from tests.fakes.hosts.server import Server
from tests.scenarios.planted import our_rules
from tests.scenarios.test_planted_faults import findings_by_id, log

DATA = Path(__file__).parents[1] / "data" / "unseen"
LINES = [tuple(line.split("\t", 1)) for line in (DATA / "lines.tsv").read_text().splitlines()]
FAULTS: dict[str, Any] = json.loads((DATA / "faults.json").read_text())


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Server:
    return Server(tmp_path_factory.mktemp("server"))


def severities(server: Server, files: dict[str, str], *rule_ids: str) -> dict[str, str]:
    """The severity of each finding."""
    with server.restore_after():
        for path, text in files.items():
            server.put(path, text)
        return {name: finding.severity for name, finding in findings_by_id(server.root, *rule_ids).items()}


def test_a_line_of_a_fault_is_found(healthy: Server) -> None:
    def check(row: Sequence[str]) -> None:
        rule, line = row
        assert severities(healthy, log(line), rule)

    assert_each((row for row in LINES if row[0] != "-"), check)


def test_no_line_of_a_healthy_host_accuses(healthy: Server) -> None:
    of_the_log = [rule.id for rule in our_rules().rules if rule.id.startswith(("log.", "gpu.log"))]
    for line in (DATA / "healthy_lines.txt").read_text().splitlines():
        assert not {"warning", "critical"} & set(severities(healthy, log(line), *of_the_log).values()), line


def test_a_fault_is_found(healthy: Server) -> None:
    def check(name: str) -> None:
        assert severities(healthy, FAULTS[name]["files"], FAULTS[name]["rule"])

    assert_each((name for name, fault in FAULTS.items() if fault["rule"]), check)


@every_case(("name", "files"), list(json.loads((DATA / "healthy.json").read_text()).items()))
def test_an_odd_host_is_not_accused(healthy: Server, name: str, files: dict[str, str]) -> None:
    assert not {"warning", "critical"} & set(severities(healthy, files).values())
