"""What watching a command costs it, and us: with samples of its waits, and with call chains and locks besides.

    python -m tests.measured.where.overhead [--seconds 60] [--only loops,pipes] [--ways waits,chains]

One job that counts its work in a file that is mapped, and its supervisor, which rests in every other slice of 30 ms
(ABBA): then it is stopped and its perf events are off. So what a shared host does to the job falls on both sides alike.
The job's work a second of the clock, and a second of its own CPU time, watched against unwatched, with intervals over
groups; the CPU time of the supervisor in the slices in which it watches (schedstat): who has no CPU to spare loses so
much besides; how often it looked. At nice -20 as root.
"""

from __future__ import annotations

import argparse
import math
import mmap
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from probes.children.parent_death import adopt_orphans, tie_to
from probes.engine.command import process_tree, supervisor
from probes.profile.perf_records import count_samples
from scenarios.experiment.statistics.stats import student_interval
from tests.measured.where.planted import SOURCE

JOBS = {
    "loops": "loops 1000000000000",
    "both": "mutex 0 1000000",
    "synced": "synced {dir}/f 1 100000000",
    "syscalls": "syscalls 1000000000000",
    "pipes": "pipes 1000000000000",
    "directory": "directory {dir} 1 4 100000000",
}
SLICE_S, SETTLE_S = 0.03, 0.003
LEAST_GROUPS = 20


def supervise(argv: list[str], chains: bool, done: str, told: int) -> None:
    """In a child: never returns. SIGUSR1: rest until SIGUSR2."""
    tie_to(os.getppid())
    adopt_orphans()
    os.dup2(os.pipe()[0], 0)
    supervisor._send_sample = lambda sample: None
    order = {
        **dict.fromkeys(("cpus", "ionice"), ()), **dict.fromkeys(("nice", "keep"), 0), "argv": argv, "cwd": "/",
        "env": {"DONE": done}, "node": None, "chains": chains, "at_most_s": 3600.0,
    }  # fmt: skip
    one = supervisor.Supervisor(order)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})

    def rest(*_: object) -> None:
        calls, locks = one.wait_sampling._calls, one.wait_sampling._locks
        clock = calls._clock.rings if calls else ()
        windows = [*([calls._switches] if calls else ()), *([locks._windows] if locks else ())]
        for ring in [*clock, *(ring for window in windows for ring in window.rings)]:
            ring.switch(on=False)
        for window in windows:  # they go on with as many samples as were left
            for n, ring in enumerate(window.rings):
                window._left[n] -= count_samples(ring.taken())[0]
        began = time.monotonic()
        signal.sigwait({signal.SIGUSR2})
        rested = time.monotonic() - began
        one.wait_sampling._waits._paid_at += rested
        for part in (calls, locks):
            if part is not None:
                part.due += rested
        for ring in clock:
            ring.switch_event(on=True)
        for window in windows:
            for left, ring in zip(window._left, window.rings, strict=True):
                if left > 0:
                    ring.refresh(0)

    signal.signal(signal.SIGUSR1, rest)
    found = one.run()
    os.write(told, f"{found['looks']}".encode())
    os._exit(0)


def ran_s(*pids: int) -> float:
    """CPU time of processes, of all threads: pthread_getcpuclockid(3)."""
    return sum(time.clock_gettime(~pid << 3 | 2) for pid in pids)


def measured(name: str, argv: list[str], chains: bool, seconds: float) -> str:
    with tempfile.NamedTemporaryFile(dir="/var/tmp") as file:
        file.truncate(8)
        count = memoryview(mmap.mmap(file.fileno(), 8)).cast("Q")
        told, tell = os.pipe()
        pid = os.fork()
        if pid == 0:
            supervise(argv, chains, file.name, tell)
        time.sleep(1.0)
        job = process_tree.list_descendants(pid)
        clock, cpu = list[float](), list[float]()
        own_s = watched_s = 0.0
        began = time.monotonic()
        for group in range(100_000):
            logs = {True: [0.0, 0.0], False: [0.0, 0.0]}
            for on in (True, False, False, True) if group % 2 else (False, True, True, False):
                os.kill(pid, signal.SIGUSR2 if on else signal.SIGUSR1)
                time.sleep(SETTLE_S)
                work, at, own, used = count[0], time.perf_counter(), ran_s(pid), ran_s(*job)
                time.sleep(SLICE_S)
                work, used, passed = count[0] - work, ran_s(*job) - used, time.perf_counter() - at
                logs[on][0] += math.log(max(1, work) / passed) / 2
                logs[on][1] += math.log(max(1, work) / max(1e-4, used)) / 2
                if on:
                    own_s, watched_s = own_s + ran_s(pid) - own, watched_s + passed
            clock.append(logs[False][0] - logs[True][0])
            cpu.append(logs[False][1] - logs[True][1])
            if time.monotonic() - began > seconds and group >= LEAST_GROUPS:
                break
        os.kill(pid, signal.SIGUSR2)
        os.kill(pid, signal.SIGTERM)
        looks = int(os.read(told, 64))
        os.waitpid(pid, 0)
    slower, dearer = (
        f"{100 * s.estimate:+.2f} ({100 * s.low:+.2f} to {100 * s.high:+.2f}) %"
        for s in (student_interval(clock, 0.05), student_interval(cpu, 0.05))
    )
    return (
        f"{name:<10}{'chains' if chains else 'waits':<8}slower by {slower}, CPU time {dearer}; "
        f"{100 * own_s / watched_s:.2f} % of a core; {looks / (watched_s + 1):.0f} looks/s; "
        f"n {len(clock)}, load {os.getloadavg()[0]:.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--only", default=",".join(JOBS))
    parser.add_argument("--ways", default="waits,chains")
    asked = parser.parse_args()
    supervisor.warm_up()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        program = Path(folder) / "job"
        subprocess.run(["cc", "-O1", "-pthread", "-o", str(program), str(SOURCE)], check=True)
        place = Path(folder) / "dir"
        for n in range(4):
            (place / f"directory{n}").mkdir(parents=True)
        if os.geteuid() == 0:
            os.setpriority(os.PRIO_PROCESS, 0, -20)
        for name in asked.only.split(","):
            for way in asked.ways.split(","):
                argv = [str(program), *JOBS[name].format(dir=place).split()]
                print(measured(name, argv, way == "chains", asked.seconds), flush=True)


if __name__ == "__main__":
    main()
