"""A run whose runner and supervisor were killed: the next start of the app offers to undo, and does."""

from pathlib import Path

import pytest

from tests.fakes.terminals.same_screen import open_terminal
from tests.needs import KNOWN_DISK, needs, not_here
from tests.real.iosched_kill import ONLY_SWITCHED, kill_all, left_behind, list_journals, own_processes, start
from tests.real.loop_disk import LoopDisk
from tests.scenarios.iosched.test_iosched_real import wait_for

pytestmark = [pytest.mark.real, needs(KNOWN_DISK)]


def refused_for_hanging_tasks(place: Path) -> bool:
    recordings = (place / "state/hostdx/recordings").glob("*.jsonl")
    return any(b" tasks hang in D " in path.read_bytes() for path in recordings)


@pytest.mark.soak(
    "undo is offered at the next start of a run; the app's screen of it is driven without a terminal"
)
def test_what_a_killed_run_left_is_offered_kept_offered_again_and_undone(tmp_path: Path) -> None:
    with LoopDisk(tmp_path) as disk:
        before = disk.queue()
        runner = start(tmp_path, disk, ONLY_SWITCHED)
        try:
            wait_for(disk, "[bfq]", runner)
        except AssertionError:
            if refused_for_hanging_tasks(tmp_path):
                not_here("tasks of others hang in D here: hostdx refuses to switch a scheduler")
            raise
        finally:
            kill_all(tmp_path)
            runner.wait()
        assert "[bfq]" in disk.read("scheduler"), "it was undone although the supervisor was killed as well"
        assert len(list_journals(tmp_path)) == 1 and list(disk.directory.iterdir())

        app = open_terminal(tmp_path)
        try:
            app.wait("killed before it could undo")
            app.wait("write 'mq-deadline' back to")
            app.wait(".hostdx-")
            app.press("n")
            app.wait("2 changes not undone, u shows them")
            app.wait("checks found")
            assert "[bfq]" in disk.read("scheduler") and len(list_journals(tmp_path)) == 1

            app.press("u")
            app.wait("killed before it could undo")
            app.press("y")
            app.wait("Nothing is left to undo.")
            assert app.content.count("✓") == 2 and "▲" not in app.content and "y undo" not in app.content
            assert "[mq-deadline]" in disk.read("scheduler") and not list_journals(tmp_path)

            app.press("q")
            app.wait("WHAT IS WRONG?")
            app.expect(lambda: "not undone" not in app.content, "a home screen with nothing left over")
        finally:
            app.close()
        app = open_terminal(tmp_path)  # once more: nothing is offered any more
        try:
            app.wait("checks found")
            assert "put it back" not in app.content
        finally:
            app.close()
        assert left_behind(tmp_path, disk, before) == [] and not own_processes(tmp_path)
