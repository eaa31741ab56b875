"""What undoing came to is said as it was: put back, kept for somebody else's sake, or failed and offered again."""

from pathlib import Path

import pytest

from hostdx.app.tui.screens.undo import UndoScreen
from hostdx.app.tui.shell import Shell
from tests.fakes.terminals.screen import grid, keys, run_app, wait
from tests.needs import one_always

SCRIPT = r"""
told() { printf '{"schema": "hostdx/1", "changes": [%s]}' "$1"; }
SDA='"title": "scheduler of sda: none to bfq"' SDB='"title": "scheduler of sdb: none to bfq"'
OWN='"title": "private directory under /data"'
if [ "$2" = --dry-run ]; then
  BACK='"state": "open", "would": "write none back"'
  told "{$SDA, $BACK}, {$SDB, $BACK}, {$OWN, \"state\": \"open\", \"would\": \"remove the directory\"}"
elif [ -e tried ]; then
  told "{$SDA, \"state\": \"reverted\"}"
else
  touch tried
  WHY='"state": "kept", "reason": "somebody else changed it to kyber"'
  told "{$OWN, \"state\": \"reverted\", \"reason\": \"the reboot has undone it\"}, {$SDB, $WHY},
        {$SDA, \"state\": \"failed\", \"reason\": \"it hangs\"}"
  echo 'hostdx: undo: scheduler of sda: none to bfq: failed: it hangs; it stays in the journal' >&2
  exit 3
fi
"""


@pytest.mark.parametrize("size", one_always("narrow", "wide"))
async def test_a_failure_is_told_and_can_be_tried_again(
    size: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hostdx" / "journal").mkdir(parents=True)
    (tmp_path / "hostdx" / "journal" / "j.jsonl").write_text("{}\n")
    monkeypatch.setattr("hostdx.app.tui.children.event_child.HOSTDX", ("sh", "-c", SCRIPT, "sh"))
    monkeypatch.setattr(Shell, "read_host", lambda self: None)
    monkeypatch.chdir(tmp_path)
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        await wait(pilot, lambda: "A run was killed" in grid(app))
        await keys(pilot, "y")
        await wait(pilot, lambda: "it stays in the journal" in grid(app))
        rows = grid(app)
        assert "✓ private directory under /data" in rows
        assert "▲ scheduler of sdb: none to bfq: kept: somebody else" in rows
        assert "Nothing is left to undo." not in rows and "y undo all of it now" in rows
        await keys(pilot, "n")
        assert "1 change not undone" in grid(app)
        await keys(pilot, "u")
        await wait(pilot, lambda: "A run was killed" in grid(app))
        await keys(pilot, "y")
        await wait(pilot, lambda: "✓ scheduler of sda: none to bfq: reverted" in grid(app))
        assert "Nothing is left to undo." in grid(app) and "y undo" not in grid(app)
        await keys(pilot, "q")
        assert "not undone" not in grid(app)


FORGET = r"""
if [ "$2" = --forget ]; then echo "$3 $4" >> forgotten; exit 0; fi
if [ -e forgotten ]; then echo '{"schema": "hostdx/1", "changes": []}'; exit 0; fi
echo '{"schema": "hostdx/1", "changes": [
  {"title": "scheduler of sda", "state": "open", "would": "write none back", "id": "run-1#2"},
  {"title": "MTU of eth0", "state": "open", "would": "write 1500 back", "id": "run-1#1"},
  {"title": "timer of the nights", "state": "kept", "reason": "on purpose", "on_purpose": true, "id": "run-0#1"}]}'
"""


async def test_forgetting_is_asked_once_more_and_leaves_what_was_made_to_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hostdx" / "journal").mkdir(parents=True)
    (tmp_path / "hostdx" / "journal" / "j.jsonl").write_text("{}\n")
    monkeypatch.setattr("hostdx.app.tui.children.event_child.HOSTDX", ("sh", "-c", FORGET, "sh"))
    monkeypatch.setattr(Shell, "read_host", lambda self: None)
    monkeypatch.chdir(tmp_path)
    async with run_app(tmp_path, triage="triage", size="wide") as (app, pilot):
        await wait(pilot, lambda: isinstance(app.screen, UndoScreen))
        assert "timer of the nights" in grid(app)
        await keys(pilot, "X", "escape")
        assert not (tmp_path / "forgotten").exists() and len(app.left) == 2
        await keys(pilot, "X", "y")
        await wait(pilot, lambda: not app.left)
        assert (tmp_path / "forgotten").read_text() == "run-1 --yes\n"  # once a run, and not the timer
        assert not app.screen.check_action("undo", ()) and "timer of the nights" in grid(app)


async def test_the_page_of_undo_opens_where_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "hostdx.app.tui.children.event_child.HOSTDX",
        ("sh", "-c", 'echo \'{"schema": "hostdx/1", "changes": []}\'', "sh"),
    )
    async with run_app(tmp_path, triage="triage", size="narrow") as (app, pilot):
        app.action_undo_left()
        await wait(pilot, lambda: isinstance(app.screen, UndoScreen))
        assert "journal" in grid(app)
        assert not app.screen.check_action("undo", ()) and not app.screen.check_action("forget", ())
