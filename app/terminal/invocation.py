"""How hostdx was started: a command that is suggested on this terminal can be pasted there."""

import os
import shlex
import shutil
import sys
from pathlib import Path

from hostdx.probes.children.environment import STARTED_AS, read_env_variable
from hostdx.probes.files.path_ownership import find_root_objection

NAME = "hostdx"  # as recordings and reports have it: they are read elsewhere, too
_MODULE = ("app", "cli", "__main__.py")


def program_words(*, by_sudo: bool = False) -> str:
    """`hostdx` where the shell finds this very one by it, else its path, or `python -m`. sudo has a path of its own."""
    started = read_env_variable(STARTED_AS) or sys.argv[0]
    if Path(started).parts[-3:] == _MODULE:
        return shlex.join((sys.executable, "-P", "-m", "hostdx.app.cli"))
    path_in_shell = shutil.which(NAME)
    if started.endswith(".pyz"):
        return shlex.join((started,) if os.access(started, os.X_OK) else (sys.executable, started))
    if Path(started).name != NAME:
        return NAME
    if path_in_shell and Path(path_in_shell).resolve() == Path(started).resolve():
        return shlex.quote(path_in_shell) if by_sudo else NAME
    return shlex.quote(started)


def own_command() -> tuple[str, ...]:
    """Return the words that start the program that runs now, by paths that no search in PATH leads elsewhere."""
    started = read_env_variable(STARTED_AS) or sys.argv[0]
    path = os.path.realpath(started)
    if started.endswith(".pyz"):
        return sys.executable, path
    if "/" in started and Path(path).name == NAME and os.access(path, os.X_OK):
        return (path,)
    return sys.executable, "-P", "-m", "hostdx.app.cli"


def code_writers_objection(command: tuple[str, ...]) -> str:
    """For root: who could change what `command` runs (its program, the interpreter, our modules), else empty."""
    modules = () if command[-1].endswith(".pyz") else (str(Path(__file__).resolve().parents[1]),)
    return next(
        (owner for path in (command[0], sys.executable, *modules) if (owner := find_root_objection(path))), ""
    )


def command_to_paste(command: str) -> str:
    """A command for this terminal; any other program's as it is."""
    sudo = "sudo " if command.startswith("sudo ") else ""
    first, blank, rest = command.removeprefix(sudo).partition(" ")
    return f"{sudo}{program_words(by_sudo=bool(sudo))} {rest}" if first == NAME and blank else command
