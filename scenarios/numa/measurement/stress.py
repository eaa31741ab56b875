"""Integer, double and vector loops of stress-ng on one core, all cores, all threads: beside the built-in loads.

Its rate counts waits for a CPU, so that a busy host shows in it: no conclusion on the hardware is drawn from it.
"""

from __future__ import annotations

import random
from collections import defaultdict

from probes.bench.stress import LOADS, StressLoad, bogo_rate, installed
from probes.system.processor.topology import Topology
from scenarios.numa.measurement.cpu import CROWDS, CpuLoad, CpuRow, Crowd, crowds
from scenarios.numa.measurement.figures import Told, figure

SAMPLE_S = 0.2
UNIT = "bogo operations/s"


class StressBench:
    """Rounds of samples: each load in each crowd, in a drawn order."""

    def __init__(self, placed: Topology, allowed: frozenset[int], seed: int) -> None:
        self._rng = random.Random(seed)
        one, cores, threads = crowds(placed, allowed)
        self._one = (cores or one).cpus
        self._wide = tuple(crowd for crowd in (cores, threads) if crowd is not None)
        self._rates: dict[tuple[str, str], list[float]] = defaultdict(list)
        self._loads = LOADS if installed() else ()
        self.told: list[Told] = []  # of the last round

    def __bool__(self) -> bool:
        return bool(self._loads)

    async def round(self) -> None:
        """Every cell once. Raises BenchRefused."""
        alone = Crowd("one", (self._rng.choice(self._one),), 1)
        cells = [(load, crowd) for load in self._loads for crowd in (alone, *self._wide)]
        self._rng.shuffle(cells)
        for load, crowd in cells:
            self._rates[load.id, crowd.id].append(await bogo_rate(load, crowd.cpus, SAMPLE_S))
        self.told = [
            Told(load.title, CROWDS[crowd.id], self._rates[load.id, crowd.id][-1], UNIT)
            for load in self._loads
            for crowd in (alone, *self._wide)
        ]

    def rows(self) -> tuple[CpuRow, ...]:
        return tuple(row for load in self._loads if (row := self._row(load)) is not None)

    def _row(self, load: StressLoad) -> CpuRow | None:
        one, cores, threads = (figure(self._rates[load.id, crowd]) for crowd in ("one", "cores", "threads"))
        if one is None:
            return None
        title = CpuLoad(id=load.id, title=load.title, unit=UNIT)
        return CpuRow(load=title, one=one, cores=cores, threads=threads, of_n=None)
