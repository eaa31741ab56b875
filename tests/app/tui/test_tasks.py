"""Five tasks from the screen alone, by one who has not seen it before: keys are counted, what is typed is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from app.recordings import store
from app.tui.screens.before.directories import DirectoriesScreen
from app.tui.screens.before.plan import PlanScreen
from app.tui.screens.verdict import VerdictScreen
from app.tui.shell import Shell
from tests.fakes.terminals.screen import feed, grid, keys, opened, planned, ready, until

SCRIPT = r"""
[ "$2" = --dry-run ] && STATE='"state": "open", "would": "write none back"' || STATE='"state": "reverted"'
printf '{"schema": "hostdx/1", "changes": [{"title": "scheduler of sda: none to bfq", %s}]}' "$STATE"
"""


class Hand:
    """Presses keys, and counts them; `types` what no count is of."""

    def __init__(self, pilot: Pilot[int]) -> None:
        self.pilot = pilot
        self.pressed = 0

    async def presses(self, *names: str) -> None:
        self.pressed += len(names)
        await keys(self.pilot, *names)

    async def types(self, words: str) -> None:
        await keys(self.pilot, *("slash" if letter == "/" else letter for letter in words))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The runs that were asked for; none begins."""
    runs: list[list[str]] = []
    monkeypatch.setattr(Shell, "start_run", lambda self, id, options, plan: runs.append([id, *options]))
    planned(monkeypatch, "storage")
    return runs


async def test_which_disk_for_scratch(
    tmp_path: Path, started: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.tui.screens.before.directories.run_hostdx", lambda shell, argv, then: None)
    async with opened(tmp_path, triage="triage", size="wide") as (app, pilot):
        hand = Hand(pilot)
        await hand.presses("2")
        await until(pilot, lambda: isinstance(app.screen, DirectoriesScreen))
        for path in ("/a/jobs", "/b/jobs"):
            await hand.types(path)
            await hand.presses("enter")
        await hand.presses("enter")  # these are all
        await ready(app, pilot)
        await hand.presses("enter")
        assert started == [["storage", "--dir=/a/jobs", "--dir=/b/jobs"]] and hand.pressed <= 6


async def test_why_is_this_host_slow(tmp_path: Path, started: list[list[str]]) -> None:
    async with opened(tmp_path, triage="triage", size="wide") as (app, pilot):
        hand = Hand(pilot)
        await hand.presses("1")
        await until(pilot, lambda: isinstance(app.screen, PlanScreen) and app.screen.is_plan_final)
        await hand.presses("enter")
        assert [run[0] for run in started] == ["checkup"] and hand.pressed == 2


async def test_did_the_kernel_update_cost_anything(tmp_path: Path) -> None:
    kept = tmp_path / "hostdx" / "recordings"
    kept.mkdir(parents=True)
    for name in ("kernel-6-1", "kernel"):  # the newer one stands first
        (kept / f"{name}.jsonl").write_bytes(store.resolve_recording(f"demo:{name}").read_bytes())
    async with opened(tmp_path, triage="triage", size="wide") as (app, pilot):
        hand = Hand(pilot)
        await hand.presses("r")
        await until(pilot, lambda: "2 recorded here" in grid(app))
        await hand.presses("space", "down", "space", "c")
        await until(pilot, lambda: "6.1.0-" in grid(app) and "6.12." in grid(app) and "40 loads" in grid(app))
        assert hand.pressed <= 5


async def test_send_your_boss_one_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with opened(tmp_path, run=feed("storage"), size="wide") as (app, pilot):
        assert isinstance(app.screen, VerdictScreen)
        hand = Hand(pilot)
        await hand.presses("m")
        await until(pilot, lambda: bool(list(tmp_path.glob("*.md"))))
        assert hand.pressed == 1


async def test_undo_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hostdx" / "journal").mkdir(parents=True)
    (tmp_path / "hostdx" / "journal" / "j.jsonl").write_text("{}\n")
    monkeypatch.setattr("app.tui.children.command.HOSTDX", ("sh", "-c", SCRIPT, "sh"))
    monkeypatch.setattr(Shell, "read_host", lambda self: None)
    async with opened(tmp_path, triage="triage", size="wide") as (app, pilot):
        await until(pilot, lambda: "A run was killed" in grid(app))
        hand = Hand(pilot)
        await hand.presses("y")
        await until(pilot, lambda: "reverted" in grid(app))
        assert "y undo" not in grid(app) and hand.pressed == 1
