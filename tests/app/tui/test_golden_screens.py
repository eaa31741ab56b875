"""Every screen at both sizes, cell by cell; plain ASCII and NO_COLOR besides."""

from pathlib import Path

import pytest

from hostdx.app.recordings import store as recordings
from hostdx.app.recordings.sides import read_run_summaries
from hostdx.app.report.results.comparison import comparison_document
from hostdx.app.tui.screens.report import ReportScreen
from hostdx.scenarios.analysis.compare.comparison import compare_recordings
from tests.fakes.streams.golden import compare_golden
from tests.fakes.terminals.screen import child_of, feed, grid, keys, run_app, settle, wait, wait_plan

WIDE = ("live", "verdict", "live-three", "verdict-three")  # the layout of all others, with more columns
# name: (recording, cursor)
RUNS = {
    "live": ("storage", 44.0),
    "verdict": ("storage", "end"),
    "live-three": ("iosched", 20.0),
    "verdict-three": ("iosched", "end"),
    "live-watch": ("dstate", 15.0),
    "verdict-watch": ("dstate", "end"),
    "failed": ("failed", "end"),
    "interrupted": ("interrupted", "end"),
    "hostile-live": ("hostile", 44.0),
    "hostile-verdict": ("hostile", "end"),
}


@pytest.mark.parametrize("size", ["narrow", "wide"])
async def test_run_screens(size: str, tmp_path: Path) -> None:
    """One app for all: starting one costs more than what is looked at."""
    async with run_app(tmp_path, run=feed("storage"), size=size) as (app, pilot):
        for name in RUNS if size == "narrow" else WIDE:
            recording, at = RUNS[name]
            app.open_feed(feed(recording, at))
            await settle(pilot)
            compare_golden(f"{name}-{size}", grid(app))


HOME = {
    "home": (),
    "home-filtered": ("slash", "d", "i", "s", "k", "enter"),
    "home-filtering": ("slash", "d", "i"),
    "finding": ("shift+tab", "down", "enter"),
    "facts": ("f",),
    "keys": ("question_mark",),
    "palette": ("ctrl+p", "r", "e"),
    "recordings": ("r",),
}


@pytest.mark.parametrize("size", ["narrow", "wide"])
async def test_home_and_what_opens_from_it(size: str, tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        for name, presses in HOME.items():
            await keys(pilot, *presses)
            await wait(pilot, lambda: not getattr(app.screen, "_unread", ()))  # the recordings' headlines
            await settle(pilot)
            compare_golden(f"{name}-{size}", grid(app))
            while len(app.screen_stack) > 1:
                await keys(pilot, "escape")
            if "filter" in name:
                for picker in app.screen.query("Picker"):
                    picker.filter = ""  # type: ignore[attr-defined]
                await settle(pilot)


@pytest.mark.parametrize(
    ("story", "size"), [("storage", "narrow"), ("storage", "wide"), ("iosched", "narrow")]
)
async def test_plan_consent_and_options(
    story: str, size: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hostdx.app.tui.screens.before.plan.start_planner", lambda argv: child_of(story))
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        app.open_plan(story)
        await wait_plan(app, pilot)
        compare_golden(f"plan-{story}-{size}", grid(app))
        await keys(pilot, "x")
        compare_golden(f"plan-exact-{story}-{size}", grid(app))
        await keys(pilot, "x", "O")
        compare_golden(f"options-{story}-{size}", grid(app))
        await keys(pilot, "escape")
        if story == "iosched":
            await keys(pilot, "enter")
            compare_golden(f"consent-{size}", grid(app))


@pytest.mark.parametrize("size", ["narrow"])
async def test_ascii_draws_nothing_but_ascii(size: str, tmp_path: Path) -> None:
    """Every kind of panel, hostile names included."""
    async with run_app(tmp_path, run=feed("storage"), size=size, ascii_only=True) as (app, pilot):
        for recording, at in (
            ("storage", 44.0),
            ("storage", "end"),
            ("iosched", 20.0),
            ("hostile", 44.0),
            ("hostile", "end"),
        ):
            app.open_feed(feed(recording, at))
            await settle(pilot)
            rows = grid(app)
            assert rows.isascii(), sorted({c for c in rows if not c.isascii()})
            if recording == "storage":
                compare_golden(f"ascii-{'live' if at != 'end' else 'verdict'}-{size}", rows)
        for key in ("question_mark", "escape", "colon"):
            await keys(pilot, key)
            assert grid(app).isascii()
    async with run_app(tmp_path, triage="triage", size=size, ascii_only=True) as (app, pilot):
        compare_golden(f"ascii-home-{size}", grid(app))
        for key in ("f", "escape", "r", "escape", "slash", "escape", "ctrl+p"):
            await keys(pilot, key)
            assert grid(app).isascii()


@pytest.mark.parametrize("size", ["wide"])
async def test_no_color_shows_the_same_cells_in_no_colour(size: str, tmp_path: Path) -> None:
    looked_at = (("storage", 44.0), ("storage", "end"), ("hostile", 44.0))
    coloured = []
    async with run_app(tmp_path, run=feed("storage"), size=size) as (app, pilot):
        for recording, at in looked_at:
            app.open_feed(feed(recording, at))
            await settle(pilot)
            coloured.append(grid(app))
    async with run_app(tmp_path, run=feed("storage"), size=size, no_color=True) as (app, pilot):
        for (recording, at), expected in zip(looked_at, coloured, strict=True):
            app.open_feed(feed(recording, at))
            await settle(pilot)
            assert grid(app) == expected
            styles = [
                s.style
                for strip in app.screen._compositor.render_strips()
                for s in strip
                if s.style is not None
            ]
            assert not {s.color for s in styles if s.color is not None and not s.color.is_default}


@pytest.mark.parametrize("size", ["narrow", "wide"])
async def test_two_kernels_compared(size: str, tmp_path: Path) -> None:
    """The bundled boots of 5.10 and 6.12: the answer, and a page further the picture of every effect."""
    a, b = (
        read_run_summaries([recordings.resolve_recording(f"demo:{name}")])
        for name in ("kernel-5-10", "kernel")
    )
    document = comparison_document(compare_recordings(a, b))
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        app.push_screen(ReportScreen("comparison", document))
        await settle(pilot)
        compare_golden(f"comparison-{size}", grid(app))
        await keys(pilot, "pagedown")
        compare_golden(f"comparison-effects-{size}", grid(app))
