"""Does the guard on the order hold: does it find what the order does, and how often does it speak without a cause?

    python -m tests.measured.simulation.order [--runs 400] [--models TEXT]

Seeded. Two shapes of carry-over in percent: in a pair of windows (A B or B A) the second of the two is so much faster;
in groups of blocks (ABBA or BAAB) the variant that comes second is. `one-sided`: only B suffers from what A left.

Each cell: runs with that verdict in percent. `withheld`: a verdict that the groups alone would give and that the orders
take back. `wrong`: called on the wrong side, or called where the true effect is none.
"""

import argparse
import math
import random
import zlib
from typing import NamedTuple

from hostdx.scenarios.contract.verdict.verdict import Word
from hostdx.scenarios.experiment.sequential import SequentialComparison, draw_orders
from hostdx.scenarios.experiment.statistics.stats import group_value
from tests.measured.simulation.noise_models import Noise, noise_models

GROUPS = 30
CARRIED = (0, 2, 5, 20, 150)  # per cent
EFFECTS = (0, 10)  # per cent slower
SHAPES = ("windows", "groups", "one-sided")
MODELS = ("white 5 %", "AR(1) 0.6, 14 %", "periodic, 2 s", "randread4k-qd1", "randread4k-qd1-busy")


class Ending(NamedTuple):
    """What one run said, and what it would have said without the guard."""

    word: Word
    unguarded: Word
    covered: bool  # by the interval that stands beside a word; True where none is claimed


def one_run(noise: Noise, true: float, carried: float, shape: str, rng: random.Random, guard: bool) -> Ending:
    """Groups until an analysis decides. true: ln(B/A); carried: as a share."""
    logs = iter(noise(rng, 4 * GROUPS))
    comparison = SequentialComparison("A", "B", "IOPS", planned_groups=GROUPS)
    for order in draw_orders(("A", "B"), rng):
        own = order if shape == "groups" else order[:2]
        values: dict[str, list[float]] = {"A": [], "B": []}
        for at, variant in enumerate(own):
            log = next(logs) + (true if variant == "B" else 0.0)
            if shape == "one-sided":
                log -= math.log1p(carried) if own[at - 1 : at + 1] == ("A", "B") else 0.0
            elif variant == own[-1] if shape == "windows" else variant == own[1]:
                log += math.log1p(carried)
            values[variant].append(math.exp(log))
        value = group_value(values["A"], values["B"])
        assert value is not None
        scatter = value.scatter if shape == "groups" else None
        comparison.add(value.log_ratio, scatter, value.sides, baseline_first=own[0] == "A" if guard else None)
        decision = comparison.verdict_if_due()
        if decision is not None:
            ends = decision.ci95
            covered = ends is None or ends[0] <= math.exp(true) <= ends[1]
            return Ending(decision.verdict, decision.verdict, covered)
    raise AssertionError("the last analysis always decides")


def cell(name: str, effect: int, carried: int, shape: str, runs: int) -> list[Ending]:
    noise = noise_models()[name]
    endings = []
    for run in range(runs):
        seed = zlib.crc32(f"{name} {effect} {carried} {shape} {run}".encode())
        args = (noise, math.log1p(-effect / 100), carried / 100, shape)
        guarded = one_run(*args, random.Random(seed), True)
        endings.append(guarded._replace(unguarded=one_run(*args, random.Random(seed), False).word))
    return endings


def main() -> None:
    parser = argparse.ArgumentParser(prog="order", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--models", default="", help="only models whose name contains this")
    chosen = parser.parse_args()
    print(
        f"{'noise':22}{'shape':>10}{'true':>6}{'carried':>8}{'slower':>8}{'faster':>8}{'none':>7}{'open':>7}"
        f"{'not meas.':>10}{'withheld':>9}{'wrong':>7}{'before':>8}{'covers':>8}"
    )
    for name in MODELS:
        if chosen.models not in name:
            continue
        for shape in SHAPES:
            for effect in EFFECTS:
                for carried in CARRIED:
                    print(_row(name, shape, effect, carried, cell(name, effect, carried, shape, chosen.runs)))


def _row(name: str, shape: str, effect: int, carried: int, endings: list[Ending]) -> str:
    def share_text(count: int) -> str:
        return f"{100 * count / len(endings):.1f}"

    def is_wrong(word: Word) -> bool:
        return word.is_faster or (word.is_slower and not effect) or (word.is_equal and bool(effect))

    words = [ending.word for ending in endings]
    cells = [
        share_text(sum(word.is_slower for word in words)),
        share_text(sum(word.is_faster for word in words)),
        share_text(sum(word.is_equal for word in words)),
        share_text(sum(word.is_undecided for word in words)),
    ]
    withheld = share_text(sum(e.unguarded.is_decided and not e.word.is_decided for e in endings))
    lost = share_text(sum(word.is_not_measured for word in words))
    before = share_text(sum(is_wrong(e.unguarded) for e in endings))
    covers = share_text(sum(e.covered for e in endings))
    return (
        f"{name:22}{shape:>10}{effect:>6}{carried:>8}{cells[0]:>8}{cells[1]:>8}{cells[2]:>7}{cells[3]:>7}"
        f"{lost:>10}{withheld:>9}{share_text(sum(map(is_wrong, words))):>7}{before:>8}{covers:>8}"
    )


if __name__ == "__main__":
    main()
