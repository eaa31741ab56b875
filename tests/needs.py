"""What a test needs of the machine that it runs on. Where that is not there it is skipped, with the reason.

`@needs(ROOT, program("nft"))` for a whole test or file (`pytestmark`), `need(LOOP)` inside a fixture. Everything else
that a test depends on it makes itself.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import pytest

from hostdx.probes.engine.command.taskstats import TaskExitListener

Need = Callable[[], str]  # the reason why it is not there; "" where it is
MEMORY = ("tmpfs", "ramfs")


def needs(*needs: Need) -> pytest.MarkDecorator:
    return pytest.mark.needs.with_args(*needs)  # called, the mark would take one function for the test


def need(*needs: Need) -> None:
    if lacking := missing_of(*needs):
        pytest.skip(lacking)


def missing_of(*needs: Need) -> str:
    return next((lacking for lacking in (need() for need in needs) if lacking), "")


def not_here(reason: object) -> NoReturn:
    """The machine was asked for it and said no."""
    pytest.skip(str(reason))


def ROOT() -> str:
    return "" if os.geteuid() == 0 else "root is needed"


def USER() -> str:
    return "" if os.geteuid() else "a user who is not root is needed"


@cache
def program(*names: str) -> Need:
    """Found in PATH, where the test calls them."""

    def missing_programs() -> str:
        absent = [name for name in names if shutil.which(name) is None]
        return f"not found: {', '.join(absent)}" if absent else ""

    return missing_programs


@cache
def module(name: str) -> Need:
    """Of an optional extra."""
    return lambda: "" if find_spec(name) is not None else f"not installed: {name}"


def _unshare_error(*kinds: str) -> str:
    try:
        done = subprocess.run(["unshare", *kinds, "true"], capture_output=True, text=True, timeout=20)
    except OSError as error:
        return str(error)
    return done.stderr.strip() if done.returncode else ""


def _namespace(words: str, *kinds: str) -> Need:
    def missing_namespace() -> str:
        error = _unshare_error(*kinds)
        return error and f"no {words} can be made here: {error}"

    return missing_namespace


NET_NAMESPACE = _namespace("network namespace", "--net")
MOUNT_NAMESPACE = _namespace("mount namespace", "--mount")


def TMPFS() -> str:
    """A tmpfs of the test's own can be mounted."""
    return missing_of(ROOT, program("mount", "umount"), MOUNT_NAMESPACE)


def LOOP() -> str:
    """A loop device that can be mounted."""
    if lacking := missing_of(ROOT, program("losetup", "mount", "umount", "mkfs.ext4")):
        return lacking
    return "" if Path("/dev/loop-control").exists() else "this machine has no loop devices"


@cache
def TASKSTATS() -> str:
    """What a task waited is told at its end, however short it was."""
    exits = TaskExitListener()
    is_told = exits.ended_tasks_below(os.getpid()) is not None
    exits.close()
    return "" if is_told else "taskstats needs root and the host's own process numbers"


def NOT_INIT() -> str:
    """Orphans go to another process than this one."""
    return "" if os.getpid() != 1 else "this is process 1 (of a container): all orphans become its children"


def KERNEL_THREADS() -> str:
    """Those of the kernel are seen: process numbers are the host's own."""
    try:
        are_seen = Path("/proc/2/comm").read_text() == "kthreadd\n"
    except OSError:
        are_seen = False
    return "" if are_seen else "a process number name space of our own shows no kernel threads"


@cache
def mounted_as(place: str) -> str:
    """The type of the file system below `place`, as mounts(5) says it."""
    stat_run = subprocess.run(["stat", "-f", "-c", "%T", place], capture_output=True, text=True, check=True)
    return stat_run.stdout.strip()


def KNOWN_DISK() -> str:
    """hostdx changes no device that the undo journal may lie on; of an overlay nobody can tell."""
    place = tempfile.gettempdir()
    return f"{place} lies on an overlay, whose disk nobody knows" if mounted_as(place) == "overlayfs" else ""


def on_disk(place: Path) -> Need:
    """Not in memory, and not an overlay, which tells neither its device nor where its files lie."""

    def reason_without_disk() -> str:
        kind = mounted_as(str(place))
        return f"{place} is on {kind}, not on a disk" if kind in (*MEMORY, "overlayfs") else ""

    return reason_without_disk


def one_always(first: object, *others: object) -> list[Any]:
    """Values of a parameter, of which the suite takes the first and the soak the others."""
    return some_always((first,), others)


def some_always(first: Sequence[object], others: Iterable[object]) -> list[Any]:
    """The same with more than one: `others` less what is among the first."""
    mark = pytest.mark.soak(f"the same with {first[0]}")
    rest = [other for other in others if other not in first]
    return [*first, *(pytest.param(other, marks=mark) for other in rest)]
