"""The built-in engine against fio with psync and as many jobs, on the same file, in interleaved pairs.

    python -m tests.benchmarks.fio [--pairs 12] [--seconds 3] [--dir DIR] [--depths 1,4,16,32] [--self]

`--self` measures fio against itself: the floor below which no engine can be told from fio on this machine.
Prints a table; the product's claim is a geometric mean of at least 0.95 with its lower bound at least 0.90, and a
median p99 ratio between 0.75 and 1.33.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import random
import statistics
import sys
from collections.abc import Awaitable, Callable, Sequence

import msgspec
from scipy.stats import t as student  # type: ignore[import-untyped, unused-ignore]

from probes.bench.files import TestFile
from probes.bench.storage import StorageBench
from probes.bench.workloads import load_of
from probes.host import Host
from probes.system.mounts import placement
from probes.types import present

Side = Callable[[], Awaitable[tuple[float, float]]]  # IOPS and p99 in ns


async def fio(file: TestFile, pid: int, depth: int, seconds: float) -> tuple[float, float]:
    """fio opens the engine's own unnamed file through /proc, so that both read the same blocks of the device."""
    child = await asyncio.create_subprocess_exec(
        "fio",
        "--name=floor",
        f"--filename=/proc/{pid}/fd/{file.fd}",
        "--rw=randread",
        "--bs=4k",
        "--ioengine=psync",
        "--direct=1",
        f"--numjobs={depth}",
        f"--size={file.bytes}",
        "--norandommap",
        "--randrepeat=0",
        "--time_based",
        f"--runtime={seconds:g}",
        "--group_reporting",
        "--output-format=json",
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await child.communicate()
    if child.returncode != 0:
        sys.exit(f"fio ended with status {child.returncode}")
    read = json.loads(out[out.index(b"{") :])["jobs"][0]["read"]
    return float(read["iops"]), float(read["clat_ns"]["percentile"]["99.000000"])


async def ours(bench: StorageBench, depth: int, seconds: float) -> tuple[float, float]:
    load = msgspec.structs.replace(load_of("randread-4k-qd1"), workers=depth, id=f"qd{depth}")
    measured = await bench.block(load, seconds, min_operations=0)
    return measured.values["IOPS"], float(measured.p99_ns or 0)


async def pairs(left: Side, right: Side, count: int, rng: random.Random) -> list[tuple[float, float]]:
    """The ratios left/right of IOPS and p99, one a pair; which comes first is drawn."""
    found = []
    for _ in range(count):
        sides = {"left": left, "right": right}
        got = {name: await sides[name]() for name in rng.sample(sorted(sides), 2)}
        found.append((got["left"][0] / got["right"][0], got["left"][1] / got["right"][1]))
        await asyncio.sleep(0.2)
    return found


def row(depth: int, found: Sequence[tuple[float, float]]) -> str:
    logs = [math.log(iops) for iops, _ in found]
    mean = statistics.fmean(logs)
    half = 0.0
    if len(logs) > 1:
        half = float(student.ppf(0.975, len(logs) - 1)) * statistics.stdev(logs) / math.sqrt(len(logs))
    low, high = math.exp(mean - half), math.exp(mean + half)
    p99 = statistics.median(ratio for _, ratio in found)
    singles = " ".join(f"{iops:.2f}" for iops, _ in found)
    return f"{depth:5d}  {math.exp(mean):6.3f}  [{low:.3f}, {high:.3f}]  {p99:8.2f}    {singles}"


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--dir", default="/var/tmp")
    parser.add_argument("--depths", default="1,4,16,32")
    parser.add_argument("--size", type=int, default=1 << 30, help="bytes of the file")
    parser.add_argument("--self", action="store_true", help="fio against fio")
    chosen = parser.parse_args()
    host = Host()
    placed = placement(host, chosen.dir)
    leaves = placed.leaves if present(placed) else ()
    bench = StorageBench(host, chosen.dir, None, chosen.size, 1, leaves)
    rng = random.Random(1)
    try:
        await bench.prepare(workloads=["randread-4k-qd1"])
        file = bench.file("read")
        names = "fio/fio" if chosen.self else "engine/fio"
        print(
            f"{chosen.pairs} pairs of {chosen.seconds:g} s, {file.bytes >> 20} MiB in {chosen.dir}, {names}"
        )
        print("depth   IOPS   95 % interval    p99 ratio   single pairs")
        for depth in (int(word) for word in chosen.depths.split(",")):

            def by_fio(depth: int = depth) -> Awaitable[tuple[float, float]]:
                return fio(file, os.getpid(), depth, chosen.seconds)

            def by_us(depth: int = depth) -> Awaitable[tuple[float, float]]:
                return ours(bench, depth, chosen.seconds)

            left = by_fio if chosen.self else by_us
            print(row(depth, await pairs(left, by_fio, chosen.pairs, rng)), flush=True)
    finally:
        await bench.close()


if __name__ == "__main__":
    asyncio.run(main())
