"""What an entry point of another package names, and the guard that its code runs under."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from types import FrameType


def load_entry(entry: EntryPoint) -> object:
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
