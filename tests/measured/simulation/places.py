"""Two levels of noise: places of a disk that differ, and the recorded noise of slices. What does the verdict say?

    python -m tests.measured.simulation.places [--runs 400] [--models quiet]

Each run draws its places anew, so the interval must hold for new files too. Asked: with nothing there a call in at
most 5 % of the runs, and the interval covers in at least 94 %, with 16 places or more. `one file`: all groups on
a single file a side, as it was measured before. Seconds are the median's, of measuring.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import statistics
import zlib
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

from tests.measured.simulation.fine import fine_models, measure

LAYOUTS = ((1, "one file"), (16, "16 places"), (64, "64 places"))
SCATTERS = (0.0, 0.02, 0.05, 0.07)
EFFECTS = (0.0, 0.1)


class Job(NamedTuple):
    model: str
    places: int
    sd: float
    effect: float
    runs: int


class Told(NamedTuple):
    """Shares of the runs, and the median seconds."""

    called: float
    right: float
    same: float
    covered: float
    seconds: float


def simulate(job: Job) -> Told:
    noise = fine_models()[job.model]
    rng = random.Random(zlib.crc32(repr(job).encode()))
    true = math.log1p(-job.effect)
    outcomes = [
        measure(noise, [true], rng, family=6, places=job.places, place_sd=job.sd)[0] for _ in range(job.runs)
    ]
    said = [one.said for one in outcomes]
    return Told(
        sum(word in (-1, 1) for word in said) / job.runs,
        sum(word == -1 for word in said) / job.runs,
        sum(word == 0 for word in said) / job.runs,
        sum(one.covered for one in outcomes) / job.runs,
        statistics.median(one.seconds for one in outcomes),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--models", default="", help="only series whose name contains this")
    chosen = parser.parse_args()
    names = [name for name in fine_models() if chosen.models in name]
    jobs = [
        Job(name, places, sd, effect, chosen.runs)
        for name in names for places, _ in LAYOUTS for sd in SCATTERS for effect in EFFECTS
    ]  # fmt: skip
    with ProcessPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        found = dict(zip(jobs, pool.map(simulate, jobs), strict=True))
    print(
        f"{'series':12} {'layout':10} places   nothing there: called   same  covers      s   10 % found  covers      s"
    )
    for name in names:
        for places, layout in LAYOUTS:
            for sd in SCATTERS:
                none, tenth = (found[Job(name, places, sd, effect, chosen.runs)] for effect in EFFECTS)
                print(
                    f"{name:12} {layout:10} {sd:6.0%}   {none.called:21.1%} {none.same:6.0%} {none.covered:7.1%} "
                    f"{none.seconds:6.1f}   {tenth.right:10.1%} {tenth.covered:7.1%} {tenth.seconds:6.1f}"
                )


if __name__ == "__main__":
    main()
