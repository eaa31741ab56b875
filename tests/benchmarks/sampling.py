"""What looking at a command costs it: the supervisor at work against the same one stopped, interleaved.

    python -m tests.benchmarks.sampling [--groups 20] [--seconds 1] [--dir DIR]

Two jobs, each one run for all of its slices: a busy loop for each CPU, and synced writes of 4 KiB. They count what they
have done where we read it, without a call of theirs. For a slice without, the supervisor is stopped (SIGSTOP). Groups
in ABBA or BAAB order; the interval is Student's over the groups' log ratios. Wanted: within 0.99 and 1.01; on a busy
machine the interval is as wide as its noise. Beside it the CPU time of the supervisor, of the time that it was not
stopped.
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
from pathlib import Path

from probes.bench.process_tree import children
from probes.bench.supervised import Order, TreeSample, supervised
from probes.process_stat import own_stat
from scenarios.experiment.stats import student

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


def spent_s(pid: int) -> float:
    stat = own_stat(pid)
    assert stat is not None
    return (stat.user_ticks + stat.system_ticks) / float(os.sysconf("SC_CLK_TCK"))


def done(counters: Path) -> int:
    return sum(struct.unpack(f"{SLOTS}Q", counters.read_bytes()))


async def compare(script: str, counters: Path, groups: int, seconds: float) -> str:
    counters.write_bytes(bytes(8 * SLOTS))
    heard: list[TreeSample] = []
    argv = (sys.executable, "-S", "-c", script, str(counters))
    running = asyncio.ensure_future(
        supervised(Order(argv=argv, cwd="/", env=dict(os.environ), at_most_s=1e5), heard.append)
    )
    while not done(counters):
        assert not running.done(), running.result()
        await asyncio.sleep(0.1)
    (supervisor,) = children(os.getpid())
    await asyncio.sleep(4.0)  # the first three samples come together
    rng, logs, seen_s, before_s = random.Random(1), [], 0.0, spent_s(supervisor)
    try:
        for _ in range(groups):
            rates: dict[bool, list[float]] = {True: [], False: []}
            for seen in rng.choice(((True, False, False, True), (False, True, True, False))):
                os.kill(supervisor, signal.SIGCONT if seen else signal.SIGSTOP)
                began, before = time.monotonic(), done(counters)
                await asyncio.sleep(seconds)
                took = time.monotonic() - began
                rates[seen].append((done(counters) - before) / took)
                seen_s += took * seen
            logs.append(math.log(sum(rates[True]) / sum(rates[False])))
        own = (spent_s(supervisor) - before_s) / seen_s
    finally:
        os.kill(supervisor, signal.SIGCONT)
        running.cancel()
        await asyncio.wait({running})
    assert len(heard) > groups * seconds, "nothing was sampled"
    spread = student(logs, 0.05)
    low, high = math.exp(spread.low), math.exp(spread.high)
    return (
        f"{math.exp(spread.estimate):6.3f}  [{low:.3f}, {high:.3f}]   {groups} groups, {len(heard)} samples; "
        f"the supervisor used {own:.2%} of a CPU"
    )


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--groups", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--dir", default="/var/tmp")
    asked = parser.parse_args()
    print(
        f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} CPUs; work done with looks over without, more is better"
    )
    with tempfile.TemporaryDirectory(dir=asked.dir) as folder:
        for name, script in (("all CPUs busy", BUSY), ("synced writes", SYNCED)):
            said = await compare(script, Path(folder) / "done", asked.groups, asked.seconds)
            print(f"{name:<16}{said}", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
