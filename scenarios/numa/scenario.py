"""Scenario `numa`: the processors, their memory and the firmware's settings, read and measured."""

import asyncio
from contextlib import AsyncExitStack, suppress
from functools import partial

from probes.bench.measured import NotApplicable
from probes.bench.placement import PlacementBench
from probes.host import Host
from probes.system.nodes.nodes_per_socket import nodes_per_socket
from probes.system.pci import pci_devices
from probes.system.processor.clocksource import clocksource
from probes.system.processor.cpu import brand, cpu
from probes.types import Absent, present
from scenarios import events as ev
from scenarios.declared_options import apply_declaration
from scenarios.experiment.budget import Budget
from scenarios.experiment.experiment import LoadExperiment
from scenarios.experiment.load_schedule import ScheduledLoad, run_campaign
from scenarios.experiment.schedule.train_scheduler import BatchScheduler
from scenarios.finding import Finding
from scenarios.guards.watch import watch_for
from scenarios.model import Options, Prepared, Run, Scenario, StepInProgress
from scenarios.numa import findings, tables
from scenarios.numa.measurement import locality
from scenarios.numa.measurement.cpu import SUSTAINED_S, CpuBench
from scenarios.numa.measurement.memory import MemoryBench
from scenarios.numa.measurement.surroundings import Surveyor
from scenarios.numa.measurement.trains import PlacedTrains
from scenarios.numa.memory_findings import memory_findings
from scenarios.numa.plan import CPU_SHARE, DISK_SHARE, LEAST_ROUNDS, MEMORY_SHARE, NumaSetup, make
from scenarios.numa.results import (
    Bios,
    CpuRates,
    Devices,
    NodePairs,
    PageSizes,
    Placements,
    Scaling,
    Shape,
)
from scenarios.numa.settings import Firmware, device_tags, firmware, lost_nodes, settings
from scenarios.plan import Workload

MOST_ROUNDS = 60
SIZES = {"chase": 64 << 20, "copy": 16 << 20}  # of each buffer in the comparisons


@apply_declaration(__file__)
class Numa(Scenario):
    """Reads everything first; then measures the CPUs, the memory, and what this topology lets it compare."""

    def __init__(self, stretch: dict[str, float] | None = None) -> None:
        """`stretch` plants longer operations into a placement, as a share: for tests, not for users."""
        self.stretch = stretch

    def blocked(self, host: Host) -> str:
        """A captured tree is read: its plan shows the topology."""
        return ""

    def prepare(self, host: Host, options: Options) -> Prepared:
        plan, layout = make(host, options, self.make_plan)
        return Prepared(plan, partial(self._run, layout))

    async def _run(self, layout: NumaSetup, run: Run) -> None:
        if run.options.as_string("redfish"):  # four answers, 1 to 3 s each
            run.emit_progress("read", "ask the management controller")
        # before any step: what was asked for and does not answer is one line
        told = await asyncio.to_thread(firmware, run.host, run.options)
        read = await self._read(run, layout, told)
        found: list[Finding] = [*read]
        verdicts: dict[str, list[ev.RunVerdict]] = {}
        if layout.measures:
            async with AsyncExitStack() as stack:
                bench = PlacementBench(run.seed, self.stretch)
                stack.push_async_callback(bench.close)
                found += await self._measure(run, layout, bench, verdicts)
        for finding in tables.with_answer(layout, found, tables.undecided(run.plan, verdicts)):
            run.emit_finding(finding)

    async def _read(self, run: Run, layout: NumaSetup, told: Firmware) -> list[Finding]:
        with run.begin_step("read", "read topology and settings"):
            run.emit(Shape(t=run.time(), value=layout.shape))
            if layout.commands:
                run.emit(Placements(t=run.time(), value=tables.placed_commands(layout)))
            for one in await asyncio.to_thread(settings, run.host):
                run.emit(ev.fact_event(one, run.time()))
            self._tell_firmware(run, told)
            devices = pci_devices(run.host)
            if present(devices) and devices:
                run.emit(Devices(t=run.time(), value=tables.devices(devices)))
            if isinstance(cpu(run.host).model, Absent):  # py-cpuinfo knows ARM's by number; it takes a second
                run.emit_fact("cpu", "brand", await asyncio.to_thread(brand, run.host), source="py-cpuinfo")
        nodes = nodes_per_socket(run.host)
        return [
            *findings.topology_findings(layout.shape.doubt, nodes, lost_nodes(run.host)),
            *findings.device_findings(devices if present(devices) else (), device_tags(run.host)),
            *findings.firmware_findings(told),
        ]

    def _tell_firmware(self, run: Run, told: Firmware) -> None:
        if isinstance(told.found, Absent):
            run.emit_fact("bios", "attributes", told.found)
        if told.readings:
            run.emit(Bios(t=run.time(), value=tables.bios(told)))

    async def _measure(
        self, run: Run, layout: NumaSetup, bench: PlacementBench, verdicts: dict[str, list[ev.RunVerdict]]
    ) -> list[Finding]:
        total, began = run.plan.measuring_s, run.clock.now()
        found = await self._cpu(run, layout, bench, total * CPU_SHARE)
        found += await self._memory(run, layout, bench, total * MEMORY_SHARE)
        kept = total * DISK_SHARE if layout.disk is not None else 0.0
        # Their figures need MOST_ROUNDS at most: what a long budget has left over decides comparisons.
        shared = total * (1 - CPU_SHARE - MEMORY_SHARE) - kept
        left = max(shared, total - kept - (run.clock.now() - began))
        found += await self._compare(run, layout, bench, left, verdicts)
        if layout.disk is not None:
            family = len(layout.entries) + len(layout.disk.workloads)
            verdicts |= await locality.measure(run, layout.disk, kept, family)
        return found

    async def _cpu(self, run: Run, layout: NumaSetup, bench: PlacementBench, seconds: float) -> list[Finding]:
        cpu = CpuBench(run.host, layout.usable, bench, run.seed)
        surveyor = Surveyor(run.host, len(layout.usable.placed.online), lambda: bench.all_pids)
        with run.begin_step("cpu", "measure the CPUs") as step:
            await cpu.round()  # the workers start, caches and clocks warm up
            cpu.forget()
            surveyor.begin()
            began = run.clock.now()
            await self._rounds(run, cpu, step, began, seconds - SUSTAINED_S)
            with surveyor.under_load(cpu.sustains):
                clocked = await cpu.sustained()
            took = run.clock.now() - began
        result = cpu.result(clocked, took)
        around = surveyor.end(took, result.share)
        run.emit_fact("cpu", "clock_under_load", clocked.reached_khz, "kHz", source=clocked.source)
        run.emit(CpuRates(t=run.time(), value=tables.cpu(result)))
        run.emit(Scaling(t=run.time(), value=tables.scaling(result)))
        return [
            *findings.cpu_findings(result, around),
            *findings.timer_findings(clocksource(run.host), result.clock_ns, result.system_call_ns),
        ]

    async def _memory(
        self, run: Run, layout: NumaSetup, bench: PlacementBench, seconds: float
    ) -> list[Finding]:
        memory = MemoryBench(run.host, layout.usable, layout.pairs, bench, run.seed)
        with run.begin_step("memory", "measure memory") as step:
            await memory.round()  # the buffers are made
            memory.forget()
            began = run.clock.now()
            await self._rounds(run, memory, step, began, seconds)
            result = memory.result()
            await bench.forget_buffers()
        for problem in result.problems:
            run.emit_note(f"memory: {problem}")
        run.emit(NodePairs(t=run.time(), value=tables.memory(result)))
        run.emit(PageSizes(t=run.time(), value=tables.pages(result)))
        return list(memory_findings(result))

    async def _rounds(
        self, run: Run, what: CpuBench | MemoryBench, step: StepInProgress, began: float, seconds: float
    ) -> None:
        """Until the share of the budget is used, four at least."""
        done = 0
        while done < MOST_ROUNDS:
            await what.round()
            done += 1
            for series, variant, value, unit in what.told:
                run.emit(
                    ev.SampleTaken(
                        t=run.time(), series=series, variant=variant, block=done, value=value, unit=unit
                    )
                )
            spent = run.clock.now() - began
            left = max(0.0, seconds - spent)
            step.report_progress(f"{step.title}, round {done}", left)
            if done >= LEAST_ROUNDS and left < spent / done:
                break

    async def _compare(
        self,
        run: Run,
        layout: NumaSetup,
        bench: PlacementBench,
        seconds: float,
        verdicts: dict[str, list[ev.RunVerdict]],
    ) -> list[Finding]:
        watch = watch_for(run)

        def entry(workload: Workload, trains: PlacedTrains) -> ScheduledLoad:
            def done(experiment: LoadExperiment) -> None:
                verdicts[workload.id] = experiment.verdicts

            return ScheduledLoad(BatchScheduler(run, workload, trains, watch), done)

        trains = {
            workload.id: PlacedTrains(bench, work, sides, SIZES.get(work, 0))
            for workload, work, sides in layout.entries
        }
        with run.begin_step("prepare", "make the buffers"):
            for one in trains.values():
                with suppress(NotApplicable):  # said by the comparison itself
                    await one.start_workers()
        entries = [entry(workload, trains[workload.id]) for workload, _, _ in layout.entries]
        family = len(layout.entries) + (len(layout.disk.workloads) if layout.disk else 0)
        await run_campaign(run, Budget(seconds, run.clock), entries, family=family)
        return list(tables.placement_findings(layout, verdicts))
