"""Keys in bursts on every screen, while children answer and terminals change at any turn of the loop: no crash.

As `pilot`, which waits after each key: here nothing waits for anything.
"""

import asyncio
import json
import os
import random
import subprocess
import tempfile
import time
import traceback
from collections.abc import Sequence
from contextlib import chdir
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from textual import events
from textual.geometry import Size

from hostdx.app.recordings.session import RunSession
from hostdx.app.run.launch import HOSTDX
from hostdx.app.tui.children.event_child import CommandOutcome, EventChild
from hostdx.app.tui.children.feed import RunFeed
from hostdx.app.tui.shell import Shell
from tests.fakes.streams.story import RECORDINGS
from tests.fakes.terminals.screen import run_app
from tests.soak.figures import Figures
from tests.soak.pilot import KEYS

BURSTS_EACH = 60
FREQUENT = ("enter", "enter", "escape", "escape", "a", "r", "1", "2", "d", "y", "o", "q")
KEYS_MOST = 9
STORIES = ("storage", "iosched", "dstate", "failed", "interrupted", "hostile")


@cache
def _run_command(argv: tuple[str, ...]) -> CommandOutcome:
    done = subprocess.run([*HOSTDX, *argv], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return CommandOutcome(done.stdout, "" if not done.returncode else done.stderr.strip())


def _answer_command(argv: Sequence[str]) -> CommandOutcome:
    """What the command would say, of a bundled recording where it names one."""
    if argv[0] == "report":
        return _run_command(("report", "demo:storage", *argv[2:]))
    if argv[0] == "compare":
        return _run_command(("compare", "demo:kernel-5-10", "demo:kernel", "--format", "document"))
    if argv[0] == "undo":
        change = {"title": "a title", "state": "open", "would": "put it back", "line": "a line"}
        return CommandOutcome(
            json.dumps({"schema": "hostdx/1", "changes": [change]}), random.choice(("", "not here"))
        )
    if argv[0] == "import":
        return CommandOutcome("imported it", "")
    return _run_command(tuple(argv))


async def answer_late(argv: Sequence[str], _timeout_s: float = 0.0) -> CommandOutcome:
    for _ in range(random.choice((0, 1, 2, 5, 20, 100))):
        await asyncio.sleep(random.choice((0, 0, 0, 0.001)))
    return _answer_command(argv) if random.random() < 0.8 else CommandOutcome("", "not here")


class Ended:
    stdout = None

    def wait(self, timeout: float | None = None) -> int:
        return 0

    def poll(self) -> int:
        return 0

    def send_signal(self, _number: int) -> None: ...


class SlowChild(EventChild):
    """A child whose events come by and by."""

    def __init__(self, name: str) -> None:
        self.session, self.ended, self.error, self.before_close = RunSession(), False, "", None
        self._rest, self._stderr, self._process = b"", tempfile.TemporaryFile(), Ended()  # type: ignore[assignment]  # noqa: SIM115
        self._fd, self._end = os.pipe()
        os.set_blocking(self._fd, False)
        os.set_blocking(self._end, False)
        self._left = (RECORDINGS / f"{name}.jsonl").read_bytes()
        self._write()

    def _write(self) -> None:
        if self.ended:
            return
        count = random.choice((0, 100, 5000, 60000))
        with_it = self._left[:count]
        try:
            self._left = self._left[os.write(self._end, with_it) :] if with_it else self._left
        except BlockingIOError:
            pass
        if self._left:
            asyncio.get_running_loop().call_later(random.choice((0, 0.001, 0.01)), self._write)
        else:
            os.close(self._end)
            self._end = -1

    def _close_streams(self) -> None:
        super()._close_streams()
        os.close(self._fd)
        if self._end >= 0:
            os.close(self._end)
            self._end = -1


class _Runner:
    def __init__(self, path: Path) -> None:
        self.left = (RECORDINGS / f"{random.choice(STORIES)}.jsonl").read_bytes()
        self.file = path.open("wb", buffering=0)
        self.refused = random.random() < 0.2
        if self.refused:
            path.unlink()
            path.with_suffix(".log").write_text("hostdx: not here")
        else:
            asyncio.get_running_loop().call_soon(self.write)

    def write(self) -> None:
        count = random.choice((300, 5000, 100000))
        self.file.write(self.left[:count])
        self.left = self.left[count:]
        if self.left:
            asyncio.get_running_loop().call_later(random.choice((0, 0.02)), self.write)
        else:
            self.file.close()

    def poll(self) -> int | None:
        return 2 if self.refused or not self.left else None


def soak(seconds: int, seed: int) -> Figures:
    figures = Figures(f"bursts of keys for {seconds} s (seeds from {seed})")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        random.seed(seed)
        print("seed", seed, flush=True)
        with (
            tempfile.TemporaryDirectory(prefix="hostdx-soak-") as place,
            chdir(place),  # p saves pictures
            patch("hostdx.app.tui.children.event_child.run_command", answer_late),
            patch(
                "hostdx.app.tui.screens.before.plan.start_planner",
                lambda _argv: SlowChild(random.choice(("storage", "iosched"))),
            ),
            patch("hostdx.app.tui.screens.home.EventChild", lambda _argv: SlowChild("storage")),
            patch("hostdx.app.tui.screens.home.WATCH_AFTER_S", 0.01),
            patch("hostdx.app.tui.shell.STARTED_S", 0.01),
            patch("hostdx.app.tui.shell.TICK_S", 0.01),
            patch("hostdx.app.tui.requests.EventChild", lambda _argv: SlowChild("triage")),
            patch("hostdx.app.run.launch.start_runner", lambda *_a, recording, **_k: _Runner(recording)),
            patch("hostdx.app.run.launch.stop_runner", return_value="not stopped: this is a soak"),
            patch("hostdx.app.tui.children.feed.stop_runner", return_value="not stopped: this is a soak"),
            patch("hostdx.app.tui.children.feed.is_running", lambda _began: random.random() < 0.98),
        ):
            asyncio.run(_run_session(seed, Path(place), figures))
        seed += 1
    return figures


async def _run_session(seed: int, place: Path, figures: Figures) -> None:
    pressed: list[str] = []

    def note_lost(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        print(f"seed {seed}: {context['message']}: {' '.join(pressed[-25:])}")
        if error := context.get("exception"):
            traceback.print_exception(error)
            figures.crash(error, f"seed {seed}, {context['message']}: {' '.join(pressed[-12:])}")

    asyncio.get_running_loop().set_exception_handler(note_lost)
    run = RunFeed(RECORDINGS / f"{random.choice(STORIES)}.jsonl") if random.random() < 0.4 else None
    try:
        async with run_app(
            place, run=run, triage="" if run else "triage", is_drawn=random.random() < 0.1
        ) as (app, _):
            app.watches_host = run is None
            if run is None:
                app.look_for_recordings_and_offer_undo()
                app.screen.on_screen_resume()
            for _ in range(BURSTS_EACH):
                for _ in range(random.randrange(1, KEYS_MOST)):
                    _press_key(app, random.choice(KEYS + FREQUENT), pressed)
                if random.random() < 0.1:
                    size = Size(random.choice((40, 60, 80, 120, 200)), random.randrange(8, 60))
                    app._driver._size = size  # type: ignore[union-attr]
                    app.post_message(events.Resize(size, size))
                    pressed.append(f"{size}")
                for _ in range(random.choice((0, 1, 3, 10, 30))):
                    await asyncio.sleep(random.choice((0, 0, 0, 0.002)))
                figures.good("bursts")
                if app._exit:
                    break
            app.exit(0)
        figures.good("sessions")
    except BaseException as error:
        print(f"seed {seed}: {type(error).__name__}: {' '.join(pressed[-25:])}")
        traceback.print_exc()
        if not isinstance(error, Exception):
            raise
        figures.crash(error, f"seed {seed}: {' '.join(pressed[-12:])}")


def _press_key(app: Shell, key: str, pressed: list[str]) -> None:
    pressed.append(key)
    event = events.Key(key, key if len(key) == 1 else {"space": " ", "slash": "/"}.get(key))
    event.set_sender(app)
    assert app._driver is not None
    app._driver.send_message(event)
