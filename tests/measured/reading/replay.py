"""Time under control on long recordings: opening and jumping.

`python -m tests.measured.reading.replay` prints a table.

An hour of a run has about 25,000 events (two blocks, a pulse and some samples a second); 200,000 are what a
recording may hold at most. Wanted: opened in under 1 s, every jump under 0.1 s.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from app.tui.children.feed import RunFeed
from tests.fakes.streams.stories import long, write


def timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def measure(count: int) -> None:
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "long.jsonl", long(count))
        feeds: list[RunFeed] = []
        opened = timed(lambda: feeds.append(RunFeed(path)))
        play = feeds[0].playback
        first = timed(play.seek_end)  # nothing was folded yet
        seeks = [timed(partial(play.seek, rng.uniform(0, 3600))) for _ in range(200)]
        marks = [timed(partial(play.jump_to_mark, rng.choice((1, -1)))) for _ in range(50)]
        steps = [timed(partial(play.step_group, rng.choice((1, -1)))) for _ in range(50)]
    print(f"{count:>8} events   open {opened:5.2f} s   first jump to the end {first:5.2f} s", end="   ")
    worst = ", ".join(
        f"{n} {max(v) * 1e3:.0f} ms" for n, v in (("seek", seeks), ("mark", marks), ("step", steps))
    )
    print(f"worst of later jumps: {worst}")


def main() -> None:
    for count in (25_000, 200_000):
        measure(count)


if __name__ == "__main__":
    main()
