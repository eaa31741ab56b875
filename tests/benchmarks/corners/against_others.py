"""Each corner of `hostdx run box` against the same calls in C, and against fio's equivalent, in turn.

`python -m tests.benchmarks.corners.against_others DIR [ROUNDS]`. ior and mdtest are in no distribution that the tests
run on: `reference.c` makes their calls (it says which), as many as ours made in the same cycle. fio's psync engine is
the third: 2 MiB in files of their own and 47,008 bytes in turn in one shared file, synced in the time. Its filecreate,
filestat and filedelete open and lay out every file as well: what they measure is more than mdtest's phase, so they are
left out.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from probes.bench.corners.bench import CornerBench
from probes.bench.corners.corner import CORNERS, EASY_BYTES, HARD_BYTES
from probes.bench.disk.budget import WriteBudget
from probes.host import Host
from probes.private_directory import PrivateDirectory, inode_of
from probes.system.disk.topology import Placement, placement

WORKERS = 2
SIDE_BYTES = int(os.environ.get("SIDE_MIB", "256")) << 20
PILOTS = 2
FIO = {
    "ior-easy-write": f"--direct={{direct}} --rw=write --bs={EASY_BYTES} --size={{bytes}} --end_fsync=1",
    "ior-easy-read": f"--direct={{direct}} --rw=read --bs={EASY_BYTES} --size={{bytes}}",
    "ior-hard-write": (
        f"--rw=write:{HARD_BYTES} --bs={HARD_BYTES} --size={{strided}} --end_fsync=1 --filename=shared "
        f"--offset_increment={HARD_BYTES} --io_size={{bytes}}"
    ),
}


def fio(corner: str, place: Path, direct: bool, worker_bytes: int) -> float:
    """B/s of all jobs over the time of the slowest, its microseconds of reading or writing (and fsync)."""
    made = Path(tempfile.mkdtemp(dir=place))
    try:
        sizes = {"direct": int(direct), "bytes": worker_bytes, "strided": WORKERS * worker_bytes}
        done = subprocess.run(
            ["fio", "--name=box", f"--directory={made}", f"--numjobs={WORKERS}", "--output-format=json",
             "--ioengine=psync", "--fallocate=none", "--create_on_open=1" if "write" in corner else "--invalidate=1",
             *FIO[corner].format(**sizes).split()],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        jobs = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]
        sides = [job["write"] if job["write"]["total_ios"] else job["read"] for job in jobs]
        slowest_s = max(side["runtime"] for side in sides) / 1000
        return float(sum(side["io_bytes"] for side in sides) / max(slowest_s, 1e-3))
    finally:
        shutil.rmtree(made)


def reference(
    program: Path, place: Path, direct: bool, done: dict[str, int]
) -> dict[str, tuple[float, float]]:
    """Rate and CPU seconds of an operation, with as many operations of a worker as `done` has by corner."""
    made = Path(tempfile.mkdtemp(dir=place))
    names = {side: done[f"mdtest-{side}-write"] for side in ("easy", "hard")}
    passes = [max(1, done[f"mdtest-{side}-stat"] // names[side]) for side in names]
    counts = [int(direct), done["ior-easy-write"], done["ior-hard-write"], *names.values(), *passes]
    try:
        said = subprocess.run(
            [program, made, str(WORKERS), *map(str, counts)], check=True, capture_output=True, text=True
        ).stdout
    finally:
        shutil.rmtree(made)
    lines = [line.split() for line in said.splitlines()]
    return {corner: (float(rate), float(cpu_s)) for corner, rate, cpu_s in lines}


async def turns(place: Path, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Rates by corner and program."""
    found = placement(Host(), str(place))
    leaves = found.leaves if isinstance(found, Placement) else ()
    own = Path(tempfile.mkdtemp(dir=place))
    fd = os.open(own, os.O_RDONLY | os.O_DIRECTORY)
    private = PrivateDirectory.open(str(own), inode_of(fd))
    os.close(fd)
    program = own / "reference"
    source = Path(__file__).with_name("reference.c")
    subprocess.run(["cc", "-O2", "-o", program, source, "-lpthread"], check=True)
    bench = CornerBench(Host(), private, leaves, SIDE_BYTES, WORKERS, 1, WriteBudget(1 << 40))
    rates: dict[str, dict[str, list[float]]] = {one.id: {} for one in CORNERS}
    try:
        await bench.prepare(None)
        for cycle in range(rounds + PILOTS):
            bench.begin(cycle, last_pilot=cycle == PILOTS)
            done, values = {}, {}
            for corner in CORNERS:
                measured = await bench.block(corner)
                done[corner.id] = measured.operations // WORKERS
                values[corner.id] = {
                    "ours": measured.values[corner.metric],
                    "our CPU": measured.cpu_s / measured.operations,
                }
                if corner.id in FIO:
                    moved = done[corner.id] * corner.record_bytes
                    values[corner.id]["fio"] = await asyncio.to_thread(
                        fio, corner.id, place, bench.direct, moved
                    )
            others = await asyncio.to_thread(reference, program, place, bench.direct, done)
            for corner_id, (rate, cpu_s) in others.items():
                values[corner_id] |= {"C": rate, "its CPU": cpu_s}
            if cycle >= PILOTS:
                for corner_id, found_rates in values.items():
                    for who, rate in found_rates.items():
                        rates[corner_id].setdefault(who, []).append(rate)
    finally:
        await bench.close()
        private.close()
        shutil.rmtree(own)
    return rates


def main() -> None:
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 12
    rates = asyncio.run(turns(Path(sys.argv[1]), rounds))
    print(
        f"{rounds} cycles; ratios: ours over the other's, the median of the cycles and that of the best blocks"
    )
    print(
        f"{'corner':<20} {'ours':>10} {'scatter':>9} {'C':>10} {'ratio':>6} {'best':>6} {'CPU':>6} "
        f"{'fio':>10} {'ratio':>6}"
    )
    for corner, by in rates.items():
        line = f"{corner:<20} {statistics.median(by['ours']):>10.4g} {_scatter(by['ours']):>7.0f} %"
        line += f" {statistics.median(by['C']):>10.4g} {_ratio(by, 'ours', 'C'):>6.2f}"
        line += f" {max(by['ours']) / max(by['C']):>6.2f} {_ratio(by, 'our CPU', 'its CPU'):>6.2f}"
        if "fio" in by:
            line += f" {statistics.median(by['fio']):>10.4g} {_ratio(by, 'ours', 'fio'):>6.2f}"
        print(line)


def _scatter(values: list[float]) -> float:
    return 100 * statistics.stdev(map(math.log, values))


def _ratio(by: dict[str, list[float]], one: str, other: str) -> float:
    """The median of the cycles' logarithms."""
    return math.exp(statistics.median(math.log(a / b) for a, b in zip(by[one], by[other], strict=True)))


if __name__ == "__main__":
    main()
