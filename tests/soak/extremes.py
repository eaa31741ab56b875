"""Recordings with numbers at the edges of their types, in every view and on the run's screens: never a crash.

The strategies are made from the event types (`tests.soak.strategies`). What crashes a view is
kept, so that it can become a fixture (`tests/fixtures/extremes`).
"""

import asyncio
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from hostdx.app.terminal.failure import Failure
from hostdx.app.tui.children.feed import RunFeed
from tests.fakes.terminals.screen import SIZES, run_app, wait_idle
from tests.soak.figures import Figures
from tests.soak.recordings import SOURCES, show_everywhere
from tests.soak.strategies import all_recordings

EACH = 50  # recordings of one app
TOGETHER = 100  # hypothesis keeps in memory what it has drawn, so as not to draw it again
KEYS = (("v", "0", "n"), ("v", "Z", "down", "enter"), ("p",), ("i", "escape"), ("f",), ("enter",))  # by turns
KEPT = Path(tempfile.gettempdir()) / "hostdx-extremes"


def soak(count: int, number: int) -> Figures:
    figures = Figures(f"{count} recordings at the edges of their types (seed {number})")
    waiting: list[bytes] = []

    def show_one(data: bytes) -> None:
        path.write_bytes(data)
        before = figures.wrong.total()
        show_everywhere(path, figures, f"number {sum(figures.counts.values())}")
        if figures.wrong.total() > before:
            keep_recording(data, figures.wrong.total())
        waiting.append(data)
        if len(waiting) >= EACH:
            on_screens(waiting, Path(place), figures)
            waiting.clear()

    with tempfile.TemporaryDirectory(prefix="hostdx-soak-") as place:
        path = Path(place) / "r.jsonl"
        for part in range(0, count, TOGETHER):
            several = settings(
                max_examples=min(TOGETHER, count - part), database=None, deadline=None, phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )  # fmt: skip
            seed(number * 1_000_000 + part)(several(given(all_recordings())(show_one)))()
        on_screens(waiting, Path(place), figures)
    return figures


def keep_recording(data: bytes, number: int) -> None:
    KEPT.mkdir(mode=0o700, exist_ok=True)
    (KEPT / f"{number}.jsonl").write_bytes(data)


def on_screens(recordings: list[bytes], place: Path, figures: Figures) -> None:
    """One app for all: each recording is opened on its verdict and replayed, in both sizes by turns."""
    remaining = list(enumerate(recordings))
    while remaining:  # a crash ends the app, and the next one goes on behind it
        try:
            asyncio.run(_run_session(remaining, place, figures))
        except Exception as error:
            figures.crash(error, "on the screens")
            keep_recording(recordings[remaining[0][0]] if remaining else b"", figures.wrong.total())
            del remaining[:1]


async def _run_session(remaining: list[tuple[int, bytes]], place: Path, figures: Figures) -> None:
    SIZES["soak"] = (80, 24) if len(remaining) % 2 else (150, 50)
    first = place / "first.jsonl"
    first.write_bytes(sorted(SOURCES)[0].read_bytes())
    path = place / "screen.jsonl"
    async with run_app(place, run=RunFeed(first), size="soak") as (app, pilot):
        while remaining:
            path.write_bytes(remaining[0][1])
            try:
                feed = RunFeed(path)
            except Failure:
                del remaining[:1]
                continue
            feed.playback.seek_end()
            app.switch_to_feed(feed)
            await wait_idle()
            for key in KEYS[len(remaining) % len(KEYS)]:
                await pilot.press(key)
                await wait_idle()
            figures.good("replayed")
            del remaining[:1]
