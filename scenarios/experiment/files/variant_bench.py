"""The storage engine's loads as variants of an experiment, checked to be served by the device, and their levels."""

from contextlib import suppress

from hostdx.probes.engine.disk.storage import StorageBench
from hostdx.probes.engine.measured import Measured, MeasurementInvalid, served_by_cache_reason
from hostdx.probes.engine.workloads import EngineLoad, engine_load, fio_command
from hostdx.scenarios.contract.plan import Metric, Workload
from hostdx.scenarios.experiment.schedule.blocks import VariantBench
from hostdx.scenarios.experiment.schedule.slices import MIN_SLICE_S


class DirectoryLoadBench(VariantBench):
    """One directory under one load."""

    def __init__(self, variant: str, bench: StorageBench, workload: Workload) -> None:
        self.variant = variant
        self.bench = bench
        self.workload = workload
        self.remarks: set[str] = set()
        self.unfit = ""  # why nothing that was measured counts

    async def start_workers_and_rehearse(self) -> None:
        """Starts the workers this load needs, so that their start is nobody's switching time."""
        with suppress(MeasurementInvalid):  # said by the first block that counts
            await self.bench.start_workers_and_rehearse(self.workload.id)

    async def measure_block(self, seconds: float) -> Measured:
        measured = await self.bench.measure_block(self.workload.id, seconds)
        if engine_load(self.workload.id).kind == "read" and (served := served_by_cache_reason(measured)):
            self.unfit = served
            raise MeasurementInvalid(served)
        if measured.remark:
            self.remarks.add(measured.remark)
        return measured

    async def finish_requests(self) -> None:
        await self.bench.finish_requests()


def engine_workload(load: EngineLoad, size_bytes: int, directory: str, *, slices: bool) -> Workload:
    """The engine's load as a workload of an experiment: in slices where several sides are measured in turn."""
    return Workload(
        id=load.id,
        title=load.title,
        metrics=(Metric(name=load.metric, unit=load.unit, better=load.better),),
        block_s=load.block_s,
        max_block_s=load.max_block_s,
        min_operations=load.min_operations,
        slice_s=(load.slice_s or MIN_SLICE_S) if slices else 0.0,
        slice_operations=load.slice_operations * load.workers,
        control=load.control,
        equivalent=fio_command(load.id, size_bytes, directory) if directory else "",
        why=load.why,
    )
