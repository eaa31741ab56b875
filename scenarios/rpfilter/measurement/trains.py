"""All variants of a trial in turn, each in a pair of namespaces of its own: nothing is loaded between two slices."""

from collections.abc import Sequence

import msgspec

from hostdx.probes.engine.batch_source import BatchSource, refuse_unfit_variants
from hostdx.probes.engine.measured import Measured, MeasuredBatch, MeasurementInvalid, VariantsUnfit
from hostdx.scenarios.contract.model import Clock
from hostdx.scenarios.rpfilter.measurement.network import LabNetwork
from hostdx.scenarios.rpfilter.measurement.route_set import RouteSet
from hostdx.scenarios.rpfilter.measurement.variants import ComparedVariant, Trial

_SETTLE_S = 0.02  # what the last variant freed through RCU is gone after a grace period of a few milliseconds


class NetworkVariantBench:
    """In blocks, one variant after the other in the first pair: for a stream, which first opens its window."""

    def __init__(self, bench: LabNetwork, clock: Clock, trial: Trial, compared: ComparedVariant) -> None:
        self._bench = bench
        self._clock = clock
        self._trial = trial
        self._compared = compared
        self.variant = compared.variant.id

    async def switch_to_variant(self) -> None:
        await self._bench.apply_treatment(self._compared.treatment, offload=self._compared.offload)

    async def measure_block(self, seconds: float) -> Measured:
        return await self._bench.measure(self._trial.load, self._trial.protocol, seconds)

    async def finish_requests(self) -> None:
        await self._clock.sleep(_SETTLE_S)


FIRST_SLICE_S = 0.02


class NamespacePairs:
    """Which pairs of namespaces are there; they are kept from one trial to the next."""

    def __init__(self, bench: LabNetwork, routes: RouteSet, *, ipv6: bool) -> None:
        """The first pair is set up already."""
        self._bench = bench
        self._routes = routes
        self._ipv6 = ipv6
        self._count = 1

    async def set_up_pairs(self, count: int) -> None:
        for number in range(self._count, count):
            await self._bench.set_up(self._routes, ipv6=self._ipv6, pair=number)
            self._count = number + 1


class NetworkBatches(BatchSource[int]):
    """For small packets. A variant is the number of its pair of namespaces, loaded by `start_workers_and_rehearse`."""

    def __init__(self, bench: LabNetwork, pairs: NamespacePairs, trial: Trial) -> None:
        super().__init__({c.variant.id: n for n, c in enumerate(trial.compared)}, FIRST_SLICE_S)
        self._bench = bench
        self._pairs = pairs
        self._trial = trial
        self._is_loaded = False

    async def start_workers_and_rehearse(self) -> MeasuredBatch:
        """Loads and proves every variant in its own pair of namespaces."""
        if not self._is_loaded:
            await self._treat_each_pair()
        return await super().start_workers_and_rehearse()

    async def _treat_each_pair(self) -> None:
        await self._pairs.set_up_pairs(len(self._trial.compared))
        unfit: dict[str, str] = {}
        for number, compared in enumerate(self._trial.compared):
            try:
                await self._bench.apply_treatment(compared.treatment, offload=compared.offload, pair=number)
            except MeasurementInvalid as why:
                unfit[compared.variant.id] = str(why)
        self._is_loaded = True
        refuse_unfit_variants(unfit)

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
        numbers = list(self._variants.values())
        names = {str(number): variant for variant, number in self._variants.items()}
        try:
            train = await self._bench.measure_batch(
                self._trial.protocol, [numbers[n] for n in order], slice_s, onset_s=onset_s
            )
        except VariantsUnfit as why:
            raise VariantsUnfit([names[n] for n in why.variants], str(why)) from None
        place = {number: at for at, number in enumerate(numbers)}
        return msgspec.structs.replace(
            train,
            order=[place[number] for number in train.order],
            sides=[train.sides[number] for number in numbers if number < len(train.sides)],
        )
