"""The sides of a load in turn: one process serves all of them, nothing is opened between two slices."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Self

from hostdx.probes.engine.batch_source import BatchSource
from hostdx.probes.engine.measured import MeasuredBatch
from hostdx.scenarios.fullstack.loads import StreamLoad
from hostdx.scenarios.fullstack.measurement.bench import StreamBench
from hostdx.scenarios.fullstack.measurement.messages import SliceJob

FIRST_SLICE_S = 0.05
HEADROOM = 1.5  # a train is planned for so many times the bytes that its slices wrote until now
SPARE = 1.6  # of the groups that are asked for: what others disturb is written again


class StreamBatches(BatchSource[SliceJob]):
    """A slice ends when all of it has arrived and, where it was written, is on the disk."""

    def __init__(self, bench: StreamBench, load: StreamLoad, share: float) -> None:
        """share: of what may still be written when it begins, for this load."""
        super().__init__(load.sides, FIRST_SLICE_S)
        self._bench, self._load, self._share = bench, load, share
        self._per_s = 0.0  # bytes written in a second, at most, of slices as long as the longest until now
        self._longest_s = 0.0

    async def start_workers_and_rehearse(self) -> MeasuredBatch:
        if self._load.has_writes:
            self._bench.budget.set_load_share(self._load.id, self._share)
        await self.check_cached_reads()
        return await super().start_workers_and_rehearse()

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
        sides = list(self._variants.values())
        writing = [n for n in order if sides[n].does_write]
        if writing:
            budget.check(int(self._per_s * HEADROOM * slice_s), load, len(writing))
        before = budget.bytes_left_for(load)
        train = await self._bench.measure_batch(sides, order, slice_s, onset_s, load)
        if writing:
            # as long as they were meant to be: what has to arrive on the disk afterwards makes them longer
            seconds = slice_s * sum(sides[n].does_write for n in train.order)
            if slice_s > self._longest_s:  # short ones may be what a limit gives at once
                self._longest_s, self._per_s = slice_s, 0.0
            self._per_s = max(self._per_s, (before - budget.bytes_left_for(load)) / max(seconds, 1e-3))
        return train

    def affordable_s(self, groups: int) -> float:
        writing = sum(side.does_write for side in self._variants.values())
        if not writing or not self._per_s:
            return math.inf
        wanted = SPARE * 2 * groups * writing * self._per_s * HEADROOM
        return self._bench.budget.bytes_left_for(self._load.id) / wanted

    def without_variants(self, variants: Iterable[str]) -> Self:
        left = super().without_variants(variants)
        left._per_s = left._longest_s = 0.0  # the others may write less
        return left
