"""Ten storage runs on two directories of one disk, ten with a planted fifth, and one against a loop-mounted file.

    python -m tests.benchmarks.storage_runs [--dir /var/tmp] [--runs 10] [--budget 60]

Asked: a winner in at most two of the first ten, the planted loser in at least nine of the second ten, and the synced
writes on ext4 in a loop-mounted file `slower` than beside it (needs root). Nothing is left behind.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.clock import Monotonic
from probes.host import Host
from probes.types import Json
from scenarios import events as ev
from scenarios.storage import Storage
from tests.benchmarks.null_runs import DIFFERENT, line
from tests.fakes import FakeRun

LOADS = ("randread-4k-qd1", "fsync-4k-qd1")


async def one(scenario: Storage, directories: list[str], seed: int, budget: float) -> FakeRun:
    options: dict[str, Json] = {"budget": budget, "dir": list(directories), "size": 96 << 20}
    run = FakeRun(seed=seed, host=Host(), clock=Monotonic(), options=options, declared=scenario.options)
    await scenario.run(run)
    return run


def words(run: FakeRun) -> list[str]:
    return [v.verdict for v in run.of(ev.Verdict) if not v.control]


def series(stretch: float, directories: list[str], runs: int, budget: float) -> list[list[str]]:
    told = []
    for seed in range(runs):
        run = asyncio.run(one(Storage({"B": stretch}, LOADS), directories, seed, budget))
        print(f"  {seed + 1:2}: {line(run)}", flush=True)
        told.append(words(run))
    return told


@contextmanager
def loop_mounted(parent: str) -> Iterator[str]:
    """ext4 in a file, mounted by a loop device; both are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="hostdx-bench-", dir=parent) as folder:
        image, mounted = Path(folder, "image"), Path(folder, "mounted")
        mounted.mkdir()
        with image.open("wb") as file:
            file.truncate(3 << 30)
        subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True, capture_output=True)
        subprocess.run(["mount", "-o", "loop", str(image), str(mounted)], check=True)
        try:
            yield str(mounted)
        finally:
            subprocess.run(["umount", str(mounted)], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dir", default="/var/tmp")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--budget", type=float, default=60.0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hostdx-bench-", dir=asked.dir) as folder:
        pair = [str(Path(folder, name)) for name in "AB"]
        for path in pair:
            Path(path).mkdir()
        print("two directories of one disk", flush=True)
        alike = series(0.0, pair, asked.runs, asked.budget)
        print("the second with a latency 20 % longer", flush=True)
        planted = series(0.2, pair, asked.runs, asked.budget)
    won = sum(any(w in DIFFERENT for w in told) for told in alike)
    found = sum("slower" in told for told in planted)
    print(f"a winner where there is none: {won} of {asked.runs} (asked: at most 2 of 10)")
    print(f"the planted loser found: {found} of {asked.runs} (asked: at least 9 of 10)")
    if os.geteuid() == 0:
        with (
            tempfile.TemporaryDirectory(prefix="hostdx-bench-", dir=asked.dir) as plain,
            loop_mounted(asked.dir) as loop,
        ):
            run = asyncio.run(one(Storage(only=("fsync-4k-qd1",)), [plain, loop], 1, asked.budget))
        print(f"ext4 in a loop-mounted file against the disk beside it: {line(run)} (asked: slower)")


if __name__ == "__main__":
    main()
