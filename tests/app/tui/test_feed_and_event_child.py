"""Recordings followed while they grow, runners started and stopped, children whose events are read."""

import os
import signal
import sys
from pathlib import Path

import msgspec
import pytest

from hostdx.app.run import launch
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.process import boot_id
from hostdx.app.tui.children.event_child import EventChild
from hostdx.app.tui.children.feed import RunFeed
from hostdx.probes.reading.process_stat import start_time
from hostdx.scenarios.contract import events as ev
from tests.every_case import every_case
from tests.fakes.streams.story import storage


def encode_lines(events: list[ev.AnyEvent]) -> bytes:
    return b"".join(msgspec.json.encode(e) + b"\n" for e in events)


def test_follows_a_recording_while_it_grows_by_half_lines(tmp_path: Path) -> None:
    run = storage()
    start = msgspec.structs.replace(
        run[0], pid=os.getpid(), pid_start=start_time(os.getpid()) or 0, boot_id=boot_id()
    )
    data = encode_lines([start, *run[1:]])
    path = tmp_path / "r.jsonl"
    path.write_bytes(data[:5000])
    feed = RunFeed(path, live=True)
    assert feed.is_growing and feed.playback.live
    for end in range(5000, len(data) + 3000, 3000):
        path.write_bytes(data[:end])
        feed.poll()
    while feed.poll():
        pass
    assert feed.session.count == len(run) and feed.session.ended is not None
    assert not feed.is_growing and not feed.playback.live
    feed.close()


def test_a_refused_runner_is_quoted(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    feed = RunFeed(path, live=True, awaited=True)
    launch.log_path_of(path).write_text("progress\nhostdx: run storage: tmpfs is no disk\n")
    assert feed.refusal_text() == "hostdx: run storage: tmpfs is no disk"


@every_case(
    "content",
    [b"", b"not json\n", b'{"type":"pulse","t":0,"load1":1,"cpu":0}\n', b"\xff\xfe\n", b"[" * 5000 + b"\n"],
)
def test_what_is_no_recording_is_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    if not content:
        assert RunFeed(path).session.count == 0
        return
    with pytest.raises(Failure) as failure:
        RunFeed(path)
    assert "line 1" in failure.value.text and "\n" not in failure.value.text


def test_a_runner_started_by_the_app_is_in_a_session_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import os,sys; open(sys.argv[-1],'w').write(f'{os.getsid(0)} {os.getpid()} {sys.argv[1:]}')"
    monkeypatch.setattr(launch, "HOSTDX", (sys.executable, "-c", code))
    path = tmp_path / "r.jsonl"
    child = launch.start_runner("storage", ["--dir=/a b"], digest="", recording=path)
    assert child.wait(20) == 0
    session, pid, argv = path.read_text().split(" ", 2)
    assert session == pid == str(child.pid) != str(os.getsid(0))
    assert argv.startswith("['run', 'storage', '--dir=/a b', ")
    assert launch.log_path_of(path).stat().st_mode & 0o077 == 0


def test_closing_ends_a_child_that_still_runs() -> None:
    child = EventChild(["sleep", "60"])
    pid = child._process.pid
    child.close()
    child.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)
