"""A disk read from its own node's CPUs and from the farthest node's: the same workers, moved between the blocks."""

import os
from collections.abc import Callable, Sequence

import msgspec

from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.engine.disk.refusals import DirectorySuitability, check_suitability
from hostdx.probes.engine.disk.storage import StorageBench
from hostdx.probes.engine.measured import MeasurementInvalid
from hostdx.probes.engine.pool import SharedWorkers
from hostdx.probes.engine.workloads import engine_load, prepared_bytes
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.block import block_devices
from hostdx.probes.types import Absent
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.model import Run, own_test_directory
from hostdx.scenarios.contract.plan import PlannedWrite, Variant, Workload
from hostdx.scenarios.experiment.budget import TimeBudget
from hostdx.scenarios.experiment.experiment import LoadExperiment
from hostdx.scenarios.experiment.files.variant_bench import DirectoryLoadBench, engine_workload
from hostdx.scenarios.experiment.guards.watch import watch_for
from hostdx.scenarios.experiment.load_schedule import ScheduledLoad, measure_loads
from hostdx.scenarios.experiment.schedule.blocks import BlockScheduler
from hostdx.scenarios.triage.cpus.usable import UsableCpus

LOADS = ("randread-4k-qd1", "read-1m-qd8")
SIZES = (256 << 20, 64 << 20)
DISK_NEAR, DISK_FAR = "disk-near", "disk-far"
BLOCK_S, MIN_OPERATIONS = 0.1, 50


class NodeDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """A directory on a disk of a known node, the CPUs of that node and of the farthest one."""

    fit: DirectorySuitability
    leaves: tuple[str, ...]
    node: int
    near: frozenset[int]
    far_node: int
    far: frozenset[int]

    @property
    def disk_variants(self) -> tuple[Variant, ...]:
        return (
            Variant(id=DISK_NEAR, label=f"from CPUs of node {self.node}, the disk's own"),
            Variant(id=DISK_FAR, label=f"from CPUs of node {self.far_node}"),
        )

    @property
    def disk_workloads(self) -> tuple[Workload, ...]:
        storage_workloads = (
            engine_workload(engine_load(i), self.fit.size_bytes, self.fit.directory, slices=False)
            for i in LOADS
        )
        return tuple(
            msgspec.structs.replace(
                w,
                id=f"disk-{w.id}",
                title=f"disk, {w.title}",
                block_s=BLOCK_S,
                max_block_s=1.0,
                min_operations=MIN_OPERATIONS,
            )
            for w in storage_workloads
        )

    @property
    def planned_writes(self) -> PlannedWrite:
        return PlannedWrite(
            device=", ".join(self.leaves), bytes=2 * self.test_files_bytes, where=self.fit.directory
        )

    @property
    def test_files_bytes(self) -> int:
        return prepared_bytes(self.fit.size_bytes, LOADS)


def examine_directory(host: Host, directory: str, usable: UsableCpus) -> NodeDirectory | str:
    """Where it can be measured, or why not, in one line."""
    table, nodes = usable.nodes, dict(usable.cpus_by_node)
    if table is None or len(nodes) < 2:
        return "one node has CPUs: no CPU is far from the disk"
    # A small disk is measured with a small file: what a run may fill of it is bounded.
    fits = (
        check_suitability(host, directory, explicit=True, size_bytes=size, workloads=LOADS) for size in SIZES
    )
    fit = next((fit for fit in fits if not fit.refusal), None) or check_suitability(
        host, directory, explicit=True
    )
    if fit.refusal or fit.placement is None:
        return fit.refusal or f"{directory}: its disk is not known"
    leaves = tuple(fit.placement.leaves)
    devices = block_devices(host)
    disk_nodes = {devices[leaf].numa_node for leaf in leaves if leaf in devices}
    own = next(iter(disk_nodes)) if len(disk_nodes) == 1 else Absent("several disks on several nodes")
    if isinstance(own, Absent):
        return f"the node of {', '.join(leaves) or directory} is unknown: {own.reason}"
    if own not in nodes:
        return f"node {own}, the disk's own, has no CPU that may be used here"
    far = max((n for n in nodes if n != own), key=lambda n: table.node_distance(own, n))
    return NodeDirectory(fit=fit, leaves=leaves, node=own, near=nodes[own], far_node=far, far=nodes[far])


class LocalityVariantBench(DirectoryLoadBench):
    """The workers read the same file from other CPUs. Their buffers of a few pages stay where they were made."""

    def __init__(
        self,
        variant: str,
        bench: StorageBench,
        load: Workload,
        cpus: frozenset[int],
        pids: Callable[[], Sequence[int]],
    ) -> None:
        # The engine knows its loads by their own ids.
        super().__init__(variant, bench, msgspec.structs.replace(load, id=load.id.removeprefix("disk-")))
        self._cpus, self._pids = cpus, pids

    async def switch_to_variant(self) -> None:
        for pid in self._pids():
            try:
                os.sched_setaffinity(pid, self._cpus)
            except OSError as error:
                raise MeasurementInvalid(f"the workers cannot be moved: {error.strerror}") from None
            if os.sched_getaffinity(pid) != self._cpus:
                raise MeasurementInvalid("the workers do not run on the CPUs that they were put on")


async def measure_locality(
    run: Run, place: NodeDirectory, budget_s: float, family: int
) -> dict[str, list[ev.RunVerdict]]:
    """Writes the file, reads it from both sides, gives the verdicts."""
    crew = SharedWorkers()
    verdicts: dict[str, list[ev.RunVerdict]] = {}

    def record_verdicts(experiment: LoadExperiment) -> None:
        verdicts[experiment.workload.id] = experiment.verdicts

    async with own_test_directory(run, place.fit.directory) as private:
        bench = StorageBench(
            run.host,
            place.fit.directory,
            private,
            place.fit.size_bytes,
            run.seed,
            place.leaves,
            budget=WriteBudget(2 * place.test_files_bytes),
            crew=crew,
        )
        try:
            with run.begin_step("disk", "write the test file"):
                await bench.prepare_files(None, LOADS)
            watch = watch_for(run, place.leaves, directories=[place.fit.directory])
            entries = []
            for load in place.disk_workloads:
                variants = [
                    LocalityVariantBench(name, bench, load, cpus, lambda: crew.pool.all_pids)
                    for name, cpus in ((DISK_NEAR, place.near), (DISK_FAR, place.far))
                ]
                await variants[0].start_workers_and_rehearse()
                entries.append(ScheduledLoad(BlockScheduler(run, load, variants, watch), record_verdicts))
            await measure_loads(run, TimeBudget(budget_s, run.clock), entries, family=family)
        finally:
            await bench.close()
            await crew.pool.close()
    return verdicts
