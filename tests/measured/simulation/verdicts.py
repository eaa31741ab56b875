"""Do the verdicts hold on noise, and do they find what is there? Some minutes on two cores; seeded.

    python -m tests.measured.simulation.verdicts [--quick] [--only blocks|slices] [--models TEXT]
    python -m tests.measured.simulation.verdicts --margin 2 --budget 60        fine slices, what another margin takes

Two parts: blocks of 0.5 s for a minute, out of noise models and recorded series; fine slices, 20 s at most a load, out
of series counted every 10 ms.

Noise model x true effect x verdict shares with their binomial intervals, coverage, median seconds to the verdict;
beside it the usual ways on the same noise. Half of the runs have the variant slower by the effect, half faster (its
ratio is 0.9 or 1/0.9 for "10 %"). Exit status 1 if a requirement is missed. No guards are simulated: on a host,
groups that a foreign load disturbed are measured again.
"""

import argparse
import math
import os
import random
import sys
import time
import zlib
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor

from tests.measured.simulation import fine_table
from tests.measured.simulation.fine import fine_models
from tests.measured.simulation.noise_models import noise_models
from tests.measured.simulation.simulated import a_then_b, hyperfine, plain_t, run_hostdx, three_repetitions
from tests.measured.simulation.verdict_table import (
    Cell,
    Requirement,
    find_requirements,
    format_cell,
    format_share,
    heading_text,
    require,
)

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


def simulate_job(job: tuple[str, int, int, int]) -> Cell:
    """All runs of one model with one effect; `job`: model, per cent, runs, runs of the usual ways."""
    name, effect, runs, usual_runs = job
    noise = noise_models()[name]
    rng = random.Random(zlib.crc32(f"{name} {effect}".encode()))
    size = -math.log(1 - effect / 100)
    outcomes = []
    for run in range(runs):
        right = 1 if run % 2 else -1
        outcomes.append((right, run_hostdx(noise, right * size, rng)))
    usual = {}
    for way, decide in USUAL.items():
        hits = wrong = 0
        for run in range(usual_runs):
            right = 1 if run % 2 else -1
            direction = decide(noise, right * size, rng)
            hits += direction is not None if effect == 0 else direction == right
            wrong += effect != 0 and direction == -right
        usual[way] = (100 * hits / usual_runs, 100 * wrong / usual_runs)
    return Cell(name, effect, outcomes, usual)


def simulate_family(job: tuple[str, int]) -> tuple[str, int, int]:
    """Five workloads of one run without any difference: in how many runs at least one is called."""
    name, runs = job
    noise = noise_models()[name]
    rng = random.Random(zlib.crc32(f"family {name}".encode()))
    called = sum(
        any(run_hostdx(noise, 0.0, rng, family=5).direction in (-1, 1) for _ in range(5)) for _ in range(runs)
    )
    return name, called, runs


def main() -> int:
    parser = argparse.ArgumentParser(prog="verdicts", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the runs: ? where too few to tell")
    parser.add_argument("--models", default="", help="only models whose name contains this")
    parser.add_argument("--only", choices=("blocks", "slices"), help="one of the two parts")
    parser.add_argument(
        "--margin", type=float, help="per cent: fine slices with another margin, nothing required"
    )
    parser.add_argument("--budget", type=float, default=20.0, help="seconds of a load, with --margin")
    chosen = parser.parse_args()
    part = 10 if chosen.quick else 1
    start = time.monotonic()
    rows: list[Requirement] = []
    with ProcessPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        if chosen.margin is not None:
            with_margin(pool, chosen.models, part, chosen.margin / 100, chosen.budget)
        else:
            if chosen.only != "slices":
                rows += print_blocks(pool, chosen.models, part)
            if chosen.only != "blocks":
                rows += print_slices(pool, chosen.models, part)
    print()
    for row in rows:
        word = "PASS" if row.held else "MISS" if row.missed or not chosen.quick else "?   "
        print(f"{word}  {row.text}: {row.figures}")
    print(f"\n{time.monotonic() - start:.0f} s")
    return 1 if any(row.missed if chosen.quick else not row.held for row in rows) else 0


def print_blocks(pool: Executor, part_of_name: str, part: int) -> list[Requirement]:
    """Blocks of half a second, with the usual ways beside."""
    names = [name for name in noise_models() if part_of_name in name]
    if not names:
        return []
    print("Blocks of 0.5 s, 60 s. Verdicts in per cent of the runs [binomial 95 % interval]\n")
    print(heading_text(USUAL))
    jobs = [(name, effect, RUNS[effect] // part, USUAL_RUNS // part) for name in names for effect in EFFECTS]
    cells = _print_cells(pool.map(simulate_job, jobs))
    families = list(pool.map(simulate_family, [(name, FAMILY_RUNS // part) for name in names]))
    _print_families("five loads of one run", families)
    rows = find_requirements(cells)
    worst_name, worst, of = max(families, key=lambda row: row[1] / row[2])
    text = "five loads: a false call in <= 5 % of the runs, every model"
    return [*rows, require(text, worst, of, 0.05, f"({worst_name})")]


def print_slices(pool: Executor, part_of_name: str, part: int) -> list[Requirement]:
    """Fine slices: alone, as one of seven loads, and beside another variant."""
    names = [name for name in fine_models() if part_of_name in name]
    if not names:
        return []
    print("\nSlices of 20 ms or 50 operations, at most 20 s a load\n")
    print(heading_text(()))
    cells = _print_cells(pool.map(fine_table.simulate_job, fine_table.make_jobs(names, part)))
    families = list(pool.map(fine_table.simulate_family, fine_table.family_jobs(names, part)))
    _print_families("all comparisons of one run", families)
    return fine_table.find_requirements(cells, families)


def with_margin(pool: Executor, part_of_name: str, part: int, margin: float, budget_s: float) -> None:
    """Nothing there, and twice the margin, alone and as one of three loads."""
    print(f"\nMargin {100 * margin:g} %, at most {budget_s:g} s a load\n")
    print(heading_text(()))
    effects = (0, round(200 * margin))
    _print_cells(
        pool.map(
            fine_table.simulate_job,
            [
                fine_table.Job(name, effect, loads, 0, 300 // part, margin, budget_s)
                for name in fine_models()
                if part_of_name in name
                for loads in (1, 3)
                for effect in effects
            ],
        )
    )


def _print_cells(cells: Iterable[Cell]) -> list[Cell]:
    """As they come in."""
    done = []
    for cell in cells:
        done.append(cell)
        print(format_cell(cell), flush=True)
    return done


def _print_families(text: str, families: Sequence[tuple[str, int, int]]) -> None:
    print(f"\n{text}, nothing there: runs with a false call")
    for name, called, runs in families:
        print(f"{name:26}{format_share(called, runs)}")


if __name__ == "__main__":
    sys.exit(main())
