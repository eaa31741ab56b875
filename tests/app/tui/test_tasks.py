"""Five tasks from the screen alone, by one who has not seen it before: keys are counted, what is typed is not."""

from pathlib import Path

import pytest
from textual.pilot import Pilot

from hostdx.app.recordings import store
from hostdx.app.tui.screens.before.plan import PlanScreen
from hostdx.app.tui.shell import Shell
from tests.fakes.terminals.screen import fake_plan, grid, keys, run_app, wait

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
def asked_runs(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The runs that were asked for; none begins."""
    runs: list[list[str]] = []
    monkeypatch.setattr(Shell, "start_run", lambda self, id, options, plan: runs.append([id, *options]))
    fake_plan(monkeypatch, "storage")
    return runs


async def test_why_is_this_host_slow(tmp_path: Path, asked_runs: list[list[str]]) -> None:
    async with run_app(tmp_path, triage="triage", size="wide") as (app, pilot):
        hand = Hand(pilot)
        await hand.presses("1")
        await wait(pilot, lambda: isinstance(app.screen, PlanScreen) and app.screen.is_plan_final)
        await hand.presses("enter")
        assert [run[0] for run in asked_runs] == ["checkup"] and hand.pressed == 2


async def test_did_the_kernel_update_cost_anything(tmp_path: Path) -> None:
    recordings = tmp_path / "hostdx" / "recordings"
    recordings.mkdir(parents=True)
    for name in ("kernel-6-1", "kernel"):  # the newer one stands first
        (recordings / f"{name}.jsonl").write_bytes(store.resolve_recording(f"demo:{name}").read_bytes())
    async with run_app(tmp_path, triage="triage", size="wide") as (app, pilot):
        hand = Hand(pilot)
        await hand.presses("r")
        await wait(pilot, lambda: "2 recorded here" in grid(app))
        await hand.presses("space", "down", "space", "c")
        await wait(pilot, lambda: "6.1.0-" in grid(app) and "6.12." in grid(app) and "40 loads" in grid(app))
        assert hand.pressed <= 5
