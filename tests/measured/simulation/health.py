"""How often does `hostdx health` drain a fit node, and how often does it find a slow one? Simulated, seeded.

    python -m tests.measured.simulation.health [--nodes 10000] [--runs DIR] [--seed N]

A class is made of the first half of each noise series, or of every other recorded run; the nodes to be checked have the
second half. A node's own level differs from its class by a normal deviate. What is judged and how is the product's own
code, look after look as a check does it. The constants of `speed.py` were chosen on the seeds below 100.
"""

import argparse
import json
import math
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from hostdx.app.features.health.node_class import (
    SCHEMA,
    LoadKey,
    NodeClass,
    deviation_below_median,
    level_of_logs,
    make_class_load,
    undisturbed_log_values,
)
from hostdx.app.features.health.speed import (
    FULL_ROUNDS,
    MIN_ROUNDS,
    compare_rounds,
    is_surely_fit,
    predicted_error_rates,
)
from hostdx.app.recordings.reader import load_recording

SERIES = Path(__file__).parents[2] / "fixtures" / "noise"
CLASS_NODES = 50
ROUND_S = 0.5
Draw = Callable[
    [random.Random, bool], list[float]
]  # the logs of a check's rounds; of the class's half, or the other


class SimulatedClass(NamedTuple):
    """`draws`: of each load; `node_spread`: of each load the standard deviation between nodes, in logs."""

    name: str
    draws: dict[LoadKey, Draw]
    node_spread: dict[LoadKey, float]


def series_draw(name: str, block_s: float) -> Draw:
    values = [math.log(value) for value in json.loads((SERIES / f"{name}.json").read_text()) if value > 0]
    stride = max(1, round(ROUND_S / block_s))
    half = len(values) // 2

    def draw(rng: random.Random, of_class: bool) -> list[float]:
        part = values[:half] if of_class else values[half:]
        start = rng.randrange(len(part) - stride * FULL_ROUNDS)
        return part[start : start + stride * FULL_ROUNDS : stride]

    return draw


def recorded_draws(folder: Path) -> dict[LoadKey, Draw]:
    runs = [undisturbed_log_values(load_recording(path)) for path in sorted(folder.glob("*.jsonl"))]

    def draw_of(key: LoadKey) -> Draw:
        of_load = [run[key] for run in runs if len(run.get(key, ())) >= MIN_ROUNDS]

        def draw(rng: random.Random, of_class: bool) -> list[float]:
            rounds = rng.choice(of_load[0::2] if of_class else of_load[1::2])
            return rng.choices(rounds, k=FULL_ROUNDS)

        return draw

    return {key: draw_of(key) for key in sorted({key for run in runs for key in run})}


def simulated_classes(runs: Path | None) -> Iterator[SimulatedClass]:
    cpu, memory, disk = ("cpu-integer", "one"), ("memory-copy", "one"), ("randread-4k", "one")
    noise: dict[LoadKey, Draw] = {cpu: series_draw("cpu", 0.25), memory: series_draw("cpu-2", 0.5)}
    steady = series_draw("fsync4k-qd1", 0.5)
    yield SimulatedClass("bare nodes", {**noise, disk: steady}, {cpu: 0.01, memory: 0.01, disk: 0.02})
    yield SimulatedClass("uneven nodes", {**noise, disk: steady}, {cpu: 0.02, memory: 0.02, disk: 0.03})
    shared = series_draw("randread4k-qd1", 0.5)
    yield SimulatedClass("shared disks", {**noise, disk: shared}, {cpu: 0.01, memory: 0.01, disk: 0.02})
    if runs is not None:
        draws = recorded_draws(runs)
        yield SimulatedClass("recorded, busy VM", draws, dict.fromkeys(draws, 0.0))
        quiet = {key: draw for key, draw in draws.items() if not key[0].startswith("rand")}
        yield SimulatedClass("the same, no disk", quiet, dict.fromkeys(quiet, 0.0))


def make_class(simulated: SimulatedClass, rng: random.Random) -> NodeClass:
    loads = []
    for key, draw in simulated.draws.items():
        nodes = [draw(rng, True) for _ in range(CLASS_NODES)]
        levels = [level_of_logs(rounds) + rng.gauss(0, simulated.node_spread[key]) for rounds in nodes]
        loads.append(make_class_load(key, levels, [deviation_below_median(rounds) for rounds in nodes]))
    return NodeClass(schema=SCHEMA, name=simulated.name, loads=tuple(loads))


def is_drained(node_class: NodeClass, rounds: dict[LoadKey, Sequence[float]]) -> bool:
    """Return the answer of a check, round by round."""
    for count in range(MIN_ROUNDS, FULL_ROUNDS + 1):
        standings = compare_rounds(node_class, {key: logs[:count] for key, logs in rounds.items()})
        if is_surely_fit(node_class, standings):
            return False
    return any(standing.is_slow and standing.decides for standing in standings)


def drained_share(
    simulated: SimulatedClass, nodes: int, slow: LoadKey | None, seed: int, checks: int = 1, classes: int = 20
) -> tuple[float, float]:
    """Return the share of nodes that are drained within so many checks, and the share of classes that they are of.

    Each of `classes` has its part of the nodes. With a `slow` load those count whose class is even enough for it.
    """
    drained = counted = 0
    for number in range(classes):
        rng = random.Random(f"{simulated.name} {seed} {number} {slow}")
        node_class = make_class(simulated, rng)
        if slow is not None and not any(
            rate.keeps_promise for rate in predicted_error_rates(node_class) if rate.key == slow
        ):
            continue
        counted += 1
        for _ in range(nodes // classes):
            shifts = {key: rng.gauss(0, spread) for key, spread in simulated.node_spread.items()}
            if slow is not None:
                shifts[slow] += math.log(0.8)
            drained += any(
                is_drained(
                    node_class,
                    {
                        key: [log + shifts[key] for log in draw(rng, False)]
                        for key, draw in simulated.draws.items()
                    },
                )
                for _ in range(checks)
            )
    return drained / max(1, counted * (nodes // classes)), counted / classes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--runs", type=Path, help="recordings of the benchmark set on one host")
    arguments = parser.parse_args()
    for simulated in simulated_classes(arguments.runs):
        false, _ = drained_share(simulated, arguments.nodes, None, arguments.seed)
        print(f"{simulated.name}: {false * arguments.nodes:.0f} of {arguments.nodes} fit nodes drained")
        for key in simulated.draws:
            share, _ = drained_share(simulated, arguments.nodes // 10, key, arguments.seed)
            twice, classes = drained_share(simulated, arguments.nodes // 10, key, arguments.seed, checks=2)
            shares = f"found {share:.1%}, in two checks {twice:.1%}; " if classes else ""
            print(f"  20 % slower in {' '.join(key)}: {shares}even enough: {classes:.0%} of the classes")


if __name__ == "__main__":
    main()
