"""The storage engine's workers: `python -P -m probes.bench.worker PARENT_PID`. Standard library only.

The first process only forks: each file descriptor that comes over the socket on fd 0 becomes a worker's socket. Forked
workers share the interpreter's memory: 16 of them took 7.2 µs of CPU a read, 16 interpreters 10.5 µs (their caches).

A worker is fed one JSON object a line and answers likewise. All ignore the terminal's signals. Each dies with the
process that forked it, and that one with the runner, however it ends.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import socket
import sys
from collections.abc import Iterator
from typing import Any

from probes.bench.fill import fill
from probes.bench.operations import Source, run_block

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def tie_to(parent: int) -> None:
    """Dies with that process (prctl(2)); if it is gone already we have another parent."""
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
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD):
        signal.signal(number, signal.SIG_IGN)
    tie_to(int(sys.argv[1]))
    be_expendable()
    gc.disable()
    gc.freeze()
    own = os.getpid()
    with socket.socket(fileno=0) as control:
        while True:
            data, fds, _, _ = socket.recv_fds(control, 1, 1)
            if not data:
                return
            if os.fork() == 0:
                tie_to(own)
                # A session of its own, as fio gives its jobs: with kernel.sched_autogroup_enabled the scheduler shares
                # the CPUs among sessions first, and all workers in one would get the share of one.
                os.setsid()
                os.dup2(fds[0], 0)
                os.dup2(fds[0], 1)
                os.close(fds[0])
                work()
                os._exit(0)
            os.close(fds[0])


def work() -> None:
    """A worker's life, until its socket closes."""
    incoming = commands()
    source = Source()

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
