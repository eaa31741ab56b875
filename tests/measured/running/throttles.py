"""How often a throttle is named, and how exactly: one directory, the loads that reach a cap and the control.

`python -m tests.measured.running.throttles --dir DIR [--runs 10] [--blocks 7] [--seconds S]`. Whoever throttles the
directory's device, and puts this process under it, is outside: a control group, a virtual machine's host, nobody.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import time

from probes.engine.disk.storage import StorageBench
from probes.reading.host import Host
from probes.system.disk.topology import find_placement
from probes.types import is_present
from scenarios.storage.throttling.caps import CONTROL, Throttle, find_throttles
from scenarios.storage.throttling.detection import BlockCompletions
from scenarios.storage.throttling.findings import cap_words

LOADS = ("randread-4k-qd16", "cpu", "read-1m-qd8", "write-1m-qd8")
CONTROL_S = 3.0


async def once(directory: str, blocks: int, seconds: float, seed: int) -> dict[str, list[BlockCompletions]]:
    """One run: the courses of each load."""
    place = find_placement(Host(), directory)
    bench = StorageBench(Host(), directory, None, 64 << 20, seed, place.leaves if is_present(place) else ())
    found: dict[str, list[BlockCompletions]] = {}
    try:
        await bench.prepare_files(workloads=LOADS)
        for load in LOADS:
            await bench.start_workers(load)
            ends = time.monotonic() + (min(seconds, CONTROL_S) if load == CONTROL else seconds)
            for _ in range(blocks):
                if time.monotonic() > ends:
                    break
                measured = await bench.measure_block(load, 0.5)
                began_s = time.monotonic() - measured.seconds
                course = BlockCompletions(
                    began_s=began_s, seconds=measured.seconds, completions=measured.completions
                )
                found.setdefault(load, []).append(course)
    finally:
        await bench.close()
    return found


def named(one: Throttle) -> str:
    bursts = "".join(
        f", {cap.burst_operations:.0f} operations beyond it in the first {cap.burst_s:.1f} s"
        for cap in one.caps
        if cap.burst_operations
    )
    return f"{cap_words(one)} ({one.value:.1f}) under {', '.join(one.loads)}{bursts}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir", required=True)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--blocks", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=math.inf, help="of each load, at most")
    asked = parser.parse_args()
    for number in range(asked.runs):
        courses = asyncio.run(once(asked.dir, asked.blocks, asked.seconds, number))
        rates = {
            load: sum(c.operation_count for c in own) / sum(c.seconds for c in own)
            for load, own in courses.items()
        }
        found = find_throttles(courses, (), virtual=True)
        said = "; ".join(named(one) for one in found)
        seen = ", ".join(f"{load} {rate:.0f}/s" for load, rate in rates.items())
        print(f"{number + 1}: {said or 'no cap'}   [{seen}]", flush=True)


if __name__ == "__main__":
    main()
