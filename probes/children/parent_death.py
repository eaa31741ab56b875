"""Processes that end with the one that made them, however that ends. Standard library only."""

import ctypes
import os
import signal
from collections.abc import Callable, Sequence

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h


def die_with_parent(parent: int, signal_number: int = signal.SIGKILL) -> None:
    """Dies with that process (prctl(2)), by that signal; if it is gone already we have another parent."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal_number, 0, 0, 0) != 0 or os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """What descendants of this process leave behind becomes its own child, not that of process 1 (prctl(2))."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def restore_signals_for_exec() -> None:
    """Before exec: Python ignores two signals, and a command inherits that: `yes | head -1` would complain."""
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored, signal.SIG_DFL)


def make_first_oom_victim() -> None:
    """Where memory runs out the kernel takes the measurement, not the job that it measures beside."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:  # noqa: PTH123
            file.write("1000")
    except OSError:
        pass


def fork_partner(serve: Callable[[], None], *, fds: Sequence[int] = (), own_fds: Sequence[int] = ()) -> int:
    """Forks the other end of a worker's pipe or connection; `serve` runs until its input ends. Its process number.

    `keep` are its descriptors, closed here; `leave` the worker's own: holding these, it would hold its own input open
    and never see the end.
    """
    own = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            die_with_parent(own)
            for fd in own_fds:
                os.close(fd)
            serve()
        finally:
            os._exit(0)
    for fd in fds:
        os.close(fd)
    return pid
