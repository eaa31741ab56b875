"""Which recording the app opens on, and how: a run under way at its end, anything else at its start."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.tui.feed import RunFeed


def feed_for(mode: str, recording: str | None, speed: float) -> RunFeed | None:
    """Raises BrokenRecording with one line for what is no recording."""
    if recording is None:
        return None
    from app.tui.feed import RunFeed

    feed = RunFeed(Path(recording), speed=speed)
    if mode == "attach":
        feed.playback.finish(live=feed.growing)
    else:
        feed.playback.seek(0.0)
        feed.playback.playing = True
    return feed
