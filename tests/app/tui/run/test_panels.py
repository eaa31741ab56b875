"""No screen of a run or of the host has a block of blank rows, and what is looked for is one key away."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from hostdx.app.recordings import store
from hostdx.app.recordings.session import RunSession
from hostdx.app.report.headline import find_headline_answer
from hostdx.app.terminal.lines import Line
from hostdx.app.tui.children.feed import RunFeed
from hostdx.app.tui.screens.facts import FactsScreen
from hostdx.app.tui.widgets.home.scenario_list import ScenarioList
from hostdx.app.tui.widgets.panel import PacedPanel, _plus_minus_in_ascii
from hostdx.scenarios.checkup.results import CheckupAnswer
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.results.result import Item
from tests.fakes.terminals.screen import feed, grid, keys, run_app, settle
from tests.needs import some_always

MAX_BLANK_ROWS = 8


FRAMES = frozenset(" │┤├┬┴┼╭╮╰╯─└┘┌┐")


def count_blank_rows(screen: str, height: int) -> int:
    """Rows with nothing but spaces and glyphs of a frame; a frame's own edge is none of them."""
    rows = screen.splitlines()
    edges = sum(row.strip() != "" and not row.strip(" ╭╮╰╯─") for row in rows)
    return height - len(rows) + sum(set(row) <= FRAMES for row in rows) - edges


def from_first_block(demo: str) -> RunFeed:
    run = RunFeed(store.resolve_recording(f"demo:{demo}"))
    run.playback.play_from_first_measured()
    return run


def feed_of(demo: str) -> RunFeed:
    run = RunFeed(store.resolve_recording(f"demo:{demo}"))
    run.playback.seek_end()
    return run


@pytest.mark.parametrize(
    "demo", some_always(("storage",), (name.removeprefix("demo:") for name in store.list_demo_arguments()))
)
async def test_both_screens_are_filled_at_every_moment_of_a_replay(demo: str, tmp_path: Path) -> None:
    """Up to 28 of 40 rows were blank in the first seconds of live, 20 of one load's chart, 31 of a verdict so far."""
    run = feed_of(demo)
    first, end = 0.05, run.playback.end
    if run.session.scenario_card.role == "import":  # nothing of it was ever under way
        first = end
    async with run_app(tmp_path, run=run, size="wide") as (app, pilot):
        for part in range(5):
            run.playback.seek(first + (end - first) * part / 4)  # from before the plan on
            for screen in ("live", "verdict"):
                app.show_run(screen)
                await settle(pilot)
                assert count_blank_rows(grid(app), 40) <= MAX_BLANK_ROWS, (screen, run.playback.time)


def test_a_replay_begins_with_what_was_measured_first() -> None:
    """It began with 23 s of preparation, seven of them blank."""
    run = from_first_block("storage")
    assert run.session.blocks and run.playback.playing and run.playback.time > 10


async def test_a_replay_in_the_middle_is_under_way_too(tmp_path: Path) -> None:
    run = RunFeed(store.resolve_recording("demo:storage"))
    run.playback.seek(15.0)
    async with run_app(tmp_path, run=run, size="wide") as (app, pilot):
        await keys(pilot, "v")
        assert find_headline_answer(run.session, is_running=True).sentence[:60] in " ".join(grid(app).split())


async def test_what_is_proposed_does_not_flip_with_every_pulse(tmp_path: Path) -> None:
    """Key 6 went between two scenarios under the cursor as pressures crossed."""
    async with run_app(tmp_path, triage="triage", size="wide") as (app, pilot):
        app.first_pulse = ev.Pulse(t=0.0, load1=1.0, cpu=0.5, psi_cpu=0.4, psi_io=0.1)
        listing = app.screen.query_one(ScenarioList)
        before = [row.searched for row in listing.build_rows()]
        app.pulses.append(ev.Pulse(t=1.0, load1=1.0, cpu=0.5, psi_cpu=0.1, psi_io=0.4))
        await settle(pilot)
        assert [row.searched for row in listing.build_rows()] == before


async def test_a_run_opened_over_another_goes_back_to_it(tmp_path: Path) -> None:
    """`1` in a checkup's verdict, then `q`, lost the ranked list."""
    async with run_app(tmp_path, run=feed("storage"), size="wide") as (app, pilot):
        before, under = app.screen, app.run_feed
        app.open_recording(store.resolve_recording("demo:null"), on_top=True)
        await settle(pilot)
        assert app.run_feed is not under
        await keys(pilot, "q")
        assert app.screen is before and app.run_feed is under


async def test_a_row_is_copied_a_text_searched_and_a_screen_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with run_app(tmp_path, run=feed("storage"), size="wide") as (app, pilot):
        texts: list[str] = []
        app.copy_to_clipboard = texts.append  # type: ignore[method-assign]
        await keys(pilot, "y")
        assert len(texts) == 1 and "synced write 4k" in texts[0]
        await keys(pilot, "p")
        assert (tmp_path / "hostdx-verdict.svg").read_text("utf-8").lstrip().startswith("<svg")
        app.push_screen(FactsScreen(lambda: app.run_feed.session))
        await keys(pilot, "slash", *"no such words", "enter")
        assert "not found" in grid(app)


async def test_the_end_of_a_run_that_took_long_is_told(tmp_path: Path) -> None:
    async with run_app(tmp_path, run=feed("storage"), size="wide") as (app, _):
        written: list[str] = []
        assert app._driver is not None
        app._driver.write = written.append  # type: ignore[method-assign]
        app._ring_and_notify_end(app.run_feed)
        assert [text.startswith("\x07\x1b]9;") for text in written] == [True]


def test_plus_minus_takes_two_cells_in_ascii_and_no_edge_moves() -> None:
    edged = _plus_minus_in_ascii([("│ within ±5 %", "text"), ("      ", "text"), ("│", "rule")])
    assert "".join(part for part, _ in edged) == "│ within +-5 %     │"
    ruled = _plus_minus_in_ascii([("╭─ ±: as measured ", "title"), ("─────╮", "rule")])
    assert "".join(part for part, _ in ruled) == "╭─ +-: as measured ────╮"
    panels = _plus_minus_in_ascii([("╭─ a ─── within ±5 % ─╮╭─ b ── within ±5 % ─╮", "text")])
    assert "".join(part for part, _ in panels) == "╭─ a ── within +-5 % ─╮╭─ b ─ within +-5 % ─╮"
    plain: Line = [("no such sign", "text")]
    assert _plus_minus_in_ascii(plain) is plain


async def test_a_checkup_under_way_leaves_no_block_of_rows_blank(tmp_path: Path) -> None:
    """Fourteen rows were blank below its first three items, and its verdict had two heads."""
    run = RunFeed(store.resolve_recording("demo:dstate"))
    run.playback.seek(10.0)
    item = Item(scenario="w", state="cause", severity="warning", rank=1, words="the firewall")
    run.session.apply(CheckupAnswer(t=10.0, value=(item,)))
    async with run_app(tmp_path, run=run, size="wide") as (app, pilot):
        app.show_run("live")
        await settle(pilot)
        assert "the firewall" in grid(app) and count_blank_rows(grid(app), 40) <= MAX_BLANK_ROWS
        app.show_run("verdict")
        await settle(pilot)
        assert grid(app).count("ANSWER") == 1


def test_a_plot_is_drawn_once_a_second_while_time_goes_by_itself() -> None:
    session, shell_ = RunSession(), SimpleNamespace(is_feed_moving=True)

    class Plot(PacedPanel):
        ID = "plot"
        shell = shell_  # type: ignore[assignment]
        drawn = 0

        def redraw_key(self, session: RunSession) -> object:
            return session.workload

        def draw_session(self, session: RunSession, width: int, height: int) -> list[Line]:
            self.drawn += 1
            return []

    plot = Plot(lambda: session)
    for _ in range(3):
        plot.draw(80, 10)
    assert plot.drawn == 1
    session.workload = "next"
    plot.draw(80, 10)
    assert plot.drawn == 2
    shell_.is_feed_moving = False
    plot.draw(80, 10)
    assert plot.drawn == 3
