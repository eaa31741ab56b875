"""Is the odd run of a pile found, and are like piles left alone? Half a minute; seeded.

    python -m tests.measured.simulation.odd_runs [--piles 20]

Planted: 6 HEPscore-like runs with one of six workloads a tenth lower, 7 IO500 results with each of the 12 phases in
turn a third, 8 results of fio with one at 70 % (IOPS and bandwidth lower, latency higher). Found: that run, in that
load; beside it whether nothing else was named. Like piles: rows of 13 runs of one configuration (CLAIX-18, IO500
reproducibility talk), and logs drawn with the run-to-run deviations of scenarios/triage/knowledge/loads.toml.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Callable, Iterable

from probes.imports.storage.io500_score import BW, MD
from scenarios.analysis.compare.odd import Member, OddRuns, find_outliers
from scenarios.analysis.compare.run_summary import FigureKey
from scenarios.contract.plan import Metric
from scenarios.triage.knowledge.loads import group_of

CORNERS = ("ior-hard", "ior-easy", "mdtest-hard", "mdtest-easy")
CLAIX = (
    (0.85, 1.88, 10.97, 145.17), (1.03, 1.89, 11.26, 123.26), (1.10, 1.87, 10.59, 129.86), (0.87, 1.90, 10.76, 135.27),
    (0.97, 1.90, 10.64, 131.93), (0.94, 1.86, 11.06, 102.35), (0.95, 1.86, 10.84, 102.06), (0.90, 1.89, 10.98, 116.54),
    (0.90, 1.89, 11.16, 115.40), (1.08, 1.90, 11.14, 143.09), (0.91, 1.88, 10.80, 120.86), (0.90, 1.90, 11.05, 131.65),
    (0.87, 1.88, 10.79, 136.91),
)  # fmt: skip
WORKLOADS = tuple(
    f"{name}-bmk" for name in ("atlas-gen", "belle2", "cms-gen-sim", "cms-digi", "cms-reco", "lhcb")
)
PHASES = (*BW, *MD)
RATE = Metric("rate", "1/s")
Values = dict[tuple[str, str], float]  # load and metric → logarithm, more is better
Pile = list[Values]


def members(pile: Pile) -> list[Member]:
    made = []
    for number, values in enumerate(pile):
        keys = {name: FigureKey(*name) for name in values}
        logs = {keys[name]: log for name, log in values.items()}
        made.append(Member(f"run {number}", logs, dict.fromkeys(keys.values(), RATE), {}))
    return made


def drawn(rng: random.Random, runs: int, deviations: dict[str, float]) -> Pile:
    return [
        {(load, "rate"): rng.gauss(0, deviation) for load, deviation in deviations.items()}
        for _ in range(runs)
    ]


def of_fio(rng: random.Random, runs: int, deviation: float) -> Pile:
    """One load: bandwidth follows from IOPS, the mean latency nearly."""
    made = []
    for _ in range(runs):
        log = rng.gauss(0, deviation)
        made.append(
            {("job", "IOPS"): log, ("job", "bandwidth"): log, ("job", "latency"): log + rng.gauss(0, 0.01)}
        )
    return made


def of_claix(rng: random.Random, runs: int) -> Pile:
    rows = rng.sample(CLAIX, runs)
    return [{(c, "rate"): math.log(v) for c, v in zip(CORNERS, row, strict=True)} for row in rows]


def io500(rng: random.Random, runs: int = 7, wider: float = 1.0) -> Pile:
    return drawn(rng, runs, {phase: wider * group_of(phase).run_deviation(guest=False) for phase in PHASES})


def named(found: OddRuns) -> set[tuple[str, int]]:
    return {(load.key.workload, one.index) for load in found.found for one in load.apart}


def planted(
    rng: random.Random, make: Callable[[], Pile], loads: Iterable[str], factor: float, piles: int
) -> tuple[int, int, int]:
    """Piles, those in which the run was named in its load, and those in which it alone was."""
    count = right = alone = 0
    for load in loads:
        for _ in range(piles):
            pile = make()
            odd = rng.randrange(len(pile))
            for name in pile[odd]:
                if name[0] == load:
                    pile[odd][name] += math.log(factor)
            found = named(find_outliers(members(pile)))
            count += 1
            right += (load, odd) in found
            alone += found == {(load, odd)}
    return count, right, alone


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--piles", type=int, default=20)
    piles = arguments.parse_args().piles
    rng = random.Random(20261124)
    short = 0
    print("planted                                                     piles  named  it alone")
    hep = {d: (lambda d=d: drawn(rng, 6, dict.fromkeys(WORKLOADS, d))) for d in (0.01, 0.015, 0.02, 0.03)}
    rows: list[tuple[str, Callable[[], Pile], Iterable[str], float]] = [
        *(
            (f"6 HEPscore, deviation {100 * d:g} %: a workload −10 %", make, WORKLOADS[:1], 0.9)
            for d, make in hep.items()
        ),
        ("7 IO500, deviations of loads.toml: a phase a third", lambda: io500(rng), PHASES, 1 / 3),
        ("7 IO500 of CLAIX-18: a corner a third", lambda: of_claix(rng, 7), CORNERS, 1 / 3),
        ("8 fio, deviation 2 %: one at 70 %", lambda: of_fio(rng, 8, 0.02), ("job",), 0.7),
        ("8 fio, deviation 9 % of loads.toml: one a third", lambda: of_fio(rng, 8, 0.09), ("job",), 1 / 3),
    ]
    for title, make, loads, factor in rows:
        count, right, alone = planted(rng, make, loads, factor, piles)
        print(f"{title:<60}{count:>5}  {right:>5}  {alone:>8}")
        short += right < count and "3 %" not in title and "HEPscore, deviation 2 %" not in title
    print("like piles                                                  piles  something named")
    like: list[tuple[str, Callable[[], Pile]]] = [
        *((f"6 HEPscore, deviation {100 * d:g} %", make) for d, make in hep.items()),
        ("7 IO500, deviations of loads.toml", lambda: io500(rng)),
        ("7 of the 13 runs of CLAIX-18", lambda: of_claix(rng, 7)),
        ("all 13 runs of CLAIX-18", lambda: of_claix(rng, 13)),
        ("8 fio, deviation 9 %", lambda: of_fio(rng, 8, 0.09)),
        ("5 IO500, deviations of loads.toml", lambda: io500(rng, 5)),
        ("7 IO500, twice the deviations of loads.toml", lambda: io500(rng, wider=2)),
        ("7 IO500, three times the deviations of loads.toml", lambda: io500(rng, wider=3)),
        ("30 IO500, deviations of loads.toml", lambda: io500(rng, 30)),
    ]
    for title, alike in like:
        wrong = sum(bool(find_outliers(members(alike())).found) for _ in range(piles))
        print(f"{title:<60}{piles:>5}  {wrong:>5} ({100 * wrong / piles:.1f} %)")
        short += wrong > 0.05 * piles
    return min(1, short)


if __name__ == "__main__":
    raise SystemExit(main())
