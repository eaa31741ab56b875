"""Recordings: written as they happen, read whole or while they grow, and every damage told with its line."""

import errno
import gzip
import math
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostdx.app.recordings.limits import LINE_LIMIT
from hostdx.app.recordings.reader import BrokenRecording, RecordingFollower, load_recording, read_events
from hostdx.app.recordings.writer import RecordingWriter, encode_event
from hostdx.probes.reading.lossless_json import Decoder
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Finding
from tests.every_case import every_case
from tests.needs import TMPFS, need
from tests.real.own_disk import unmount

HEAD = ev.Began(
    t=0, schema=ev.SCHEMA, version="1", scenario="fake", command=["hostdx"], host="h", wall="2026-01-01T00:00:00Z",
    seed=1, pid=1, pid_start=1, boot_id="b",
)  # fmt: skip


def fail_on_warning(text: str) -> None:
    raise AssertionError(text)


def block(t: float, value: float = 1.0) -> ev.Block:
    return ev.Block(t=t, workload="w", variant="A", group=0, index=0, seconds=0.5, values={"IOPS": value})


def write_recording(path: Path, *events: ev.AnyEvent) -> Path:
    recorder = RecordingWriter(path, fail_on_warning)
    everything: list[ev.AnyEvent] = [HEAD, *events]
    for event in everything:
        recorder.write(event)
    recorder.close()
    return path


def test_unknown_type_and_field_are_survived(tmp_path: Path) -> None:
    path = write_recording(tmp_path / "r.jsonl")
    with path.open("ab") as file:
        file.write(
            b'{"type":"hologram","t":1.0,"depth":[[[]]]}\n{"type":"note","t":2.0,"text":"x","colour":"red"}\n\n'
        )
    follower = RecordingFollower(path)
    assert follower.poll() == [HEAD, ev.Note(t=2.0, text="x")]
    assert follower.unknown == 1


@every_case(
    ("content", "part"),
    [
        (b"", "line 1: is empty"),
        (b"hello\nworld\n", "line 1: is not a hostdx recording"),
        (b'{"a":1}\n', "line 1: is not a hostdx recording"),
        (b'{"type":"run","schema":"hostdx/7"}\n', "line 1: was written in the schema hostdx/7"),
        (b"\x7fELF\x00\xff\xfe\n", "line 1: is not a hostdx recording"),
        (b"etc/".ljust(257, b"\0") + b"ustar\n", "`hostdx triage --root`"),
        (encode_event(HEAD)[:-2], "line 1: is unfinished"),
        (encode_event(HEAD) + encode_event(block(1)) + b'{"type":"note","t":2.0}\n', "line 3: is damaged"),
        (
            encode_event(HEAD) + b'{"type":"note","t":"now","text":"x"}\n' + encode_event(block(1)),
            "line 2: is damaged",
        ),
        (encode_event(HEAD) + b"[" * 100_000 + b"\n", "line 2: is damaged"),
        (encode_event(HEAD) + b'{"type":"note","t":2.0,"text":"\xff"}\n', "line 2: is damaged"),
        (encode_event(HEAD) + b"\n" + b"x" * LINE_LIMIT + b"\n", "line 3: longer than 1 MiB"),
        (b"x" * (3 * LINE_LIMIT), "line 1: longer than 1 MiB"),
        (
            gzip.compress(encode_event(HEAD) + encode_event(block(1)) * 10_000)[:20] + b"x" * 99,
            "cannot be read",
        ),
    ],
)
def test_damage_is_one_line_with_its_number(tmp_path: Path, content: bytes, part: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(content)
    with pytest.raises(BrokenRecording) as error:
        list(read_events(path))
    assert part in error.value.text
    assert "\n" not in error.value.text and str(path) in error.value.text


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", tmp_path, tmp_path / "missing", Path("/dev/zero")):
        with pytest.raises(BrokenRecording) as error:
            load_recording(path)
        assert str(path) in error.value.text


def test_compressed(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl.gz"
    path.write_bytes(
        gzip.compress(encode_event(HEAD) + b"".join(encode_event(block(t)) for t in range(30_000)))
    )
    assert len(load_recording(path).blocks["w"]) == 30_000


@every_case("value", [math.nan, math.inf, -math.inf])
def test_what_json_cannot_hold_is_left_out(value: float) -> None:
    line = encode_event(block(1, value))
    assert b"null" not in line and b'"values":{}' in line
    note = encode_event(
        ev.RunningEstimate(t=1, workload="w", metric="m", baseline="A", variant="B", groups=1, ratio=value)
    )
    assert b'"note"' in note


def test_a_line_too_long_is_left_out() -> None:
    line = encode_event(ev.Note(t=1, text="x" * LINE_LIMIT))
    assert len(line) < 200 and b"left out" in line


@settings(deadline=None, max_examples=60)
@given(st.text(alphabet=st.characters()), st.text(alphabet=st.characters(categories=["Cs", "Cc", "Lu"])))
def test_any_text_comes_back(text: str, odd: str) -> None:
    for value in (text, odd, text + odd):
        finding = Finding(id="x", severity="ok", title=value)
        line = encode_event(ev.Found(t=0, finding=finding))
        back = Decoder(ev.Common).decode(line)
        assert isinstance(back, ev.Found)
        assert back.finding.title == value


def test_an_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    from hostdx.app.terminal.failure import Failure

    (tmp_path / "r.jsonl").write_text("mine")
    with pytest.raises(Failure, match="File exists"):
        RecordingWriter(tmp_path / "r.jsonl", fail_on_warning)
    assert (tmp_path / "r.jsonl").read_text() == "mine"


@pytest.mark.parametrize("is_requested", [False, True])
def test_where_nothing_could_be_written_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_requested: bool
) -> None:
    from hostdx.app.recordings.stream import EventStream
    from hostdx.app.report.delivery import summary_lines

    def raise_full(descriptor: int, data: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    warnings: list[str] = []
    stream = EventStream(warnings.append)
    monkeypatch.setattr("hostdx.app.recordings.writer.os.write", raise_full)
    monkeypatch.setattr("hostdx.app.recordings.writer.PLACES", ())
    monkeypatch.delenv("TMPDIR", raising=False)
    stream.emit(HEAD)
    stream.start_recording(tmp_path / "r.jsonl", is_requested=is_requested)
    stream.emit(ev.RunEnded(t=1, status="done"))
    stream.close(hurry=False)
    assert (tmp_path / "r.jsonl").exists() == is_requested
    assert stream.recording_path is None
    assert not any(
        "report:" in text for line in summary_lines(stream.session, stream.recording_path) for text, _ in line
    )
    assert len(warnings) == 2 and "only printed" in warnings[0]


@every_case("cut", [30, 100, 700])
def test_a_truncated_gz_keeps_what_can_be_read(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "r.jsonl.gz"
    events: list[ev.AnyEvent] = [HEAD, *(block(t) for t in range(8_000))]
    data = gzip.compress(b"".join(encode_event(event) for event in events))
    path.write_bytes(data[:-cut])
    kept_events = list(read_events(path))
    assert 1000 < len(kept_events) < len(events) and kept_events == events[: len(kept_events)]
    follower = RecordingFollower(path)
    while follower.poll():
        pass
    assert follower.unfinished
    follower.close()
    path.write_bytes(data[:12])
    with pytest.raises(BrokenRecording, match="unfinished"):
        list(read_events(path))


@pytest.mark.real("cpu")
def test_a_full_disk_costs_no_event(tmp_path: Path) -> None:
    """Written to a tmpfs of 16 KiB; when there is room again, what waited in memory follows."""
    import subprocess

    mountpoint = tmp_path / "small"
    mountpoint.mkdir()
    need(TMPFS)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(mountpoint)], check=True)
    try:
        filler = mountpoint / "filler"
        filler.write_bytes(b"x" * 8192)
        warnings: list[str] = []
        recorder = RecordingWriter(mountpoint / "r.jsonl", warnings.append)
        events: list[ev.AnyEvent] = [HEAD, *(block(t) for t in range(200))]
        for event in events:
            recorder.write(event)
        assert not recorder.is_complete
        assert len(warnings) == 1 and "no space left" in warnings[0]
        part = list(read_events(mountpoint / "r.jsonl"))
        assert part == events[: len(part)] and len(part) < len(events)
        filler.unlink()
        subprocess.run(["mount", "-o", "remount,size=1m", str(mountpoint)], check=True)
        recorder.write(block(300))
        recorder.close()
        assert recorder.is_complete
        assert list(read_events(mountpoint / "r.jsonl")) == [*events, block(300)]
    finally:
        unmount(mountpoint)
