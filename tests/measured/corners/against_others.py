"""Each corner of `hostdx run box` against the same calls in C, against fio's equivalent and GNU find, in turn.

`python -m tests.measured.corners.against_others DIR [ROUNDS [ONLY]]`; ONLY mdtest: the names alone. ior and mdtest
are in no distribution that the tests run on: `reference.c` makes their calls (it says which), as many as ours made in
the same cycle. fio does them as well, right before or after each block of ours, in turn: its psync engine 2 MiB in
files of their own and 47,008 bytes in turn in one shared file, synced in the time; filecreate, filestat and filedelete
in as many directories; files of 3,901 bytes by psync, opened, moved and closed. Its time ends with the slowest job and
has its own work between the files in it: "calls" are what its latencies alone would give. GNU find goes over our files,
its start included.

Before its time fio asks each file for its type: the kernel knows then that there is none of that name, and creating it
looks up nothing any more. mdtest does not, nor do we. So creating is held against fio in the cycles in which ours asks
its names as well, and against C in the others.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from probes.engine.disk.budget import WriteBudget
from probes.files.private_directory import PrivateDirectory, inode_of
from probes.reading.host import Host
from probes.system.disk.topology import DirectoryPlacement, find_placement
from scenarios.box.measurement.bench import CornerBench
from scenarios.box.measurement.corner import CORNERS, EASY_BYTES, HARD_BYTES, HARD_FILE_BYTES, BoxTest
from scenarios.experiment.statistics.stats import Spread, interval_over_groups

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


def fio(corner: BoxTest, place: Path, direct: bool, count: int, ours: str) -> dict[str, float]:
    """With so many operations of a job: of all jobs over the time of the slowest (with its fsync), and over what its
    calls took alone. Names stay in `place`: a later corner needs them.
    """
    words = ["--name=box", f"--numjobs={WORKERS}", "--output-format=json", "--fallocate=none"]
    if corner.moves_bytes:
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
    if corner.moves_bytes:
        shutil.rmtree(at)
    jobs = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]
    sides = [max((job["write"], job["read"]), key=lambda side: side["total_ios"]) for job in jobs]
    each = corner.record_bytes if corner.moves_bytes else 1
    rate = each * sum(side["total_ios"] for side in sides) / (max(side["runtime"] for side in sides) / 1000)
    of_calls = each * sum(1e9 / side["clat_ns"]["mean"] for side in sides)
    return {"fio": rate} if corner.moves_bytes else {"fio": rate, "calls": of_calls}


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
    records = [done.get(f"ior-{side}-write", 1) for side in names]
    counts = [int(direct), *records, *names.values(), *passes]
    try:
        said = subprocess.run(
            [program, made, str(WORKERS), *map(str, counts)], check=True, capture_output=True, text=True
        ).stdout
    finally:
        shutil.rmtree(made)
    lines = [line.split() for line in said.splitlines()]
    return {corner: (float(rate), float(cpu_s)) for corner, rate, cpu_s in lines}


def asked(bench: CornerBench, corner: BoxTest, names: int) -> None:
    """What fio does with its names before it creates them."""
    for rank in range(bench.workers):
        folder = bench._folder_name(corner.side, rank)
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700, dir_fd=bench.private.fd)
        for number in range(names):
            with contextlib.suppress(FileNotFoundError):
                os.stat(f"{folder}/{bench._cycle}.{rank}.{number}", dir_fd=bench.private.fd)


async def turns(place: Path, rounds: int, only: str) -> dict[str, list[dict[str, float]]]:
    """Of each cycle the rates by program, by corner."""
    found = find_placement(Host(), str(place))
    leaves = found.leaves if isinstance(found, DirectoryPlacement) else ()
    own = Path(tempfile.mkdtemp(dir=place))
    fd = os.open(own, os.O_RDONLY | os.O_DIRECTORY)
    private = PrivateDirectory.open(str(own), inode_of(fd))
    os.close(fd)
    program = own / "reference"
    source = Path(__file__).with_name("reference.c")
    subprocess.run(["cc", "-O2", "-o", program, source, "-lpthread"], check=True)
    bench = CornerBench(Host(), private, leaves, SIDE_BYTES, WORKERS, 1, WriteBudget(1 << 40))
    chosen = [one for one in CORNERS if one.id.startswith(only)]
    rates: dict[str, list[dict[str, float]]] = {one.id: [] for one in chosen}
    beside = Path(tempfile.mkdtemp(dir=place))

    async def by_others(corner: BoxTest, count: int) -> dict[str, float]:
        if corner.what == "find":
            return await asyncio.to_thread(gnu_find, own, bench.file_count)
        [file] = bench._files.files_of_kind("read hard")
        shared = f"/proc/{os.getpid()}/fd/{file.fd}"
        return await asyncio.to_thread(fio, corner, beside, bench.direct, count, shared)

    try:
        await bench.prepare_files(None)
        done: dict[str, int] = {}
        for cycle in range(rounds + PILOTS):
            bench.begin(cycle, last_pilot=cycle == PILOTS)
            values: dict[str, dict[str, float]] = {}
            for corner in chosen:
                first = cycle > PILOTS and cycle // 2 % 2  # a block has one size from the pilots on
                values[corner.id] = await by_others(corner, count_of(corner, done)) if first else {}
                if corner.what == "create" and cycle % 2:
                    await asyncio.to_thread(asked, bench, corner, bench._names_per_worker(corner))
                measured = await bench.measure_block(corner)
                done[corner.id] = measured.operations // WORKERS
                values[corner.id] |= {
                    "ours": measured.values[corner.metric_name],
                    "our CPU": measured.cpu_s / measured.operations,
                }
                if not first:
                    values[corner.id] |= await by_others(corner, count_of(corner, done))
            for folder in beside.iterdir():
                shutil.rmtree(folder)
            others = await asyncio.to_thread(reference, program, place, bench.direct, done)
            for corner_id, (rate, cpu_s) in others.items():
                values.setdefault(corner_id, {}).update({"C": rate, "its CPU": cpu_s})
            for corner in chosen if cycle >= PILOTS else ():
                unlike = (
                    () if corner.what != "create" else ("C", "its CPU") if cycle % 2 else ("fio", "calls")
                )
                rates[corner.id].append(
                    {who: rate for who, rate in values[corner.id].items() if who not in unlike}
                )
    finally:
        await bench.close()
        private.close()
        shutil.rmtree(own)
        shutil.rmtree(beside)
    return rates


def count_of(corner: BoxTest, done: Mapping[str, int]) -> int:
    """Of a worker: records, or files of the cycle."""
    return (
        done[corner.id if corner.moves_bytes else f"mdtest-{corner.side}-write"]
        if corner.what != "find"
        else 0
    )


def main() -> None:
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 12
    rates = asyncio.run(turns(Path(sys.argv[1]), rounds, sys.argv[3] if len(sys.argv) > 3 else ""))
    print(
        f"{rounds} cycles; ours over the other's: over cycles, with its 95 % interval; that of the best blocks"
    )
    for corner, cycles in rates.items():
        own = [cycle["ours"] for cycle in cycles]
        ours = f"ours {statistics.median(own):.4g}, scatter {_scatter(own):.0f} %"
        cpu = f"CPU of C's {math.exp(_logs(*_pairs(cycles, 'our CPU', 'its CPU')).estimate):.2f}"
        held = [
            _held(other, cycles) for other in ("C", "fio", "calls") if any(other in one for one in cycles)
        ]
        print("; ".join((f"{corner}: {ours}", *held, cpu)))


def _scatter(values: list[float]) -> float:
    return 100 * statistics.stdev(map(math.log, values))


def _pairs(cycles: Sequence[Mapping[str, float]], one: str, other: str) -> tuple[list[float], list[float]]:
    """Of the cycles that have both."""
    both = [cycle for cycle in cycles if one in cycle and other in cycle]
    return [cycle[one] for cycle in both], [cycle[other] for cycle in both]


def _logs(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    found = interval_over_groups([math.log(a / b) for a, b in zip(ours, theirs, strict=True)], 0.05)
    assert found is not None
    return found


def _held(other: str, cycles: Sequence[Mapping[str, float]]) -> str:
    ours, theirs = _pairs(cycles, "ours", other)
    found = _logs(ours, theirs)
    middle, low, high = (math.exp(one) for one in (found.estimate, found.low, found.high))
    return (
        f"{other} {statistics.median(theirs):.4g}: {middle:.2f} ({low:.2f} to {high:.2f}), "
        f"best {max(ours) / max(theirs):.2f}"
    )


if __name__ == "__main__":
    main()
