"""Makes `screenshots/` from recordings: `python -m tests.screenshots`. A test makes them again and compares.

The runs are the bundled ones, made by real runs; the home screen is what a real host told (`triage --events -`); the
fleet is simulated, 60 nodes with one slower and a third of another BIOS.
"""

import asyncio
import tempfile
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from hostdx.app.recordings import store as recordings
from hostdx.app.recordings.reader import load_recording
from hostdx.app.report.forms import html
from hostdx.app.report.full_report import make_report_document
from hostdx.app.tui.children.feed import RunFeed
from tests.app.tui.test_fleet import plant_fleet, push_screen
from tests.fakes.terminals.screen import grid, keys, run_app, settle
from tests.real import browser
from tests.real.browser import BROWSER

SHEET = 1400  # pixels of a report's picture, from its top
SCREENSHOTS = Path(__file__).parents[1] / "screenshots"


class Shot(NamedTuple):
    """`at` is a share of the recording, 1 its end. `keys` are pressed before."""

    name: str
    demo: str = ""
    at: float = 1.0
    keys: tuple[str, ...] = ()


RUNS = (
    "storage",
    "rpfilter",
    "iosched",
    "fstrim",
    "null",
    "dstate",
    "numa",
    "kernel",
    "workload",
    "prove",
    "box",
    "fullstack",
)
IMPORTS = ("trend", "io500")  # nothing of them was ever live
FLEET = "fleet"
MEASURES = (
    "4 KiB random reads",
    "sequential reads",
    "system calls",
    "memory copies",
    "SHA-256",
    "TCP in the host",
)
SHOTS = (
    Shot("home"),
    Shot("keys", keys=("question_mark",)),
    *(Shot(f"{demo}-live", demo, 0.5) for demo in RUNS),
    *(Shot(f"{demo}-verdict", demo) for demo in (*RUNS, *IMPORTS)),
    Shot("workload-inside", "workload", 1.0, ("i", "j")),
    Shot("finding", "rpfilter", 1.0, ("tab", "enter")),
    Shot(FLEET),
)


def bundled_demos() -> set[str]:
    return {name.removeprefix("demo:") for name in recordings.list_demo_arguments()}


def wanted_shots() -> list[Shot]:
    """Those whose recording is bundled."""
    return [shot for shot in SHOTS if not shot.demo or shot.demo in bundled_demos()]


async def take_picture(shot: Shot, size: str) -> tuple[str, str]:
    """(SVG, cell grid)."""
    feed = None
    if shot.demo:
        feed = RunFeed(recordings.resolve_recording(f"demo:{shot.demo}"))
        if shot.at >= 1:
            feed.playback.seek_end()
        else:
            feed.playback.seek(feed.playback.end * shot.at)
    with tempfile.TemporaryDirectory() as state:
        async with run_app(Path(state), triage="" if shot.demo else "home", run=feed, size=size) as (
            app,
            pilot,
        ):
            if shot.name == FLEET:
                fleet = plant_fleet()
                titled = zip(fleet.measures, MEASURES, strict=True)
                measures = tuple(replace(measure, title=title) for measure, title in titled)
                await push_screen(app, replace(fleet, measures=measures))
                await settle(pilot)
            await keys(pilot, *shot.keys)
            return app.export_screenshot(title=f"hostdx {shot.name}", simplify=True), grid(app)


def path_of(shot: Shot, size: str) -> Path:
    return SCREENSHOTS / f"{shot.name}-{'120x40' if size == 'wide' else '80x24'}.svg"


def report_pages() -> dict[str, tuple[int, str]]:
    """By the picture's name: how wide, and the page. Every bundled recording, one of them on a telephone too."""
    pages = {
        name: html.render_html(
            make_report_document(load_recording(recordings.resolve_recording(f"demo:{name}")), f"demo:{name}")
        )
        for name in sorted(bundled_demos())
    }
    wide = {f"report-{name}-1000.png": (1000, page) for name, page in pages.items()}
    return wide | {"report-storage-400.png": (400, pages["storage"])}


def photograph_reports() -> None:
    """The reports in a browser, as far as there is one."""
    if lacking := BROWSER():
        print(f"no pictures of reports: {lacking}")
        return
    for name, (width, page) in report_pages().items():
        (SCREENSHOTS / name).write_bytes(browser.take_picture(page, width, SHEET))
        print(name)


async def make() -> None:
    SCREENSHOTS.mkdir(exist_ok=True)
    fresh = set()
    for shot in wanted_shots():
        for size in ("wide", "narrow"):
            svg, _ = await take_picture(shot, size)
            path = path_of(shot, size)
            path.write_text(svg, "utf-8")
            fresh.add(path)
            print(path.name)
    for old in set(SCREENSHOTS.glob("*.svg")) - fresh:
        old.unlink()


if __name__ == "__main__":
    asyncio.run(make())
    photograph_reports()
