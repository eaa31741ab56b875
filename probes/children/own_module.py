"""A module of hostdx's own in a process of its own: children find the code that their parent runs, wherever it lies."""

import os
import sys

PYTHONS = ("python3.14", "python3.13", "python3.12", "python3.11", "python3")  # as other hosts call theirs

_START = os.path.join(os.path.dirname(os.path.abspath(__file__)), "start.py")  # noqa: PTH100, PTH118, PTH120


def own_module(name: str, *arguments: str) -> tuple[str, ...]:
    # -P: a folder `app` in the current directory must not run instead; what was started isolated stays so
    alone = "-I" if sys.flags.isolated else "-P"
    return (sys.executable, alone, _START, name, *arguments)
