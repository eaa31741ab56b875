"""A bench whose rates are drawn: what a file system gives, by corner, with noise between the blocks."""

import random
from collections.abc import Mapping

from hostdx.probes.engine.measured import Measured, WriteBudgetSpent
from hostdx.scenarios.box.measurement.bench import DirectoryListing, ReadsServedByCache
from hostdx.scenarios.box.measurement.corner import CORNERS, BoxTest
from hostdx.scenarios.contract.model import Clock
from tests.fakes.clock import FakeClock

BLOCK_S = 0.4
USUAL: Mapping[str, float] = {
    "ior-easy-write": 900e6,
    "ior-hard-write": 400e6,
    "ior-easy-read": 1500e6,
    "ior-hard-read": 700e6,
    "mdtest-easy-write": 20_000.0,
    "mdtest-hard-write": 12_000.0,
    "find": 900_000.0,
    "mdtest-easy-stat": 300_000.0,
    "mdtest-hard-stat": 250_000.0,
    "mdtest-hard-read": 30_000.0,
    "mdtest-easy-delete": 25_000.0,
    "mdtest-hard-delete": 18_000.0,
}


class DrawnBench:
    """Implements `cycles.Bench`. `slow`: by corner, how many times slower; `cached`: refused as memory's answers.

    `second`: by load, how many times as fast whichever side comes second is; `flushed`: settling ends that.
    `last`: what it raises after `most_blocks`.
    """

    direct = True
    file_count = 2000
    surrounding_names = DirectoryListing()

    def __init__(
        self,
        clock: FakeClock,
        seed: int,
        *,
        slow: Mapping[str, float] | None = None,
        cached: frozenset[str] = frozenset(),
        scatter: float = 0.1,
        most_blocks: int = 10**6,
        last: Exception | None = None,
        second: Mapping[str, float] | None = None,
        flushed: bool = False,
    ) -> None:
        self.clock: Clock = clock
        self._advance = clock.advance
        self._rng = random.Random(seed)
        self._slow = dict(slow or {})
        self._cached, self._scatter, self._left = cached, scatter, most_blocks
        self.order: list[tuple[int, str]] = []
        self.pilots: list[int] = []
        self._cycle, self._last = 0, last or WriteBudgetSpent("the run's write limit is reached")
        self._second, self._flushed, self._before = dict(second or {}), flushed, ""

    async def wait_until_settled(self) -> None:
        self._before = "" if self._flushed else self._before

    def begin_cycle(self, cycle: int, *, last_pilot: bool) -> None:
        self._cycle = cycle
        if last_pilot:
            self.pilots.append(cycle)

    async def measure_block(self, corner: BoxTest) -> Measured:
        assert corner in CORNERS
        self.order.append((self._cycle, corner.id))
        if corner.id in self._cached:
            raise ReadsServedByCache("cached: 100 % of the pages stayed in this host's memory")
        self._left -= 1
        if self._left < 0:
            raise self._last
        rate = (
            USUAL[corner.id] / self._slow.get(corner.id, 1.0) * self._rng.lognormvariate(0.0, self._scatter)
        )
        rate *= self._second.get(corner.load, 1.0) if self._before == corner.load else 1.0
        self._before = corner.load
        self._advance(BLOCK_S)
        size = corner.record_bytes if corner.moves_bytes else 1
        return Measured(
            seconds=BLOCK_S,
            values={corner.metric_name: rate},
            operations=int(rate * BLOCK_S / size),
            cpu_s=0.2,
        )
