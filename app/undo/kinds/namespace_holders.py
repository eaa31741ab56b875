"""Namespaces without a name (network, mounts): a process of our own holds them, and they are gone when it is gone.

That process carries the name that the journal knows as an argument of its own command line; nothing is to be
removed in /run/netns, and after a crash of the runner it has died already (PR_SET_PDEATHSIG).
"""

import os
import signal
import time
from pathlib import Path

from hostdx.app.undo.journal import UndoOutcome
from hostdx.probes.reading.process_stat import start_time

# the modules that such a process runs
HOLDERS = (
    b"hostdx.scenarios.rpfilter.measurement.lab",
    b"hostdx.scenarios.contention.measurement.server",
    b"hostdx.scenarios.fullstack.measurement.station",
)
_WAIT_S = 2.0


def find_holders(name: str) -> dict[int, int]:
    """Processes of this user that hold the namespaces of that name: pid to start time."""
    start_times: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        pid = int(path.parts[2])
        try:
            words = path.read_bytes().split(b"\0")
            is_own = path.stat().st_uid in (os.geteuid(), 0) or os.geteuid() == 0
        except OSError:
            continue
        began = start_time(pid)
        if (
            is_own
            and any(module_name in words for module_name in HOLDERS)
            and name.encode() in words
            and began is not None
        ):
            start_times[pid] = began
    return start_times


def end_holders(name: str) -> UndoOutcome:
    """Ends them and waits until they are gone; repeatable."""
    if not name.startswith("hostdx"):
        return UndoOutcome("failed", f"{name}: not a namespace of ours")
    start_times = find_holders(name)
    for pid, began in start_times.items():
        if start_time(pid) == began:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
    end = time.monotonic() + _WAIT_S
    while any(start_time(pid) == began for pid, began in start_times.items()):
        if time.monotonic() > end:
            return UndoOutcome("failed", f"{name}: process {', '.join(map(str, start_times))} does not end")
        time.sleep(0.02)
    return UndoOutcome(
        "reverted", "" if start_times else f"{name} is gone: the process that held it has ended"
    )
