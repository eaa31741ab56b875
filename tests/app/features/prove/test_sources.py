"""From findings and tuned profiles to settings: what can be switched is tried, what cannot is named."""

from pathlib import Path

import pytest

from hostdx.app.cli.telling.triage import add_proofs
from hostdx.app.features.prove import command, sources
from hostdx.app.terminal.failure import Failure
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Fact
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Evidence, Finding, Remedy
from hostdx.scenarios.contract.model import UsageError
from hostdx.scenarios.prove.results import Proof, ProofResult, ProvenSetting

PROFILE = """[main]
include=base
[sysctl]
vm.swappiness=10
kernel.panic=5
[vm]
transparent_hugepages=always
[disk]
readahead=>4096
"""
BASE = "[sysctl]\nvm.swappiness=40\nvm.dirty_ratio=30\n"


@pytest.fixture
def all_switchable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every setting of this host's is one that could be switched, but for kernel.panic and what is no file."""

    def parse(_host: Host, text: str, **_: object) -> None:
        if "panic" in text or text.startswith("disk:"):
            raise UsageError(text)

    monkeypatch.setattr(sources, "parse_setting", parse)


def finding(**fields: object) -> Finding:
    remedy = Remedy(title="set it", settings={"vm.swappiness": "10"})
    usual = {"id": "memory.swappiness", "severity": "notice", "title": "swaps", "remedy": (remedy,)}
    return Finding(**usual | fields)  # type: ignore[arg-type]


@pytest.mark.usefixtures("all_switchable")
def test_a_profile_gives_its_settings_and_those_it_includes(tmp_path: Path) -> None:
    for name, text in (("mine", PROFILE), ("base", BASE)):
        folder = tmp_path / "usr/lib/tuned" / name
        folder.mkdir(parents=True)
        (folder / "tuned.conf").write_text(text)
    choice = sources.settings_of_profile(Host(str(tmp_path)), "mine")
    assert set(choice.settings) == {
        "sysctl:vm.swappiness=10",
        "sysctl:vm.dirty_ratio=30",
        f"sysfs:{sources.THP}=always",
    }
    assert len(choice.left_out) == 2 and not choice.is_applied_whole
    with pytest.raises(UsageError):
        sources.settings_of_profile(Host(str(tmp_path)), "none")


@pytest.mark.usefixtures("all_switchable")
def test_a_finding_gives_its_remedy_its_load_and_its_key() -> None:
    choice = sources.settings_of_finding(Host(), finding(load="page-fault", subject="x"))
    assert choice.settings == ("sysctl:vm.swappiness=10",) and choice.is_applied_whole
    assert (choice.load, choice.finding) == ("page-fault", "memory.swappiness|x")


@pytest.mark.usefixtures("all_switchable")
def test_all_findings_give_each_file_once() -> None:
    other = finding(id="b.c", remedy=(Remedy(title="", settings={"vm.swappiness": "1", "/sys/a": "2"}),))
    choice = sources.settings_of_findings(Host(), [finding(), other])
    assert choice.settings == ("sysctl:vm.swappiness=10", "sysfs:/sys/a=2")


@pytest.mark.usefixtures("all_switchable")
def test_a_remedy_may_set_what_is_no_file() -> None:
    ring = Remedy(
        title="enlarge it", commands=("ethtool -G eth2 rx 4096",), settings={"ring:eth2/rx": "4096"}
    )
    assert sources.settings_of_finding(Host(), finding(remedy=(ring,))).settings == ("ring:eth2/rx=4096",)


def test_a_finding_is_found_by_its_id_or_its_key() -> None:
    first, second = finding(subject="a"), finding(subject="b")
    assert sources.find_worst_finding([first, second], "memory.swappiness") is first
    assert sources.find_worst_finding([first, second], "memory.swappiness|b") is second
    assert sources.find_worst_finding([first], "memory") is None


@pytest.mark.usefixtures("all_switchable")
def test_a_remedy_that_cannot_be_switched_offers_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def set_findings(findings: list[Finding]) -> None:
        monkeypatch.setattr("hostdx.scenarios.triage.triage.examine_live_host", lambda _: ([], findings))

    set_findings([finding(remedy=(), prove="storage", prove_options=("--dir", "/data"))])
    with pytest.raises(Failure, match="hostdx run storage --dir /data"):
        command._choose_settings(Host(), "memory.swappiness", "")
    set_findings([finding(remedy=())])
    with pytest.raises(Failure, match="hostdx baseline save"):
        command._choose_settings(Host(), "memory.swappiness", "")


def test_without_a_load_none_is_guessed() -> None:
    choice = sources.SettingsChoice(settings=("sysctl:vm.swappiness=10",), finding="a.b|")
    with pytest.raises(Failure, match="--cmd"):
        command._run_or_plan_prove(choice, ["--yes"], "plan")


def test_triage_says_what_the_newest_proof_gave() -> None:
    line = ProvenSetting(
        load="the command",
        metric="seconds",
        setting="sysctl:vm.swappiness",
        old="60",
        new="10",
        outcome="helps",
        ratio=1.38,
    )
    proof = Proof(settings=(line,), finding=finding().key)
    [(key, words)] = ProofResult(t=1.0, value=proof).proofs.items()
    assert key == finding().key and "38 %" in words
    event = ev.Found(t=0.0, finding=finding(evidence=(Evidence("a"),)))
    with_proof = add_proofs(event, {key: Fact(key, "proved", words, "recording")}).finding
    assert with_proof.evidence[0].text == words and len(with_proof.evidence) == 2
    assert add_proofs(event, {}) is event
    assert not ProofResult(t=1.0, value=Proof(settings=(line,))).proofs
