"""The engine against fio with psync, on the same file, in turns: both run all the time, and one of them is stopped.

    python -m tests.measured.running.fio_turns [--seconds 60] [--turn 50] [--dir DIR] [--depths 1,4] [--self]
        [--keep FILE]

A disk that gives 16 % more or less from one second to the next hides 3 %; from one tenth of a second to the next it
gives much the same. Groups are ABBA or BAAB, drawn, both sides bound to the same CPUs in a group (which are drawn: the
one that serves the disk's interrupt is 20 % faster here than the other). A turn lasts from SIGCONT until all of its
processes have stopped, and its reads are counted by the kernel (`syscr` of /proc/PID/io), the same way for both. The
interval is the product's own, over the groups. p99 is each side's own account: the operations that a stop falls into
are some in a thousand.
`--self`: fio against fio. `--keep` adds the groups to a file and judges all that it holds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import random
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from probes.engine.disk.storage import StorageBench
from probes.engine.workloads import load_of
from probes.reading.host import Host
from probes.system.disk.topology import find_placement
from probes.types import is_present
from scenarios.experiment.statistics.stats import interval_over_groups
from tests.measured.running.fio import fio_argv, reading

SETTLE_S = 1.0  # before the first turn: both have started
SPARE_S = 2.0  # both run on for so long after the last turn


def reads(pids: Sequence[int]) -> int:
    return sum(int(Path(f"/proc/{pid}/io").read_text().split("syscr: ")[1].split()[0]) for pid in pids)


def stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def halt(pids: Sequence[int]) -> None:
    """Returns when none of them runs any more: what was in flight has ended, and been counted."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    while not all(stopped(pid) for pid in pids):
        pass


def turn(pids: Sequence[int], seconds: float) -> float:
    """Reads a second."""
    before = reads(pids)
    began = time.perf_counter()
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    time.sleep(seconds)
    halt(pids)
    return (reads(pids) - before) / (time.perf_counter() - began)


def groups(ours: Sequence[int], theirs: Sequence[int], seconds: float, turn_s: float) -> list[float]:
    """ln(engine / fio) of each group."""
    rng = random.Random()
    cpus = sorted(os.sched_getaffinity(0))
    halt([*ours, *theirs])
    found = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        rates: dict[bool, list[float]] = {True: [], False: []}
        first, shift = rng.random() < 0.5, rng.randrange(len(cpus))
        for side in (ours, theirs):
            for number, pid in enumerate(side, shift):
                os.sched_setaffinity(pid, {cpus[number % len(cpus)]})
        for who in (first, not first, not first, first):
            rates[who].append(turn(ours if who else theirs, turn_s))
        found.append(math.log(sum(rates[True]) / sum(rates[False])))
    for pid in (*ours, *theirs):
        os.kill(pid, signal.SIGCONT)
    return found


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


async def begun(
    bench: StorageBench, depth: int, seconds: float
) -> tuple[asyncio.subprocess.Process, list[int]]:
    argv = fio_argv(bench.test_file("read"), os.getpid(), depth, seconds)
    child = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE)
    while len(found := children(child.pid)) < depth:
        await asyncio.sleep(0.05)
    return child, found


async def ended(child: asyncio.subprocess.Process) -> float:
    """fio's own 99th percentile, in ns."""
    out, _ = await child.communicate()
    read: dict[str, Any] = json.loads(out[out.index(b"{") :])["jobs"][0]["read"]
    return float(read["clat_ns"]["percentile"]["99.000000"])


async def compared(
    bench: StorageBench, depth: int, seconds: float, turn_s: float, *, alone: bool
) -> tuple[list[float], float]:
    """The groups, and the ratio of the 99th percentiles; `alone` holds fio against itself."""
    whole = SETTLE_S + seconds + SPARE_S
    child, theirs = await begun(bench, depth, whole)
    if alone:
        other, ours = await begun(bench, depth, whole)
        await asyncio.sleep(SETTLE_S)
        found = await asyncio.to_thread(groups, ours, theirs, seconds, turn_s)
        return found, await ended(other) / await ended(child)
    await bench.measure_block(
        load := msgspec.structs.replace(reading(depth), most_bytes=None), 0.2, min_operations=0
    )
    ours = list(bench.crew.pool.all_pids[1 : 1 + depth])
    block = asyncio.create_task(bench.measure_block(load, whole, min_operations=0))
    await asyncio.sleep(SETTLE_S)
    found = await asyncio.to_thread(groups, ours, theirs, seconds, turn_s)
    return found, float((await block).p99_ns or 0) / await ended(child)


def row(what: str, kept: Sequence[tuple[list[float], float]]) -> str:
    every = [ratio for found, _ in kept for ratio in found]
    spread = interval_over_groups(every)
    if spread is None:
        return f"{what}: {len(every)} groups"
    ratio, low, high = (math.exp(value) for value in spread)
    p99 = ", ".join(f"{ratio:.2f}" for _, ratio in kept)
    return f"{what}: {ratio:.4f} [{low:.4f}, {high:.4f}], {len(every)} groups; p99 {p99}"


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="of turns, each depth")
    parser.add_argument("--turn", type=float, default=50.0, help="ms")
    parser.add_argument("--dir", default="/var/tmp")
    parser.add_argument("--depths", default="1,4")
    parser.add_argument("--size", type=int, default=256 << 20, help="bytes of the file")
    parser.add_argument("--self", action="store_true", help="fio against fio")
    parser.add_argument("--keep", type=Path, help="file that the groups are added to")
    asked = parser.parse_args()
    place = find_placement(Host(), asked.dir)
    leaves = place.leaves if is_present(place) else ()
    bench = StorageBench(Host(), asked.dir, None, asked.size, 1, leaves, places=1)
    try:
        await bench.prepare_files(workloads=[load_of("randread-4k-qd1").id])
        for depth in (int(word) for word in asked.depths.split(",")):
            what = f"{'fio' if asked.self else 'engine'}/fio at queue depth {depth}, turns of {asked.turn:g} ms, bound"
            got = await compared(bench, depth, asked.seconds, asked.turn / 1000, alone=asked.self)
            kept = [got]
            if asked.keep:
                with asked.keep.open("a") as lines:
                    lines.write(json.dumps([what, *got]) + "\n")
                every = (json.loads(line) for line in asked.keep.read_text().splitlines())
                kept = [(found, p99) for name, found, p99 in every if name == what]
            print(row(what, kept), flush=True)
    finally:
        await bench.close()


if __name__ == "__main__":
    if not Path("/proc/self/io").exists():
        sys.exit("this kernel counts no process's reads (CONFIG_TASK_IO_ACCOUNTING)")
    asyncio.run(main())
