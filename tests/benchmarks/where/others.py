"""The share of the wall time in the longest wait, by us, by `strace -c -w -f` and by `perf trace -s`, in turns.

    python -m tests.benchmarks.where.others [--runs 5]

Each share is of the wall time that the job itself printed in that run: a tool that slows it slows both. Root, at
realtime priority.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import tempfile
from pathlib import Path
from statistics import fmean

from probes.bench.run.supervised import Order, Supervisors
from scenarios.where.waits import waited
from tests.benchmarks.where.planted import READ_S, SOURCE, before_others, own_mounts
from tests.benchmarks.where.slow_fuse import mounted

JOBS = {  # the call; the others' names of it
    "fsync": ("synced {dir}/f 1 300", "fsync"),
    "read": ("files {fuse} 40", "read"),
    "nanosleep": ("asleep 100000000 0.3", "nanosleep"),
}


async def ours(argv: list[str], call: str) -> float:
    async with Supervisors() as supervisors:
        job = await supervisors.run(Order(argv=tuple(argv), cwd="/", env={}, keep=4096))
    found = sum(seconds for wait in waited(job.waits) for name, seconds in wait.calls.items() if call in name)
    return found / wall_s(job.output)


def wall_s(output: str) -> float:
    return float(re.findall(r"whole ([0-9.]+)", output)[-1])


def strace(argv: list[str], call: str) -> float:
    done = subprocess.run(
        ["strace", "-c", "-w", "-f", "-U", "name,total-time", *argv], capture_output=True, text=True
    )
    rows = re.findall(r"(?m)^\s*(\w+)\s+([0-9.]+)\s*$", done.stderr)
    return sum(float(seconds) for name, seconds in rows if call in name) / wall_s(done.stdout)


def perf(argv: list[str], call: str) -> float:
    done = subprocess.run(["perf", "trace", "-s", "--", *argv], capture_output=True, text=True)
    rows = re.findall(r"(?m)^\s*(\w+)\s+\d+\s+\d+\s+([0-9.]+)", done.stderr)
    if not rows:
        raise OSError("perf trace does not run here")
    return sum(float(ms) for name, ms in rows if call in name) / 1e3 / wall_s(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    own_mounts()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        place = Path(folder)
        program, words = place / "job", {"dir": str(place)}
        subprocess.run(["cc", "-O1", "-pthread", "-o", str(program), str(SOURCE)], check=True)
        with mounted(place / "fuse", READ_S) as fuse:
            words["fuse"] = str(fuse)
            before_others(True)
            for name, (text, call) in JOBS.items():
                argv = [str(program), *text.format(**words).split()]
                shares: dict[str, list[float]] = {"ours": [], "strace": [], "perf trace": []}
                for _ in range(asked.runs):
                    shares["ours"].append(100 * asyncio.run(ours(argv, call)))
                    for tool, run in (("strace", strace), ("perf trace", perf)):
                        try:
                            shares[tool].append(100 * run(argv, call))
                        except OSError:
                            continue
                told = ", ".join(
                    f"{tool} {fmean(found):.1f} ({min(found):.1f} to {max(found):.1f})"
                    if found
                    else f"{tool} does not run"
                    for tool, found in shares.items()
                )
                print(
                    f"{name:<10}{told} % of the wall time; n {asked.runs}, load {os.getloadavg()[0]:.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
