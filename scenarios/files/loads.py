"""The storage engine's loads as workloads of an experiment."""

from __future__ import annotations

from probes.bench.workloads import Load, fio_equivalent
from scenarios.experiment.schedule.slices import LEAST_S
from scenarios.plan import Metric, Workload


def workload(load: Load, size_bytes: int, directory: str, *, slices: bool) -> Workload:
    """The engine's load as a workload of an experiment: in slices where several sides are measured in turn."""
    return Workload(
        id=load.id,
        title=load.title,
        metrics=(Metric(name=load.metric, unit=load.unit, better=load.better),),
        block_s=load.block_s,
        max_block_s=load.max_block_s,
        min_operations=load.min_operations,
        slice_s=(load.slice_s or LEAST_S) if slices else 0.0,
        slice_operations=load.slice_operations * load.workers,
        control=load.control,
        equivalent=fio_equivalent(load.id, size_bytes, directory) if directory else "",
        why=load.why,
    )
