"""One worker of the scaling probe: forked for one point, works from the common start on. Standard library only."""

import gc
import json
import os
import resource
import struct
import time
from pathlib import Path

from hostdx.probes.children.parent_death import die_with_parent, make_first_oom_victim
from hostdx.scenarios.contention.measurement.operations import Operation, make_operation

START = struct.Struct("=q")  # perf_counter_ns


def run_worker(
    parent: int,
    load: str,
    folder: int,
    number: int,
    workers: int,
    seconds: float,
    pipes: tuple[int, int, int],
) -> None:
    """Never returns. pipes: where it says that it is ready, finds the start, and writes one line at the end."""
    ready, go, results_fd = pipes
    try:
        die_with_parent(parent)
        make_first_oom_victim()
        # A session of its own: with kernel.sched_autogroup_enabled the scheduler shares the CPUs among sessions first.
        os.setsid()
        gc.disable()
        try:
            operation = make_operation(load, folder, number, workers)
            operation.run_once()
            os.write(ready, b".")
            (start,) = START.unpack(os.read(go, START.size))
            result: dict[str, float | str] = {**_time_operations(operation, start, seconds)}
        except (OSError, ValueError, struct.error) as why:
            os.write(ready, b"!")
            result = {"error": f"{load}: {getattr(why, 'strerror', None) or why}"}
        os.write(results_fd, json.dumps(result).encode() + b"\n")  # less than PIPE_BUF: in one piece
    finally:
        os._exit(0)


def _time_operations(operation: Operation, start_ns: int, seconds: float) -> dict[str, float]:
    run_once, limit, batch = operation.run_once, operation.limit, operation.batch
    clock, calls = time.perf_counter_ns, 0
    while clock() < start_ns:
        pass
    # The same window for all: who gets no CPU in it has done less, and is not counted beside one that has ended.
    queued_ns = _own_wait_for_cpu_ns()
    before, end = resource.getrusage(resource.RUSAGE_SELF), start_ns + int(seconds * 1e9)
    while (now := clock()) < end:
        for _ in range(batch):
            run_once()
        calls += batch
        if limit is not None:
            limit()
    after = resource.getrusage(resource.RUSAGE_SELF)
    queued_ns = _own_wait_for_cpu_ns() - queued_ns
    if operation.finish is not None:
        operation.finish()
    return {
        "operations": calls * operation.each,
        "seconds": (now - start_ns) / 1e9,
        "queued_s": queued_ns / 1e9,
        "user_s": after.ru_utime - before.ru_utime,
        "system_s": after.ru_stime - before.ru_stime,
        "switches": after.ru_nvcsw - before.ru_nvcsw,
    }


def _own_wait_for_cpu_ns() -> int:
    """Time that this process could have run and had no CPU: the second field (kernel: scheduler/sched-stats.rst)."""
    try:
        return int(Path("/proc/self/schedstat").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):  # a kernel without it: nothing is left out
        return 0
