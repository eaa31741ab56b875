"""A module of hostdx's own in a process of its own: children find the code that their parent runs, wherever it lies."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

PYTHONS = ("python3.14", "python3.13", "python3.12", "python3.11", "python3")  # as other hosts call theirs

_START = os.path.join(os.path.dirname(os.path.abspath(__file__)), "start.py")  # noqa: PTH100, PTH118, PTH120

# subprocess.DEVNULL and PIPE: to import that takes milliseconds, which a child need not spend
NONE, PIPE = -3, -1


def own_module(name: str, *arguments: str) -> tuple[str, ...]:
    # -P: a folder `app` in the current directory must not run instead; what was started isolated stays so
    alone = "-I" if sys.flags.isolated else "-P"
    return (sys.executable, alone, _START, name, *arguments)


def start_module(
    name: str,
    *arguments: str,
    stdin: int = NONE,
    stdout: int = PIPE,
    fds: Sequence[int] = (),
    env: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a module in a session of its own: Ctrl-C at the terminal goes to the whole foreground group, not to it.

    Its errors are told on stdout or not at all. `fds`: descriptors that it holds too. Raises OSError.
    """
    import subprocess

    return subprocess.Popen(
        own_module(name, *arguments),
        stdin=stdin,
        stdout=stdout,
        stderr=NONE,
        pass_fds=tuple(fds),
        env=env,
        start_new_session=True,
        cwd="/",
    )
