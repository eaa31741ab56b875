"""create/stat/delete of hostdx against an independent loop of the same calls, in turns, on file systems of its own.

    python -m tests.measured.running.real_files [--groups 24] [--seconds 0.25] [--file-systems ext4,xfs]

Each file system lies on a loop device of this program's own, in a temporary directory. Groups are ABBA or BAAB, drawn.
The loop is written here and shares no code with the engine: paths instead of descriptors, in a process of its own. The
interval is the product's own, over the groups. Needs root.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from probes.engine.disk.storage import StorageBench
from probes.engine.workloads import NAMES_AT_ONCE
from probes.files.private_directory import PrivateDirectory, open_parent
from probes.reading.host import Host
from scenarios.experiment.statistics.stats import interval_over_groups

FILE_SYSTEMS = {
    "ext4": ["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
    "ext4 without a journal": ["mkfs.ext4", "-q", "-O", "^has_journal", "-E", "lazy_itable_init=0"],
    "xfs": ["mkfs.xfs", "-q"],
    "btrfs": ["mkfs.btrfs", "-q"],
}
PLACES = 16
LOWEST, HIGHEST = 0.85, 1.15  # within which the interval of the ratio must lie


@contextmanager
def mounted(make: list[str]) -> Iterator[Path]:
    """A new file system on a loop device; nothing of it is left."""
    with tempfile.TemporaryDirectory(prefix="hostdx-real-files-") as folder:
        image, place = Path(folder, "disk.img"), Path(folder, "disk")
        subprocess.run(["truncate", "-s", "2G", str(image)], check=True)
        place.mkdir()
        subprocess.run([*make, str(image)], check=True, capture_output=True)
        subprocess.run(["mount", "-o", "loop", str(image), str(place)], check=True)
        try:
            yield place
        finally:
            subprocess.run(["umount", str(place)], check=True)


def run_loop(place: str, orders: Connection) -> None:
    """Create, stat and delete files for each number of seconds that comes, and send back the operations a second."""
    folders = [Path(place, str(number)) for number in range(PLACES)]
    for folder in folders:
        folder.mkdir()
    cycle = 0
    while (seconds := orders.recv()) is not None:
        folder = folders[random.randrange(PLACES)]  # one directory a turn, as a job fills one
        done = 0
        began = time.perf_counter()
        while (now := time.perf_counter()) - began < seconds:
            cycle += 1
            paths = [f"{folder}/file-{cycle}-{number}" for number in range(NAMES_AT_ONCE)]
            for path in paths:
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            for path in paths:
                os.stat(path)  # noqa: PTH116
            for path in paths:
                os.unlink(path)  # noqa: PTH108
            done += 3 * NAMES_AT_ONCE
        orders.send(done / (now - began))


async def ratios(directory: Path, groups: int, seconds: float) -> tuple[list[float], float, float]:
    """ln(hostdx / loop) of each group, and both mean rates."""
    own, other = directory / "hostdx", directory / "loop"
    for folder in (own, other):
        folder.mkdir(mode=0o700)
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("spawn").Process(
        target=run_loop, args=(str(other), there), daemon=True
    )
    child.start()
    parent = open_parent(str(own))
    private = PrivateDirectory.open_at(parent, str(own))
    os.close(parent)
    bench = StorageBench(Host(), str(own), private, 64 << 20, 1, (), places=PLACES)
    rng, found = random.Random(), []
    rates: dict[bool, list[float]] = {True: [], False: []}

    async def measure(ours: bool) -> float:
        if ours:
            measured = await bench.measure_block("metadata", seconds)
            return measured.values["ops/s"]
        here.send(seconds)
        return float(await asyncio.to_thread(here.recv))

    try:
        await bench.prepare_files(workloads=["metadata"])
        await measure(True), await measure(False)
        for _ in range(groups):
            first = rng.random() < 0.5
            group: dict[bool, list[float]] = {True: [], False: []}
            for ours in (first, not first, not first, first):
                group[ours].append(await measure(ours))
            found.append(math.log(sum(group[True]) / sum(group[False])))
            for side, values in group.items():
                rates[side] += values
    finally:
        here.send(None)
        await bench.close()
        private.close()
        child.join(5)
    return found, *(sum(values) / len(values) for values in rates.values())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--groups", type=int, default=24)
    parser.add_argument("--seconds", type=float, default=0.25)
    parser.add_argument("--file-systems", default=",".join(FILE_SYSTEMS))
    asked = parser.parse_args()
    within = True
    for name in asked.file_systems.split(","):
        with mounted(FILE_SYSTEMS[name]) as place:
            groups, ours, theirs = asyncio.run(ratios(place, asked.groups, asked.seconds))
        spread = interval_over_groups(groups)
        assert spread is not None
        estimate, low, high = (math.exp(value) for value in spread)
        within = within and low >= LOWEST and high <= HIGHEST
        load = os.getloadavg()[0]
        print(
            f"{name}: hostdx {ours:,.0f}, loop {theirs:,.0f} operations a second, ratio {estimate:.3f} "
            f"[{low:.3f}, {high:.3f}], {len(groups)} groups, load {load:.1f}",
            flush=True,
        )
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
