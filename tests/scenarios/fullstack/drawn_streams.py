"""A bench whose rates are drawn: disk, network, what they lose to each other, and the ways between them."""

import random
from collections.abc import Callable, Mapping, Sequence

from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.engine.measured import Measured, MeasuredBatch, MeasurementInvalid
from hostdx.scenarios.fullstack.measurement.bench import METRIC, StreamCost
from hostdx.scenarios.fullstack.measurement.messages import OpenStreams, SliceJob, StreamsReady
from tests.fakes.clock import FakeClock


class DrawnStreams:
    """rates: MB/s by job, of a job beside another one by "job+beside", by direction as "in job", of a link by "job@2".

    worker, busy, ours: shares that the costs tell. refused: by job, why it is not applicable.
    """

    def __init__(
        self, clock: FakeClock, seed: int, rates: Mapping[str, float], *, scatter: float = 0.03,
        worker: float = 0.3, busy: float = 0.5, own: float = 0.4, softirq: float = 0.1, copied: float = 1.0,
        memory: float | None = None,
        refused: Mapping[str, str] | None = None, direct: bool = True,
    ) -> None:  # fmt: skip
        self.clock, self.rates, self.scatter = clock, dict(rates), scatter
        self._rng = random.Random(seed)
        self._shares = {"worker": worker, "busy": busy, "ours": own, "softirq": softirq, "copied": copied}
        self._memory = memory
        self._refused = dict(refused or {})
        self.direct = direct
        self.budget = WriteBudget()
        self.costs: dict[SliceJob, StreamCost] = {}
        self.opened: list[tuple[str, OpenStreams]] = []
        self.closed = 0

    async def prepare_files(self, progress: Callable[[int, int], None] | None) -> None:
        self.clock.advance(1.0)

    async def open(self, name: str, request: OpenStreams) -> StreamsReady:
        self.opened.append((name, request))
        return StreamsReady()

    async def close(self) -> None:
        self.closed += 1

    def _rate(self, side: SliceJob) -> float:
        job = (
            f"{side.job}+{side.beside}"
            if side.beside
            else f"{side.job}@{side.link}"
            if side.link
            else side.job
        )
        base = self.rates.get(f"{side.direction} {job}", self.rates.get(job, self.rates.get(side.job, 100.0)))
        return base * self._rng.lognormvariate(0.0, self.scatter)

    async def measure_batch(
        self, sides: Sequence[SliceJob], order: Sequence[int], slice_s: float, onset_s: float = 0.0, load: str = ""
    ) -> MeasuredBatch:  # fmt: skip
        for number in order:
            if reason := self._refused.get(sides[number].job):
                raise MeasurementInvalid(reason)
        rates = [self._rate(sides[number]) for number in order]
        self.clock.advance(slice_s * len(order))
        measured = []
        for number, side in enumerate(sides):
            own = [rate for n, rate in zip(order, rates, strict=True) if n == number]
            count = int(sum(own) * slice_s * 1e6)
            if side.does_write:
                self.budget.charge(count, count, load)
            cost = self.costs.setdefault(side, StreamCost())
            seconds = slice_s * len(own)
            cost.seconds += seconds
            cost.bytes += count
            cost.cpu_s += 0.5 * count / 1e9
            cost.host_cpu_s += self._shares["ours"] * seconds
            cost.busy_s += self._shares["busy"] * seconds
            cost.softirq_s += self._shares["softirq"] * seconds
            cost.worker_s += self._shares["worker"] * seconds
            if side.job == "zerocopy":
                cost.sends, cost.copied = cost.sends + 100, cost.copied + int(100 * self._shares["copied"])
            if self._memory is not None:
                cost.memory_bytes = (cost.memory_bytes or 0.0) + self._memory * count
            measured.append(
                Measured(seconds=seconds, values={METRIC: sum(own) / len(own)} if own else {}, bytes=count,
                         operations=count >> 20)
            )  # fmt: skip
        return MeasuredBatch(
            seconds=slice_s * len(order), slice_s=slice_s, order=list(order), values={METRIC: rates},
            sides=measured, lengths=[slice_s] * len(order), operations=[int(r * slice_s) + 16 for r in rates],
            quarters=[[rate] * 4 for rate in rates],
        )  # fmt: skip
