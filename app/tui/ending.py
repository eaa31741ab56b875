"""The app's end from outside: a signal, or a terminal that is gone, whatever state its writer is in.

The driver's writer dies with the terminal, and who waits for a writer that nobody empties blocks for ever: the main
thread then serves no loop any more, and no handler of the loop's. So signals are taken by handlers of the interpreter,
which run in the middle of a wait, a thread watches for the hang-up itself (SIGHUP may be ignored, or go to somebody
else), and another thread ends the process where the app does not get to it.
"""

import asyncio
import os
import select
import signal
import threading
from collections.abc import Callable
from types import FrameType

LAST_RESORT_S = 2.0


def end_on_outside_signals(end: Callable[[int], None]) -> bool:
    """`end(status)` is called in the loop; False outside the main thread (a test's), where nothing is watched."""
    loop = asyncio.get_running_loop()

    def end_soon(status: int) -> None:
        last_resort = threading.Timer(LAST_RESORT_S, os._exit, (status,))
        last_resort.daemon = True
        last_resort.start()
        try:
            loop.call_soon_threadsafe(end, status)
        except RuntimeError:  # it has ended meanwhile
            pass

    def end_by_signal(number: int, _frame: FrameType | None) -> None:
        end_soon(0 if number == signal.SIGHUP else 128 + number)

    try:
        for number in (signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, end_by_signal)
    except ValueError:
        return False
    if os.isatty(0):
        threading.Thread(
            target=watch_terminal, args=(0, lambda: end_soon(0)), name="terminal", daemon=True
        ).start()
    return True


def watch_terminal(descriptor: int, on_hangup: Callable[[], None]) -> None:
    """Sleeps until the terminal's other end is closed: without a wish, poll tells of that alone."""
    poll = select.poll()
    poll.register(descriptor, 0)
    if poll.poll():
        on_hangup()


def resume_only_after_suspend() -> None:
    """At each SIGCONT the driver (Textual 8) starts its threads anew; only after its own suspension is that right.

    SIGCONT also comes with a hang-up and after `kill -STOP`: then the former threads would stay, waking ten times a
    second each, and a second writer would be waited for.
    """
    suspend, resume = signal.getsignal(signal.SIGTSTP), signal.getsignal(signal.SIGCONT)
    if not callable(suspend) or not callable(resume):  # no terminal driver: a test's
        return
    suspended = False

    def handle_suspend(number: int, frame: FrameType | None) -> None:
        nonlocal suspended
        suspended = True
        suspend(number, frame)

    def handle_resume(number: int, frame: FrameType | None) -> None:
        nonlocal suspended
        if suspended:
            suspended = False
            resume(number, frame)

    signal.signal(signal.SIGTSTP, handle_suspend)
    signal.signal(signal.SIGCONT, handle_resume)
