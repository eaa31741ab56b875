"""Ten runs of `hostdx run storage` on two directories of one disk, ten with a planted fifth, one against a loop device.

    python -m tests.benchmarks.storage_runs [--dir /var/tmp] [--runs 10] [--budget 60] [--only alike|planted|loop]
        [--most-bytes 8G] [--size 512M]

Asked: a winner in at most one of twenty of the first kind, the planted loser in all of the second, and the synced
writes on ext4 in a loop-mounted file `slower` than beside it (needs root). All are the program itself: command line,
runner, recording, result; the planted ones differ from it only by the latency, which stretches the disk's loads and
not the CPU control. Refused runs count as not found and are named. Nothing is left behind.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.null_runs import DIFFERENT, Told, line, told_by

MODULE = "tests.benchmarks.planted"
SAME = "no material difference"
DISK = ("randread-4k-qd1", "randread-4k-qd16", "fsync-4k-qd1", "metadata", "read-1m-qd8", "write-1m-qd8")


class Asked(NamedTuple):
    runs: int
    budget: float
    most_bytes: str
    size: str
    env: Mapping[str, str]


def one(directories: Sequence[str], asked: Asked, planted: float = 0.0) -> Told:
    """One run of the program; unplanted it is started as a person starts it."""
    named = [word for path in directories for word in ("--dir", path)]
    command = ["run", "storage", "--json", "--yes", f"--budget={asked.budget:g}", f"--size={asked.size}"]
    command += [f"--most-bytes={asked.most_bytes}", *named]
    return told_by(command, {**asked.env, "PLANTED": str(planted)}, MODULE if planted else "app.cli")


class Tally(NamedTuple):
    different: int = 0  # runs that called any difference of the disk
    slower: int = 0  # runs that called a load of the disk slower
    moved: int = 0  # runs whose control moved
    refused: int = 0
    decided: int = 0  # runs that decided all of their loads
    found: Mapping[str, int] = {}  # runs that called this load slower


def series(planted: float, directories: Sequence[str], asked: Asked) -> Tally:
    tally = Tally()
    for number in range(asked.runs):
        told = one(directories, asked, planted)
        if told.trouble:
            print(f"  {number + 1:2}: {told.trouble}", flush=True)
            tally = tally._replace(refused=tally.refused + 1)
            continue
        started = [v for v in told.verdicts if v["groups"]]
        disk = [v["verdict"] for v in started if v["workload"] in DISK]
        tally = tally._replace(
            different=tally.different + any(word in DIFFERENT for word in disk),
            slower=tally.slower + ("slower" in disk),
            moved=tally.moved + any(v["control"] and v["verdict"] in DIFFERENT for v in started),
            decided=tally.decided + all(v["verdict"] in (*DIFFERENT, SAME) for v in told.verdicts),
            found={
                v["workload"]: tally.found.get(v["workload"], 0) + (v["verdict"] == "slower")
                for v in told.verdicts
            },
        )
        print(f"  {number + 1:2}: {'; '.join(line(v) for v in told.verdicts)}", flush=True)
    return tally


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


@contextmanager
def two_directories(parent: str) -> Iterator[list[str]]:
    with tempfile.TemporaryDirectory(prefix="hostdx-bench-", dir=parent) as folder:
        pair = [str(Path(folder, name)) for name in "AB"]
        for path in pair:
            Path(path).mkdir()
        yield pair


def against_loop(parent: str, asked: Asked) -> str:
    if os.geteuid() != 0:
        return "not run: a loop device needs root"
    with two_directories(parent) as (plain, _), loop_mounted(parent) as loop:
        told = one([plain, loop], asked)
    synced = [v for v in told.verdicts if v["workload"] == "fsync-4k-qd1"]
    return told.trouble or "; ".join(line(v) for v in synced)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dir", default="/var/tmp")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--planted", type=float, default=0.2)
    parser.add_argument("--most-bytes", default="8G")
    parser.add_argument("--size", default="512M")
    parser.add_argument("--only", choices=("alike", "planted", "loop"))
    given = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory() as state:
        Path(state, "run").mkdir(0o700)
        env = {**os.environ, "XDG_STATE_HOME": state, "XDG_RUNTIME_DIR": f"{state}/run"}
        asked = Asked(given.runs, given.budget, given.most_bytes, given.size, env)
        if given.only in (None, "alike"):
            print("two directories of one disk", flush=True)
            with two_directories(given.dir) as pair:
                tally = series(0.0, pair, asked)
            told = asked.runs - tally.refused
            lines.append(
                f"a winner where there is none: {tally.different} of {told} (asked: at most 1 of 20); "
                f"all loads decided: {tally.decided} of {told}"
            )
        if given.only in (None, "planted"):
            print(f"the second with a latency {given.planted:.0%} longer", flush=True)
            with two_directories(given.dir) as pair:
                tally = series(given.planted, pair, asked)
            lines.append(f"the planted loser found: {tally.slower} of {asked.runs} (asked: all)")
            lines.append(f"the control moved in {tally.moved} of them; all loads decided in {tally.decided}")
            lines.append("by load: " + ", ".join(f"{load} {count}" for load, count in tally.found.items()))
        if given.only in (None, "loop"):
            told_words = against_loop(given.dir, asked)
            lines.append(
                f"ext4 in a loop-mounted file against the disk beside it: {told_words} (asked: slower)"
            )
    print("\n".join(lines))


if __name__ == "__main__":
    main()
