"""The observer's effect: what the engine measures with the app open on the live screen against headless, interleaved.

    python -m tests.measured.running.observer [--groups 20] [--seconds 1] [--dir DIR]

The app runs in a pseudo-terminal of 120x40 and follows a recording that grows in real time, as in a run. For a headless
block it is stopped (SIGSTOP), for an open one it goes on (SIGCONT); what writes the recording runs in both, and so does
what reads the pseudo-terminal.
Groups in ABBA or BAAB order, drawn; the interval is Student's over the groups'
log ratios. Wanted: within 0.95 and 1.05 for synced writes and for all CPUs busy; random reads are printed only.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import msgspec

from probes.engine.disk.storage import StorageBench
from probes.engine.workloads import load_of
from probes.reading.host import Host
from probes.system.disk.topology import find_placement
from probes.types import is_present
from scenarios.experiment.statistics.stats import student_interval
from tests.fakes.terminals.terminal import Terminal
from tests.measured.terminal import HOSTDX, SETTLE_S


class Viewer:
    """The app on a live screen, and the thread that reads what it draws."""

    def __init__(self, state: str) -> None:
        self._path = Path(state) / "grow.jsonl"
        self._env = {"XDG_STATE_HOME": state, "XDG_RUNTIME_DIR": f"{state}/run"}
        self._writer: subprocess.Popen[bytes] | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.terminal: Terminal | None = None

    def open(self) -> None:
        self._writer = subprocess.Popen(
            [sys.executable, "-m", "tests.measured.terminal", "--again", "--grow", str(self._path)]
        )
        while not self._path.exists() or self._path.stat().st_size < 5000:
            time.sleep(0.05)
        self.terminal = Terminal([*HOSTDX, "attach", str(self._path)], (120, 40), self._env)
        self.terminal.wait("live")
        self.terminal.pump(SETTLE_S)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self.terminal is not None
        while (
            not self._stop.is_set()
        ):  # without a screen behind it: a terminal elsewhere draws, not this machine
            try:
                self.terminal.bytes += len(os.read(self.terminal.fd, 65536))
            except OSError:
                return

    def show(self, shown: bool) -> None:
        assert self.terminal is not None
        os.kill(self.terminal.pid, signal.SIGCONT if shown else signal.SIGSTOP)

    def close(self) -> None:
        self._stop.set()
        if self.terminal is not None:
            os.kill(self.terminal.pid, signal.SIGCONT)
            self.terminal.close()
        if self._writer is not None:
            self._writer.kill()
            self._writer.wait()


async def compare(
    bench: StorageBench, viewer: Viewer, workload: str, groups: int, seconds: float, workers: int
) -> str:
    load = load_of(workload)
    if workers > 1:
        load = msgspec.structs.replace(load, workers=workers, id=f"{workload}-x{workers}")
    rng = random.Random(1)
    logs = []
    await bench.measure_block(load, seconds, min_operations=0)  # warm-up
    for _ in range(groups):
        values: dict[bool, list[float]] = {True: [], False: []}
        for shown in rng.choice(((True, False, False, True), (False, True, True, False))):
            viewer.show(shown)
            await asyncio.sleep(0.05)
            measured = await bench.measure_block(load, seconds, min_operations=0)
            values[shown].append(next(iter(measured.values.values())))
        logs.append(math.log(sum(values[True]) / sum(values[False])))
    spread = student_interval(logs, 0.05)
    low, high = math.exp(spread.low), math.exp(spread.high)
    return f"{math.exp(spread.estimate):6.3f}  [{low:.3f}, {high:.3f}]"


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--groups", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--dir", default="/var/tmp")
    chosen = parser.parse_args()
    host = Host()
    placed = find_placement(host, chosen.dir)
    bench = StorageBench(host, chosen.dir, None, 256 << 20, 1, placed.leaves if is_present(placed) else ())
    with tempfile.TemporaryDirectory() as state:
        viewer = Viewer(state)
        try:
            await bench.prepare_files(workloads=["randread-4k-qd1", "fsync-4k-qd1"])
            viewer.open()
            print(
                f"{chosen.groups} groups of four blocks of {chosen.seconds:g} s; app open / headless, 95 % interval"
            )
            for name, workload, workers in (
                ("synced writes, 4 KiB", "fsync-4k-qd1", 1),
                ("all CPUs busy", "cpu", os.cpu_count() or 1),
                ("random reads, 4 KiB (printed only)", "randread-4k-qd1", 1),
            ):
                result = await compare(bench, viewer, workload, chosen.groups, chosen.seconds, workers)
                print(f"  {name:<36} {result}", flush=True)
        finally:
            viewer.close()
            await bench.close()


if __name__ == "__main__":
    asyncio.run(main())
