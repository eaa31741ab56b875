"""What a look costs, and how the checks beside the verdict err: dependence, carry-over, the slices' length. Seeded.

    python -m tests.measured.simulation.inference

A minute on one core. Series as in `verdicts`; "planted": one side takes this share of the slice that follows its own.
"""

from __future__ import annotations

import itertools
import math
import random
import statistics
import time
from collections.abc import Iterator

from scenarios.experiment import sequential
from scenarios.experiment.carry_over import estimate_carry_over
from scenarios.experiment.schedule.slices import WarmUpSlice, slice_length
from scenarios.experiment.sequential import SequentialComparison, draw_orders
from tests.measured.simulation.fine import TICK_S, fine_models, slice_ticks
from tests.measured.simulation.verdict_table import shown

RUNS = 300


def look_cost() -> None:
    print("a look, median of 9, ms: estimate and interval, dependence checked")
    rng = random.Random(1)
    for groups in (48, 96, 192, 768, 2000, 5000):
        comparison = SequentialComparison("A", "B", "IOPS", planned_groups=groups)
        for _ in range(groups):
            comparison.add(rng.gauss(0, 0.1), abs(rng.gauss(0, 0.1)))
        comparison.current_level(final=True)  # once a run: 5 ms for each look
        took = []
        for _ in range(9):
            began = time.process_time()
            comparison.final_verdict()
            took.append(time.process_time() - began)
        print(f"  {groups:5} groups {1000 * sorted(took)[4]:6.1f}")


def wandering(rng: random.Random, groups: int, length: float) -> Iterator[float]:
    """A side that is faster for about `length` groups and then slower, by 5 %, beside 5 % of a group's own noise."""
    rho = math.exp(-1 / length)
    level = rng.gauss(0, 0.05)
    for _ in range(groups):
        yield level + rng.gauss(0, 0.05)
        level = rho * level + rng.gauss(0, 0.05 * math.sqrt(1 - rho * rho))


def dependence() -> None:
    print(
        "\na side that wanders for so many groups, no effect in the long run, 400 groups: runs whose 95 % interval"
    )
    print("leaves 1 out, in per cent; the same without batches")
    batches = sequential.batch_length
    for length in (0.1, 3, 10, 30):
        missed = []
        for without in (False, True):
            sequential.batch_length = (lambda values: 1) if without else batches
            rng = random.Random(f"wandering {length}")
            out = 0
            for _ in range(RUNS):
                comparison = SequentialComparison("A", "B", "IOPS", planned_groups=400)
                for value in wandering(rng, 400, length):
                    comparison.add(value)
                low, high = comparison.final_verdict().ci95 or (0.0, 0.0)
                out += not low <= 1 <= high
            missed.append(shown(out, RUNS))
        sequential.batch_length = batches
        print(f"  {length:5g} groups {missed[0]}   {missed[1]}")


def carried() -> None:
    print(
        "\ncarry-over found (1 % level, quarter of a 5 % margin), per cent of the runs, 20 s of slices; planted:"
    )
    planted = (0.0, 0.05, 0.1, 0.2)
    print(f"  {'':12}{''.join(f'{100 * share:17.0f} %' for share in planted)}")
    for name, series in fine_models().items():
        cells = []
        for share in planted:
            rng = random.Random(f"{name} {share}")
            found = 0
            for _ in range(RUNS // 3):
                ticks = series(rng)
                length = slice_ticks(ticks)
                groups = max(24, int(20 / (4 * length * TICK_S)))
                drawn = list(itertools.islice(draw_orders("AB", rng), groups))
                before, values = "", []
                for order in drawn:
                    rates = []
                    for side in order:
                        left = 1 - share if (before, side) == ("A", "B") else 1.0
                        rates.append(left * sum(next(ticks) for _ in range(length)))
                        before = side
                    values.append(rates)
                found += estimate_carry_over(drawn, values, ("A", "B"), margin=0.05).is_established
            cells.append(shown(found, RUNS // 3))
        print(f"  {name:12}{' '.join(cells)}")


def lengths() -> None:
    print(
        "\nslices of 40 ms or 50 operations, 13 a side, made longer for the switch, per cent of the runs: as recorded;"
    )
    print(
        "with half of the rate lost in the first quarter after a switch to one side; and how long then, median ms"
    )
    for name, series in fine_models().items():
        cells, then = [], []
        for lost in (0.0, 0.5):
            rng = random.Random(f"{name} {lost}")
            longer = 0
            for _ in range(RUNS):
                ticks = series(rng)
                quarter = math.ceil(slice_ticks(ticks) / 4)
                warm = []
                for number in range(26):
                    parts = [sum([next(ticks) for _ in range(quarter)]) for _ in range(4)]
                    if number % 2:
                        parts[0] *= 1 - lost
                    warm.append(WarmUpSlice("AB"[number % 2], 4 * quarter * TICK_S, round(sum(parts)), parts))
                found = slice_length(
                    warm, margin=0.05, most_s=2.0, least_operations=0, least_s=4 * quarter * TICK_S
                )
                longer += found.why == "switch"
                then.append(found.seconds)
            cells.append(shown(longer, RUNS))
        print(f"  {name:12}{' '.join(cells)} {1000 * statistics.median(then[RUNS:]):6.0f}")


if __name__ == "__main__":
    look_cost()
    dependence()
    carried()
    lengths()
