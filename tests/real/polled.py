"""Waiting for what ends a moment later: a killed process, a detached device, a supervisor's undo."""

import time
from collections.abc import Callable

DEADLINE_S = 20.0


def happens(true: Callable[[], object], seconds: float = DEADLINE_S) -> bool:
    """Asked again and again, as a busy machine needs it; False where it was not true in time."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
