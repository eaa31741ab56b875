"""`hostdx run workload` on a loud host, simulated: how often nothing is called a difference, or a loss a gain.

    python -m tests.measured.simulation.short_runs [--runs 1000] [--only MODEL] [--beside 0.02] [--seconds 6 15 60 |
        --groups 4 5 6 7]

The experiment's own code (`measure_workload` with the scenario's own load: wall and CPU time judged, four groups
at least) on a
fake clock. A run takes 0.1 s where nothing disturbs it and costs `--beside` more (an interpreter's start each time:
0.15); the host makes it 20 to 30 % (sd of
the logarithm) longer or shorter, heavy-tailed, or drifting; CPU time gets half of that and 3 % of its own.
A run is wrong when one metric at least calls a difference that is not there, or the wrong direction.
`--groups`: budgets of exactly so many groups in each model, and effects of 10 and 25 %; there the neighbours have the
rhythm that is worst for groups of a second.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import random
from collections.abc import Callable, Sequence
from typing import TypeAlias

from probes.engine.measured import Measured
from scenarios.contract import events as ev
from scenarios.contract.model import Options
from scenarios.experiment.budget import Pace
from scenarios.experiment.groups import GroupBlocks
from scenarios.experiment.judge import judges_for
from scenarios.experiment.load_schedule import measure_workload
from scenarios.experiment.sequential import draw_orders
from scenarios.workload.request import CommandRequest, parse_request
from scenarios.workload.variant_bench import CPU, WALL
from tests.fakes import FakeClock, FakeRun
from tests.measured.simulation.verdict_table import exact_interval

COMMAND_S = 0.1
BESIDE_S = 0.02  # a run costs this, too: its supervisor, the guards (tests.measured.running.run_cost)
MODELS = (
    "heavy tails 25 %",
    "stretched 25 %",
    "drifts of 5 s, 30 %",
    "drifts of 1 s, 30 %",
    "a neighbour now and then",
    "a neighbour every 1.5 s",
    "a neighbour every 0.95 s, loud",
    "a neighbour every 0.8 s, else quiet",
    "quiet, sd 3 %",
    "quiet, sd 8 %",
    "full host, heavy tails 60 %",
    "full host, drifts of 2 s, 60 %",
    "full host, drifts of 10 s, 60 %",
)
FULL = math.log(5)  # a full host makes a run five times as long: fewer groups fit
BUDGETS_S = (6.0, 15.0, 60.0)  # with 0.15 s beside about 5, 14 and 58 groups, with 0.02 s 10, 28 and 115
EFFECTS = (0.0, 0.1)
MARGINS = (0.025, 0.05)

Budget: TypeAlias = float | int
Noise: TypeAlias = Callable[[float], float]


def noise_of(model: str, rng: random.Random) -> Noise:
    """ln of the host's slowness at a moment; asked at rising times."""
    if model == "heavy tails 25 %":
        return lambda _: 0.25 / math.sqrt(3) * student(rng)
    if model == "stretched 25 %":  # others only ever take time away
        return lambda _: rng.expovariate(4.0)
    if model.startswith("full host"):
        if "tails" in model:
            return lambda _: FULL + 0.6 / math.sqrt(3) * student(rng)
        drifting = Wandering(rng, 10.0 if "10 s" in model else 2.0, scale=2.0)
        return lambda at: FULL + drifting.look_at(at)
    if model.startswith("drifts"):
        length_s = 5.0 if "5 s" in model else 1.0
        return Wandering(rng, length_s).look_at
    if model.startswith("quiet"):
        return lambda _: rng.gauss(0, 0.03 if "3 %" in model else 0.08)
    phase, period = rng.uniform(0, 10), math.exp(rng.uniform(math.log(0.5), math.log(10)))
    tails, slow = 0.1, 0.5
    if "1.5 s" in model:  # the worst of the rhythms tried in 15 s and more; the others in four groups
        period = 1.5
    elif "0.95 s" in model:
        period, tails, slow = 0.95, 0.05, 1.0
    elif "0.8 s" in model:
        period, tails, slow = 0.8, 0.02, 0.2
    return lambda at: (
        (slow if (at + phase) % period < period / 2 else 0.0) + tails / math.sqrt(3) * student(rng)
    )


def student(rng: random.Random) -> float:
    """Student's t with 3 degrees of freedom: variance 3."""
    return rng.gauss(0, 1) / math.sqrt(rng.gammavariate(1.5, 2) / 3)


class Wandering:
    """Autocorrelated over `length_s`, sd 0.25, and heavy-tailed noise of its own, sd 0.15; both times `scale`."""

    def __init__(self, rng: random.Random, length_s: float, scale: float = 1.0) -> None:
        self.rng, self.length_s, self.scale = rng, length_s, scale
        self.level, self.before = rng.gauss(0, 0.25), 0.0

    def look_at(self, at_s: float) -> float:
        rho = math.exp(-(at_s - self.before) / self.length_s)
        self.level = rho * self.level + self.rng.gauss(0, 0.25 * math.sqrt(1 - rho * rho))
        self.before = at_s
        return self.scale * (self.level + 0.15 / math.sqrt(3) * student(self.rng))


class ShortRuns:
    """Implements `Variant`."""

    def __init__(
        self,
        variant: str,
        seconds: float,
        clock: FakeClock,
        noise: Noise,
        rng: random.Random,
        beside_s: float,
    ) -> None:
        self.variant, self.seconds, self.clock, self.noise, self.rng = variant, seconds, clock, noise, rng
        self.beside_s = beside_s

    async def make_active(self) -> None:
        pass

    async def wait_until_idle(self) -> None:
        pass

    async def measure_block(self, seconds: float) -> Measured:
        slow = self.noise(self.clock.now())
        wall = self.seconds * math.exp(slow)
        cpu = self.seconds * math.exp(slow / 2 + self.rng.gauss(0, 0.03))
        self.clock.advance(wall + self.beside_s)
        return Measured(seconds=wall, values={WALL: wall, CPU: cpu}, operations=1, cpu_s=cpu)


async def words(
    model: str, effect: float, budget: Budget, margin: float, seed: int, beside_s: float
) -> dict[str, str]:
    """The verdicts by metric, of the second command, which takes `effect` longer. `budget`: seconds (a float), or
    exactly so many groups (an int).
    """
    rng = random.Random(f"{model} {effect} {budget} {margin} {seed}")
    run = FakeRun(seed=rng.randrange(1 << 30), options={"margin": margin})
    noise = noise_of(model, rng)
    wanted = parse_request(Options({"cmd": "true", "variant": ["A:", "B:"]}), "/")
    benches = [
        ShortRuns(v, COMMAND_S * (1 + more), run.clock, noise, rng, beside_s)
        for v, more in (("A", 0.0), ("B", effect))
    ]
    family = len(wanted.variant_pairs)
    if isinstance(budget, int):
        verdicts = await of_groups(run, wanted, benches, budget, margin)
    else:
        verdicts, _ = await measure_workload(
            run, wanted.load, benches, budget_s=budget, family=family, pairs=wanted.variant_pairs
        )
    return {verdict.metric: verdict.verdict for verdict in verdicts}


async def of_groups(
    run: FakeRun, wanted: CommandRequest, benches: Sequence[ShortRuns], groups: int, margin: float
) -> list[ev.RunVerdict]:
    judges = judges_for(
        wanted.load,
        wanted.variant_pairs,
        family=len(wanted.variant_pairs),
        margin=margin,
        planned_groups=groups,
        scope="",
    )
    pace = Pace(run.clock, math.inf, 1.0)
    draw = draw_orders(tuple(bench.variant for bench in benches), run.rng, wanted.load.min_groups)
    of = {bench.variant: bench for bench in benches}
    run.clock.advance(10 * run.rng.random())
    for index in range(groups):
        group = GroupBlocks(index, next(draw))
        for variant in group.order:
            group.add(variant, await of[variant].measure_block(0.0))
        for judge in judges:
            judge.add(group, pace)
    return [judge.conclude_verdict(run.elapsed_s(), pace, "") for judge in judges]


def wrong(found: dict[str, str], effect: float) -> bool:
    bad = ("faster",) if effect else ("faster", "slower")
    return any(word in bad for word in found.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--only", choices=MODELS)
    parser.add_argument("--beside", type=float, default=BESIDE_S)
    parser.add_argument("--seconds", type=float, nargs="+", default=BUDGETS_S)
    parser.add_argument("--groups", type=int, nargs="+", default=[])
    asked = parser.parse_args()
    budgets: Sequence[Budget] = asked.groups or asked.seconds
    for model in [asked.only] if asked.only else MODELS:
        for budget in budgets:
            for margin in MARGINS[: 1 if asked.groups else None]:
                cells = []
                for effect in (*EFFECTS, 0.25) if asked.groups else EFFECTS:
                    found = [
                        asyncio.run(words(model, effect, budget, margin, seed, asked.beside))
                        for seed in range(asked.runs)
                    ]
                    bad = sum(wrong(one, effect) for one in found)
                    low, high = exact_interval(bad, asked.runs)
                    right = sum(one[WALL] == "slower" for one in found)
                    cells.append(f"{100 * bad / asked.runs:4.1f} [{100 * low:.1f}, {100 * high:.1f}] %")
                    if effect:
                        cells.append(f"found {100 * right / asked.runs:3.0f} %")
                print(
                    f"{model:34} {budget:3.0f} {'groups' if asked.groups else 's'}  "
                    f"margin {100 * margin:3.1f} %  {'  '.join(cells)}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
