"""Keys at random, at any size, on the home screen and on mutated recordings: no crash, nothing that a terminal acts on.

Nothing is started or stopped: the planner and the other commands are played, the runner is refused.
"""

import asyncio
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import msgspec

from hostdx.app.terminal.failure import Failure
from hostdx.app.tui.children.event_child import CommandOutcome, EventChild
from hostdx.app.tui.children.feed import RunFeed
from hostdx.app.undo.change_report import ChangeReport, UndoneChange
from tests.fakes.streams import hostile
from tests.fakes.streams.story import RECORDINGS
from tests.fakes.terminals.screen import COPY, SIZES, grid, run_app, wait_idle
from tests.soak.figures import Figures
from tests.soak.recordings import SOURCES, mutate_recording

KEYS = (
    "down", "up", "pagedown", "pageup", "end", "home", "tab", "shift+tab", "enter", "escape", "space", "left", "right",
    "question_mark", "slash", "ctrl+p", "ctrl+l", "ctrl+t", "backspace", "plus", "minus", "comma", "full_stop",
    *"abcdefghijklmnoprstuvwxyzJN0123456789",
)  # fmt: skip
KEYS_EACH = 40


async def answer_at_once(argv: Sequence[str], _timeout_s: float = 0.0) -> CommandOutcome:
    if argv[0] != "undo":
        return CommandOutcome("", f"{hostile.ATTACK} is not here")
    change = UndoneChange(title="a title", state="open", would=hostile.ATTACK)
    report = msgspec.json.encode(ChangeReport(schema="hostdx/1", changes=(change,)))
    return CommandOutcome(report.decode(), random.choice(("", "not here")))


def _start_planned(_argv: Sequence[str]) -> EventChild:
    return EventChild([COPY, str(RECORDINGS / "storage.jsonl")])


def soak(seconds: int, seed: int) -> Figures:
    figures = Figures(f"pilot at random for {seconds} s (seed {seed})")
    rng = random.Random(seed)
    end = time.monotonic() + seconds
    with (
        patch("hostdx.app.tui.children.event_child.run_command", answer_at_once),
        patch("hostdx.app.tui.screens.before.plan.start_planner", _start_planned),
        patch("hostdx.app.run.launch.start_runner", side_effect=OSError("not started: this is a soak")),
        patch("hostdx.app.run.launch.stop_runner", return_value="not stopped: this is a soak"),
    ):
        while time.monotonic() < end:
            with tempfile.TemporaryDirectory(prefix="hostdx-soak-") as place:
                asyncio.run(_run_session(rng, Path(place), figures))
    return figures


async def _run_session(rng: random.Random, place: Path, figures: Figures) -> None:
    SIZES["soak"] = (rng.choice((40, 60, 80, 80, 120, 200)), rng.randrange(8, 60))
    path = place / "hostdx" / "recordings" / "r.jsonl"
    path.parent.mkdir(parents=True, mode=0o700)
    path.write_bytes(mutate_recording(rng, rng.choice(SOURCES).read_bytes()))
    about = f"{SIZES['soak']}: "
    pressed: list[str] = []
    try:
        run = RunFeed(path) if rng.random() < 0.7 else None
    except Failure:
        figures.good("refused")
        return
    except Exception as error:
        figures.crash(error, "while it was loaded")
        return
    try:
        triage = "" if run else "triage"
        async with run_app(place, triage=triage, run=run, size="soak", no_color=rng.random() < 0.2) as (
            app,
            pilot,
        ):
            for _ in range(KEYS_EACH):
                pressed.append(rng.choice(KEYS))
                await pilot.press(pressed[-1])
                await wait_idle()
                figures.good("keys")
                if app._exit:
                    break
                if leaks := hostile.find_leaks(grid(app)):
                    figures.bad("escapes", f"{type(app.screen).__name__}: {', '.join(leaks)}")
        figures.good("sessions")
    except Exception as error:
        figures.crash(error, about + " ".join(pressed[-12:]))
