"""Enter on a load opens it whole, from the live view and from a verdict's groups; Esc comes back."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from hostdx.app.recordings import store
from hostdx.app.terminal.lines import load_target, process_target, target_of
from hostdx.app.terminal.process import process_identity
from hostdx.app.tui.children.feed import RunFeed
from hostdx.app.tui.screens.groups import GroupsScreen
from hostdx.app.tui.screens.live import LiveScreen
from hostdx.app.tui.screens.load import LoadScreen, load_lines, raw_lines
from hostdx.app.tui.widgets.measuring.host_panel import HostPanel
from hostdx.app.tui.widgets.measuring.loads_panel import LoadsPanel
from hostdx.scenarios.contract.disturbance import Disturbance, InterferenceCulprit
from hostdx.scenarios.contract.events import Guard
from tests.fakes.terminals.screen import grid, keys, run_app, settle
from tests.needs import one_always


def feed_at(demo: str, share: float) -> RunFeed:
    run = RunFeed(store.resolve_recording(f"demo:{demo}"))
    run.playback.seek(run.playback.end * share)
    return run


@pytest.mark.parametrize("size", one_always("narrow", "wide"))
async def test_enter_on_the_live_view_opens_the_load_under_way_and_esc_returns(
    size: str, tmp_path: Path
) -> None:
    run = feed_at("storage", 0.6)
    async with run_app(tmp_path, run=run, size=size) as (app, pilot):
        await keys(pilot, "enter")
        screen = app.screen
        assert isinstance(screen, LoadScreen) and screen.workload == run.session.workload
        rows = grid(app)
        assert "p50" in rows and "┤" in rows and all(name in rows for name in ("A  ", "B  "))
        first = screen.workload
        await keys(pilot, "k")
        assert screen.workload != first and screen.workload in run.session.blocks
        await keys(pilot, "escape")
        await settle(pilot)
        assert isinstance(app.screen, LiveScreen)


async def test_before_the_first_block_there_is_nothing_to_open(tmp_path: Path) -> None:
    async with run_app(tmp_path, run=feed_at("storage", 0.05), size="wide") as (app, pilot):
        await keys(pilot, "enter")
        assert isinstance(app.screen, LiveScreen)


async def test_a_verdicts_groups_lead_to_the_whole_load(tmp_path: Path) -> None:
    run = feed_at("storage", 1.0)
    run.playback.seek_end()
    async with run_app(tmp_path, run=run, size="wide") as (app, pilot):
        await keys(pilot, "enter")
        groups = app.screen
        assert isinstance(groups, GroupsScreen)
        await keys(pilot, "enter")
        assert isinstance(app.screen, LoadScreen) and app.screen.workload == groups.shown_verdict.workload
        await keys(pilot, "escape")
        assert app.screen is groups


def test_the_raw_values_are_counted_and_the_newest_stands_first() -> None:
    session = feed_at("iosched", 0.6).session
    workload = next(iter(session.blocks))
    blocks = [b for b in session.blocks[workload] if b.variant == "bfq"]
    line = "".join(part for part, _ in raw_lines(session, workload, 100)[1 if blocks else 0])
    assert f"{len(blocks)} values" in "".join(
        "".join(p for p, _ in row) for row in raw_lines(session, workload, 100)
    )
    assert "," in line
    assert (
        len(load_lines(session, workload, 100, 20)) <= 20
        and len(load_lines(session, "no such", 100, 20)) == 1
    )


async def test_a_card_is_opened_by_a_click_and_by_tab_and_enter(tmp_path: Path) -> None:
    run = feed_at("storage", 0.6)
    async with run_app(tmp_path, run=run, size="wide") as (app, pilot):
        panel = app.screen.query_one(LoadsPanel)
        other = next(target for target in panel.targets if target != load_target(run.session.workload))
        y = next(n for n, line in enumerate(panel._raw) if other in {target_of(role) for _, role in line})
        x = [target_of(role) for part, role in panel._raw[y] for _ in part].index(other)
        await pilot.click(LoadsPanel, offset=(x + 5, y + 2))
        await settle(pilot)
        assert isinstance(app.screen, LoadScreen) and load_target(app.screen.workload) == other
        await keys(pilot, "escape", "tab", "up", "up", "up", "up", "up", "up", "enter")
        assert isinstance(app.screen, LoadScreen) and load_target(app.screen.workload) == panel.targets[0]


ME = process_identity()
WATCHED = ("cpuwatch", ("--pid", str(ME.pid), "--started", str(ME.start)))


@pytest.mark.parametrize(
    ("boot", "run_began_ticks", "pid", "argv"),
    [
        (ME.boot_id, ME.start, ME.pid, [WATCHED]),
        (ME.boot_id, 1, ME.pid, []),  # the number belongs to a newer process
        (ME.boot_id, ME.start, 1 << 30, []),  # no such process any more
        ("another", ME.start, ME.pid, []),
    ],
    ids=("the same", "a newer one", "ended", "another boot"),
)
async def test_a_process_that_disturbed_is_watched_from_its_row(
    boot: str,
    run_began_ticks: int,
    pid: int,
    argv: list[tuple[str, Sequence[str]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On this boot its plan opens with the process filled in, if it is the one that the run saw."""
    culprit = InterferenceCulprit(name="rsync", pid=pid, rate=1.0, unit="CPUs")
    run = feed_at("storage", 0.6)
    session = run.session
    assert session.began is not None
    session.began = msgspec.structs.replace(session.began, boot_id=boot, pid_start=run_began_ticks)
    session.guards.append(Guard(t=1e9, kind="cpu", disturbance=Disturbance("cpu", culprit, 0.5)))
    async with run_app(tmp_path, run=run, size="wide") as (app, _):
        assert process_target(pid) in app.screen.query_one(HostPanel).targets
        calls: list[tuple[str, Sequence[str]]] = []
        monkeypatch.setattr(app, "open_plan", lambda scenario, options: calls.append((scenario, options)))
        app.open_target(process_target(pid))
        assert calls == argv
