"""The process that the scaling probe's workers are forked from: `server NAME PARENT_PID`, a JSON object a line.

It holds the directories (and, in memory, the mount namespace; NAME is what the undo journal knows that by), starts all
workers of a point at the same moment, and looks meanwhile at what they wait for. It dies with the runner.
"""

import json
import os
import select
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypedDict

from hostdx.probes.children.bounded_wait import reap_briefly
from hostdx.probes.children.parent_death import die_with_parent
from hostdx.probes.engine.measured import BenchRefused
from hostdx.probes.profile.sampling import ProfileSampling
from hostdx.scenarios.contention.measurement.memory_disks import mount_memory_disks
from hostdx.scenarios.contention.measurement.operations import make_shared_and_own_files
from hostdx.scenarios.contention.measurement.worker import START, run_worker

STUCK_S = 60.0
LEAD_NS = 2_000_000  # between the last worker's being ready and the start
RESOURCES = ("cpu", "io", "memory")


class ContentionRequest(TypedDict, total=False):
    """`do`: memory (kinds, workers), directories (fds, workers), point (the others)."""

    do: str
    kinds: list[str]
    fds: list[int]
    load: str
    side: int
    workers: int
    seconds: float
    locks: bool


class ContentionServer:
    def __init__(self) -> None:
        self._sides: list[int] = []

    def answer_request(self, request: ContentionRequest) -> dict[str, object]:
        """Raises BenchRefused and OSError."""
        match request["do"]:
            case "memory":
                self._sides = mount_memory_disks(tuple(request["kinds"]))
            case "directories":
                self._sides = list(request["fds"])
            case _:
                return self._measure_point(request, self._sides[request["side"]])
        for side in self._sides:
            make_shared_and_own_files(side, request["workers"])
        return {}

    def _measure_point(self, request: ContentionRequest, folder: int) -> dict[str, object]:
        load, workers, seconds = request["load"], request["workers"], request["seconds"]
        with _open_pipe() as ready, _open_pipe() as go, _open_pipe() as results:
            own, pids = os.getpid(), []
            sampling = ProfileSampling(locks=request.get("locks", False), stacks=True)
            for number in range(workers):
                pid = os.fork()
                if pid == 0:
                    run_worker(own, load, folder, number, workers, seconds, (ready[1], go[0], results[1]))
                pids.append(pid)
            try:
                measured = self._run_forked_workers(pids, ready[0], go[1], results[0], seconds, sampling)
                return {**measured, **sampling.all_results(), "waits": sampling.waits()}
            finally:
                _kill_and_reap(pids)
                sampling.close()

    def _run_forked_workers(
        self, pids: list[int], ready: int, go: int, results_fd: int, seconds: float, sampling: ProfileSampling
    ) -> dict[str, object]:
        until = time.monotonic() + STUCK_S + seconds
        signs = b""
        while len(signs) < len(pids):
            signs += _read_in_time(ready, until)
        pressure = _pressure_seconds()
        if b"!" not in signs:
            os.write(go, START.pack(time.perf_counter_ns() + LEAD_NS) * len(pids))
            sampling.follow_pids(pids)
            sampling.start()
        output = b""
        while output.count(b"\n") < (len(pids) if b"!" not in signs else signs.count(b"!")):
            due = min(until, sampling.next_due_s)
            if due == until or select.select([results_fd], [], [], max(0.0, due - time.monotonic()))[0]:
                output += _read_in_time(results_fd, until)
            else:
                sampling.take_samples()
        after = _pressure_seconds()
        return {
            "workers": [json.loads(line) for line in output.splitlines()],
            "stalled_s": {name: after[name] - pressure[name] for name in pressure if name in after},
        }


@contextmanager
def _open_pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    try:
        yield ends
    finally:
        for end in ends:
            os.close(end)


def _read_in_time(fd: int, until: float) -> bytes:
    if not select.select([fd], [], [], max(0.0, until - time.monotonic()))[0]:
        raise BenchRefused(f"a worker did not answer for {STUCK_S:.0f} s: the file system hangs")
    return os.read(fd, 1 << 16)


def _kill_and_reap(pids: list[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, 9)
        except ProcessLookupError:
            pass
    reap_briefly(pids)


def _pressure_seconds() -> dict[str, float]:
    """Seconds since boot in which some task waited (PSI); what the kernel does not tell is left out."""
    seconds = {}
    for name in RESOURCES:
        try:
            some = Path(f"/proc/pressure/{name}").read_text("ascii").partition("\n")[0]
            seconds[name] = int(some.rpartition("total=")[2]) / 1e6
        except (OSError, ValueError):
            continue
    return seconds


def main() -> None:
    die_with_parent(int(sys.argv[2]))
    server = ContentionServer()
    for line in sys.stdin.buffer:
        try:
            answer = server.answer_request(json.loads(line))
        except BenchRefused as why:
            answer = {"error": str(why)}
        except OSError as why:
            answer = {"error": f"{why.strerror or why}"}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
