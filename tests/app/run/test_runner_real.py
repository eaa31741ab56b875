"""A real runner, stopped in every way there is: what it leaves behind, and what its recording says."""

import json
import os
import pty
import signal
import subprocess
from pathlib import Path

import pytest

from hostdx.app.recordings import store as recordings
from hostdx.app.recordings.reader import load_recording
from hostdx.app.recordings.session import RunSession
from tests.app.launcher import argv, own_env, run_hostdx, start_hostdx
from tests.needs import one_always
from tests.real.polled import happens

pytestmark = [pytest.mark.real]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "attribute").write_text("old\n")
    return tmp_path


def fake_run(place: Path, *more: str) -> list[str]:
    return [
        "run",
        "fake",
        "--dir",
        str(place / "data"),
        "--attribute",
        str(place / "attribute"),
        "--yes",
        *more,
    ]


def wait_measured(process: subprocess.Popen[bytes]) -> None:
    """Waits until the scenario has measured and holds its changes."""
    assert process.stderr is not None
    for line in process.stderr:
        if line.strip() == b"measured":
            return
    raise AssertionError("it ended before it measured")


def session_of(place: Path) -> RunSession:
    (path,) = (place / "state/hostdx/recordings").iterdir()
    return load_recording(path)


def wait_until_clean(place: Path, seconds: float = 20.0) -> None:
    folders = (place / "data", place / "state/hostdx/journal")
    happens(lambda: not any(list(folder.iterdir()) for folder in folders), seconds)
    assert_clean(place)


def assert_clean(place: Path) -> None:
    assert list((place / "data").iterdir()) == []
    assert list((place / "state/hostdx/journal").iterdir()) == []
    assert (place / "attribute").read_text() == "old\n"


def test_to_its_end(place: Path) -> None:
    done = run_hostdx(place, *fake_run(place, "--json", "--how", "finding"))
    assert done.returncode == 0
    document = json.loads(done.stdout)
    assert document["status"] == "done"
    assert document["verdicts"][0]["verdict"] == "slower"
    states = [action.state for action in session_of(place).actions.values()]
    assert states == ["reverted", "reverted"]
    assert_clean(place)


def test_nothing_measured_is_no_success(place: Path) -> None:
    done = run_hostdx(place, *fake_run(place, "--json", "--quiet", "--how", "unmeasured"))
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1].startswith("hostdx: run fake: ")
    document = json.loads(done.stdout)
    assert document["status"] == "skipped"
    assert document["verdicts"][0]["verdict"] == "not measured"
    assert document["verdicts"][0]["reason"] in document["reason"]
    session = session_of(place)
    assert session.ended is not None and (session.ended.status, session.ended.exit) == ("skipped", 3)
    assert_clean(place)


@pytest.mark.parametrize("signal_and_status", one_always((signal.SIGTERM, 143), (signal.SIGINT, 130)))
def test_told_to_stop(place: Path, signal_and_status: tuple[int, int]) -> None:
    number, status = signal_and_status
    process = start_hostdx(place, *fake_run(place, "--how", "hang", "--json"))
    wait_measured(process)
    process.send_signal(number)
    process.send_signal(number)  # a second one, at once, harms nothing (of two kinds the lower comes first)
    out, err = process.communicate(timeout=30)  # it does not wait for the scenario, which never ends
    assert process.returncode == status
    assert b"Traceback" not in err
    document = json.loads(out)
    assert document["status"] == "interrupted"
    session = session_of(place)
    assert session.ended is not None and session.ended.exit == status
    assert len(session.blocks["w"]) == 4
    assert_clean(place)


def test_killed_and_undone_by_the_supervisor(place: Path) -> None:
    process = start_hostdx(place, *fake_run(place, "--how", "hang"))
    wait_measured(process)
    assert (place / "attribute").read_text() == "new\n"
    process.kill()
    process.communicate(timeout=30)
    wait_until_clean(place)
    happens(lambda: session_of(place).ended is not None)
    session = session_of(place)
    assert session.ended is not None
    assert (session.ended.status, session.ended.exit) == ("failed", 137)
    assert {action.state for action in session.actions.values()} == {"reverted"}


def test_both_killed_then_undo(place: Path) -> None:
    process = start_hostdx(place, *fake_run(place, "--how", "hang"))
    wait_measured(process)
    first = run_hostdx(place, "undo")
    assert first.returncode == 3
    assert f"pid {process.pid}" in first.stderr and first.stderr.count("\n") == 1
    (supervisor,) = find_children(process.pid, "hostdx.app.undo.supervisor")
    os.kill(supervisor, signal.SIGKILL)
    process.kill()
    process.communicate(timeout=30)
    assert list((place / "data").iterdir()) != []
    second = run_hostdx(place, *fake_run(place))
    assert second.returncode == 3 and "hostdx undo" in second.stderr
    dry_run = run_hostdx(place, "undo", "--dry-run")
    assert dry_run.stdout.count("would") == 2
    assert (place / "attribute").read_text() == "new\n"
    undo = run_hostdx(place, "undo")
    assert (undo.returncode, undo.stderr) == (0, "")
    assert_clean(place)
    assert run_hostdx(place, "undo").stdout.startswith(f"nothing to undo in {place}/state/hostdx/journal")
    own_env(place)
    os.environ["XDG_STATE_HOME"], before = str(place / "state"), os.environ.get("XDG_STATE_HOME")
    try:
        assert [entry.state for entry in recordings.list_recordings()] == ["failed"]
    finally:
        if before is None:
            del os.environ["XDG_STATE_HOME"]
        else:
            os.environ["XDG_STATE_HOME"] = before


def find_children(pid: int, word: str) -> list[int]:
    pids = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and word in (path / "cmdline").read_text():
                pids.append(int(path.name))
        except (OSError, ValueError):
            continue
    return pids


def on_a_terminal(place: Path, *arguments: str) -> tuple[int, int]:
    """(pid, master) of a run on a pseudo-terminal of its own, as ssh gives one."""
    pid, master = pty.fork()
    if pid == 0:
        os.execve(argv()[0], argv(*arguments), own_env(place))
    return pid, master


def read_until(master: int, text: bytes) -> bytes:
    output = b""
    while text not in output:
        output += os.read(master, 65536)
    return output


def to_its_end(master: int) -> bytes:
    rest = b""
    try:
        while data := os.read(master, 65536):
            rest += data
    except OSError:  # EIO: the last process on the terminal has gone
        pass
    os.close(master)
    return rest


def wait_exit(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_ctrl_c_on_a_terminal(place: Path) -> None:
    pid, master = on_a_terminal(place, *fake_run(place, "--how", "hang"))
    read_until(master, b"measured")
    os.write(master, b"\x03\x03")  # the terminal sends SIGINT to the whole foreground group, twice
    rest = to_its_end(master)
    assert wait_exit(pid) == 130
    assert b"Traceback" not in rest
    assert_clean(place)


def test_closed_terminal_goes_on_to_its_end(place: Path) -> None:
    pid, master = on_a_terminal(place, *fake_run(place, "--blocks", "15"))
    read_until(master, b"work")
    os.close(master)  # SIGHUP to the session, and every write to the terminal fails from now on
    assert wait_exit(pid) == 0
    session = session_of(place)
    assert session.ended is not None and session.ended.status == "done"
    assert len(session.blocks["w"]) == 15
    assert_clean(place)


def test_question_on_a_terminal(place: Path) -> None:
    arguments = [a for a in fake_run(place) if a != "--yes"]
    pid, master = on_a_terminal(place, *arguments)
    output = read_until(master, b"[y/N]")
    assert str(place / "attribute").encode() in output
    os.write(master, b"n\n")
    to_its_end(master)
    assert wait_exit(pid) == 3
    assert (place / "attribute").read_text() == "old\n"
    assert not (place / "state/hostdx/recordings").exists()


def test_undo_is_offered_at_the_next_start(place: Path) -> None:
    process = start_hostdx(place, *fake_run(place, "--how", "hang"))
    wait_measured(process)
    (supervisor,) = find_children(process.pid, "hostdx.app.undo.supervisor")
    os.kill(supervisor, signal.SIGKILL)
    process.kill()
    process.communicate(timeout=30)
    for answer, status in ((b"n\n", 3), (b"y\n", 0)):
        pid, master = on_a_terminal(place, *fake_run(place, "--fast"))
        output = read_until(master, b"undo them now? [y/N]")
        assert b"write 'old' back to" in output
        assert (place / "attribute").read_text() == "new\n"
        os.write(master, answer)
        to_its_end(master)
        assert wait_exit(pid) == status
    assert_clean(place)


def test_a_signal_to_the_whole_group_does_not_reach_the_supervisor(place: Path) -> None:
    process = start_hostdx(place, *fake_run(place, "--how", "hang"))
    wait_measured(process)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)
    wait_until_clean(place)


def test_one_run_at_a_time_says_who(place: Path) -> None:
    process = start_hostdx(place, *fake_run(place, "--how", "hang"))
    wait_measured(process)
    second = run_hostdx(place, "run", "fake")
    assert second.returncode == 3
    assert f"pid {process.pid}" in second.stderr and "hostdx run fake" in second.stderr
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert_clean(place)
