"""Golden screens, screenshots and themes."""

import re
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

import pytest

from hostdx.app.recordings import store as recordings
from hostdx.app.recordings.reader import read_events
from hostdx.app.recordings.sides import read_run_summaries
from hostdx.app.report.results.comparison import comparison_document
from hostdx.app.tui import theme
from hostdx.app.tui.screens.report import ReportScreen
from hostdx.scenarios.analysis.compare.comparison import compare_recordings
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.triage.triage import all_rules
from tests.fakes.streams import stories
from tests.fakes.streams.golden import compare_golden
from tests.fakes.streams.story import RECORDINGS
from tests.fakes.terminals.screen import child_of, feed, grid, keys, run_app, settle, wait, wait_plan
from tests.needs import some_always
from tests.screenshots import SCREENSHOTS, Shot, bundled_demos, path_of, take_picture, wanted_shots

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
            app.switch_to_feed(feed(recording, at))
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
            app.switch_to_feed(feed(recording, at))
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
            app.switch_to_feed(feed(recording, at))
            await settle(pilot)
            coloured.append(grid(app))
    async with run_app(tmp_path, run=feed("storage"), size=size, no_color=True) as (app, pilot):
        for (recording, at), expected in zip(looked_at, coloured, strict=True):
            app.switch_to_feed(feed(recording, at))
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
        await keys(pilot, *["down"] * 15)
        compare_golden(f"comparison-effects-{size}", grid(app))


def test_every_picture_has_its_recording_and_the_other_way_round() -> None:
    assert {p.name for p in SCREENSHOTS.glob("*.svg")} == {
        path_of(shot, size).name for shot in wanted_shots() for size in ("wide", "narrow")
    }, "python -m tests.screenshots makes them anew"


def test_every_bundled_recording_has_a_picture_of_its_report() -> None:
    expected = {f"report-{name}-1000.png" for name in bundled_demos()} | {"report-storage-400.png"}
    assert {p.name for p in SCREENSHOTS.glob("*.png")} == expected, (
        "python -m tests.screenshots makes them anew"
    )


def texts_in(svg: str) -> list[str]:
    """The words drawn: colours and ids differ between patch releases of Textual and Rich, what is said does not."""
    return re.findall(r">([^<]+)</text>", svg)


@pytest.mark.parametrize("shot", some_always(wanted_shots()[::4], wanted_shots()), ids=lambda shot: shot.name)
async def test_pictures_are_fresh(shot: Shot) -> None:
    for size in ("wide", "narrow"):
        svg, _ = await take_picture(shot, size)
        assert texts_in(svg) and texts_in(svg) == texts_in(path_of(shot, size).read_text("utf-8")), (
            "python -m tests.screenshots makes them anew"
        )


def unknown_names(events: Iterable[ev.AnyEvent]) -> list[str]:
    """Checks and findings that no rule of today could have given."""
    rules = {rule.id for rule in all_rules()}
    out, spoke = [], set()
    for event in events:
        if isinstance(event, ev.Checked):
            out += [event.rule] if event.rule not in rules else []
            spoke |= {event.rule} & rules if event.state == "spoke" else set()
        elif isinstance(event, ev.Found):
            out.append(event.finding.id)
    return [name for name in out if not any(name.startswith(rule) for rule in spoke)]


def test_the_home_screens_picture_shows_what_a_host_really_told() -> None:
    real: list[ev.AnyEvent] = list(read_events(RECORDINGS / "home.jsonl"))
    assert sum(isinstance(event, ev.Found) for event in real) > 1 and not unknown_names(real)


def test_a_made_up_host_would_be_noticed() -> None:
    assert "host.mce" in unknown_names(stories.triage())


# rows of the matrices of Viénot, Brettel and Mollon (1999), on linear RGB
DEUTERANOPIA = ((0.29275, 0.70725, 0.0), (0.29275, 0.70725, 0.0), (-0.02234, 0.02234, 1.0))
PROTANOPIA = ((0.11238, 0.88762, 0.0), (0.11238, 0.88762, 0.0), (0.00401, -0.00401, 1.0))


def linear_rgb(colour: str) -> tuple[float, ...]:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return tuple(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)


def luminance_of(colour: str) -> float:
    red, green, blue = linear_rgb(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(text: str, other: str) -> float:
    dark, light = sorted((luminance_of(text), luminance_of(other)))
    return (light + 0.05) / (dark + 0.05)


def role_colour(name: str, role: str) -> str:
    color = theme.role_style(name, role).color
    assert color is not None
    return color.name


def seen_rgb(name: str, matrix: tuple[tuple[float, ...], ...]) -> tuple[float, ...]:
    return tuple(sum(a * b for a, b in zip(row, linear_rgb(name), strict=True)) for row in matrix)


def test_contrast_is_that_of_black_and_white() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0) and contrast("#777777", "#777777") == 1.0


@pytest.mark.parametrize("matrix", [DEUTERANOPIA, PROTANOPIA], ids=["deuteranopia", "protanopia"])
def test_severities_and_sides_stay_apart_without_red_or_green(matrix: tuple[tuple[float, ...], ...]) -> None:
    name = theme.COLOUR_BLIND_NAME
    for role, other in (*combinations(("critical", "ok", "unknown"), 2), ("a", "b"), ("critical", "notice")):
        colours = seen_rgb(role_colour(name, role), matrix), seen_rgb(role_colour(name, other), matrix)
        assert max(abs(x - y) for x, y in zip(*colours, strict=True)) > 0.15, (role, other)
