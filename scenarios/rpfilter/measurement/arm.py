"""A variant as an arm of the experiment: loaded and proved in the private namespace, then measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from probes.bench.measured import Measured, Train
from probes.bench.net.lab_messages import Ready
from probes.bench.net.route_set import RouteSet
from probes.bench.net.rules import Treatment
from scenarios.model import Clock
from scenarios.rpfilter.measurement.variants import Compared, Trial

_SETTLE_S = 0.02  # what the last variant freed through RCU is gone after a grace period of a few milliseconds


class Bench(Protocol):
    """What `probes.bench.net.network.Network` does; a test brings numbers of its own."""

    @property
    def in_user_namespace(self) -> bool: ...

    async def set_up(self, routes: RouteSet, *, ipv6: bool, pair: int = 0) -> Ready: ...

    async def activate(self, treatment: Treatment, *, offload: bool = True, pair: int = 0) -> Ready: ...

    async def train(
        self, protocol: Literal["IPv6", "IPv4"], order: Sequence[int], slice_s: float, *, onset_s: float = 0.0
    ) -> Train: ...

    async def measure(
        self, load: Literal["udp", "tcp"], protocol: Literal["IPv6", "IPv4"], seconds: float
    ) -> Measured: ...

    async def close(self) -> None: ...


class NetworkArm:
    """In blocks, one variant after the other in the first pair: for a stream, which first opens its window."""

    def __init__(self, bench: Bench, clock: Clock, trial: Trial, compared: Compared) -> None:
        self._bench = bench
        self._clock = clock
        self._trial = trial
        self._compared = compared

    @property
    def variant(self) -> str:
        return self._compared.variant.id

    async def activate(self) -> None:
        await self._bench.activate(self._compared.treatment, offload=self._compared.offload)

    async def block(self, seconds: float) -> Measured:
        return await self._bench.measure(self._trial.load, self._trial.protocol, seconds)

    async def quiesce(self) -> None:
        await self._clock.sleep(_SETTLE_S)
