"""hostdx in pseudo-terminals of its own, and whether two of them show the same."""

import sys
from pathlib import Path

import pytest

from tests.app.launcher import own_env
from tests.fakes.terminals.terminal import Terminal

HOSTDX = [sys.executable, "-P", "-m", "hostdx.app.cli"]


def open_terminal(place: Path, *arguments: str, size: tuple[int, int] = (80, 24)) -> Terminal:
    """With state and locks in `place`."""
    variables = {name: value for name, value in own_env(place).items() if name.startswith("XDG_")}
    return Terminal([*HOSTDX, *arguments], size, variables, may_fork=True)


def differing_rows(first: Terminal, second: Terminal) -> list[str]:
    """Three lines for each row that differs: its first cell that does, in both, and the words of both."""
    rows_text = []
    for y, (left, right) in enumerate(zip(first.cells, second.cells, strict=True)):
        if left != right:
            x = next(x for x in range(first.width) if left[x] != right[x])
            rows = ["".join(c.data for c in row).rstrip() for row in (left, right)]
            rows_text.append("\n  ".join((f"row {y}, cell {x}: {left[x]} {right[x]}", *rows)))
    return rows_text


def check_same_screen(live: Terminal, replay: Terminal, view: str) -> None:
    """Every cell, its colours included; and it stays so: neither has anything more to say."""
    try:
        replay.expect(lambda: live.pump(0.02) and live.cells == replay.cells, view)
    except TimeoutError:
        pass
    live.pump(0.3)
    replay.pump(0.3)
    if different := differing_rows(live, replay):
        pytest.fail(f"{view} at {live.width}x{live.height}, live and replay:\n" + "\n".join(different))
