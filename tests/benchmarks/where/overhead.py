"""What watching a command costs it, and us: bare, supervised (samples of its waits), and with call chains and locks.

    python -m tests.benchmarks.where.overhead [--groups 6] [--only loops,synced,directory]

The same job in turns (A B C C B A), each time by fork and exec; the job's wall and CPU time of either way against bare,
and the CPU time of the supervisor. As root at realtime priority, so that neighbours take no part; the job below the
supervisor.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import tempfile
import time
from pathlib import Path

from probes.bench.run.supervised import Order, Supervisors
from scenarios.experiment.statistics.stats import student
from tests.benchmarks.where.planted import SOURCE, before_others

JOBS = {
    "loops": "loops 1500000000",
    "synced": "synced {dir}/f 1 1500",
    "directory": "directory {dir} 1 4 3000",
    "faults": "faults 1 1000",
    "mutex": "mutex 1 1500",
}
WAYS = ("bare", "supervised", "call paths")


def children_s(pid: int) -> float:
    """CPU time of what a process has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return sum(map(int, fields[13:15])) / os.sysconf("SC_CLK_TCK")


async def one(way: str, argv: tuple[str, ...], supervisors: Supervisors) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds, and the supervisor's CPU time beside the command."""
    if way == "bare":
        began = time.perf_counter()
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        _, _, used = os.wait4(child.pid, 0)
        child.returncode = 0
        return time.perf_counter() - began, used.ru_utime + used.ru_stime, 0.0
    server = supervisors._server
    before = children_s(server.pid) if server is not None else 0.0
    job = await supervisors.run(Order(argv=argv, cwd="/", env={}, chains=way == "call paths"))
    await asyncio.sleep(0.05)
    server = supervisors._server
    assert server is not None and job.status == 0
    return job.wall_s, job.cpu_s, children_s(server.pid) - before - job.cpu_s


async def measured(name: str, argv: tuple[str, ...], groups: int, empty: Path) -> None:
    async with Supervisors() as supervisors:
        took: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
        own: dict[str, list[float]] = {way: [] for way in WAYS}
        for way in WAYS:
            await one(way, argv, supervisors)
        for _ in range(groups):
            sums = {way: [0.0, 0.0] for way in WAYS}
            for way in (*WAYS, *WAYS[::-1]):
                for file in empty.rglob("*-*"):
                    file.unlink()
                wall, cpu, ours = await one(way, argv, supervisors)
                sums[way] = [sums[way][0] + wall, sums[way][1] + cpu]
                own[way].append(ours / wall)
            for way in WAYS:
                took[way].append((sums[way][0], sums[way][1]))
        for way in WAYS[1:]:
            pairs = list(zip(took[way], took["bare"], strict=True))
            found = [student([w[n] / b[n] - 1 for w, b in pairs], 0.05) for n in (0, 1)]
            slower, more, share = (
                f"{100 * s.estimate:.2f} ({100 * s.low:.2f} to {100 * s.high:.2f})"
                for s in (*found, student(own[way], 0.05))
            )
            load = f"n {groups}, load {os.getloadavg()[0]:.1f}"
            print(
                f"{name:<10}{way:<12}wall +{slower} %, CPU +{more} %; {share} % of a core; {load}", flush=True
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--groups", type=int, default=6)
    parser.add_argument("--only", default=",".join(JOBS))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        program = Path(folder) / "job"
        subprocess.run(["cc", "-O1", "-pthread", "-o", str(program), str(SOURCE)], check=True)
        place = Path(folder) / "dir"
        for n in range(4):
            (place / f"directory{n}").mkdir(parents=True)
        if os.geteuid() == 0:
            before_others(True)
        for name in asked.only.split(","):
            argv = (str(program), *JOBS[name].format(dir=place).split())
            asyncio.run(measured(name, argv, asked.groups, place))


if __name__ == "__main__":
    main()
