"""The app in a real pseudo-terminal: locales, signals, and what it leaves behind."""

import fcntl
import itertools
import os
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

import pytest

from hostdx.app.tui.ending import watch_terminal
from tests.fakes.streams.stories import write
from tests.fakes.streams.story import RECORDINGS, storage
from tests.fakes.terminals.terminal import Terminal
from tests.needs import one_always

HOSTDX = [sys.executable, "-P", "-m", "hostdx.app.cli"]
STORAGE = str(RECORDINGS / "storage.jsonl")
HOSTILE = str(RECORDINGS / "hostile.jsonl")


def open_replay(tmp_path: Path, recording: str = STORAGE, **env: str) -> Terminal:
    places = {"XDG_STATE_HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    return Terminal(
        [*HOSTDX, "replay", recording, "--speed", "64"], (80, 24), {**places, **env}, may_fork=True
    )


@pytest.mark.real
@pytest.mark.parametrize(
    "env", one_always({"LC_ALL": "C", "NO_COLOR": "1"}, {"LC_ALL": "C"}, {"TERM": "linux"}), ids=str
)
def test_a_terminal_without_unicode_gets_ascii_only(env: dict[str, str], tmp_path: Path) -> None:
    terminal = open_replay(tmp_path, HOSTILE, **env)
    try:
        terminal.wait("verdict")
        terminal.wait("FINDINGS")
        terminal.press("v?")
        terminal.wait("KEYS")
    finally:
        terminal.close()
    assert terminal.raw.isascii()
    assert b"\x1b]0;owned" not in terminal.raw
    if "NO_COLOR" in env:
        sgr = {code for codes in re.findall(rb"\x1b\[([0-9;]*)m", terminal.raw) for code in codes.split(b";")}
        assert sgr & {b"1", b"7"} and not sgr & {
            b"38",
            b"48",
            *(str(n).encode() for n in (*range(30, 38), *range(40, 48))),
        }


@pytest.mark.real
def test_a_profile_that_exports_a_size_does_not_hide_the_terminals(tmp_path: Path) -> None:
    places = {"XDG_STATE_HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    exported = {"COLUMNS": "60", "LINES": "20"}
    terminal = Terminal([*HOSTDX, "replay", STORAGE], (120, 40), {**places, **exported}, may_fork=True)
    try:
        terminal.wait("live")
        terminal.expect(lambda: terminal.screen.display[-1].strip() != "", "the last row")
        assert max(len(line) for line in terminal.content.splitlines()) > 100
    finally:
        terminal.close()


@pytest.mark.real
def test_termination_restores_the_terminal(tmp_path: Path) -> None:
    terminal = open_replay(tmp_path)
    terminal.wait("live")
    status = terminal.close()
    assert os.waitstatus_to_exitcode(status) == 143
    assert terminal.raw.rstrip().endswith(b"l") or b"\x1b[?1049l" in terminal.raw
    assert b"\x1b[?25h" in terminal.raw and b"Traceback" not in terminal.raw


@pytest.mark.real
def test_a_closed_window_ends_the_app_cleanly(tmp_path: Path) -> None:
    terminal = open_replay(tmp_path, str(write(tmp_path / "r.jsonl", storage(cut="live"))))
    terminal.wait("live")
    assert os.waitstatus_to_exitcode(terminal.close(hang_up=True)) == 0


@pytest.mark.real
def test_told_to_end_while_nobody_reads_the_terminal(tmp_path: Path) -> None:
    """Its writer is stuck and the main thread waits for it: no handler of the loop would ever run."""
    terminal = open_replay(tmp_path, str(write(tmp_path / "r.jsonl", storage(cut="live"))))
    terminal.wait("live")
    stack = Path(f"/proc/{terminal.pid}/wchan")
    end = time.monotonic() + 30
    sizes = itertools.cycle([(100, 40), (120, 50)])
    while "futex" not in stack.read_text() and time.monotonic() < end:
        columns, rows = next(sizes)  # each is drawn anew
        fcntl.ioctl(terminal.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        time.sleep(0.1)
    assert time.monotonic() < end, "the pipe to the terminal never filled"
    os.kill(terminal.pid, signal.SIGTERM)
    while not (done := os.waitpid(terminal.pid, os.WNOHANG))[0] and time.monotonic() < end + 20:
        time.sleep(0.05)
    if not done[0]:
        os.kill(terminal.pid, signal.SIGKILL)
        done = os.waitpid(terminal.pid, 0)
    os.close(terminal.fd)
    assert os.waitstatus_to_exitcode(done[1]) == 143


def test_a_terminal_that_is_gone_is_noticed() -> None:
    master, child_end = os.openpty()
    hung_up = threading.Event()
    watch = threading.Thread(target=watch_terminal, args=(child_end, hung_up.set), daemon=True)
    watch.start()
    os.write(master, b"keys are no hang-up\n")
    assert not hung_up.wait(0.1)
    os.close(master)
    assert hung_up.wait(20)
    os.close(child_end)


@pytest.mark.real
def test_stopped_and_continued_it_starts_nothing_a_second_time(tmp_path: Path) -> None:
    terminal = open_replay(tmp_path, str(write(tmp_path / "r.jsonl", storage(cut="live"))))
    terminal.wait("live")
    tasks = Path(f"/proc/{terminal.pid}/task")
    before = len(list(tasks.iterdir()))
    for _ in range(3):
        os.kill(terminal.pid, signal.SIGSTOP)
        os.kill(terminal.pid, signal.SIGCONT)
        terminal.pump(0.3)
    assert len(list(tasks.iterdir())) == before
    before_stop, terminal.raw[:] = terminal.content, b""
    os.kill(terminal.pid, signal.SIGTSTP)  # its own suspension leaves the other screen, and fg takes it again
    terminal.expect(lambda: b"\x1b[?1049l" in terminal.raw, "the shell's screen")
    os.kill(terminal.pid, signal.SIGCONT)
    terminal.expect(lambda: b"\x1b[?1049h" in terminal.raw, "the app's screen")
    terminal.expect(lambda: terminal.content == before_stop, "what was seen before")
    assert len(list(tasks.iterdir())) == before
    assert os.waitstatus_to_exitcode(terminal.close()) == 143


@pytest.mark.real
def test_what_is_no_recording_is_one_line_and_no_screen(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("not a recording\n")
    terminal = open_replay(tmp_path, str(path))
    terminal.wait("line 1: is not a hostdx recording")
    while terminal.pump(1.0):  # until it has ended by itself
        pass
    assert os.waitstatus_to_exitcode(terminal.close()) == 3
    assert b"\x1b[?1049h" not in terminal.raw and b"Traceback" not in terminal.raw


def run_fresh(code: str) -> None:
    """In an interpreter that has imported nothing yet."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_screen_never_loads_what_reads_or_measures_the_host() -> None:
    """At run time too, every screen included; and plotext not before something is drawn."""
    code = (
        "import sys, pkgutil, importlib, hostdx.app.tui\n"
        "for m in pkgutil.walk_packages(hostdx.app.tui.__path__, 'hostdx.app.tui.'): importlib.import_module(m.name)\n"
        "never = ('hostdx.probes.reading.host', 'hostdx.probes.system', 'hostdx.probes.engine', 'plotext')\n"
        "bad = [m for m in sys.modules if m.startswith(never)]\n"
        "assert not bad, bad\n"
    )
    run_fresh(code)


def test_home_is_not_held_up_by_what_only_other_screens_need() -> None:
    code = (
        "import sys, hostdx.app.tui.app, hostdx.app.tui.shell, hostdx.app.tui.screens.home\n"
        "late = {'click', 'plotext', 'hostdx.app.recordings.store', 'hostdx.app.report.headline', 'rich.markdown'}\n"
        "late |= {'hostdx.app.tui.children.feed', 'importlib.metadata', 'email', 'zipfile'}\n"
        "assert not late & set(sys.modules), late & set(sys.modules)\n"
    )
    run_fresh(code)


def test_what_the_first_screen_follows_begins_without_what_plans_and_reports_need() -> None:
    code = (
        "import sys, hostdx.app.cli.telling.triage, hostdx.app.cli.pulse\n"
        "late = {'asyncio', 'hostdx.app.cli.measuring.plan', 'hostdx.app.report.json_document',"
        " 'hostdx.app.report.triage_text'}\n"
        "assert not late & set(sys.modules), late & set(sys.modules)\n"
    )
    run_fresh(code)
