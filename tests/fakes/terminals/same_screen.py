"""hostdx in pseudo-terminals of its own, and whether two of them show the same."""

import sys
from pathlib import Path

import pytest

from tests.app.launcher import environment
from tests.fakes.terminals.terminal import Terminal

HOSTDX = [sys.executable, "-P", "-m", "hostdx.app.cli"]


def opened(place: Path, *arguments: str, size: tuple[int, int] = (80, 24)) -> Terminal:
    """With state and locks in `place`."""
    own = {name: value for name, value in environment(place).items() if name.startswith("XDG_")}
    return Terminal([*HOSTDX, *arguments], size, own, may_fork=True)


def differences(one: Terminal, other: Terminal) -> list[str]:
    """Three lines for each row that differs: its first cell that does, in both, and the words of both."""
    found = []
    for y, (left, right) in enumerate(zip(one.cells, other.cells, strict=True)):
        if left != right:
            x = next(x for x in range(one.width) if left[x] != right[x])
            rows = ["".join(c.data for c in row).rstrip() for row in (left, right)]
            found.append("\n  ".join((f"row {y}, cell {x}: {left[x]} {right[x]}", *rows)))
    return found


def agree(live: Terminal, replay: Terminal, what: str) -> None:
    """Every cell, its colours included; and it stays so: neither has anything more to say."""
    try:
        replay.until(lambda: live.pump(0.02) and live.cells == replay.cells, what)
    except TimeoutError:
        pass
    live.pump(0.3)
    replay.pump(0.3)
    if found := differences(live, replay):
        pytest.fail(f"{what} at {live.width}x{live.height}, live and replay:\n" + "\n".join(found))
