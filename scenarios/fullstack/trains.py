"""The sides of a load in turn: one process serves all of them, nothing is opened between two slices."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

from probes.engine.disk.budget import WriteBudget
from probes.engine.measured import MeasuredBatch, NotApplicable, VariantsUnfit
from scenarios.fullstack.loads import StreamLoad
from scenarios.fullstack.measurement.messages import Side

FIRST_SLICE_S = 0.05
HEADROOM = 1.5  # a train is planned for so many times the bytes that its slices wrote until now
SPARE = 1.6  # of the groups that are asked for: what others disturb is written again


class StreamBatchMeasurer(Protocol):
    """Of `StreamBench`; tests bring one that draws."""

    budget: WriteBudget

    async def measure_batch(
        self,
        sides: Sequence[Side],
        order: Sequence[int],
        slice_s: float,
        onset_s: float = 0.0,
        load: str = "",
    ) -> MeasuredBatch: ...


class StreamTrains:
    """Implements `scenarios.experiment.schedule.trains.BatchSource`."""

    places = 1

    def __init__(
        self,
        bench: StreamBatchMeasurer,
        load: StreamLoad,
        share: float,
        sides: Mapping[str, Side] | None = None,
    ) -> None:
        """share: of what may still be written when it begins, for this load."""
        self._bench, self._load, self._share = bench, load, share
        self._sides = dict(load.sides if sides is None else sides)
        self._per_s = 0.0  # bytes written in a second, at most, of slices as long as the longest until now
        self._longest_s = 0.0

    @property
    def variant_names(self) -> tuple[str, ...]:
        return tuple(self._sides)

    async def start_workers(self) -> MeasuredBatch:
        """Each side alone first: only so can be told which one a cache serves."""
        if self._load.has_writes:
            self._bench.budget.begin(self._load.id, self._share)
        unfit: dict[str, str] = {}
        for number, name in enumerate(self._sides):
            try:
                await self.measure_batch([number], FIRST_SLICE_S)
            except NotApplicable as why:
                unfit[name] = str(why)
        if unfit:
            raise VariantsUnfit(tuple(unfit), "; ".join(dict.fromkeys(unfit.values())))
        return await self.measure_batch(range(len(self._sides)), FIRST_SLICE_S)

    async def measure_batch(
        self,
        order: Sequence[int],
        slice_s: float,
        *,
        onset_s: float = 0.0,
        quarters: bool = False,
        places: Sequence[int] = (),
    ) -> MeasuredBatch:
        """The quarters are measured anyway."""
        budget, load = self._bench.budget, self._load.id
        sides = list(self._sides.values())
        writing = [n for n in order if sides[n].does_write]
        if writing:
            budget.check(int(self._per_s * HEADROOM * slice_s), load, len(writing))
        before = budget.left_for(load)
        train = await self._bench.measure_batch(sides, order, slice_s, onset_s, load)
        if writing:
            # as long as they were meant to be: what has to arrive on the disk afterwards makes them longer
            seconds = slice_s * sum(sides[n].does_write for n in train.order)
            if slice_s > self._longest_s:  # short ones may be what a limit gives at once
                self._longest_s, self._per_s = slice_s, 0.0
            self._per_s = max(self._per_s, (before - budget.left_for(load)) / max(seconds, 1e-3))
        return train

    def affordable_s(self, groups: int) -> float:
        writing = sum(side.does_write for side in self._sides.values())
        if not writing or not self._per_s:
            return math.inf
        wanted = SPARE * 2 * groups * writing * self._per_s * HEADROOM
        return self._bench.budget.left_for(self._load.id) / wanted

    async def wait_until_idle(self) -> None:
        """A slice ends when all of it has arrived and, where it was written, is on the disk."""

    def without_variants(self, variants: Sequence[str]) -> StreamTrains:
        left = {name: side for name, side in self._sides.items() if name not in variants}
        return StreamTrains(self._bench, self._load, self._share, left)
