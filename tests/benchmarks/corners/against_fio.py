"""Each corner of `hostdx run box` against fio's equivalent, in turn.

`python -m tests.benchmarks.corners.against_fio DIR [ROUNDS]`. ior and mdtest are in no distribution that the tests run
on, so fio stands for them: its psync engine with 2 MiB in files of their own, and 47,008 bytes interleaved in one
shared file, both synced at the end; filecreate, filestat and filedelete for names. Reads of the shared file and find
have no such equivalent.
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
from probes.bench.corners.corner import BY_ID, CORNERS, EASY_BYTES, HARD_BYTES
from probes.bench.disk.budget import WriteBudget
from probes.host import Host
from probes.private_directory import PrivateDirectory, inode_of
from probes.system.disk.mounts import Placement, placement

WORKERS = 2
SIDE_BYTES = 256 << 20
NAMES = 2000  # of fio's jobs, each
JOBS = {
    "ior-easy-write": (
        f"--ioengine=psync --direct=1 --rw=write --bs={EASY_BYTES} --size=64m --end_fsync=1 --create_on_open=1"
    ),
    "ior-easy-read": f"--ioengine=psync --direct=1 --rw=read --bs={EASY_BYTES} --size=64m",
    "ior-hard-write": (
        f"--ioengine=psync --rw=write:{HARD_BYTES} --bs={HARD_BYTES} --size={2 * 700 * HARD_BYTES} --end_fsync=1 "
        f"--filename=shared --offset_increment={HARD_BYTES} --io_size={700 * HARD_BYTES} --create_on_open=1"
    ),
    "mdtest-easy-write": f"--ioengine=filecreate --nrfiles={NAMES} --openfiles=1 --filesize=4k --create_on_open=1",
    "mdtest-easy-stat": f"--ioengine=filestat --nrfiles={NAMES} --openfiles=1 --filesize=4k",
    "mdtest-easy-delete": f"--ioengine=filedelete --nrfiles={NAMES} --openfiles=1 --filesize=4k",
}


def fio(corner: str, place: Path) -> float:
    """B/s or operations a second of all jobs over the time of the slowest."""
    made = Path(tempfile.mkdtemp(dir=place))
    try:
        done = subprocess.run(
            ["fio", "--name=box", f"--directory={made}", f"--numjobs={WORKERS}", "--output-format=json",
             "--fallocate=none", *JOBS[corner].split()],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        jobs = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]
        sides = [job["write"] if job["write"]["total_ios"] else job["read"] for job in jobs]
        slowest_s = max(job["job_runtime"] for job in jobs) / 1000
        total = sum(side["io_bytes"] if BY_ID[corner].moves else side["total_ios"] for side in sides)
        return float(total / max(slowest_s, 1e-3))
    finally:
        shutil.rmtree(made)


async def turns(place: Path, rounds: int) -> dict[str, list[tuple[float, float | None]]]:
    found = placement(Host(), str(place))
    leaves = found.leaves if isinstance(found, Placement) else ()
    own = tempfile.mkdtemp(dir=place)
    fd = os.open(own, os.O_RDONLY | os.O_DIRECTORY)
    private = PrivateDirectory.open(own, inode_of(fd))
    os.close(fd)
    bench = CornerBench(Host(), private, leaves, SIDE_BYTES, WORKERS, 1, WriteBudget(1 << 40))
    rates: dict[str, list[tuple[float, float | None]]] = {}
    try:
        await bench.prepare(None)
        for cycle in range(rounds + 2):
            bench.begin(cycle, last_pilot=cycle == 2)
            for corner in CORNERS:
                ours = (await bench.block(corner)).values[corner.metric]
                theirs = await asyncio.to_thread(fio, corner.id, place) if corner.id in JOBS else None
                if cycle >= 2:
                    rates.setdefault(corner.id, []).append((ours, theirs))
    finally:
        await bench.close()
        private.close()
        shutil.rmtree(own)
    return rates


def main() -> None:
    rates = asyncio.run(turns(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 12))
    print("corner               ours (median)   scatter of blocks   fio's equivalent   ours over fio's")
    for corner, pairs in rates.items():
        ours = [own for own, _ in pairs]
        scatter = statistics.stdev(map(math.log, ours))
        line = f"{corner:<20} {statistics.median(ours):>13.4g}   {100 * scatter:>5.0f} %"
        theirs = [other for _, other in pairs if other is not None]
        if theirs:
            ratio = math.exp(statistics.median(math.log(a / b) for a, b in pairs if b))
            line += f"              {statistics.median(theirs):>13.4g}      {ratio:.2f}"
        print(line)


if __name__ == "__main__":
    main()
