"""A worker of the storage engine: `python -P -m probes.bench.worker PARENT_PID`. Standard library only.

Fed over a socket on fd 0, one JSON object a line; answers on the same socket. Ignores the terminal's signals: the
runner stops it by SIGKILL, and the kernel does when the runner dies.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

from probes.bench.fill import fill
from probes.bench.operations import Source, run_block

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def tie_to(parent: int) -> None:
    """Dies with the runner, however that ends (prctl(2)); one that is gone already leaves us with another parent."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0 or os.getppid() != parent:
        os._exit(1)


def be_expendable() -> None:
    """Where memory runs out the kernel takes the measurement, not the job that it measures beside."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:  # noqa: PTH123
            file.write("1000")
    except OSError:
        pass


def commands() -> Iterator[dict[str, Any]]:
    with os.fdopen(0, "rb", closefd=False) as lines:
        for line in lines:
            yield json.loads(line)


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    tie_to(int(sys.argv[1]))
    be_expendable()
    gc.freeze()
    gc.disable()
    incoming = commands()
    source = Source(int.from_bytes(os.urandom(8), "little"))

    def answer(to: int, **what: Any) -> None:
        data = memoryview(json.dumps({"to": to, **what}, separators=(",", ":")).encode() + b"\n")
        while data:
            data = data[os.write(1, data) :]

    answer(0, hello=os.getpid())
    for command in incoming:
        serve(command, incoming, source, answer)


def serve(command: dict[str, Any], incoming: Iterator[dict[str, Any]], source: Source, answer: Any) -> None:
    to = command["id"]
    try:
        match command["do"]:
            case "fill":
                fill(command["fd"], command["bytes"], source, lambda n: answer(to, written=n))
                answer(to, done=True)
            case "sync":
                os.fdatasync(command["fd"])
                answer(to, done=True)
            case "block":

                def ready() -> int:
                    answer(to, ready=True)
                    return int(next(incoming)["go"])

                answer(to, done=True, **run_block(command, source, ready))
    except OSError as error:
        answer(to, error=os.strerror(error.errno) if error.errno else str(error), errno=error.errno or 0)
    except StopIteration:
        os._exit(0)
    except Exception as error:
        answer(to, error=f"{type(error).__name__}: {error}", errno=0)


if __name__ == "__main__":
    main()
