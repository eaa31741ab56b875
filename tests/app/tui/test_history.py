"""The nights' screen: golden grids at both sizes, its keys, hostile names."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from hostdx.app.features.watch.report import nights_document
from hostdx.app.features.watch.screen import HistoryScreen, LoadList
from hostdx.app.tui.children.event_child import CommandOutcome
from hostdx.app.tui.screens.recordings import RecordingsScreen
from hostdx.app.tui.screens.report import ReportScreen
from hostdx.app.tui.shell import Shell
from hostdx.scenarios.analysis.nights.history import HostHistory
from tests.app.features.fleet.test_reading import HOSTILE
from tests.fakes.streams.golden import compare_golden
from tests.fakes.terminals.screen import grid, keys, run_app, settle
from tests.scenarios.analysis.nights.test_history import fold_nights, run_at, steady


def slowed_history(nights: int = 40, suspect: str = "6.12", title: str = "fork") -> HostHistory:
    """The kernel changed before the last six nights, and one load is slower from then on."""
    before, facts = steady(nights - 6), {"kernel/release": suspect}
    after = steady(6, seed=2, first=nights - 6)
    low = [take.figures for take in steady(6, 880.0, seed=3, first=nights - 6)]
    key = next(key for key in low[0] if key.workload == "fork")
    texts = [
        msgspec.structs.replace(
            run_at(nights - 6 + n, {}, **facts), figures={**take.figures, key: figures[key]}, loads=take.loads
        )
        for n, (take, figures) in enumerate(zip(after, low, strict=True))
    ]
    for take in (*before, *texts):
        take.loads[key] = msgspec.structs.replace(take.loads[key], title=title)
    return fold_nights([*before, *texts])


async def push_screen(app: Shell, history: HostHistory) -> HistoryScreen:
    history_screen = HistoryScreen(["n1"], history)
    await app.push_screen(history_screen)
    return history_screen


@pytest.mark.parametrize("size", ["narrow", "wide"])
async def test_grids(size: str, tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        await push_screen(app, slowed_history())
        await settle(pilot)
        compare_golden(f"nights-{size}", grid(app))
        await keys(pilot, "down")
        await settle(pilot)
        assert "▲" in grid(app)


@pytest.mark.parametrize("nights", [5, 400])
async def test_few_nights_and_more_than_cells(nights: int, tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage", size="narrow") as (app, pilot):
        screen = await push_screen(app, fold_nights(steady(nights)))
        await settle(pilot)
        assert len(screen.query_one(LoadList).shown_rows) == (3 if nights > 28 else 0)
        assert max(map(len, grid(app).splitlines())) <= 80


async def test_hostile_names_draw_nothing_but_cells(tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage", size="narrow", ascii_only=True) as (app, pilot):
        await push_screen(app, slowed_history(suspect=HOSTILE, title=HOSTILE))
        await settle(pilot)
        rows = grid(app)
        assert rows.isascii() and "\x1b" not in rows and "\x07" not in rows


async def test_opened_from_the_recordings_and_its_report_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[list[str]] = []
    history = slowed_history()

    def child(
        _asking: object, argv: list[str], then: Callable[[CommandOutcome], None], _timeout: float
    ) -> None:
        calls.append(argv)
        data = nights_document(history) if "document" in argv else history
        then(
            CommandOutcome(msgspec.json.encode(data).decode(), "" if len(calls) > 1 else "history: no nights")
        )

    monkeypatch.setattr("hostdx.app.tui.requests.run_hostdx", child)
    async with run_app(tmp_path, triage="triage", size="wide") as (app, pilot):
        await app.push_screen(RecordingsScreen())
        await keys(pilot, "W")
        await settle(pilot)
        assert "no nights" in grid(app) and isinstance(app.screen, RecordingsScreen)
        await keys(pilot, "W")
        await settle(pilot)
        assert isinstance(app.screen, HistoryScreen)
        await keys(pilot, "enter")
        await settle(pilot)
        assert isinstance(app.screen, ReportScreen)
        await keys(pilot, "escape")
        assert isinstance(app.screen, HistoryScreen)
    assert [argv[:3] for argv in calls] == [
        ["history", "--format", form] for form in ("json", "json", "document")
    ]
