"""A variant as an arm of the experiment: loaded and proved in the private namespace, then measured."""

from __future__ import annotations

from typing import Literal, Protocol

from probes.bench.lab_messages import Ready
from probes.bench.measured import Measured
from probes.bench.netrules import Treatment
from probes.bench.route_set import RouteSet
from scenarios.model import Clock
from scenarios.reverse_path.variants import Compared, Trial

_SETTLE_S = 0.02  # what the last variant freed through RCU is gone after a grace period of a few milliseconds


class Bench(Protocol):
    """What `probes.bench.network.Network` does; a test brings numbers of its own."""

    @property
    def in_user_namespace(self) -> bool: ...

    async def set_up(self, routes: RouteSet, *, ipv6: bool) -> Ready: ...

    async def activate(self, treatment: Treatment, *, offload: bool = True) -> Ready: ...

    async def measure(
        self, load: Literal["udp", "tcp"], protocol: Literal["IPv6", "IPv4"], seconds: float
    ) -> Measured: ...

    async def close(self) -> None: ...


class NetworkArm:
    """`path_ns` holds the blocks' values, for the model of what one core can hold."""

    def __init__(self, bench: Bench, clock: Clock, trial: Trial, compared: Compared) -> None:
        self._bench = bench
        self._clock = clock
        self._trial = trial
        self._compared = compared
        self.path_ns: list[float] = []

    @property
    def variant(self) -> str:
        return self._compared.variant.id

    async def activate(self) -> None:
        await self._bench.activate(self._compared.treatment, offload=self._compared.offload)

    async def block(self, seconds: float) -> Measured:
        measured = await self._bench.measure(self._trial.load, self._trial.protocol, seconds)
        if "ns/packet" in measured.values:
            self.path_ns.append(measured.values["ns/packet"])
        return measured

    async def quiesce(self) -> None:
        await self._clock.sleep(_SETTLE_S)
