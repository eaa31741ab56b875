"""A variant whose blocks cost no time and give what a noise model says."""

import asyncio
from collections.abc import Mapping

from hostdx.probes.engine.measured import Measured, MeasurementInvalid
from hostdx.scenarios.contract.model import Clock
from tests.fakes.noise import Noise, no_noise


class FakeVariantBench:
    """Implements `hostdx.scenarios.experiment.schedule.blocks.VariantBench`.

    `values` maps metric names to what a quiet machine gives (multiplied by the noise; the names in `less` are
    divided by it). `calls` is the log of what was called, shared between variants if given:
    ("activate" | "block" | "quiesce", variant). `operations_per_s` decides operations and bytes (4 KiB each).
    `fail_activate` and `fail_block_at` (the n-th block of this variant, from 0) raise MeasurementInvalid.
    `onset_s` is held apart in each block (`onset_factor` times its value). `hang` makes blocks wait for ever,
    for tests of cancellation: `running` says whether a load is under way.
    """

    def __init__(
        self,
        variant: str,
        clock: Clock,
        values: Mapping[str, float] | None = None,
        *,
        noise: Noise = no_noise,
        less: tuple[str, ...] = (),
        operations_per_s: float = 10_000.0,
        calls: list[tuple[str, str]] | None = None,
        fail_activate: str = "",
        fail_block_at: int | None = None,
        fail_reason: str = "served by a cache: 3 % of the bytes reached vda",
        onset_s: float = 0.0,
        onset_factor: float = 2.0,
        p99_ns: int | None = None,
        hang: bool = False,
    ) -> None:
        self.variant = variant
        self.clock = clock
        self.values = dict(values or {"IOPS": 10_000.0})
        self.noise = noise
        self.less = less
        self.operations_per_s = operations_per_s
        self.calls = calls if calls is not None else []
        self.fail_activate = fail_activate
        self.fail_block_at = fail_block_at
        self.fail_reason = fail_reason
        self.onset_s = onset_s
        self.onset_factor = onset_factor
        self.p99_ns = p99_ns
        self.hang = hang
        self.blocks = 0
        self.asked: list[float] = []  # the seconds each block was asked for
        self.running = False

    async def switch_to_variant(self) -> None:
        self.calls.append(("activate", self.variant))
        if self.fail_activate:
            raise MeasurementInvalid(self.fail_activate)

    async def finish_requests(self) -> None:
        self.calls.append(("quiesce", self.variant))

    async def measure_block(self, seconds: float) -> Measured:
        self.calls.append(("block", self.variant))
        number, self.blocks = self.blocks, self.blocks + 1
        self.asked.append(seconds)
        factor = self.noise(self.clock.now())
        self.running = True
        try:
            if self.hang:
                await asyncio.Event().wait()
            await self.clock.sleep(seconds)
        finally:
            self.running = False
        if number == self.fail_block_at:
            raise MeasurementInvalid(self.fail_reason)
        onset = None
        if self.onset_s:
            onset = self._make_measured(self.onset_s, factor * self.onset_factor)
        return self._make_measured(seconds - self.onset_s, factor, onset)

    def _make_measured(self, seconds: float, factor: float, onset: Measured | None = None) -> Measured:
        operations = round(self.operations_per_s * seconds * factor)
        return Measured(
            seconds=seconds,
            values={k: v / factor if k in self.less else v * factor for k, v in self.values.items()},
            operations=operations,
            bytes=operations * 4096,
            device_bytes=operations * 4096,
            cpu_s=0.1 * seconds,
            p99_ns=self.p99_ns,
            onset=onset,
        )
