"""The plan of scenario `dstate`: how long it watches, what it reads meanwhile, and what stays unknown."""

from __future__ import annotations

from collections.abc import Callable

from scenarios.model import Options, Usage
from scenarios.plan import Plan, PlannedStep

DEFAULT_S = 60.0
WATCH = "watch the tasks' states"
READS = (
    "/proc/PID/task/TID/{stat,status,wchan,stack}",
    "/proc/{loadavg,diskstats,pressure,self/mountinfo}",
    "/sys/block/*/{inflight,queue/scheduler,dm/suspended,md/suspend_*}",
    "/sys/kernel/debug/block/*/hctx*/sched_tags",
    "io.max and blkio.throttle.* of a stuck task's control groups",
    "the kernel's log",
)


def make(options: Options, planned: Callable[..., Plan], *, root: bool) -> Plan:
    """Raises Usage for a time below zero."""
    seconds = options.number("seconds", DEFAULT_S)
    if seconds < 0:
        raise Usage("--seconds must not be negative")
    until = "" if seconds else ", until it is stopped"
    return planned(
        options={"seconds": seconds},
        steps=(PlannedStep("watch", WATCH, seconds),),
        reads=READS,
        seconds=seconds,
        sentences=(
            f"reads every task's state once a second{until}; starts no load",
            *(() if root else ("without root the stacks and open files of other users' tasks stay unknown",)),
        ),
    )
