"""A fleet that is made: levels of the nodes, noise at each measurement, facts alike but for what is planted."""

import math
import random
from collections.abc import Callable, Iterable, Sequence

from hostdx.probes.types import Json
from hostdx.scenarios.analysis.compare.run_summary import FactKey, FigureKey, PlannedLoad
from hostdx.scenarios.analysis.peers.facts import FactTable, comparable_fact_texts
from hostdx.scenarios.analysis.peers.node import Hardware, PeerNode
from hostdx.scenarios.analysis.peers.retest import Round, loads_to_retest, next_suspects
from hostdx.scenarios.analysis.peers.screen import PeerCheck, peers_for, screen_nodes
from hostdx.scenarios.contract.plan import Metric

RATE = Metric("rate", "1/s")
HARDWARE: Hardware = (("CPU", "a model"),)
Noise = Callable[[random.Random], float]


def draw_usual(rng: random.Random) -> float:
    return rng.gauss(0, 0.02)


def draw_heavy(rng: random.Random) -> float:
    """Student's t with three degrees of freedom, its standard deviation 2 %."""
    return 0.02 * rng.gauss(0, 1) / math.sqrt(rng.gammavariate(1.5, 2) / 3) / math.sqrt(3)


class Nodes:
    def __init__(
        self, count: int, seed: int, *, noise: Noise = draw_usual, measures: int = 1, differ: float = 0.01
    ) -> None:
        self.rng = random.Random(seed)
        self.noise = noise
        self.keys = [FigureKey(f"load-{n}", "rate") for n in range(measures)]
        names = [f"node{n:04}" for n in range(count)]
        self.levels = {name: [self.rng.gauss(0, differ) for _ in self.keys] for name in names}

    @property
    def loads(self) -> dict[FigureKey, PlannedLoad]:
        return {key: PlannedLoad(key.workload, RATE) for key in self.keys}

    def slow(self, names: Iterable[str], ratio: float, measure: int = 0) -> None:
        for name in names:
            self.levels[name][measure] += math.log(ratio)

    def measure(self, names: Iterable[str]) -> list[PeerNode]:
        return [
            PeerNode(
                name=name,
                logs={
                    key: level + self.noise(self.rng)
                    for key, level in zip(self.keys, self.levels[name], strict=True)
                },
                hardware=HARDWARE,
            )
            for name in names
        ]

    def all(self) -> list[PeerNode]:
        return self.measure(self.levels)

    def rounds(self, screen: PeerCheck) -> list[Round]:
        """As a fleet run does them."""
        done: list[Round] = []
        while names := next_suspects(screen, done):
            peers = peers_for(screen, names, self.rng.randrange(1 << 30))
            loads = loads_to_retest(screen, done, names)
            measured = self.measure([*names, *peers])
            for node in measured:
                for key in [key for key in node.logs if key.workload not in loads]:
                    del node.logs[key]
            done.append({node.name: node for node in measured})
        return done


def screen_and_measure(nodes: Nodes) -> tuple[PeerCheck, list[Round]]:
    screen = screen_nodes(nodes.all())
    return screen, nodes.rounds(screen)


def table_of(names: Sequence[str], facts: Callable[[str], dict[FactKey, Json]]) -> FactTable:
    table = FactTable()
    for name in names:
        table.add(name, comparable_fact_texts(facts(name)))
    return table
