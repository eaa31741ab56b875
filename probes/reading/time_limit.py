"""The time in which a host is read, also where a foreign text keeps a loop or a regular expression of ours busy.

`Host.until_s` ends the reading; what works on a text that was read looks at no clock, and an expression with the wrong
form needs longer than the host lives. An alarm's handler raises in between: `re` and the interpreter look for signals.
"""

import errno
import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from hostdx.probes.reading.host import Host, OutOfTime

T = TypeVar("T")


class _TimeLimitEnd:
    pass


_END = _TimeLimitEnd()
AGAIN_S = 1.0  # each part that is still busy after the end gets so long, and no longer
# Where no number can be made any more, CPython (3.11 to 3.13, ceval's exception_unwind) raises and raises again within
# one instruction: no handler of Python's runs then. The kernel's own action ends a process that used so much more CPU.
SPARE_CPU_S = 60.0


def iterate_in_time(parts: Iterable[T], host: Host, most_s: float) -> Iterator[T]:
    """Yield what `parts` yields. After `most_s` seconds nothing is read any more, and `OutOfTime` is raised where busy.

    It is raised in `parts` alone, never in the one who takes what it yields; beyond the main thread only reading ends.
    """
    host.until_s = time.monotonic() + most_s
    if threading.current_thread() is not threading.main_thread():
        yield from parts
        return
    busy = False

    def raise_out_of_time(_number: int, _frame: object) -> None:
        if busy:
            raise OutOfTime(errno.ETIME, os.strerror(errno.ETIME))

    before = signal.signal(signal.SIGALRM, raise_out_of_time)
    signal.setitimer(signal.ITIMER_REAL, most_s, AGAIN_S)
    signal.setitimer(signal.ITIMER_VIRTUAL, most_s + SPARE_CPU_S)
    steps = iter(parts)
    try:
        while True:
            try:
                busy = True
                step = next(steps, _END)
                busy = False
            # where `parts` did not take it itself, it is at its end, and says so when it is asked
            except OutOfTime:
                busy = False
                continue
            if isinstance(step, _TimeLimitEnd):
                return
            yield step
    finally:
        busy = False
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def limit_time(most_s: float) -> Iterator[None]:
    """Raises `OutOfTime` in the block where it takes longer; beyond the main thread it never does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def raise_out_of_time(_number: int, _frame: object) -> None:
        raise OutOfTime(errno.ETIME, os.strerror(errno.ETIME))

    before = signal.signal(signal.SIGALRM, raise_out_of_time)
    signal.setitimer(signal.ITIMER_REAL, most_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
