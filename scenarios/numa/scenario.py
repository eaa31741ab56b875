"""Scenario `numa`: the processors, their memory and the firmware's settings, read and measured."""

import asyncio
from contextlib import AsyncExitStack, suppress
from functools import partial

from hostdx.probes.engine.measured import MeasurementInvalid
from hostdx.probes.reading.host import Host
from hostdx.probes.system.nodes.nodes_per_socket import read_nodes_per_socket
from hostdx.probes.system.pci import read_pci_devices
from hostdx.probes.system.processor.clocksource import read_clocksource
from hostdx.probes.system.processor.cpu import read_cpu, read_cpu_model
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.declared_options import apply_declaration
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.model import OptionMap, PreparedRun, Run, Scenario, StepInProgress
from hostdx.scenarios.contract.plan import Workload
from hostdx.scenarios.experiment.budget import TimeBudget
from hostdx.scenarios.experiment.experiment import LoadExperiment
from hostdx.scenarios.experiment.guards.watch import watch_for
from hostdx.scenarios.experiment.load_schedule import ScheduledLoad, measure_loads
from hostdx.scenarios.experiment.schedule.train_scheduler import BatchScheduler
from hostdx.scenarios.numa import findings, tables
from hostdx.scenarios.numa.measurement import locality
from hostdx.scenarios.numa.measurement.cpu import SUSTAINED_S, CpuBench
from hostdx.scenarios.numa.measurement.memory import MemoryBench
from hostdx.scenarios.numa.measurement.placement import PlacementBench
from hostdx.scenarios.numa.measurement.surroundings import ConditionsSurvey
from hostdx.scenarios.numa.measurement.trains import PlacedBatches
from hostdx.scenarios.numa.memory_findings import memory_findings
from hostdx.scenarios.numa.plan import (
    CPU_SHARE,
    DISK_SHARE,
    MEMORY_SHARE,
    MIN_ROUNDS,
    NumaSetup,
    make_plan_and_setup,
)
from hostdx.scenarios.numa.results import (
    BiosResult,
    CpuRates,
    DevicesResult,
    MachineResult,
    NodePairs,
    PageSizes,
    PlacementsResult,
    ScalingResult,
)
from hostdx.scenarios.numa.settings import (
    FirmwareSettings,
    described_and_used_nodes,
    pcie_tags_of_devices,
    read_firmware,
    read_settings,
)

MAX_ROUNDS = 60
SIZES = {"chase": 64 << 20, "copy": 16 << 20}  # of each buffer in the comparisons


@apply_declaration(__file__)
class NumaScenario(Scenario):
    """Reads everything first; then measures the CPUs, the memory, and what this topology lets it compare."""

    def __init__(self, stretch: dict[str, float] | None = None) -> None:
        """`stretch` plants longer operations into a placement, as a share: for tests, not for users."""
        self.stretch = stretch

    def blocking_reason(self, host: Host) -> str:
        """A captured tree is read: its plan shows the topology."""
        return ""

    def prepare(self, host: Host, options: OptionMap) -> PreparedRun:
        plan, layout = make_plan_and_setup(host, options, self.make_plan)
        return PreparedRun(plan, partial(self._run, layout))

    async def _run(self, layout: NumaSetup, run: Run) -> None:
        if run.options.as_string("redfish"):  # four answers, 1 to 3 s each
            run.emit_progress("read", "ask the management controller")
        # before any step: what was asked for and does not answer is one line
        firmware = await asyncio.to_thread(read_firmware, run.host, run.options)
        read = await self._emit_what_is_read(run, layout, firmware)
        all_findings: list[Finding] = [*read]
        verdicts: dict[str, list[ev.RunVerdict]] = {}
        if layout.measures:
            async with AsyncExitStack() as stack:
                bench = PlacementBench(run.seed, self.stretch)
                stack.push_async_callback(bench.close)
                all_findings += await self._measure_all(run, layout, bench, verdicts)
        for finding in tables.with_answer(
            layout, all_findings, tables.describe_undecided(run.plan, verdicts)
        ):
            run.emit_finding(finding)

    async def _emit_what_is_read(
        self, run: Run, layout: NumaSetup, firmware: FirmwareSettings
    ) -> list[Finding]:
        with run.begin_step("read", "read topology and settings"):
            run.emit(MachineResult(t=run.elapsed_s(), value=layout.shape))
            if layout.placement_commands:
                run.emit(PlacementsResult(t=run.elapsed_s(), value=tables.placed_commands(layout)))
            for setting in await asyncio.to_thread(read_settings, run.host):
                run.emit(ev.fact_event(setting, run.elapsed_s()))
            self._emit_firmware(run, firmware)
            devices = read_pci_devices(run.host)
            if is_present(devices) and devices:
                run.emit(DevicesResult(t=run.elapsed_s(), value=tables.device_rows(devices)))
            # py-cpuinfo knows ARM's by number; it takes a second
            if isinstance(read_cpu(run.host).model, Absent):
                run.emit_fact(
                    "cpu", "brand", await asyncio.to_thread(read_cpu_model, run.host), source="py-cpuinfo"
                )
        nodes = read_nodes_per_socket(run.host)
        return [
            *findings.topology_findings(layout.shape.doubt, nodes, described_and_used_nodes(run.host)),
            *findings.device_findings(devices if is_present(devices) else (), pcie_tags_of_devices(run.host)),
            *findings.firmware_findings(firmware),
        ]

    def _emit_firmware(self, run: Run, firmware: FirmwareSettings) -> None:
        if isinstance(firmware.attributes, Absent):
            run.emit_fact("bios", "attributes", firmware.attributes)
        if firmware.readings:
            run.emit(BiosResult(t=run.elapsed_s(), value=tables.bios_rows(firmware)))

    async def _measure_all(
        self, run: Run, layout: NumaSetup, bench: PlacementBench, verdicts: dict[str, list[ev.RunVerdict]]
    ) -> list[Finding]:
        total, began = run.plan.measuring_s, run.clock.now()
        results = await self._measure_cpu(run, layout, bench, total * CPU_SHARE)
        results += await self._measure_memory(run, layout, bench, total * MEMORY_SHARE)
        disk_s = total * DISK_SHARE if layout.disk is not None else 0.0
        # Their figures need MOST_ROUNDS at most: what a long budget has left over decides comparisons.
        shared = total * (1 - CPU_SHARE - MEMORY_SHARE) - disk_s
        left = max(shared, total - disk_s - (run.clock.now() - began))
        results += await self._compare_placements(run, layout, bench, left, verdicts)
        if layout.disk is not None:
            family = len(layout.entries) + len(layout.disk.disk_workloads)
            verdicts |= await locality.measure_locality(run, layout.disk, disk_s, family)
        return results

    async def _measure_cpu(
        self, run: Run, layout: NumaSetup, bench: PlacementBench, seconds: float
    ) -> list[Finding]:
        cpu = CpuBench(run.host, layout.usable, bench, run.seed)
        surveyor = ConditionsSurvey(run.host, len(layout.usable.placed.online), lambda: bench.all_pids)
        with run.begin_step("cpu", "measure the CPUs") as step:
            await cpu.measure_round()  # the workers start, caches and clocks warm up
            cpu.discard_measured()
            surveyor.begin()
            began = run.clock.now()
            await self._run_rounds(run, cpu, step, began, seconds - SUSTAINED_S)
            with surveyor.under_load(cpu.sustained_cpus):
                clocked = await cpu.measure_sustained()
            took = run.clock.now() - began
        result = cpu.build_result(clocked, took)
        around = surveyor.end(took, result.share)
        run.emit_fact("cpu", "clock_under_load", clocked.reached_khz, "kHz", source=clocked.source)
        run.emit(CpuRates(t=run.elapsed_s(), value=tables.cpu_rows(result)))
        run.emit(ScalingResult(t=run.elapsed_s(), value=tables.scaling_rows(result)))
        return [
            *findings.cpu_findings(result, around),
            *findings.timer_findings(read_clocksource(run.host), result.clock_ns, result.system_call_ns),
        ]

    async def _measure_memory(
        self, run: Run, layout: NumaSetup, bench: PlacementBench, seconds: float
    ) -> list[Finding]:
        memory = MemoryBench(run.host, layout.usable, layout.pairs, bench, run.seed)
        with run.begin_step("memory", "measure memory") as step:
            await memory.measure_round()  # the buffers are made
            memory.discard_measured()
            began = run.clock.now()
            await self._run_rounds(run, memory, step, began, seconds)
            result = memory.build_result()
            await bench.forget_buffers()
        for problem in result.problems:
            run.emit_note(f"memory: {problem}")
        run.emit(NodePairs(t=run.elapsed_s(), value=tables.memory_rows(result)))
        run.emit(PageSizes(t=run.elapsed_s(), value=tables.page_size_rows(result)))
        return list(memory_findings(result))

    async def _run_rounds(
        self, run: Run, bench: CpuBench | MemoryBench, step: StepInProgress, began: float, seconds: float
    ) -> None:
        """Until the share of the budget is used, four at least."""
        done = 0
        while done < MAX_ROUNDS:
            await bench.measure_round()
            done += 1
            for series, variant, value, unit in bench.round_values:
                run.emit(
                    ev.SampleTaken(
                        t=run.elapsed_s(), series=series, variant=variant, block=done, value=value, unit=unit
                    )
                )
            spent = run.clock.now() - began
            left = max(0.0, seconds - spent)
            step.report_progress(f"{step.title}, round {done}", left)
            if done >= MIN_ROUNDS and left < spent / done:
                break

    async def _compare_placements(
        self,
        run: Run,
        layout: NumaSetup,
        bench: PlacementBench,
        seconds: float,
        verdicts: dict[str, list[ev.RunVerdict]],
    ) -> list[Finding]:
        watch = watch_for(run)

        def schedule_load(workload: Workload, trains: PlacedBatches) -> ScheduledLoad:
            def record_verdicts(experiment: LoadExperiment) -> None:
                verdicts[workload.id] = experiment.verdicts

            return ScheduledLoad(BatchScheduler(run, workload, trains, watch), record_verdicts)

        trains = {
            workload.id: PlacedBatches(bench, work, sides, SIZES.get(work, 0))
            for workload, work, sides in layout.entries
        }
        with run.begin_step("prepare", "make the buffers"):
            for placed in trains.values():
                with suppress(MeasurementInvalid):  # said by the comparison itself
                    await placed.start_workers_and_rehearse()
        entries = [schedule_load(workload, trains[workload.id]) for workload, _, _ in layout.entries]
        family = len(layout.entries) + (len(layout.disk.disk_workloads) if layout.disk else 0)
        await measure_loads(run, TimeBudget(seconds, run.clock), entries, family=family)
        return list(tables.placement_findings(layout, verdicts))
