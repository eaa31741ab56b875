"""Ctrl-Z and fg: the terminal driver begins anew only when it was suspended by itself."""

import signal
from types import FrameType


def resume_only_after_suspend() -> None:
    """At each SIGCONT the driver (Textual 8) starts its threads anew; only after its own suspension is that right.

    SIGCONT also comes with a hang-up and after `kill -STOP`: then the former threads would stay, waking ten times a
    second each, and a second writer would be waited for.
    """
    suspend, resume = signal.getsignal(signal.SIGTSTP), signal.getsignal(signal.SIGCONT)
    if not callable(suspend) or not callable(resume):  # no terminal driver: a test's
        return
    suspended = False

    def stopped(number: int, frame: FrameType | None) -> None:
        nonlocal suspended
        suspended = True
        suspend(number, frame)

    def continued(number: int, frame: FrameType | None) -> None:
        nonlocal suspended
        if suspended:
            suspended = False
            resume(number, frame)

    signal.signal(signal.SIGTSTP, stopped)
    signal.signal(signal.SIGCONT, continued)
