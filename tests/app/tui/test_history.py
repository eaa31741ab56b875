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
from tests.fakes.streams.golden import agrees
from tests.fakes.terminals.screen import grid, keys, opened, settled
from tests.scenarios.analysis.nights.test_history import folded, steady, taken


def slowed(nights: int = 40, suspect: str = "6.12", title: str = "fork") -> HostHistory:
    """The kernel changed before the last six nights, and one load is slower from then on."""
    before, facts = steady(nights - 6), {"kernel/release": suspect}
    after = steady(6, seed=2, first=nights - 6)
    low = [take.figures for take in steady(6, 880.0, seed=3, first=nights - 6)]
    key = next(key for key in low[0] if key.workload == "fork")
    texts = [
        msgspec.structs.replace(
            taken(nights - 6 + n, {}, **facts), figures={**take.figures, key: figures[key]}, loads=take.loads
        )
        for n, (take, figures) in enumerate(zip(after, low, strict=True))
    ]
    for take in (*before, *texts):
        take.loads[key] = msgspec.structs.replace(take.loads[key], title=title)
    return folded([*before, *texts])


async def pushed(app: Shell, found: HostHistory) -> HistoryScreen:
    history_screen = HistoryScreen(["n1"], found)
    await app.push_screen(history_screen)
    return history_screen


@pytest.mark.parametrize("size", ["narrow", "wide"])
async def test_grids(size: str, tmp_path: Path) -> None:
    async with opened(tmp_path, triage="triage", size=size) as (app, pilot):
        await pushed(app, slowed())
        await settled(pilot)
        agrees(f"nights-{size}", grid(app))
        await keys(pilot, "down")
        await settled(pilot)
        assert "▲" in grid(app)


@pytest.mark.parametrize("nights", [5, 400])
async def test_few_nights_and_more_than_cells(nights: int, tmp_path: Path) -> None:
    async with opened(tmp_path, triage="triage", size="narrow") as (app, pilot):
        made = await pushed(app, folded(steady(nights)))
        await settled(pilot)
        assert len(made.query_one(LoadList).shown_rows) == (3 if nights > 28 else 0)
        assert max(map(len, grid(app).splitlines())) <= 80


async def test_hostile_names_draw_nothing_but_cells(tmp_path: Path) -> None:
    async with opened(tmp_path, triage="triage", size="narrow", ascii_only=True) as (app, pilot):
        await pushed(app, slowed(suspect=HOSTILE, title=HOSTILE))
        await settled(pilot)
        rows = grid(app)
        assert rows.isascii() and "\x1b" not in rows and "\x07" not in rows


async def test_opened_from_the_recordings_and_its_report_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []
    found = slowed()

    def child(
        _asking: object, argv: list[str], then: Callable[[CommandOutcome], None], _timeout: float
    ) -> None:
        asked.append(argv)
        made = nights_document(found) if "document" in argv else found
        then(
            CommandOutcome(msgspec.json.encode(made).decode(), "" if len(asked) > 1 else "history: no nights")
        )

    monkeypatch.setattr("hostdx.app.tui.requests.run_hostdx", child)
    async with opened(tmp_path, triage="triage", size="wide") as (app, pilot):
        await app.push_screen(RecordingsScreen())
        await keys(pilot, "W")
        await settled(pilot)
        assert "no nights" in grid(app) and isinstance(app.screen, RecordingsScreen)
        await keys(pilot, "W")
        await settled(pilot)
        assert isinstance(app.screen, HistoryScreen)
        await keys(pilot, "enter")
        await settled(pilot)
        assert isinstance(app.screen, ReportScreen)
        await keys(pilot, "escape")
        assert isinstance(app.screen, HistoryScreen)
    assert [argv[:3] for argv in asked] == [
        ["history", "--format", form] for form in ("json", "json", "document")
    ]
