"""Runs of `hostdx run storage` on two directories of one disk, with a planted difference, on a disk with slow places.

    python -m tests.measured.running.storage_runs [--dir /var/tmp] [--on own|ext4|ext4-no-journal|xfs|btrfs]
        [--runs 10] [--budget 60] [--only alike|planted|uneven] [--planted 0.1] [--beside] [options of `run storage`]

Asked: a winner in at most one of twenty of the first kind, and 90 % of the loads decided; the planted loser in all of
the second, in the right loads only. `--on`: a file system of that kind in an image with direct I/O below `--dir`
(root); `--beside`: while another program reads and writes on the same disk. `uneven`: two directories of a btrfs on two
disks of which one is slow, never to be called, and one of them against an ext4 wholly on a slow disk (root, cgroup
version 1).

All are the program itself: command line, runner, recording, result; the planted ones differ from it only by the
latency, which stretches the disk's loads and not the CPU control. Files are new in each run. Refused runs count as not
found and are named. Nothing is left behind.
"""

import argparse
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.measured.running import images
from tests.measured.running.null_runs import DIFFERENT, RunAnswer, line_of, told_by

MODULE = "tests.measured.running.planted"
SAME = "no material difference"
SLOW_REQUESTS = 2000  # a second
DISK = ("randread-4k-qd1", "randread-4k-qd16", "fsync-4k-qd1", "metadata", "read-1m-qd8", "write-1m-qd8")


class Asked(NamedTuple):
    runs: int
    options: Sequence[str]
    env: Mapping[str, str]


def run_storage(directories: Sequence[str], asked: Asked, planted: float = 0.0) -> RunAnswer:
    """One run of the program; unplanted it is started as a person starts it."""
    words = [word for path in directories for word in ("--dir", path)]
    command = ["run", "storage", "--json", "--yes", *asked.options, *words]
    return told_by(command, {**asked.env, "PLANTED": str(planted)}, MODULE if planted else "hostdx.app.cli")


class StorageTally(NamedTuple):
    different: int = 0  # runs that called any difference of the disk
    slower: int = 0  # runs that called a load of the disk slower
    moved: int = 0  # runs whose control moved
    refused: int = 0
    decided: int = 0  # runs that decided all of their loads
    loads: int = 0
    loads_decided: int = 0
    hits: Mapping[str, int] = {}  # runs that called this load slower


def run_series(planted: float, directories: Sequence[str], asked: Asked) -> StorageTally:
    tally = StorageTally()
    for number in range(asked.runs):
        answer = run_storage(directories, asked, planted)
        if answer.trouble:
            print(f"  {number + 1:2}: {answer.trouble}", flush=True)
            tally = tally._replace(refused=tally.refused + 1)
            continue
        verdicts = [v for v in answer.verdicts if v["groups"]]
        disk = [v["verdict"] for v in verdicts if v["workload"] in DISK]
        tally = tally._replace(
            different=tally.different + any(word in DIFFERENT for word in disk),
            slower=tally.slower + ("slower" in disk),
            moved=tally.moved + any(v["control"] and v["verdict"] in DIFFERENT for v in verdicts),
            decided=tally.decided + all(v["verdict"] in (*DIFFERENT, SAME) for v in answer.verdicts),
            loads=tally.loads + len(answer.verdicts),
            loads_decided=tally.loads_decided
            + sum(v["verdict"] in (*DIFFERENT, SAME) for v in answer.verdicts),
            hits={
                v["workload"]: tally.hits.get(v["workload"], 0) + (v["verdict"] == "slower")
                for v in answer.verdicts
            },
        )
        print(f"  {number + 1:2}: {'; '.join(line_of(v) for v in answer.verdicts)}", flush=True)
    return tally


@contextmanager
def two_directories(parent: str) -> Iterator[list[str]]:
    with tempfile.TemporaryDirectory(prefix="hostdx-bench-", dir=parent) as folder:
        pair = [str(Path(folder, name)) for name in "AB"]
        for path in pair:
            Path(path).mkdir()
        yield pair


@contextmanager
def run_neighbour(directory: str) -> Iterator[None]:
    """Somebody who writes 4 MiB and syncs it, and reads it again, all the time."""
    script = (
        'while :; do dd if=/dev/zero of="$0/n" bs=1M count=4 conv=fsync 2>/dev/null; '
        'dd if="$0/n" of=/dev/null bs=1M iflag=direct 2>/dev/null; done'
    )
    with tempfile.TemporaryDirectory(prefix="hostdx-bench-", dir=directory) as folder:
        process = subprocess.Popen(["sh", "-c", script, folder])
        try:
            yield
        finally:
            process.kill()
            process.wait()


def uneven_runs(parent: str, asked: Asked) -> None:
    """A btrfs of a quick and a slow disk: its places differ; and against a disk that is slow everywhere."""
    with images.uneven_file_systems(parent, SLOW_REQUESTS) as (btrfs, slow), two_directories(btrfs) as pair:
        alike = run_series(0.0, pair, asked)
        print("against a file system wholly on the slow disk", flush=True)
        against = run_storage([pair[0], slow], asked)
    print(f"  {against.trouble or '; '.join(line_of(v) for v in against.verdicts)}")
    print(
        f"a winner where only places differ: {alike.different} of {asked.runs - alike.refused} (asked: none)"
    )


def summary_of(tally: StorageTally, runs: int) -> str:
    finished = runs - tally.refused
    return (
        f"a winner where there is none: {tally.different} of {finished} (asked: at most 1 of 20); the control moved in "
        f"{tally.moved}; loads decided: {tally.loads_decided} of {tally.loads} (asked: 90 %); all loads in "
        f"{tally.decided} of {finished}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dir", default="/var/tmp")
    parser.add_argument("--on", choices=("own", *images.MAKE), default="own")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--planted", type=float, default=0.2)
    parser.add_argument("--beside", action="store_true")
    parser.add_argument("--only", choices=("alike", "planted", "uneven"))
    arguments, options = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as state, ExitStack() as stack:
        Path(state, "run").mkdir(0o700)
        env = {**os.environ, "XDG_STATE_HOME": state, "XDG_RUNTIME_DIR": f"{state}/run"}
        asked = Asked(arguments.runs, options, env)
        if arguments.only == "uneven":
            uneven_runs(arguments.dir, asked)
            return
        parent = arguments.dir
        if arguments.on != "own":
            parent = stack.enter_context(images.file_system(arguments.on, arguments.dir))
        if arguments.beside:
            stack.enter_context(run_neighbour(parent))
        pair = stack.enter_context(two_directories(parent))
        if arguments.only in (None, "alike"):
            print(f"two directories of one disk ({arguments.on})", flush=True)
            print(summary_of(run_series(0.0, pair, asked), asked.runs), flush=True)
        if arguments.only in (None, "planted"):
            print(f"the second with a latency {arguments.planted:.0%} longer", flush=True)
            tally = run_series(arguments.planted, pair, asked)
            print(f"the planted loser found: {tally.slower} of {asked.runs} (asked: all)")
            print(f"the control moved in {tally.moved} of them; all loads decided in {tally.decided}")
            print("by load: " + ", ".join(f"{load} {count}" for load, count in tally.hits.items()))


if __name__ == "__main__":
    main()
