"""The built-in engine against fio with psync and as many jobs, on the same file, in interleaved pairs.

    python -m tests.measured.running.fio [--pairs 12] [--seconds 3] [--dir DIR] [--depths 1,4,16,32] [--self]
        [--calm 0.2] [--slice 20] [--blocks] [--loads read-1m-qd8,write-1m-qd8] [--keep FILE]

`--slice` measures the engine in trains of slices of so many ms, every one after a meeting of all workers, as where two
sides are measured in turn; with `--blocks` it is held against the engine in blocks of `--seconds`, not against fio.
`--loads` takes some of the engine's own loads instead of random reads of `--depths`: for `--blocks` only.
`--self` measures fio against itself: the floor below which no engine can be told from fio on this machine.
`--calm` waits for others to use less than this share of the CPUs, and measures a pair again in which they used more
(whatever its result was).
`--keep` adds the pairs to a file and judges all that it holds: many short pairs, between other work.
Prints a table: Hodges and Lehmann's estimate of the pairs' log ratios with the signed-rank interval, as the product
judges its groups, for single pairs are wild. The goal is at least 0.97 with the lower bound at least 0.95, and a median
p99 ratio between 0.75 and 1.33.
"""

import argparse
import asyncio
import json
import math
import os
import random
import resource
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec

from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.engine.disk.storage import StorageBench
from hostdx.probes.engine.disk.trains import StorageBatches
from hostdx.probes.engine.files import TestFile
from hostdx.probes.engine.workloads import EngineLoad, engine_load
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.topology import find_placement
from hostdx.probes.types import is_present
from hostdx.scenarios.experiment.statistics.stats import interval_over_groups

Side = Callable[[], Awaitable[tuple[float, float, float]]]  # IOPS, p99 in ns, own CPU seconds
MAX_WRITTEN_BYTES = 1 << 40  # bytes: what ends this is the number of pairs
ATTEMPTS = 20  # for each pair, before a machine that is never calm is given up


def busy_s() -> float:
    """CPU seconds of all processes since boot: user, nice and system of /proc/stat (interrupts are our own I/O)."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:4]]
    return sum(ticks) / os.sysconf("SC_CLK_TCK")


def fio_argv(file: TestFile, pid: int, depth: int, seconds: float) -> list[str]:
    """fio opens the engine's own unnamed file through /proc, so that both read the same blocks of the device."""
    return [
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
        f"--runtime={1000 * seconds:.0f}ms",
        "--group_reporting",
        "--output-format=json",
    ]


async def run_fio(file: TestFile, pid: int, depth: int, seconds: float) -> tuple[float, float, float]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    argv = fio_argv(file, pid, depth, seconds)
    child = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE)
    out, _ = await child.communicate()
    if child.returncode != 0:
        sys.exit(f"fio ended with status {child.returncode}")
    read = json.loads(out[out.index(b"{") :])["jobs"][0]["read"]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return float(read["iops"]), float(read["clat_ns"]["percentile"]["99.000000"]), cpu_s


def reading_load(depth: int) -> EngineLoad:
    return msgspec.structs.replace(engine_load("randread-4k-qd1"), workers=depth, id=f"qd{depth}")


async def run_engine(bench: StorageBench, load: EngineLoad, seconds: float) -> tuple[float, float, float]:
    load = msgspec.structs.replace(load, most_bytes=None)
    measured = await bench.measure_block(load, seconds, min_operations=0)
    return measured.values[load.metric], float(measured.p99_ns or 0), measured.cpu_s


async def in_slices(
    bench: StorageBench, load: EngineLoad, seconds: float, slice_s: float
) -> tuple[float, float, float]:
    """Trains of at most a second; the length is at least what a slice of this load should hold."""
    trains = StorageBatches({"A": bench}, load)
    first = await trains.measure_batch([0], slice_s)
    least = load.slice_operations * load.workers
    long_s = max(slice_s, least * first.sides[0].seconds / max(1, first.sides[0].operations))
    sides = [
        (await trains.measure_batch([0] * max(1, round(min(1, seconds) / long_s)), long_s)).sides[0]
        for _ in range(max(1, round(seconds)))
    ]
    rates = [side.values[load.metric] for side in sides]
    return (
        statistics.fmean(rates),
        statistics.fmean(side.p99_ns or 0 for side in sides),
        sum(s.cpu_s for s in sides),
    )


async def wait_calm(calm: float) -> None:
    """Waits for a second in which others leave the CPUs alone, at most two minutes."""
    for _ in range(120 if calm < math.inf else 0):
        busy = busy_s()
        await asyncio.sleep(1.0)
        if busy_s() - busy <= calm * (os.cpu_count() or 1):
            return


async def measure_pairs(
    left: Side, right: Side, count: int, rng: random.Random, calm: float
) -> list[tuple[float, float]]:
    """The ratios left/right of IOPS and p99, one a pair; which comes first is drawn."""
    ratios: list[tuple[float, float]] = []
    for _ in range(count * ATTEMPTS):
        sides = {"left": left, "right": right}
        await wait_calm(calm)
        began, busy = time.monotonic(), busy_s()
        pair = {name: await sides[name]() for name in rng.sample(sorted(sides), 2)}
        foreign = busy_s() - busy - pair["left"][2] - pair["right"][2]
        if foreign <= calm * (os.cpu_count() or 1) * (time.monotonic() - began):
            ratios.append((pair["left"][0] / pair["right"][0], pair["left"][1] / pair["right"][1]))
        if len(ratios) == count:
            break
        await asyncio.sleep(0.2)
    return ratios


def format_row(label: str, ratios: Sequence[tuple[float, float]]) -> str:
    spread = interval_over_groups([math.log(iops) for iops, _ in ratios])
    if spread is None:
        return f"{label:>16}  {len(ratios)} calm pairs"
    ratio, low, high = (math.exp(value) for value in spread)
    p99 = statistics.median(ratio for _, ratio in ratios)
    singles = statistics.quantiles([iops for iops, _ in ratios], n=10)
    return (
        f"{label:>16}  {len(ratios):5}  {ratio:6.3f}  [{low:.3f}, {high:.3f}]  {p99:8.2f}    "
        f"{singles[0]:.2f} to {singles[-1]:.2f}"
    )


def keep_pairs(
    file: Path | None, label: str, ratios: Sequence[tuple[float, float]]
) -> list[tuple[float, float]]:
    """These pairs, and those that earlier calls kept of the same comparison."""
    if file is None:
        return list(ratios)
    with file.open("a") as lines:
        lines.writelines(json.dumps([label, pair]) + "\n" for pair in ratios)
    every = [json.loads(line) for line in file.read_text().splitlines()]
    return [(iops, p99) for name, (iops, p99) in every if name == label]


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--dir", default="/var/tmp")
    parser.add_argument("--depths", default="1,4,16,32")
    parser.add_argument("--size", type=int, default=1 << 30, help="bytes of the file")
    parser.add_argument("--self", action="store_true", help="fio against fio")
    parser.add_argument("--slice", type=float, default=0.0, help="ms of a slice; 0: in blocks")
    parser.add_argument(
        "--blocks", action="store_true", help="against the engine in blocks of 1 s, not against fio"
    )
    parser.add_argument("--calm", type=float, default=math.inf, help="share of the CPUs that others may use")
    parser.add_argument("--loads", help="of the engine, instead of random reads")
    parser.add_argument("--keep", type=Path, help="file that the pairs are added to")
    chosen = parser.parse_args()
    if chosen.loads and not (chosen.blocks and chosen.slice):
        parser.error("--loads are measured with --slice against --blocks: fio's side is random reads")
    host = Host()
    place = find_placement(host, chosen.dir)
    leaves = place.leaves if is_present(place) else ()
    bench = StorageBench(
        host, chosen.dir, None, chosen.size, 1, leaves, budget=WriteBudget(MAX_WRITTEN_BYTES), places=1
    )
    rng = random.Random()
    loads = {word: engine_load(word) for word in (chosen.loads or "").split(",") if word}
    loads = loads or {f"depth {word}": reading_load(int(word)) for word in chosen.depths.split(",")}
    try:
        await bench.prepare_files(workloads=list(loads) if chosen.loads else ["randread-4k-qd1"])
        ours_are = f"slices of {chosen.slice:g} ms" if chosen.slice else "engine"
        names = "fio/fio" if chosen.self else f"{ours_are}/{'blocks' if chosen.blocks else 'fio'}"
        print(
            f"{chosen.pairs} pairs of {chosen.seconds:g} s, {bench.size_bytes >> 20} MiB in {chosen.dir}, {names}"
        )
        print("            load  pairs    rate   95 % interval    p99 ratio   four in five of the pairs")
        for load_name, load in loads.items():

            def by_fio(load: EngineLoad = load) -> Awaitable[tuple[float, float, float]]:
                return run_fio(bench.test_file("read"), os.getpid(), load.workers, chosen.seconds)

            def by_us(load: EngineLoad = load) -> Awaitable[tuple[float, float, float]]:
                return run_engine(bench, load, chosen.seconds)

            def by_slices(load: EngineLoad = load) -> Awaitable[tuple[float, float, float]]:
                return in_slices(bench, load, chosen.seconds, chosen.slice / 1000)

            left = by_fio if chosen.self else by_slices if chosen.slice else by_us
            right = by_us if chosen.blocks else by_fio
            ratios = await measure_pairs(left, right, chosen.pairs, rng, chosen.calm)
            print(format_row(load_name, keep_pairs(chosen.keep, f"{names}, {load_name}", ratios)), flush=True)
    finally:
        await bench.close()


if __name__ == "__main__":
    asyncio.run(main())
