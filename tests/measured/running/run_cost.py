"""What a run of a command costs besides the command: one server for all runs against one started for each of them.

    python -m tests.measured.running.run_cost [--groups 8] [--runs 30] [COMMAND ...]

Groups in ABBA or BAAB order, drawn; /bin/true by default. `beside`: of a run's seconds those that the command's own
wall time does not hold. Without a server that stays every run starts an interpreter, as a supervisor a run did.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import random
import time
from statistics import median

from probes.engine.command.supervised import RunOrder, Supervisors
from scenarios.experiment.statistics.stats import interval_over_groups


async def each_its_own(order: RunOrder, runs: int) -> list[float]:
    walls = []
    for _ in range(runs):
        async with Supervisors() as own:
            walls.append((await own.run(order)).wall_s)
    return walls


async def one_for_all(order: RunOrder, runs: int) -> list[float]:
    async with Supervisors() as supervisors:
        await supervisors.run(order)
        return [(await supervisors.run(order)).wall_s for _ in range(runs)]


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--groups", type=int, default=8)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("command", nargs="*", default=["/bin/true"])
    asked = parser.parse_args()
    order = RunOrder(argv=tuple(asked.command), cwd="/", env=dict(os.environ))
    rng, logs = random.Random(1), []
    rates: dict[str, list[float]] = {"own": [], "one": []}
    beside: dict[str, list[float]] = {"own": [], "one": []}
    for _ in range(asked.groups):
        for kind in rng.choice((("own", "one", "one", "own"), ("one", "own", "own", "one"))):
            began = time.monotonic()
            walls = await (each_its_own if kind == "own" else one_for_all)(order, asked.runs)
            took = time.monotonic() - began
            rates[kind].append(asked.runs / took)
            beside[kind].append((took - sum(walls)) / asked.runs)
        own, one = (sum(map(math.log, rates[kind][-2:])) / 2 for kind in ("own", "one"))
        logs.append(one - own)
    spread = interval_over_groups(logs, 0.05)
    assert spread is not None, "too few groups"
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} CPUs")
    for kind, text in (("own", "a server started for each run"), ("one", "one server for all runs")):
        print(f"{text:<32}{median(rates[kind]):6.1f} runs/s  {1e3 * median(beside[kind]):6.1f} ms beside")
    low, middle, high = (math.exp(x) for x in (spread.low, spread.estimate, spread.high))
    print(f"{middle:.1f} times as often (95 % CI {low:.1f} to {high:.1f})")


if __name__ == "__main__":
    asyncio.run(main())
