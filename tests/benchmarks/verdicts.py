"""Do the verdicts hold on noise, and do they find what is there? Two minutes on two cores; seeded.

    python -m tests.benchmarks.verdicts [--quick] [--models TEXT]

Noise model x true effect x verdict shares with their binomial intervals, coverage, median seconds to the verdict;
beside it the usual ways on the same noise. Half of the runs have the variant slower by the effect, half faster (its
ratio is 0.9 or 1/0.9 for "10 %"). Exit status 1 if a requirement is missed. No guards are simulated: on a host,
groups that a foreign load disturbed are measured again.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import sys
import time
import zlib
from concurrent.futures import ProcessPoolExecutor

from tests.benchmarks.noise_models import models
from tests.benchmarks.simulated import a_then_b, hostdx, hyperfine, plain_t, three_repetitions
from tests.benchmarks.verdict_table import Cell, heading, line, required, requirements, shown

EFFECTS = (0, 3, 6, 10, 25)
RUNS = {0: 5000, 3: 3000, 6: 1000, 10: 2000, 25: 1000}
USUAL = {
    "A then B, ranks": a_then_b,
    "3 x mean": three_repetitions,
    "hyperfine": hyperfine,
    "t, no looks": plain_t,
}
USUAL_RUNS = 500
FAMILY_RUNS = 1000


def simulate(job: tuple[str, int, int, int]) -> Cell:
    """All runs of one model with one effect; `job`: model, per cent, runs, runs of the usual ways."""
    name, effect, runs, usual_runs = job
    noise = models()[name]
    rng = random.Random(zlib.crc32(f"{name} {effect}".encode()))
    size = -math.log(1 - effect / 100)
    outcomes = []
    for run in range(runs):
        right = 1 if run % 2 else -1
        outcomes.append((right, hostdx(noise, right * size, rng)))
    usual = {}
    for way, decide in USUAL.items():
        hits = wrong = 0
        for run in range(usual_runs):
            right = 1 if run % 2 else -1
            said = decide(noise, right * size, rng)
            hits += said is not None if effect == 0 else said == right
            wrong += effect != 0 and said == -right
        usual[way] = (100 * hits / usual_runs, 100 * wrong / usual_runs)
    return Cell(name, effect, outcomes, usual)


def simulate_family(job: tuple[str, int]) -> tuple[str, int, int]:
    """Five workloads of one run without any difference: in how many runs at least one is called."""
    name, runs = job
    noise = models()[name]
    rng = random.Random(zlib.crc32(f"family {name}".encode()))
    called = sum(
        any(hostdx(noise, 0.0, rng, family=5).said in (-1, 1) for _ in range(5)) for _ in range(runs)
    )
    return name, called, runs


def main() -> int:
    parser = argparse.ArgumentParser(prog="verdicts", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the runs: ? where too few to tell")
    parser.add_argument("--models", default="", help="only models whose name contains this")
    chosen = parser.parse_args()
    part = 10 if chosen.quick else 1
    names = [name for name in models() if chosen.models in name]
    jobs = [(name, effect, RUNS[effect] // part, USUAL_RUNS // part) for name in names for effect in EFFECTS]
    start = time.monotonic()
    with ProcessPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        print(
            "Verdicts in per cent of the runs [binomial 95 % interval]; true effect, 60 s, blocks of 0.5 s\n"
        )
        print(heading(USUAL))
        cells = []
        for cell in pool.map(simulate, jobs):
            cells.append(cell)
            print(line(cell), flush=True)
        families = list(pool.map(simulate_family, [(name, FAMILY_RUNS // part) for name in names]))
    print("\nfive workloads of one run, nothing there: runs with a false call")
    for name, called, runs in families:
        print(f"{name:26}{shown(called, runs)}")
    rows = requirements(cells)
    worst_name, worst, of = max(families, key=lambda row: row[1] / row[2])
    text = "five workloads: a false call in <= 5 % of the runs, every model"
    rows.append(required(text, worst, of, 0.05, f"({worst_name})"))
    print()
    for row in rows:
        word = "PASS" if row.held else "MISS" if row.missed or not chosen.quick else "?   "
        print(f"{word}  {row.text}: {row.figures}")
    print(f"\n{sum(len(cell.outcomes) for cell in cells)} runs, {time.monotonic() - start:.0f} s")
    return 1 if any(row.missed if chosen.quick else not row.held for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
