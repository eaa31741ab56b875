"""The screen as a grid of cells, and the app on made-up streams: what the tests of the terminal app share."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, chdir, contextmanager
from pathlib import Path
from typing import Any

import pytest
import textual.app
import textual.pilot
from textual._compositor import Compositor
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot

from hostdx.app.tui.children.event_child import EventChild
from hostdx.app.tui.children.feed import RunFeed
from hostdx.app.tui.screens.before.plan import PlanScreen
from hostdx.app.tui.shell import Shell
from tests.fakes.streams.story import RECORDINGS

SIZES = {"narrow": (80, 24), "wide": (120, 40), "huge": (200, 60)}
COPY = "cat"  # an interpreter takes forty times as long


def grid(app: Shell) -> str:
    """What is on the screen, a question on its last lines included; blanks at the ends of lines are left out."""
    rows: list[str] = []
    below = app._background_screens if app.screen.is_modal else []
    for screen in (*below, app.screen):
        strips = [strip.text for strip in screen._compositor.render_strips()]
        rows = [over if over.strip() or not rows else rows[n] for n, over in enumerate(strips)]
    return "\n".join(row.rstrip() for row in rows) + "\n"


def child_of(name: str) -> EventChild:
    """A child that says what a triage or a plan said."""
    return EventChild([COPY, str(RECORDINGS / f"{name}.jsonl")])


def fake_plan(monkeypatch: pytest.MonkeyPatch, name: str) -> list[list[str]]:
    """What the plan screen asks for, each time; a recorded plan is the answer."""
    calls: list[list[str]] = []

    def start_planner(argv: list[str]) -> EventChild:
        calls.append(list(argv))
        return child_of(name)

    monkeypatch.setattr("hostdx.app.tui.screens.before.plan.start_planner", start_planner)
    return calls


def feed(name: str, at: float | str = "end") -> RunFeed:
    """A recording with the cursor at a time, or at its end."""
    run_feed = RunFeed(RECORDINGS / f"{name}.jsonl")
    if at == "end":
        run_feed.playback.seek_end()
    else:
        run_feed.playback.seek(float(at))
    return run_feed


async def wait_idle(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    """Until the event loop has nothing more to run: then every widget waits for its next message.

    Textual's own `wait_for_idle` sleeps until the whole process used no CPU for 20 ms, three times a key.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + max_sleep
    while loop.time() < end:
        await asyncio.sleep(0)
        if not loop._ready:  # type: ignore[attr-defined]
            return


@contextmanager
def quick_keys() -> Iterator[None]:
    """A pilot whose keys and clicks wait for the event loop instead of for a time."""
    places = [module for module in (textual.app, textual.pilot) if hasattr(module, "wait_for_idle")]
    before = [module.wait_for_idle for module in places]
    try:
        for module in places:
            module.wait_for_idle = wait_idle
        yield
    finally:
        for module, original in zip(places, before, strict=True):
            module.wait_for_idle = original


_updates = 0  # of the screen, that Textual has asked for


_parsed: dict[tuple[object, ...], list[Any]] = {}  # of every app of this process


@contextmanager
def parsed_once() -> Iterator[None]:
    """Let every app take the rules that an earlier one parsed from the same style sheet with the same colours."""
    parse = Stylesheet._parse_rules
    colours: list[tuple[object, object]] = [({}, ())]  # the last variables, and in order

    def parse_once(self: Stylesheet, *arguments: Any, **options: Any) -> list[Any]:
        if colours[0][0] is not self._variables:
            colours[0] = (self._variables, tuple(sorted(self._variables.items())))
        key = (arguments, tuple(sorted(options.items())), colours[0][1])
        if key not in _parsed:
            _parsed[key] = parse(self, *arguments, **options)
        return _parsed[key]

    try:
        Stylesheet._parse_rules = parse_once  # type: ignore[method-assign]
        yield
    finally:
        Stylesheet._parse_rules = parse  # type: ignore[method-assign]


@contextmanager
def count_updates(is_drawn: bool) -> Iterator[None]:
    """Without a terminal Textual works out what it would write and throws it away: `grid` asks for the cells."""
    update = Compositor.render_update

    def update_and_count(self: Compositor, full: bool = False, **more: Any) -> Any:
        global _updates
        _updates += 1
        if full or is_drawn:  # a picture is full
            return update(self, full, **more)
        self._dirty_regions.clear()
        return None

    try:
        Compositor.render_update = update_and_count  # type: ignore[method-assign]
        yield
    finally:
        Compositor.render_update = update  # type: ignore[method-assign]


@contextmanager
def set_environment(**values: str | None) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    try:
        for name, value in values.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@asynccontextmanager
async def run_app(
    state: Path,
    *,
    triage: str = "",
    run: RunFeed | None = None,
    size: str = "narrow",
    ascii_only: bool = False,
    no_color: bool = False,
    is_drawn: bool = False,
) -> AsyncIterator[tuple[Shell, Pilot[int]]]:
    """The app without a terminal, its state directory in `state`, its triage read to the end."""
    state.mkdir(mode=0o700, exist_ok=True)
    places = {"XDG_STATE_HOME": str(state), "XDG_RUNTIME_DIR": str(state / "run"), "TERM": "xterm-256color"}
    with (
        set_environment(**places, NO_COLOR="1" if no_color else None, COLORTERM=None),
        chdir(state),  # a screen is saved where the app was started
        quick_keys(),
        parsed_once(),
        count_updates(is_drawn),
    ):
        child = child_of(triage) if triage else None
        shell = Shell(triage=child, feed=run, ascii_only=ascii_only)
        shell.animation_level = "none"
        shell.has_looked_for_runs = True
        try:
            async with shell.run_test(size=SIZES[size]) as pilot:
                while child is not None and not child.ended:
                    await pilot.pause(0.01)
                await settle(pilot)
                yield shell, pilot
        finally:
            if child is not None:
                child.close()


async def settle(pilot: Pilot[int]) -> None:
    """Until the screen stays as it is: on a busy machine a callback may come after the first idle moment."""
    app = pilot.app
    assert isinstance(app, Shell)
    quiet = 0
    for _ in range(250):
        before = _updates
        await pilot.pause(0.004)
        await wait_idle()
        # a child's last events are drawn a moment after they came
        quiet = quiet + 1 if _updates == before and not app._draw_soon else 0
        if quiet == 2:
            break


async def keys(pilot: Pilot[int], *pressed: str) -> None:
    for key in pressed:
        await pilot.press(key)
    await settle(pilot)


async def wait(pilot: Pilot[int], done: Callable[[], bool]) -> None:
    """Bounded; what it waits for is another process, a second away at most."""
    for _ in range(2000):
        if done():
            break
        await pilot.pause(0.01)
    await settle(pilot)
    assert done(), grid(pilot.app)


async def wait_plan(app: Shell, pilot: Pilot[int]) -> None:
    """Until the plan on the screen is complete."""
    await wait(pilot, lambda: isinstance(app.screen, PlanScreen) and app.screen.is_plan_final)
