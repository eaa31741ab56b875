"""One load on all variants, measured slice by slice: what every load of this kind has in common."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, Self, TypeVar

from hostdx.probes.engine.measured import MeasuredBatch, MeasurementInvalid, VariantsUnfit

Served = TypeVar("Served", covariant=True)


class BatchSource(ABC, Generic[Served]):
    """The same workers serve every variant, which is switched within a millisecond.

    A subclass has the workers measure a batch and decodes their answers in `measure_batch`.
    Cancelling stops the load at once and leaves nothing running.
    """

    # pairs of file sets that the variants have (see `places`); 1 where they have none of their own
    places = 1

    def __init__(
        self, variants: Mapping[str, Served], first_slice_s: float, *, has_first_quarters: bool = False
    ) -> None:
        """`variants`: by id, as in the plan, what the workers serve for it. `has_first_quarters`:
        the rates within the first slices are wanted.
        """
        self._variants = dict(variants)
        self._first_slice_s, self._has_first_quarters = first_slice_s, has_first_quarters

    @property
    def variant_names(self) -> tuple[str, ...]:
        """Return the ids of the variants. `order` below numbers them."""
        return tuple(self._variants)

    async def start_workers_and_rehearse(self) -> MeasuredBatch:
        """Start the workers and measure one short slice of each variant, which shows how fast it is.

        Raise MeasurementInvalid (VariantsUnfit for some variants only), WriteBudgetSpent and BenchRefused.
        """
        return await self.measure_batch(
            range(len(self._variants)), self._first_slice_s, quarters=self._has_first_quarters
        )

    async def check_cached_reads(self) -> None:
        """Measure each variant alone: only so can be told whose reads a cache serves. Raise VariantsUnfit."""
        reasons: dict[str, str] = {}
        for number, name in enumerate(self.variant_names):
            try:
                await self.measure_batch([number], self._first_slice_s)
            except MeasurementInvalid as why:
                reasons |= dict.fromkeys(
                    why.variants if isinstance(why, VariantsUnfit) else (name,), str(why)
                )
        refuse_unfit_variants(reasons)

    @abstractmethod
    async def measure_batch(
        self,
        order: Sequence[int],
        slice_s: float,
        *,
        onset_s: float = 0.0,
        quarters: bool = False,
        places: Sequence[int] = (),
    ) -> MeasuredBatch:
        """Measure slices of `slice_s` seconds in this order; the first `onset_s` seconds of each do not count.

        quarters: whether the rates within the slices are wanted.
        places: the file set of each slice; empty where it does not matter.

        Raise as `start_workers_and_rehearse`.
        """

    def affordable_s(self, groups: int) -> float:
        """Return how long slices may be so that so many groups fit into the write limit; infinite without a limit."""
        return math.inf

    async def finish_requests(self) -> None:
        """Wait, for a limited time, until nothing is in flight and all written data are on the device."""

    def without_variants(self, variants: Iterable[str]) -> Self:
        """Return the same source without these variants."""
        left = copy.copy(self)
        left._variants = {name: served for name, served in self._variants.items() if name not in variants}
        return left


def refuse_unfit_variants(reasons: Mapping[str, str]) -> None:
    """Raise VariantsUnfit for the variants with a reason; do nothing where none has one."""
    if reasons:
        raise VariantsUnfit(tuple(reasons), "; ".join(dict.fromkeys(reasons.values())))
