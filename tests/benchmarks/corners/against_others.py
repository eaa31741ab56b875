"""Each corner of `hostdx run box` against the same calls in C, against fio's equivalent and GNU find, in turn.

`python -m tests.benchmarks.corners.against_others DIR [ROUNDS]`. ior and mdtest are in no distribution that the tests
run on: `reference.c` makes their calls (it says which), as many as ours made in the same cycle. fio does them as well,
right before or after each block of ours, in turn: its psync engine 2 MiB in files of their own and 47,008 bytes in turn
in one shared file, synced in the time; filecreate, filestat and filedelete in as many directories; files of 3,901 bytes
by psync, opened, moved and closed. Its time ends with the slowest job and has its own work between the files in it:
"calls" are what its latencies alone would give. GNU find goes over our files, its start included.
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
import time
from collections.abc import Mapping
from pathlib import Path

from probes.bench.corners.bench import CornerBench
from probes.bench.corners.corner import CORNERS, EASY_BYTES, HARD_BYTES, HARD_FILE_BYTES, Corner
from probes.bench.disk.budget import WriteBudget
from probes.host import Host
from probes.private_directory import PrivateDirectory, inode_of
from probes.system.disk.topology import Placement, placement
from scenarios.experiment.statistics.stats import Spread, over_groups

WORKERS = 2
SIDE_BYTES = int(os.environ.get("SIDE_MIB", "256")) << 20
PILOTS, PASSES = 2, 10
FIO = {
    "ior-easy-write": (
        f"--direct={{direct}} --rw=write --bs={EASY_BYTES} --size={{bytes}} --end_fsync=1 --create_on_open=1"
    ),
    "ior-easy-read": f"--direct={{direct}} --rw=read --bs={EASY_BYTES} --size={{bytes}} --invalidate=1",
    "ior-hard-write": (
        f"--rw=write:{HARD_BYTES} --bs={HARD_BYTES} --size={{strided}} --end_fsync=1 --create_on_open=1 --invalidate=0 "
        f"--filename=shared --offset_increment={HARD_BYTES} --io_size={{bytes}}"
    ),
    "ior-hard-read": (  # of our own shared file: how its records lie on the disk is the same
        f"--rw=read:{HARD_BYTES} --bs={HARD_BYTES} --size={{strided}} --filename={{ours}} --readonly "
        f"--offset_increment={HARD_BYTES} --io_size={{bytes}} --invalidate=1"
    ),
}
ENGINES = {"create": "filecreate", "stat": "filestat", "delete": "filedelete"}


def fio(corner: Corner, place: Path, direct: bool, count: int, ours: str) -> dict[str, float]:
    """With so many operations of a job: of all jobs over the time of the slowest (with its fsync), and over what its
    calls took alone. Names stay in `place`: a later corner needs them.
    """
    words = ["--name=box", f"--numjobs={WORKERS}", "--output-format=json", "--fallocate=none"]
    if corner.moves:
        at = Path(tempfile.mkdtemp(dir=place))
        moved = count * corner.record_bytes
        sizes = {"direct": int(direct), "bytes": moved, "strided": WORKERS * moved, "ours": ours}
        words += [] if corner.id == "ior-hard-read" else [f"--directory={at}"]
        words += ["--ioengine=psync", *FIO[corner.id].format(**sizes).split()]
    else:
        folders = [Path(f"{corner.side}.{rank}") for rank in range(WORKERS if corner.side == "easy" else 1)]
        for folder in folders:
            (place / folder).mkdir(exist_ok=True)
        way = "read" if corner.what == "open" else "write"
        moves = corner.what == "open" or (corner.what == "create" and corner.record_bytes)
        words += [
            f"--directory={':'.join(map(str, folders))}", f"--nrfiles={count}", "--openfiles=1", "--invalidate=0",
            "--file_service_type=sequential", f"--filesize={HARD_FILE_BYTES}", f"--bs={HARD_FILE_BYTES}",
            f"--rw={way}", "--create_on_open=1", f"--ioengine={'psync' if moves else ENGINES[corner.what]}",
        ]  # fmt: skip
        if corner.what == "open":
            dropped(place / folders[0])
    # in `place`: a path of two parts, as little longer than ours as fio has it
    done = subprocess.run(["fio", *words], check=True, capture_output=True, text=True, cwd=place)
    if corner.moves:
        shutil.rmtree(at)
    jobs = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]
    sides = [max((job["write"], job["read"]), key=lambda side: side["total_ios"]) for job in jobs]
    each = corner.record_bytes if corner.moves else 1
    rate = each * sum(side["total_ios"] for side in sides) / (max(side["runtime"] for side in sides) / 1000)
    of_calls = each * sum(1e9 / side["clat_ns"]["mean"] for side in sides)
    return {"fio": rate} if corner.moves else {"fio": rate, "calls": of_calls}


def dropped(folder: Path) -> None:
    os.sync()
    for path in folder.iterdir():
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def gnu_find(private: Path, names: int) -> dict[str, float]:
    """Over all that a cycle of ours has made; the program's own start, 2 ms, is in it."""
    stamp = private / "timestamp"
    os.utime(stamp) if stamp.exists() else stamp.touch()
    os.utime(stamp, (0, 0))
    folders = [path for path in private.iterdir() if path.is_dir()]
    began = time.perf_counter()
    subprocess.run(
        ["find", *folders * PASSES, "-newer", stamp, "-size", f"{HARD_FILE_BYTES}c", "-name", "*01*"],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return {"fio": PASSES * names / (time.perf_counter() - began)}


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
    beside = Path(tempfile.mkdtemp(dir=place))

    async def by_others(corner: Corner, count: int) -> dict[str, float]:
        if corner.what == "find":
            return await asyncio.to_thread(gnu_find, own, bench.names)
        [file] = bench._files.of("read hard")
        shared = f"/proc/{os.getpid()}/fd/{file.fd}"
        return await asyncio.to_thread(fio, corner, beside, bench.direct, count, shared)

    try:
        await bench.prepare(None)
        done: dict[str, int] = {}
        for cycle in range(rounds + PILOTS):
            bench.begin(cycle, last_pilot=cycle == PILOTS)
            values: dict[str, dict[str, float]] = {}
            for corner in CORNERS:
                first = cycle > PILOTS and cycle % 2  # a block has one size from the pilots on
                values[corner.id] = await by_others(corner, count_of(corner, done)) if first else {}
                measured = await bench.block(corner)
                done[corner.id] = measured.operations // WORKERS
                values[corner.id] |= {
                    "ours": measured.values[corner.metric],
                    "our CPU": measured.cpu_s / measured.operations,
                }
                if not first:
                    values[corner.id] |= await by_others(corner, count_of(corner, done))
            for folder in beside.iterdir():
                shutil.rmtree(folder)
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
        shutil.rmtree(beside)
    return rates


def count_of(corner: Corner, done: Mapping[str, int]) -> int:
    """Of a worker: records, or files of the cycle."""
    return done[corner.id if corner.moves else f"mdtest-{corner.side}-write"] if corner.what != "find" else 0


def main() -> None:
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 12
    rates = asyncio.run(turns(Path(sys.argv[1]), rounds))
    print(
        f"{rounds} cycles; ours over the other's: over cycles, with its 95 % interval; that of the best blocks"
    )
    for corner, by in rates.items():
        ours = f"ours {statistics.median(by['ours']):.4g}, scatter {_scatter(by['ours']):.0f} %"
        cpu = f"CPU of C's {math.exp(_logs(by, 'our CPU', 'its CPU').estimate):.2f}"
        held = [_held(other, by) for other in ("C", "fio", "calls") if other in by]
        print("; ".join((f"{corner}: {ours}", *held, cpu)))


def _scatter(values: list[float]) -> float:
    return 100 * statistics.stdev(map(math.log, values))


def _logs(by: dict[str, list[float]], one: str, other: str) -> Spread:
    found = over_groups([math.log(a / b) for a, b in zip(by[one], by[other], strict=True)], 0.05)
    assert found is not None
    return found


def _held(other: str, by: dict[str, list[float]]) -> str:
    found = _logs(by, "ours", other)
    middle, low, high = (math.exp(one) for one in (found.estimate, found.low, found.high))
    best = max(by["ours"]) / max(by[other])
    return (
        f"{other} {statistics.median(by[other]):.4g}: {middle:.2f} ({low:.2f} to {high:.2f}), best {best:.2f}"
    )


if __name__ == "__main__":
    main()
