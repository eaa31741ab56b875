"""A scenario that cannot measure here but can read: the findings come out, then the reason, with status 3."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostdx.app.cli.entry import run_command_line
from hostdx.app.state import recordings_dir
from hostdx.probes.reading.host import Host
from hostdx.scenarios.contract.finding import Evidence, Finding
from hostdx.scenarios.contract.rule import HostRule
from hostdx.scenarios.rpfilter import scenario as rpfilter


def find_loaded(host: Host) -> Iterator[Finding]:
    yield Finding(
        id="rpfilter.loaded",
        severity="warning",
        title="every packet is asked",
        evidence=(Evidence("a rule"),),
    )


@pytest.fixture(autouse=True)
def without_nft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setattr(rpfilter, "find_tool", lambda name: "")
    monkeypatch.setattr(rpfilter, "RULES", (HostRule("rpfilter.loaded", "rpfilter", "a rule", find_loaded),))


def test_without_nft_the_rules_speak_before_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["run", "rpfilter"]) == 3
    captured = capsys.readouterr()
    assert "▲ warning: every packet is asked" in captured.out
    assert "nft is not installed" in captured.err
    (entry,) = recordings_dir().iterdir()
    types = [json.loads(line)["type"] for line in entry.read_text().splitlines()]
    assert types.index("finding") < types.index("end")
    assert run_command_line(["report", entry.name]) == 0
    report = capsys.readouterr().out
    assert "every packet is asked" in report and "nft is not installed" in report


def test_the_plan_says_beforehand_that_it_can_only_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["plan", "rpfilter"]) == 3
    captured = capsys.readouterr()
    assert "hostdx run rpfilter only reads here: nft list ruleset" in captured.out
    assert "plan rpfilter: nft is not installed" in captured.err
    assert run_command_line(["plan", "rpfilter", "--json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert "nft is not installed" in document["refusal"] and document["reads"] and "actions" not in document


def test_json_holds_the_findings_and_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["run", "rpfilter", "--json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert [f["id"] for f in document["findings"]] == ["rpfilter.loaded"]
    assert "nft is not installed" in json.dumps(document)


def test_who_cannot_read_either_is_refused_at_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rpfilter.Rpfilter, "reads_anyway", False)
    assert run_command_line(["run", "rpfilter"]) == 3
    assert "every packet" not in capsys.readouterr().out
