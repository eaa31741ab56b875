"""The way in: what must be decided before Textual is imported, and the triage that reads the host meanwhile.

The child is started first: while this process imports Textual (a quarter of a second), it reads the host on another
core.
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from hostdx.app.tui.children.feed import RunFeed

Mode: TypeAlias = Literal["home", "recordings", "attach", "replay", "feature"]
REMOTE_FPS = "10"  # a frame costs bytes on the line, and nothing here moves more often than twice a second


def prepare_environment() -> None:
    """Textual reads these when it is imported. What the user set stays."""
    os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
    if "SSH_CONNECTION" in os.environ:
        os.environ.setdefault("TEXTUAL_FPS", REMOTE_FPS)
    os.environ.setdefault("TEXTUAL_SMOOTH_SCROLL", "0")
    screen = sys.__stdout__
    if screen is not None and screen.isatty() and all(os.get_terminal_size(screen.fileno())):
        # exported by a profile they would hide the true size, and each change of it
        os.environ.pop("COLUMNS", None)
        os.environ.pop("LINES", None)


def open_app(
    mode: Mode,
    recording: str | None = None,
    speed: float = 1.0,
    ascii: bool = False,
    mouse: bool = True,
    theme: str | None = None,
    target: str = "",
) -> int:
    """Opens the terminal app and returns its exit status; in mode `feature` with the screen that `target` opens on the
    folder `recording`. Raises Failure for a recording that cannot be read."""
    from hostdx.app.run.launch import HOSTDX
    from hostdx.app.tui.children.event_child import EventChild

    prepare_environment()
    gc.disable()  # what is imported never becomes garbage: a tenth of the start; `Shell` turns it on again
    watches = recording is None or mode == "feature"
    # where all CPUs have work the first screen would come after twice the time: then it comes first
    at_once = watches and os.getloadavg()[0] < (os.cpu_count() or 1)
    child = EventChild([*HOSTDX, "triage", "--events", "-"]) if at_once else None
    shell = None
    try:
        from hostdx.app.terminal.glyphs import wants_ascii
        from hostdx.app.tui.shell import Shell

        feed = _open_run_feed(mode, Path(recording), speed) if recording is not None and not watches else None
        shell = Shell(triage=child, feed=feed, ascii_only=ascii or wants_ascii())
        shell.lists_recordings = mode == "recordings"
        shell.first_screen = (target, Path(recording)) if recording is not None and watches else None
        shell.watches_host = watches
        if theme is not None:
            shell.theme = f"hostdx-{theme}"
        status = shell.run(mouse=mouse)
        words = shell.parting_words()
        if words:
            from hostdx.app.terminal.output import print_result  # quiet where the terminal is gone

            print_result(words)
        return shell.return_code or status or 0
    finally:
        gc.enable()
        if shell is not None:
            shell.close_rereading()
        if (last := shell.triage if shell is not None else child) is not None:
            last.close()


def _open_run_feed(mode: Mode, recording: Path, speed: float) -> RunFeed:
    """A run under way at its end, anything else from its first block. Raises BrokenRecording."""
    from hostdx.app.tui.children.feed import RunFeed

    feed = RunFeed(recording, speed=speed)
    if mode == "attach":
        feed.playback.seek_end(live=feed.is_growing)
    else:
        feed.playback.play_from_first_measured()
    return feed


def open_home() -> int:
    """`hostdx` alone, without the command line's parser; what goes wrong is one line on stderr, never a traceback."""
    from hostdx.app.terminal.failure import COULD_NOT, Failure

    try:
        return open_app("home")
    except Failure as why:
        from hostdx.app.terminal.output import print_problem

        print_problem(why.text)
        return why.status
    except Exception as error:
        from hostdx.app import bug_report
        from hostdx.app.terminal.output import print_problem

        print_problem(bug_report.save_traceback_and_get_line(error))
        return COULD_NOT
