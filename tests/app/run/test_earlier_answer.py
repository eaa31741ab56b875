"""The last null run of this very host is quoted, and nothing else."""

import os
from pathlib import Path

import msgspec
import pytest

from hostdx.app.cli.telling.triage import _triage_events, add_rate_evidence
from hostdx.app.run.earlier_answer import read_rates_alone, resolution_sentence
from hostdx.probes.reading.host import Host
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.fullstack.results import FullstackFigures, SideRate, StreamsResult
from hostdx.scenarios.null.results import LeastEffect, NullAnswer, Resolution


def write_run(
    folder: Path,
    name: str,
    *,
    scenario: str = "null",
    host: str = "here",
    share: float = 0.03,
    end: bool = True,
) -> None:
    answer = NullAnswer(
        "/data", "sda", (LeastEffect("randread-4k-qd1", "random reads", share, "inconclusive", 9, 20.0),)
    )
    events: list[ev.AnyEvent] = [
        ev.Began(
            t=0, schema=ev.SCHEMA, version="1", scenario=scenario, command=["hostdx"], host=host,
            wall="2026-01-02T03:04:05Z", seed=1, pid=1, pid_start=1, boot_id="none",
        ),
        Resolution(t=1, value=answer),
    ]  # fmt: skip
    if end:
        events.append(ev.RunEnded(t=2, status="done"))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(b"".join(msgspec.json.encode(e) + b"\n" for e in events))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "hostdx" / "recordings"


def test_this_hosts_null_run_is_quoted_with_its_date(folder: Path) -> None:
    write_run(folder, "a.jsonl", share=0.021)
    sentence = resolution_sentence("here")
    assert all(figure in sentence for figure in ("/data", "2.1 %", "random reads"))
    assert sentence.endswith("(null run of 2026-01-02T03:04:05Z)")


def write_streams(folder: Path, name: str, wall: str, rate: float) -> None:
    levels = tuple(SideRate(direction="out", side=side, rate=rate) for side in ("disk", "network", "copy"))
    figures = FullstackFigures(
        directory="/data", disk="sda", network="peer n", private=False, streams=4, levels=levels, limits=(), card="eth0"
    )  # fmt: skip
    events: list[ev.AnyEvent] = [
        ev.Began(
            t=0, schema=ev.SCHEMA, version="1", scenario="fullstack", command=["hostdx"], host=os.uname().nodename,
            wall=wall, seed=1, pid=1, pid_start=1, boot_id="none",
        ),
        StreamsResult(t=1, value=figures),
        ev.RunEnded(t=2, status="done"),
    ]  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(b"".join(msgspec.json.encode(e) + b"\n" for e in events))


def test_what_a_rule_says_of_a_disk_stands_beside_what_that_disk_gave_last(folder: Path) -> None:
    assert read_rates_alone() == {}
    write_streams(folder, "a.jsonl", "2026-01-02T03:04:05Z", 5e8)
    write_streams(folder, "b.jsonl", "2026-01-03T03:04:05Z", 9e8)
    write_run(folder, "c.jsonl", host=os.uname().nodename)
    rates = read_rates_alone()
    assert set(rates) == {"sda", "eth0"}
    assert "900 MB/s" in str(rates["sda"].value) and "2026-01-03" in rates["sda"].source
    findings = {
        disk: ev.Found(t=1, finding=Finding(id="storage.queue", severity="notice", title="t", subject=disk))
        for disk in ("sda", "sdb")
    }
    assert [len(add_rate_evidence(event, rates).finding.evidence) for event in findings.values()] == [1, 0]


def test_a_triage_tells_the_host_before_it_reads_recordings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first facts of the home screen waited for them."""
    read: list[int] = []
    monkeypatch.setattr("hostdx.app.run.earlier_answer.read_rates_alone", lambda: read.append(1) or {})
    triage_events = _triage_events(Host(), None, facts=True)
    assert (
        any(isinstance(event, ev.FactRead) for event in iter(lambda: next(triage_events), None)) and not read
    )
