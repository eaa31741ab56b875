"""How hostdx was started: a command that is suggested on this terminal can be pasted there."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

NAME = "hostdx"  # as recordings and reports have it: they are read elsewhere, too
_MODULE = ("app", "cli", "__main__.py")


def program() -> str:
    """`hostdx` where the shell finds this very one by it, else its path, or `python -m`."""
    started = sys.argv[0]
    if Path(started).parts[-3:] == _MODULE:
        return shlex.join((sys.executable, "-P", "-m", "app.cli"))
    found = shutil.which(NAME)
    if Path(started).name != NAME or (found and Path(found).resolve() == Path(started).resolve()):
        return NAME
    return shlex.quote(started)


def pasted(command: str) -> str:
    """A command for this terminal; any other program's as it is."""
    first, blank, rest = command.partition(" ")
    return f"{program()} {rest}" if first == NAME and blank else command
