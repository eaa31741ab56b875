"""What looking at a command costs it: the supervisor at work against the same one stopped, in short slices in turn.

    python -m tests.measured.running.sampling [--groups 200] [--slice 0.25] [--dir DIR] [--chains]

Two jobs, each one run for all of its slices: a busy loop for each CPU, and synced writes of 4 KiB. They count what
they have done where we read it, without a call of theirs. For a slice without looks the supervisor is stopped
(SIGSTOP); what was due meanwhile it does at once when it goes on, so that the cost is over- and not underestimated.
Groups in ABBA or BAAB order, drawn; the interval is the exact one of the signed ranks of the groups' log ratios.
Wanted: within 0.99 and 1.01. The default takes 200 s a job. Printed every 30 s as well: a run that is cut short is not
lost.

work / s      what matters, all CPUs busy: the supervisor's own CPU time is missing from it as well
work / CPU s  of the job's own CPU time: locks and caches; other work on the host hardly shows in it
"""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import random
import signal
import struct
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from probes.engine.command.process_tree import list_children, list_descendants
from probes.engine.command.supervised import RunOrder, Supervisors, TreeSample
from scenarios.experiment.statistics.stats import interval_over_groups

COUNTER = """
import mmap, os, struct, sys, time
with open(sys.argv[1], "r+b") as file:
    shown = mmap.mmap(file.fileno(), 0)
def show(at, done): struct.pack_into("Q", shown, 8 * at, done)
done = 0
"""
BUSY = f"""{COUNTER}
cpus = sorted(os.sched_getaffinity(0))
at = next((n for n in range(1, len(cpus)) if os.fork() == 0), 0)
while True:
    for _ in range(2000): pass
    done += 1
    show(at, done)
"""
SYNCED = f"""{COUNTER}
fd = os.open(sys.argv[1] + ".data", os.O_RDWR | os.O_CREAT, 0o600)
while True:
    os.pwrite(fd, os.urandom(4096), done % 1024 * 4096)
    os.fdatasync(fd)
    done += 1
    show(0, done)
"""
SLOTS = 512  # CPUs
TELL_S = 30.0


class Now(NamedTuple):
    at_s: float
    done: int
    cpu_s: float


class Job:
    def __init__(self, counters: Path, supervisor: int) -> None:
        self.counters, self.supervisor = counters, supervisor
        self.pids = list_descendants(supervisor)

    def now(self) -> Now:
        cpu_s = sum(spent_s(pid) for pid in self.pids)
        return Now(time.monotonic(), done(self.counters), cpu_s)

    async def slice(self, seen: bool, seconds: float) -> tuple[float, float, float]:
        """Work a second, work a second of its CPU time (0: it had none), seconds."""
        os.kill(self.supervisor, signal.SIGCONT if seen else signal.SIGSTOP)
        before = self.now()
        await asyncio.sleep(seconds)
        after = self.now()
        work, took = after.done - before.done, after.at_s - before.at_s
        cpu_s = after.cpu_s - before.cpu_s
        return work / took, work / cpu_s if cpu_s > 0 else 0.0, took


def spent_s(pid: int) -> float:
    """Of its CPU clock (clock_getcpuclockid(3)), which is up to date while it runs.

    Its schedstat is as old as the last tick or switch: the supervisor's own waking makes it younger where it looks,
    which showed as 1 % more work in a second of CPU time.
    """
    return time.clock_gettime(~pid << 3 | 2)


def done(counters: Path) -> int:
    return sum(struct.unpack(f"{SLOTS}Q", counters.read_bytes()))


def ratio(logs: Sequence[float]) -> str:
    spread = interval_over_groups(logs, 0.05)
    assert spread is not None
    low, middle, high = (math.exp(x) for x in (spread.low, spread.estimate, spread.high))
    return f"{middle:.4f} [{low:.4f}, {high:.4f}]"


async def compare(name: str, script: str, counters: Path, groups: int, seconds: float, chains: bool) -> None:
    counters.write_bytes(bytes(8 * SLOTS))
    heard: list[TreeSample] = []
    argv = (sys.executable, "-S", "-c", script, str(counters))
    supervisors = Supervisors()
    running = asyncio.ensure_future(
        supervisors.run(
            RunOrder(argv=argv, cwd="/", env=dict(os.environ), at_most_s=1e5, chains=chains), heard.append
        )
    )
    while not done(counters):
        assert not running.done(), running.result()
        await asyncio.sleep(0.1)
    (supervisor,) = (pid for server in list_children(os.getpid()) for pid in list_children(server))
    await asyncio.sleep(4.0)  # the first three samples come together
    job, rng, seen_s, before_s = Job(counters, supervisor), random.Random(1), 0.0, spent_s(supervisor)
    by_time: list[float] = []
    by_cpu: list[float] = []
    starved = 0  # groups with a slice that had no CPU at all
    told = time.monotonic()

    def tell() -> None:
        own = (spent_s(supervisor) - before_s) / seen_s
        print(
            f"{name:<16}{ratio(by_time):<26}{ratio(by_cpu):<26}{len(by_time):>6} groups ({starved} starved)  "
            f"{len(heard):>4} samples"
            f"  supervisor {own:.2%} of a CPU",
            flush=True,
        )

    try:
        while len(by_time) < groups:
            rates: dict[bool, list[tuple[float, float, float]]] = {True: [], False: []}
            for seen in rng.choice(((True, False, False, True), (False, True, True, False))):
                rates[seen].append(await job.slice(seen, seconds))
            if not all(rate[1] > 0 for both in rates.values() for rate in both):
                starved += 1
                continue
            by_time.append(math.log(sum(r[0] for r in rates[True]) / sum(r[0] for r in rates[False])))
            by_cpu.append(math.log(sum(r[1] for r in rates[True]) / sum(r[1] for r in rates[False])))
            seen_s += sum(r[2] for r in rates[True])
            if time.monotonic() > told + TELL_S:
                told = time.monotonic()
                tell()
        tell()
    finally:
        os.kill(supervisor, signal.SIGCONT)
        running.cancel()
        await asyncio.wait({running})
        await supervisors.close()
    assert len(heard) > groups * seconds, "nothing was sampled"


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--groups", type=int, default=200)
    parser.add_argument("--slice", type=float, default=0.25)
    parser.add_argument("--dir", default="/var/tmp")
    parser.add_argument("--chains", action="store_true", help="with call chains")
    asked = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} CPUs; with looks over without, more is better")
    print(f"{'':<16}{'work / s':<26}{'work / CPU s':<26}")
    with tempfile.TemporaryDirectory(dir=asked.dir) as folder:
        for name, script in (("all CPUs busy", BUSY), ("synced writes", SYNCED)):
            await compare(name, script, Path(folder) / "done", asked.groups, asked.slice, asked.chains)


if __name__ == "__main__":
    asyncio.run(main())
