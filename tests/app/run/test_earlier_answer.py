"""The last null run of this very host is quoted, and nothing else."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from app.run.earlier_answer import resolution
from scenarios import events as ev
from scenarios.null.results import LeastEffect, NullAnswer, Resolution


def recording(
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
        events.append(ev.Ended(t=2, status="done"))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(b"".join(msgspec.json.encode(e) + b"\n" for e in events))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "hostdx" / "recordings"


def test_without_a_null_run_nothing_is_quoted(folder: Path) -> None:
    assert resolution("here") == ""
    recording(folder, "a.jsonl", scenario="storage")
    recording(folder, "b.jsonl", host="elsewhere")
    recording(folder, "c.jsonl", end=False)
    (folder / "d.jsonl").write_text("no recording\n")
    assert resolution("here") == ""


def test_this_hosts_null_run_is_quoted_with_its_date(folder: Path) -> None:
    recording(folder, "a.jsonl", share=0.021)
    said = resolution("here")
    assert said.startswith(
        "measured against itself in /data, this host has a resolution after one minute of ±2.1 % (random reads)"
    )
    assert said.endswith("(null run of 2026-01-02T03:04:05Z)")
