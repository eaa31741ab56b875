"""Trains that cost no time: slices whose values are what a noise model says, with what a switch costs planted in."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from hostdx.probes.engine.batch_source import BatchSource
from hostdx.probes.engine.measured import Measured, MeasuredBatch
from hostdx.scenarios.contract.model import Clock
from tests.fakes.noise import Noise, no_noise


class FakeTrains(BatchSource[float]):
    """Implements `BatchSource`.

    rates     operations a second by variant, multiplied by the noise.
    left_s    by variant: seconds that its left-over work takes, all over the next slice, where that is another's.
    share     the same as a share of the next slice, however long that is; `flushed`: quiesce ends it.
    cold      of its pace a side gives in the very first slices: an interpreter that starts, a disk that wakes up.
    switch_s  seconds in which a side gives nothing after a switch.
    raises    by the number of the train (the warm-ups count, from 0): what it raises instead.
    factors   by variant, of each of its places: how fast that is beside the others.
    hangs     trains wait for ever: for tests of cancellation; `running` says whether one is under way.
    """

    def __init__(
        self,
        clock: Clock,
        rates: Mapping[str, float],
        *,
        metric: str = "IOPS",
        noise: Noise = no_noise,
        left_s: Mapping[str, float] | None = None,
        share: Mapping[str, float] | None = None,
        flushed: bool = True,
        cold: float = 1.0,
        switch_s: float = 0.0,
        raises: Mapping[int, Exception] | None = None,
        writes: float = 0.0,
        hangs: bool = False,
        device: bool = True,
        factors: Mapping[str, Sequence[float]] | None = None,
    ) -> None:
        super().__init__(rates, 0.02, has_first_quarters=True)
        self.clock = clock
        self.rates = self._variants
        self.metric = metric
        self.noise = noise
        self.left_s = left_s or {}
        self.share = share or {}
        self.flushed = flushed
        self.cold = cold
        self.switch_s = switch_s
        self.raises = dict(raises or {})
        self.writes = writes  # bytes a second of 8 GiB; 0: it does not write
        self.hangs = hangs
        self.device = device
        self.asked: list[tuple[tuple[int, ...], float]] = []  # order and slice of every train
        self.factors = {variant: list(series) for variant, series in (factors or {}).items()}
        self.places = min(map(len, self.factors.values()), default=1)
        self.visited: list[tuple[int, ...]] = []  # the place of each slice, of every train
        self.running = False
        self._before = ""  # the side of the last slice, until it is flushed
        self.remarks: set[str] = set()

    async def measure_batch(
        self,
        order: Sequence[int],
        slice_s: float,
        *,
        onset_s: float = 0.0,
        quarters: bool = False,
        places: Sequence[int] = (),
    ) -> MeasuredBatch:
        number = len(self.asked)
        self.asked.append((tuple(order), slice_s))
        self.visited.append(tuple(places))
        self.running = True
        try:
            if self.hangs:
                await asyncio.Event().wait()
            if number in self.raises:
                raise self.raises[number]
            return await self._train(order, slice_s, onset_s, quarters, places)
        finally:
            self.running = False

    async def _train(
        self, order: Sequence[int], slice_s: float, onset_s: float, quarters: bool, places: Sequence[int]
    ) -> MeasuredBatch:
        names = self.variant_names
        values, within = [], []
        for at, side in enumerate(order):
            before = self._before
            name = names[side]
            rate = self.rates[name] * self.noise(self.clock.now())
            if self.factors and places:
                rate *= self.factors[name][places[at]]
            rate *= self.cold if len(self.asked) == 1 else 1.0
            if before not in ("", name):
                rate *= max(0.01, 1 - self.left_s.get(before, 0.0) / slice_s)
                rate *= 1 - self.share.get(before, 0.0)
            lost_s = 0.0 if name == before else self.switch_s
            await self.clock.sleep(slice_s)
            counted_s = slice_s - onset_s
            lost_s = max(0.0, min(lost_s, slice_s) - onset_s)
            values.append(rate * (counted_s - lost_s) / counted_s)
            fourth = counted_s / 4
            losses = [min(fourth, max(0.0, lost_s - part * fourth)) for part in range(4)]
            within.append([rate * (fourth - lost_part) / fourth for lost_part in losses])
            self._before = name
        operations = [max(1, round(value * slice_s)) for value in values]
        sides = []
        for number in range(len(names)):
            slices = [at for at, side in enumerate(order) if side == number]
            count = sum(operations[at] for at in slices)
            mean = sum(values[at] for at in slices) / max(1, len(slices))
            sides.append(
                Measured(
                    seconds=slice_s * len(slices),
                    values={self.metric: mean},
                    operations=count,
                    bytes=count * 4096,
                    histogram=[(100_000, count)],
                )
            )
        return MeasuredBatch(
            seconds=slice_s * len(order),
            slice_s=slice_s,
            order=list(order),
            values={self.metric: values},
            lengths=[slice_s] * len(order),
            operations=operations,
            quarters=within if quarters else [],
            sides=sides,
            device_bytes=sum(side.bytes for side in sides) if self.device else None,
        )

    def affordable_s(self, groups: int) -> float:
        return (8 << 30) / self.writes / (groups * 2 * len(self.rates)) if self.writes else float("inf")

    async def finish_requests(self) -> None:
        if self.flushed:
            self._before = ""

    def without_variants(self, variants: Iterable[str]) -> FakeTrains:
        self.rates = self._variants = {v: rate for v, rate in self.rates.items() if v not in variants}
        return self
