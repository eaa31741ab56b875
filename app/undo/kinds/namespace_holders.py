"""Namespaces without a name (network, mounts): a process of our own holds them, and they are gone when it is gone.

That process carries the name that the journal knows as an argument of its own command line; nothing is to be
removed in /run/netns, and after a crash of the runner it has died already (PR_SET_PDEATHSIG).
"""

import os
import signal
import time
from pathlib import Path

from app.process import start_time
from app.undo.journal import Outcome

# the modules that such a process runs
HOLDERS = (b"probes.bench.net.lab", b"probes.bench.contention.server", b"probes.bench.streams.station")
_WAIT_S = 2.0


def holders(name: str) -> dict[int, int]:
    """Processes of this user that hold the namespaces of that name: pid to start time."""
    found: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        pid = int(path.parts[2])
        try:
            words = path.read_bytes().split(b"\0")
            ours = path.stat().st_uid in (os.geteuid(), 0) or os.geteuid() == 0
        except OSError:
            continue
        began = start_time(pid)
        if ours and any(one in words for one in HOLDERS) and name.encode() in words and began is not None:
            found[pid] = began
    return found


def end_holders(name: str) -> Outcome:
    """Ends them and waits until they are gone; repeatable."""
    if not name.startswith("hostdx"):
        return Outcome("failed", f"{name}: not a namespace of ours")
    found = holders(name)
    for pid, began in found.items():
        if start_time(pid) == began:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
    end = time.monotonic() + _WAIT_S
    while any(start_time(pid) == began for pid, began in found.items()):
        if time.monotonic() > end:
            return Outcome("failed", f"{name}: process {', '.join(map(str, found))} does not end")
        time.sleep(0.02)
    return Outcome("reverted", "" if found else f"{name} is gone: the process that held it has ended")
