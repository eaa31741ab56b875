"""What is required of verdicts from fine slices, and how the simulated runs did."""

import math
import random
import statistics
import zlib
from collections.abc import Sequence
from typing import NamedTuple

from tests.measured.simulation.fine import fine_models, measure
from tests.measured.simulation.verdict_table import Cell, Requirement, require

EFFECTS = (0, 3, 10, 25)
RUNS = {0: 2000, 3: 1000, 10: 1000, 25: 500}
LOADS = 7  # of scenario storage
FAMILY_RUNS = 200
FOUND_WITHIN_S = {10: {"quiet": 3.0, "busy-read": 10.0}, 25: {"quiet": 1.5}}
NONE_WITHIN_S = 6.0


class Job(NamedTuple):
    """One cell: `loads` is the family that the comparison is one of, `others` the variants beside it (no effect)."""

    model: str
    effect: int
    loads: int = 1
    others: int = 0
    runs: int = 1000
    margin: float = 0.05
    budget_s: float = 20.0


def simulate_job(job: Job) -> Cell:
    """Half of the runs have the variant slower by the effect, half faster."""
    noise = fine_models()[job.model]
    rng = random.Random(zlib.crc32(repr(job._replace(runs=0)).encode()))
    size = -math.log(1 - job.effect / 100)
    outcomes = []
    for run in range(job.runs):
        right = 1 if run % 2 else -1
        trues = (right * size, *[0.0] * job.others)
        results = measure(noise, trues, rng, family=job.loads, margin=job.margin, budget_s=job.budget_s)
        outcomes.append((right, results[0]))
    return Cell(job.model + _others_text(job), job.effect, outcomes, {})


def _others_text(job: Job) -> str:
    parts = [
        f"of {job.loads} loads" if job.loads > 1 else "",
        f"{job.others + 2} sides" if job.others else "",
    ]
    return "".join(f", {part}" for part in parts if part)


def simulate_family(job: Job) -> tuple[str, int, int]:
    """Runs of `loads` loads with `others` + 1 comparisons each, nothing there: how many call anything."""
    noise = fine_models()[job.model]
    rng = random.Random(zlib.crc32(f"family {job}".encode()))
    called = 0
    for _ in range(job.runs):
        words = [
            outcome.direction
            for _ in range(job.loads)
            for outcome in measure(noise, [0.0] * (job.others + 1), rng, family=job.loads)
        ]
        called += -1 in words or 1 in words
    return job.model + _others_text(job), called, job.runs


def find_requirements(cells: Sequence[Cell], families: Sequence[tuple[str, int, int]]) -> list[Requirement]:
    """The worst figure seen for each."""
    rows = []
    nothing = [c for c in cells if c.effect == 0]
    for text, among, kind, limit, at_least in (
        ("nothing there: a difference called in <= 5 %", nothing, "called", 0.05, False),
        (
            "true 3 %: a difference called in <= 10 %",
            [c for c in cells if c.effect == 3],
            "called",
            0.10,
            False,
        ),
        ("true 10 %: never the wrong direction", [c for c in cells if c.effect == 10], "wrong", 0.0, False),
        ("the interval covers in >= 94 %", cells, "covered", 0.94, True),
    ):
        worst = (min if at_least else max)(among, key=lambda c: c.share(kind))
        cell = f"({worst.model}, {worst.effect} %)"
        rows.append(
            require(f"{text}, every series", worst.count(kind), len(worst.outcomes), limit, cell, at_least)
        )
    typical = statistics.median(c.share("called") for c in nothing)
    rows.append(
        Requirement(
            "nothing there: typically <= 1 %", typical <= 0.01, f"{100 * typical:.1f} %", typical > 0.01
        )
    )
    for effect, limits in FOUND_WITHIN_S.items():
        for prefix, limit_s in limits.items():
            rows.append(_require_soon(f"{effect} % found", cells, effect, prefix, limit_s))
    rows.append(_require_soon("`no material difference`", cells, 0, "quiet", NONE_WITHIN_S))
    name, called, of = max(families, key=lambda row: row[1] / row[2])
    rows.append(
        require("several comparisons: a false call in <= 5 % of the runs", called, of, 0.05, f"({name})")
    )
    return rows


def _require_soon(text: str, cells: Sequence[Cell], effect: int, prefix: str, limit_s: float) -> Requirement:
    among = [c for c in cells if c.effect == effect and c.model.startswith(prefix)]
    worst = max(among, key=lambda c: c.median_seconds())
    seconds = worst.median_seconds()
    late = seconds > limit_s
    return Requirement(
        f"{text}: median <= {limit_s:g} s on {prefix} series",
        not late,
        f"{seconds:.1f} s ({worst.model})",
        late,
    )


def make_jobs(models: Sequence[str], part: int) -> list[Job]:
    """Alone, as one of the loads of a run, and beside another variant."""
    loads = [
        Job(model, effect, loads, runs=RUNS[effect] // part // (1 if loads == 1 else 2))
        for model in models
        for loads in (1, LOADS)
        for effect in EFFECTS
    ]
    sides = [Job(model, effect, others=1, runs=400 // part) for model in models for effect in (0, 10)]
    return loads + sides


def family_jobs(models: Sequence[str], part: int) -> list[Job]:
    return [
        Job(model, 0, loads, others, FAMILY_RUNS // part)
        for model in models
        for loads, others in ((LOADS, 0), (2, 2))
    ]
