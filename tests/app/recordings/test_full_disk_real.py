"""A full disk under the state directory: refused in one line, or what was measured is kept; what only reads goes on."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostdx.app.recordings.reader import read_events
from hostdx.app.recordings.writer import RecordingWriter, rescue_recording
from hostdx.scenarios.contract import events as ev
from tests.app.launcher import run_hostdx
from tests.needs import TMPFS, need
from tests.real.own_disk import unmount

pytestmark = [pytest.mark.real]


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The place of the launcher's state directory, on a tmpfs of 64 KiB."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # what is saved from it goes here, not into /var/tmp
    mountpoint = tmp_path / "state"
    mountpoint.mkdir()
    need(TMPFS)
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "hostdx-test", str(mountpoint)], check=True
    )
    try:
        yield mountpoint
    finally:
        unmount(mountpoint)


def fill_disk(place: Path) -> Path:
    filler = place / "filler"
    with pytest.raises(OSError, match="No space left"):
        filler.write_bytes(bytes(1 << 20))
    return filler


def test_a_run_is_refused_in_one_line_before_anything_is_begun(tmp_path: Path, small_disk: Path) -> None:
    (small_disk / "hostdx").mkdir(mode=0o700)
    (tmp_path / "there").mkdir()
    fill_disk(small_disk)
    done = run_hostdx(tmp_path, "run", "null", "--dir", str(tmp_path / "there"))
    (line,) = done.stderr.splitlines()
    assert done.returncode == 3 and done.stdout == ""
    assert f"{small_disk}/hostdx/journal: the undo journal cannot be written: No space left on device" in line
    assert "XDG_STATE_HOME=/DIRECTORY" in line
    assert list((tmp_path / "there").iterdir()) == []


def test_what_only_reads_goes_on(tmp_path: Path, small_disk: Path) -> None:
    (small_disk / "hostdx").mkdir(mode=0o700)
    fill_disk(small_disk)
    for arguments, part in (
        (("triage",), "checks found something"),
        (("report", "demo:storage"), "## Verdict"),
        (("recordings",), "demo:storage"),
        (("undo",), "nothing to undo"),
        (("run", "dstate", "--seconds", "1"), "within 1 s"),
    ):
        done = run_hostdx(tmp_path, *arguments)
        assert done.returncode == 0 and part in done.stdout, (arguments, done.stderr)


def test_a_watch_goes_on_where_no_recording_can_even_be_begun(tmp_path: Path, small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,nr_inodes=1", str(small_disk)], check=True)
    done = run_hostdx(tmp_path, "run", "dstate", "--seconds", "1", "--quiet")
    assert done.returncode == 0 and "within 1 s" in done.stdout
    assert "cannot be made: No space left on device" in done.stderr and "only printed" in done.stderr


def test_a_disk_that_fills_up_in_between_costs_nothing_that_was_measured(small_disk: Path) -> None:
    warnings: list[str] = []
    head = ev.Began(
        t=0, schema=ev.SCHEMA, version="1", scenario="fake", command=["hostdx"], host="h",
        wall="2026-01-01T00:00:00Z", seed=1, pid=1, pid_start=1, boot_id="b",
    )  # fmt: skip
    events: list[ev.AnyEvent] = [head, *(ev.Note(t=float(t), text=f"event {t}") for t in range(300))]
    recorder = RecordingWriter(small_disk / "r.jsonl", warnings.append)
    for number, event in enumerate(events):
        recorder.write(event)
        if number == 100:
            filler = fill_disk(small_disk)
    recorder.close()
    match = re.search(r"kept as (\S+) instead", warnings[-1])
    assert len(warnings) == 2 and match is not None and recorder.path == Path(match[1])
    assert recorder.is_complete and not recorder.lost
    assert list(read_events(recorder.path)) == events
    assert recorder.path.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in small_disk.iterdir()] == [filler.name]  # the half one is not in the list


def test_nowhere_to_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "r.jsonl").write_bytes(b"12345")
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # the same disk
    monkeypatch.setattr("hostdx.app.recordings.writer.PLACES", ("/nonexistent", "relative"))
    assert rescue_recording(tmp_path / "r.jsonl", 5, [b"6"]) is None
    assert [path.name for path in tmp_path.iterdir()] == ["r.jsonl"]
