"""Enter on a load opens it whole, from the live view and from a verdict's groups; Esc comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.recordings import store
from app.tui.children.feed import RunFeed
from app.tui.screens.groups import GroupsScreen
from app.tui.screens.live import LiveScreen
from app.tui.screens.load import LoadScreen, load_lines, raw_lines
from tests.fakes.terminals.screen import grid, keys, opened, settled
from tests.needs import one_always


def at(demo: str, share: float) -> RunFeed:
    run = RunFeed(store.resolve_recording(f"demo:{demo}"))
    run.playback.seek(run.playback.end * share)
    return run


@pytest.mark.parametrize("size", one_always("narrow", "wide"))
async def test_enter_on_the_live_view_opens_the_load_under_way_and_esc_returns(
    size: str, tmp_path: Path
) -> None:
    run = at("storage", 0.6)
    async with opened(tmp_path, run=run, size=size) as (app, pilot):
        await keys(pilot, "enter")
        screen = app.screen
        assert isinstance(screen, LoadScreen) and screen.workload == run.session.workload
        shown = grid(app)
        assert "p50" in shown and "┤" in shown and all(name in shown for name in ("A  ", "B  "))
        first = screen.workload
        await keys(pilot, "k")
        assert screen.workload != first and screen.workload in run.session.blocks
        await keys(pilot, "escape")
        await settled(pilot)
        assert isinstance(app.screen, LiveScreen)


async def test_before_the_first_block_there_is_nothing_to_open(tmp_path: Path) -> None:
    async with opened(tmp_path, run=at("storage", 0.05), size="wide") as (app, pilot):
        await keys(pilot, "enter")
        assert isinstance(app.screen, LiveScreen)


async def test_a_verdicts_groups_lead_to_the_whole_load(tmp_path: Path) -> None:
    run = at("storage", 1.0)
    run.playback.seek_end()
    async with opened(tmp_path, run=run, size="wide") as (app, pilot):
        await keys(pilot, "enter")
        groups = app.screen
        assert isinstance(groups, GroupsScreen)
        await keys(pilot, "enter")
        assert isinstance(app.screen, LoadScreen) and app.screen.workload == groups.shown_verdict.workload
        await keys(pilot, "escape")
        assert app.screen is groups


def test_the_raw_values_are_counted_and_the_newest_stands_first() -> None:
    session = at("iosched", 0.6).session
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
