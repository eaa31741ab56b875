"""An iosched run as an admin does it: named, looked through, agreed to, followed and stopped, all on the screen."""

import re
from pathlib import Path

import pytest

from tests.fakes.terminals.same_screen import check_same_screen, open_terminal
from tests.fakes.terminals.terminal import Terminal
from tests.needs import KNOWN_DISK, needs, not_here
from tests.real.iosched_kill import kill_all, left_behind, list_journals, own_processes
from tests.real.loop_disk import LoopDisk

pytestmark = [pytest.mark.real, needs(KNOWN_DISK)]


def list_heading(app: Terminal) -> str:
    """The list's heading, with what it is filtered by."""
    return next((row for row in app.content.splitlines() if "OPTIONS" in row), "")


def set_option(app: Terminal, name: str, value: str) -> None:
    """An option on the screen of options, found by the filter."""
    if "/" in list_heading(app):
        app.press("/\x15")  # what was looked for before
    else:
        app.press("/")
    app.press(f"{name}\r")
    app.expect(lambda: f"/{name}" in list_heading(app), f"the option {name}")
    app.press("\r")
    app.wait(f"\n {name}:")
    app.press(f"{value}\r")
    app.expect(lambda: "Enter change" in app.content and f"{value} " in app.content, f"{name} taken")


@pytest.mark.soak("plan, options and consent without a terminal; stops of real runs")
def test_from_home_to_a_stop_that_restores_the_scheduler(tmp_path: Path) -> None:
    with LoopDisk(tmp_path) as disk:
        before = disk.queue()
        app = open_terminal(tmp_path)
        try:
            app.wait("checks found")
            app.press("/iosched\r")
            app.expect(lambda: "/iosched" in app.content and "/filter" not in app.content, "the filter")
            app.expect(
                lambda: any("▸" in row and " iosched" in row for row in app.content.splitlines()),
                "the filtered list",
            )
            app.press("\r")
            app.wait("DIRECTORIES")
            app.press("/")
            app.wait("directory: ")
            app.press(f"{str(disk.directory).removeprefix('/')}\r")
            app.wait(f"[A] {str(disk.directory)[:20]}")
            app.press("\r")
            app.wait("▲ changes")
            assert f"I/O scheduler of {disk.device}" in app.content

            app.press("O")
            app.wait("OPTIONS")
            set_option(app, "scheduler", "bfq")
            set_option(app, "size", "64M")
            set_option(app, "budget", "340")
            app.press("q")
            app.wait("5 min 40 s of measuring")
            app.expect(lambda: "bfq" in app.content, "the plan with that scheduler")

            app.press("\r")
            app.wait("This run makes 1 change to this host")
            target = f"/sys/block/{disk.device}/queue/scheduler"
            values = app.content[app.content.index(target) :]
            assert re.search(r"mq-deadline .*\bbfq\b", values)  # on one line: the old value and the new one
            app.press("\r")  # Enter alone agrees to nothing
            app.press("n")
            app.wait("Enter start")
            assert disk.queue() == before and not list_journals(tmp_path)
            assert not (tmp_path / "state/hostdx/recordings").exists()

            app.press("\r")
            app.wait("This run makes 1 change to this host")
            app.press("y")
            app.wait("● live")
            refusal = "tasks hang in D"
            app.expect(
                lambda: "[bfq]" in disk.read("scheduler") or refusal in app.content, "the first switch", 60
            )
            if refusal in app.content:
                not_here("tasks of others hang in D here: hostdx refuses to switch a scheduler")
            assert len(list_journals(tmp_path)) == 1
            app.press("s")
            app.wait("press s again to stop the run")
            app.press("s")
            app.wait("verdict")
            app.wait("interrupted after", 60)
            app.wait(f"the queue of {disk.device} is as it was")
            app.expect(lambda: not ours_but(tmp_path, app), "the end of the runner")
            assert disk.queue() == before and not list_journals(tmp_path)

            [recording] = (tmp_path / "state/hostdx/recordings").glob("*.jsonl")
            replay = open_terminal(tmp_path, "replay", str(recording), "--speed", "1000")
            try:
                replay.wait("interrupted after")
                check_same_screen(app, replay, "a stopped run's verdict")
            finally:
                replay.close()
            app.press("q")
            app.wait("1 earlier")
            assert "not undone" not in app.content
        finally:
            app.close()
            kill_all(tmp_path)
        assert left_behind(tmp_path, disk, before) == []


def ours_but(place: Path, app: Terminal) -> list[int]:
    """What was started with this state directory, without the app itself."""
    return [pid for pid in own_processes(place) if pid != app.pid]
