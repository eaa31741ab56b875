"""Ten null runs and ten with a planted fifth, on this machine as it is: `python -m tests.benchmarks.null_runs`.

Asked: at most two of the ten call a difference where there is none; the planted one is found in at least nine of ten.
Prints each run's verdicts with its groups, those measured again, and the smallest effect; nothing is left behind.
"""

from __future__ import annotations

import argparse
import asyncio

from app.clock import Monotonic
from probes.host import Host
from probes.types import Json
from scenarios import events as ev
from scenarios.model import Refused
from scenarios.null import Null
from tests.fakes import FakeRun

DIFFERENT = ("slower", "faster")


async def one(stretch: float, seed: int, budget: float, directory: str) -> FakeRun:
    scenario = Null(stretch=stretch)
    options: dict[str, Json] = {"budget": budget, "dir": directory}
    run = FakeRun(seed=seed, host=Host(), clock=Monotonic(), options=options, declared=scenario.options)
    await scenario.run(run)
    return run


def line(run: FakeRun) -> str:
    parts = []
    for verdict in run.of(ev.Verdict):
        again = sum(bool(g.disturbed) for g in run.of(ev.Group) if g.workload == verdict.workload)
        seen = "-" if verdict.ratio is None else f"{verdict.ratio:.3f}"
        smallest = "-" if verdict.smallest_effect is None else f"{verdict.smallest_effect:.1%}"
        parts.append(
            f"{verdict.workload}: {verdict.verdict} {seen} ±{smallest} "
            f"({verdict.groups}+{again}, {verdict.seconds:.0f} s)"
        )
    return "; ".join(parts)


def series(stretch: float, runs: int, budget: float, directory: str, first_seed: int) -> tuple[int, int, int]:
    """How many runs called any difference, found `slower` in any workload, and found it in every one that started."""
    different = found = everywhere = 0
    for number in range(runs):
        try:
            run = asyncio.run(one(stretch, first_seed + number, budget, directory))
        except Refused as why:
            print(f"  {number + 1:2}: refused: {why}", flush=True)
            continue
        words = [v.verdict for v in run.of(ev.Verdict) if v.groups]
        different += any(word in DIFFERENT for word in words)
        found += "slower" in words
        everywhere += bool(words) and all(word == "slower" for word in words)
        print(f"  {number + 1:2}: {line(run)}", flush=True)
        for verdict in run.of(ev.Verdict):
            if verdict.reason and verdict.groups < 8:
                print(f"      {verdict.workload}: {verdict.reason}", flush=True)
        for guard in run.of(ev.Guard):
            if guard.severity == "warning":
                print(f"      {guard.text} {guard.culprit}".rstrip(), flush=True)
    return different, found, everywhere


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--dir", default="/var/tmp")
    parser.add_argument("--planted", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--only", choices=("null", "planted"))
    asked = parser.parse_args()
    lines = []
    if asked.only != "planted":
        print("the same against itself", flush=True)
        different, _, _ = series(0.0, asked.runs, asked.budget, asked.dir, asked.seed)
        lines.append(
            f"called a difference where there is none: {different} of {asked.runs} (asked: at most 2 of 10)"
        )
    if asked.only != "null":
        print(f"with a latency {asked.planted:.0%} longer planted into the second", flush=True)
        _, found, everywhere = series(asked.planted, asked.runs, asked.budget, asked.dir, asked.seed + 500)
        lines.append(f"planted difference found: {found} of {asked.runs} (asked: at least 9 of 10)")
        lines.append(f"found in every workload that was started: {everywhere} of {asked.runs}")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
