"""The share of the wall time in the longest call, by us, by `strace -c -w -f` and by `perf trace -s`, in turns.

    python -m tests.measured.where.others [--runs 5]

Theirs is the time inside the call, computing included: ours twice, from the samples of waits (blocked in it alone) and
from call chains (blocked, on a CPU and waiting for one within it). Each share is of the wall time that the job itself
printed in that run, and held against the time inside the call by the job's own clock in the same run: what a tool slows
and what the disk does from run to run is on both sides. Root, at realtime priority.
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

from probes.engine.command.supervised import RunOrder, Supervisors
from probes.profile.symbols import Symbols
from scenarios.analysis.profile.call_paths import keep_run_calls, seconds_by_path
from scenarios.analysis.profile.results import SYSTEM_CALL
from scenarios.analysis.profile.waits import summarise_waits
from tests.measured.where.planted import READ_S, SOURCE, before_others, own_mounts
from tests.measured.where.slow_fuse import mounted

JOBS = {  # the call
    "fsync": ("synced {dir}/f 1 1500", "fsync"),
    "read": ("files {fuse} 40", "read"),
    "nanosleep": ("asleep 100000000 0.3", "nanosleep"),
}


async def ours(argv: list[str], call: str, symbols: Symbols) -> tuple[float, float]:
    """Blocked in the call, and inside it."""
    async with Supervisors() as supervisors:
        job = await supervisors.run(RunOrder(argv=tuple(argv), cwd="/", env={}, keep=4096, chains=True))
    blocked = sum(s for wait in summarise_waits(job.waits) for name, s in wait.calls.items() if call in name)
    run = keep_run_calls(job)
    assert run is not None
    inside = sum(
        seconds
        for path, seconds in seconds_by_path(run, symbols).items()
        if any((entry := SYSTEM_CALL.fullmatch(name)) and call in entry[1] for name in path)
    )
    truth, whole_s = told(job.output)
    return 100 * (blocked / whole_s - truth), 100 * (inside / whole_s - truth)


def told(output: str) -> tuple[float, float]:
    """The share inside the call, and the wall time."""
    inside_s, whole_s = map(float, re.findall(r"inside ([0-9.]+) whole ([0-9.]+)", output)[-1])
    return inside_s / whole_s, whole_s


def strace(argv: list[str], call: str) -> float:
    done = subprocess.run(
        ["strace", "-c", "-w", "-f", "-U", "name,total-time", *argv], capture_output=True, text=True
    )
    rows = re.findall(r"(?m)^\s*(\w+)\s+([0-9.]+)\s*$", done.stderr)
    truth, whole_s = told(done.stdout)
    return 100 * (sum(float(seconds) for name, seconds in rows if call in name) / whole_s - truth)


def perf(argv: list[str], call: str) -> float:
    done = subprocess.run(["perf", "trace", "-s", "--", *argv], capture_output=True, text=True)
    rows = re.findall(r"(?m)^\s*(\w+)\s+\d+\s+\d+\s+([0-9.]+)", done.stderr)
    if not rows:
        raise OSError("perf trace does not run here")
    truth, whole_s = told(done.stdout)
    return 100 * (sum(float(ms) for name, ms in rows if call in name) / 1e3 / whole_s - truth)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    own_mounts()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        place = Path(folder)
        symbols = Symbols()
        program, words = place / "job", {"dir": str(place)}
        subprocess.run(["cc", "-O1", "-pthread", "-o", str(program), str(SOURCE)], check=True)
        with mounted(place / "fuse", READ_S) as fuse:
            words["fuse"] = str(fuse)
            before_others(True)
            for name, (text, call) in JOBS.items():
                argv = [str(program), *text.format(**words).split()]
                shares: dict[str, list[float]] = {"blocked": [], "inside": [], "strace": [], "perf trace": []}
                for _ in range(asked.runs):
                    found = asyncio.run(ours(argv, call, symbols))
                    for what, share in zip(("blocked", "inside"), found, strict=True):
                        shares[what].append(share)
                    for tool, run in (("strace", strace), ("perf trace", perf)):
                        try:
                            shares[tool].append(run(argv, call))
                        except OSError:
                            continue
                line = ", ".join(
                    f"{tool} {fmean(some):+.1f} ({min(some):+.1f} to {max(some):+.1f})"
                    if some
                    else f"{tool} does not run"
                    for tool, some in shares.items()
                )
                print(
                    f"{name:<10}{line} points off the job's own clock; n {asked.runs}, load {os.getloadavg()[0]:.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
