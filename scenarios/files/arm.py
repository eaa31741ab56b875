"""The storage engine's loads as arms of an experiment, checked to be served by the device, and their levels."""

from __future__ import annotations

from contextlib import suppress

from probes.bench.disk.cache import cache_check
from probes.bench.disk.storage import StorageBench
from probes.bench.measured import Measured, NotApplicable
from probes.bench.workloads import load_of
from scenarios.plan import Metric, Workload


class StorageArm:
    """One directory under one load."""

    def __init__(self, variant: str, bench: StorageBench, workload: Workload) -> None:
        self.variant = variant
        self.bench = bench
        self.workload = workload
        self.remarks: set[str] = set()
        self.unfit = ""  # why nothing that was measured counts

    async def ready(self) -> None:
        """Starts the workers this load needs, so that their start is nobody's switching time."""
        with suppress(NotApplicable):  # said by the first block that counts
            await self.bench.ready(self.workload.id)

    async def activate(self) -> None:
        """Both directories are always there: nothing to switch."""

    async def block(self, seconds: float) -> Measured:
        measured = await self.bench.block(self.workload.id, seconds)
        if load_of(self.workload.id).kind == "read" and (served := cache_check(measured)):
            self.unfit = served
            raise NotApplicable(served)
        if measured.remark:
            self.remarks.add(measured.remark)
        return measured

    async def quiesce(self) -> None:
        await self.bench.quiesce()

    @property
    def metric(self) -> Metric:
        return self.workload.metrics[0]
