"""A recording names any process it likes: stop signals only a run of ours that writes that very file."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from hostdx.app.run import launch
from hostdx.app.terminal.process import boot_id, read_start_ticks
from hostdx.scenarios.contract import events as ev

# In short sleeps: a signal that comes right before one begins is seen when it ends.
CODE = (
    "import os,signal,sys,time; signal.signal(2, lambda *a: sys.exit(7)); "
    "f = [os.open(p, os.O_RDONLY if m == 'r' else os.O_WRONLY) for p, m in [sys.argv[2:4]] if m]; "
    "print('up', flush=True); any(time.sleep(0.05) for _ in range(1200))"
)


@contextmanager
def process(path: Path, mode: str = "w", name: str = "hostdx.app.cli") -> Iterator[subprocess.Popen[bytes]]:
    """Ends with status 7 on SIGINT. Holds `path` open for reading ("r"), writing ("w") or not at all."""
    child = subprocess.Popen([sys.executable, "-c", CODE, name, str(path), mode], stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None and child.stdout.readline() == b"up\n"
        yield child
    finally:
        child.kill()
        child.wait()
        assert child.stdout is not None
        child.stdout.close()


def make_recording(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def write_began(path: Path, pid: int, shift: int = 0) -> ev.Began:
    """`shift`: a start time that is not the process's."""
    start = read_start_ticks(pid)
    assert start is not None
    began = ev.Began(
        t=0, schema=ev.SCHEMA, version="0", scenario="x", command=[], host="h", wall="", seed=0, pid=pid,
        pid_start=start + shift, boot_id=boot_id(),
    )  # fmt: skip
    real = path.resolve()
    if not real.stat().st_size:
        real.write_bytes(msgspec.json.encode(began) + b"\n")
    return began


@pytest.fixture
def recordings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of our own recordings."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "hostdx" / "recordings"


def test_our_own_run_is_stopped(recordings: Path) -> None:
    path = make_recording(recordings / "r.jsonl")
    with process(path) as child:
        began = write_began(path, child.pid)
        assert launch.stop_runner(path, began) == ""
        assert child.wait(10) == 7
        assert launch.stop_runner(path, began) == "the runner is gone"


@pytest.mark.parametrize(
    ("mode", "name", "shift", "reason"),
    [
        ("w", "hostdx.app.cli", 1, "the runner is gone"),
        ("w", "sleep", 0, "no hostdx that writes it"),
        ("r", "hostdx.app.cli", 0, "no hostdx that writes it"),  # one that follows it
        ("", "hostdx.app.cli", 0, "no hostdx that writes it"),  # a run that writes another
    ],
)
def test_no_other_process_is(recordings: Path, mode: str, name: str, shift: int, reason: str) -> None:
    path = make_recording(recordings / "r.jsonl")
    with process(path, mode, name) as child:
        assert reason in launch.stop_runner(path, write_began(path, child.pid, shift))
        assert child.poll() is None


def test_nor_through_a_recording_from_elsewhere(recordings: Path, tmp_path: Path) -> None:
    recording, foreign = make_recording(recordings / "r.jsonl"), make_recording(tmp_path / "foreign.jsonl")
    with process(recording) as child, process(foreign) as its_own:
        assert "is not one of yours" in launch.stop_runner(foreign, write_began(foreign, child.pid))
        assert "is not one of yours" in launch.stop_runner(foreign, write_began(foreign, its_own.pid))
        link = recordings / "link.jsonl"
        link.symlink_to(foreign)
        assert "cannot be read" in launch.stop_runner(link, write_began(foreign, its_own.pid))
        assert child.poll() is None and its_own.poll() is None
