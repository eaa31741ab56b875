"""Hostile text in every field of every event: nothing of it reaches a terminal or a file as more than letters."""

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from hostdx.app.cli.entry import run_command_line
from hostdx.app.cli.measuring import progress, progress_rich
from hostdx.app.recordings.writer import encode_event
from hostdx.app.report.json_document import to_json_text as result_encoded
from hostdx.probes.reading.lossless_json import Decoder, encode
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.numa.results import NodePairs, ScalingResult
from hostdx.scenarios.rpfilter.results import AtLineRate
from tests.fakes.streams import hostile
from tests.fakes.streams.event_types import EVERY
from tests.fakes.streams.story import RECORDINGS
from tests.needs import some_always

NUMBERS = (ScalingResult, NodePairs, AtLineRate)  # and nothing else
STATUSES: tuple[ev.Status, ...] = ("done", "interrupted", "failed")
COMMANDS = (["report"], ["report", "--format", "html"], ["report", "--format", "json"])
REPORTED = ("made-done", "made-failed", "storage", "dstate")
STREAMS = {
    **{f"made-{status}": lambda status=status: hostile.stream(status) for status in STATUSES},
    **{
        name: lambda name=name: hostile.attack(RECORDINGS / f"{name}.jsonl")
        for name in ("storage", "iosched", "dstate", "triage")
    },
}


def test_every_type_of_event_and_every_text_field_is_attacked() -> None:
    events = hostile.stream()
    assert {type(event) for event in events} == set(EVERY.values())
    assert all(hostile.find_leaks(encode(e).decode()) for e in events if type(e) not in NUMBERS)


def assert_letters_only(argv: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(argv) == 0
    captured = capfd.readouterr()
    assert hostile.find_leaks(captured.out + captured.err) == [], argv
    assert "owned" in captured.out, argv
    if "json" in argv or "--json" in argv:
        assert json.loads(captured.out)


def test_lists_hold_letters_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for number, make in enumerate(STREAMS.values()):
        name = f"20260101T00000{number}Z-owned-\x1b]0;\u202e.jsonl"
        hostile.write(tmp_path / "hostdx" / "recordings" / name, make())
    assert_letters_only(["recordings"], capfd)
    assert_letters_only(["recordings", "--json"], capfd)


@pytest.mark.parametrize("stream", some_always(REPORTED, STREAMS))
def test_reports_hold_letters_only(
    stream: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    name = "20260101T000000Z-owned-\x1b]0;\u202e.jsonl"
    path = hostile.write(tmp_path / "hostdx" / "recordings" / name, STREAMS[stream]())
    for command in COMMANDS:
        assert_letters_only([*command, str(path)], capfd)
    report_file = tmp_path / "kept"
    assert run_command_line(["report", str(path), "-o", str(report_file)]) == 0
    assert hostile.find_leaks(report_file.read_text()) == []


def test_a_damaged_recording_is_complained_about_in_letters(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"x{hostile.ATTACK.replace(chr(0), '')}.jsonl"
    path.write_text(json.dumps({"type": "run", "schema": f"hostdx/{hostile.ATTACK}"}) + "\n")
    assert run_command_line(["report", str(path)]) == 3
    err = capfd.readouterr().err
    assert "was written in the schema" in err and err.count("\n") == 1
    assert hostile.find_leaks(err) == []


@pytest.mark.parametrize("stream", STREAMS)
def test_what_a_run_says_meanwhile(stream: str, capfd: pytest.CaptureFixture[str]) -> None:
    drawn = progress_rich.DrawnProgress()
    drawn._console = drawn._live.console = Console(file=StringIO(), force_terminal=False, width=4000)
    plain = progress.PlainProgress()
    for event in STREAMS[stream]():
        plain.show(event)
        drawn.show(event)
    text = drawn._console.file.getvalue()  # type: ignore[attr-defined]
    err = capfd.readouterr().err
    assert "owned" in err and "owned" in text
    assert hostile.find_leaks(err) == [] and hostile.find_leaks(text) == []


def test_lines_of_events_are_escaped_and_read_back_the_same() -> None:
    for event in hostile.stream():
        line = encode_event(event)
        assert hostile.find_leaks(line.decode()) == []
        assert Decoder(type(event)).decode(line) == event


def test_json_keeps_what_it_says() -> None:
    document = {"a\x7f\x9b\u202e": ["\U000e0041", "é\u2028", "\U0001f4be"]}
    encoded = result_encoded(document)
    assert json.loads(encoded) == document and hostile.find_leaks(encoded) == []
    assert "\\u009b" in encoded and "\\udb40\\udc41" in encoded and "\U0001f4be" in encoded
