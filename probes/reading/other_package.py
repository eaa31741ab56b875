"""Entry points of other packages, the objects that they name, and the guard that their code runs under."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints
    from types import FrameType


_OURS = b"[hostdx."  # in entry_points.txt: the heading of each of our groups


@cache
def _all_entry_points() -> EntryPoints | None:
    if not any(map(_may_bring_a_package, sys.path)):
        return None
    from importlib import metadata  # it takes a tenth of a start

    return cast("EntryPoints", metadata.entry_points())


def _may_bring_a_package(place: str) -> bool:
    """Return True if a package that lies in `place`, of the module search path, brings something for hostdx.

    Also where that cannot be seen from here: in a zip.
    """
    try:
        names = os.listdir(place or ".")  # noqa: PTH208
    except NotADirectoryError:
        return True
    except OSError:
        return False
    for name in names:
        if name.endswith((".dist-info", ".egg-info")):
            try:
                with open(os.path.join(place, name, "entry_points.txt"), "rb") as listed:  # noqa: PTH118, PTH123
                    if _OURS in listed.read():
                        return True
            except OSError:
                continue
    return False


def entry_points_of(group: str) -> tuple[EntryPoint, ...]:
    """Return what other packages bring under `group`, by name. Their modules are imported when one is loaded."""
    entry_points = _all_entry_points()
    group_entries = entry_points.select(group=group) if entry_points is not None else ()
    return tuple(sorted(group_entries, key=lambda entry: entry.name))


def load_entry_point(entry: EntryPoint) -> object:
    """Return the entry's object. Raise Exception alone, whatever the package's module raises when it is imported."""
    with package_guard():
        return cast("object", entry.load())


@contextmanager
def package_guard() -> Iterator[None]:
    """Raise ImportError where a package's code raises SystemExit, KeyboardInterrupt or another BaseException.

    A KeyboardInterrupt of the user's own Ctrl-C passes: only that one comes with a SIGINT.
    """
    is_interrupted = False
    handler = signal.getsignal(signal.SIGINT)

    def note_interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal is_interrupted
        is_interrupted = True
        if callable(handler):
            handler(number, frame)

    in_main_thread = threading.current_thread() is threading.main_thread()
    if in_main_thread and callable(handler):
        signal.signal(signal.SIGINT, note_interrupt)
    try:
        yield
    except Exception:
        raise
    except BaseException as error:
        if is_interrupted:
            raise
        raise ImportError(
            f"the package raises {type(error).__name__}, which would end the program"
        ) from error
    finally:
        if in_main_thread and callable(handler) and signal.getsignal(signal.SIGINT) is note_interrupt:
            signal.signal(signal.SIGINT, handler)
