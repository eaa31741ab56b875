"""The private namespaces as numbers: what a packet costs by variant, what cannot be made here, and a log."""

import random
from collections.abc import Sequence
from typing import Literal

from hostdx.probes.engine.measured import BenchRefused, Measured, MeasuredBatch, MeasurementInvalid
from hostdx.scenarios.rpfilter.measurement.firewall_rules import Treatment
from hostdx.scenarios.rpfilter.measurement.lab_messages import LabReady
from hostdx.scenarios.rpfilter.measurement.route_set import RouteSet
from tests.fakes.clock import FakeClock


class FakeNetwork:
    """Stands for `hostdx.scenarios.rpfilter.measurement.network.LabNetwork`.

    `costs` are ns by what the treatment does; scatter 1 %."""

    def __init__(
        self,
        clock: FakeClock,
        *,
        check_ns: float = 550.0,
        trivial_ns: float = 15.0,
        path_ns: float = 1100.0,
        setting_ns: float = 20.0,
        no_fib: bool = False,
        refuse_set_up: str = "",
        in_user_namespace: bool = False,
    ) -> None:
        self.clock = clock
        self.in_user_namespace = in_user_namespace
        self.costs = {"none": 0.0, "trivial": trivial_ns, "check": check_ns}
        self.path_ns = path_ns
        self.setting_ns = setting_ns
        self.no_fib = no_fib
        self.refuse_set_up = refuse_set_up
        self.routes: RouteSet | None = None
        self.ipv6: bool | None = None
        self.active: Treatment | None = None
        self.offload = True
        self.closed = 0
        self.loaded: list[Treatment] = []
        self.pairs: dict[int, Treatment] = {}
        self.pair_count = 0  # pairs of namespaces
        self._noise = random.Random(7)

    async def set_up(self, routes: RouteSet, *, ipv6: bool, pair: int = 0) -> LabReady:
        if self.refuse_set_up:
            raise BenchRefused(self.refuse_set_up)
        assert pair == self.pair_count
        self.pair_count += 1
        self.routes, self.ipv6 = routes, ipv6
        return LabReady(
            in_user_namespace=self.in_user_namespace,
            ipv6_routes=len(routes.ipv6),
            ipv4_routes=len(routes.ipv4),
        )

    async def apply_treatment(self, treatment: Treatment, *, offload: bool = True, pair: int = 0) -> LabReady:
        assert pair < self.pair_count
        if self.no_fib and treatment.rule_kind == "check" and treatment.loader == "nft":
            raise MeasurementInvalid(
                "this kernel has no reverse-path lookup for its firewall (fib, rpfilter): nft: ..."
            )
        self.loaded.append(treatment)
        self.active, self.offload = treatment, offload
        self.pairs[pair] = treatment
        return LabReady(spoofed=20 if treatment.catches else 0)

    async def measure(
        self, load: Literal["udp", "tcp"], protocol: Literal["IPv6", "IPv4"], seconds: float
    ) -> Measured:
        assert self.active is not None and self.active.protocol == protocol
        await self.clock.sleep(seconds)
        cost = self.costs[self.active.rule_kind] + self.setting_ns * self.active.rp_filter
        if load == "tcp":
            rate = 1000.0 * (1.0 if self.offload else 1100.0 / (1100.0 + cost)) * self._noise.gauss(1, 0.01)
            return Measured(seconds=seconds, values={"MB/s": rate}, bytes=int(rate * 1e6 * seconds))
        ns = (self.path_ns + cost) * self._noise.gauss(1, 0.01)
        packets = int(seconds * 1e9 / ns)
        return Measured(seconds=seconds, values={"ns/packet": ns}, operations=packets, cpu_s=seconds)

    async def measure_batch(
        self, protocol: Literal["IPv6", "IPv4"], order: Sequence[int], slice_s: float, *, onset_s: float = 0.0
    ) -> MeasuredBatch:
        assert all(self.pairs[number].protocol == protocol for number in order)
        await self.clock.sleep(slice_s * len(order))
        slice_pairs = [self.pairs[number] for number in order]
        values = [
            (self.path_ns + self.costs[t.rule_kind] + self.setting_ns * t.rp_filter)
            * self._noise.gauss(1, 0.01)
            for t in slice_pairs
        ]
        counted_s = slice_s - onset_s
        packets = [int(counted_s * 1e9 / ns) for ns in values]
        sides = []
        for number in range(max(order) + 1):
            slices = [at for at, index in enumerate(order) if index == number]
            mean = sum(values[at] for at in slices) / max(1, len(slices))
            sides.append(
                Measured(
                    seconds=counted_s * len(slices),
                    values={"ns/packet": mean} if slices else {},
                    operations=sum(packets[at] for at in slices),
                )
            )
        return MeasuredBatch(
            seconds=slice_s * len(order),
            slice_s=slice_s,
            order=list(order),
            values={"ns/packet": values},
            lengths=[counted_s] * len(order),
            operations=packets,
            quarters=[[1e9 / ns] * 4 for ns in values],
            sides=sides,
        )

    async def close(self) -> None:
        self.closed += 1
