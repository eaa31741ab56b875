"""A real run followed in real terminals to its end, and its recording replayed: the same screen, cell for cell."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.app.launcher import environment, started
from tests.app.tui.test_terminal_real import HOSTDX
from tests.fakes.terminal import Terminal
from tests.iosched_kill import journals, kill_all, ours

pytestmark = pytest.mark.real
SIZES = ((80, 24), (120, 40))


@pytest.fixture
def disk() -> Iterator[Path]:
    """A directory on a disk: /tmp is memory on many machines."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="hostdx-test-") as made:
        for name in "ab":
            Path(made, name).mkdir()
        yield Path(made)


def opened(place: Path, size: tuple[int, int], *arguments: str) -> Terminal:
    own = {name: value for name, value in environment(place).items() if name.startswith("XDG_")}
    return Terminal([*HOSTDX, *arguments], size, own)


def differences(one: Terminal, other: Terminal) -> list[str]:
    """A line for each row that differs: the words of both, or the first cell that only looks different."""
    found = []
    for y, (left, right) in enumerate(zip(one.cells, other.cells, strict=True)):
        if left != right:
            x = next(x for x in range(one.width) if left[x] != right[x])
            rows = ("".join(c.data for c in row).rstrip() for row in (left, right))
            found.append(f"{y}:{x} {left[x]} {right[x]}\n  " + "\n  ".join(rows))
    return found


def agree(live: Terminal, replay: Terminal, what: str) -> None:
    """Both have nothing more to say, and show the same."""
    try:
        replay.until(lambda: live.pump(0.02) and live.cells == replay.cells, what)
        for _ in range(2):
            live.pump(0.3)
            replay.pump(0.3)
        assert live.cells == replay.cells
    except (TimeoutError, AssertionError):
        pytest.fail(
            f"{what} {live.width}x{live.height}, live and replay:\n" + "\n".join(differences(live, replay))
        )


def to_the_blocks(terminal: Terminal) -> None:
    terminal.press("v")
    terminal.until(lambda: "FINDINGS" not in terminal.text and "load" in terminal.text, "the blocks")


def test_it_ends_on_the_live_screen_at_both_sizes(tmp_path: Path, disk: Path) -> None:
    arguments = ["--dir", str(disk / "a"), "--dir", str(disk / "b"), "--size", "64MiB", "--budget", "20"]
    runner = started(
        tmp_path, "run", "storage", *arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    recordings = tmp_path / "state/hostdx/recordings"
    with ExitStack() as stack:
        stack.callback(kill_all, tmp_path)
        while not (recordings.is_dir() and list(recordings.glob("*.jsonl"))):
            assert runner.poll() is None, "the run was refused"
        [recording] = recordings.glob("*.jsonl")
        live = [opened(tmp_path, size, "attach", recording.name) for size in SIZES]
        for one in live:
            stack.callback(one.close)
            one.wait("● live")
        for one in live:
            one.wait("FINDINGS", 90)
        assert runner.wait(30) == 0
        for one in live:
            again = opened(tmp_path, (one.width, one.height), "replay", str(recording), "--speed", "1000")
            stack.callback(again.close)
            again.wait("FINDINGS", 60)
            agree(one, again, "the verdict")
            to_the_blocks(one)
            to_the_blocks(again)
            agree(one, again, "the blocks")
    assert not journals(tmp_path) and not ours(tmp_path)
    assert [p.name for p in disk.rglob("*")] in (["a", "b"], ["b", "a"])
