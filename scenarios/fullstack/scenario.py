"""Scenario `fullstack`: streams from disk to network and back, each part alone, both at once, and what is the limit."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import ClassVar

from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.files.private_directory import PrivateDirectory
from hostdx.probes.reading.host import Host
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.declared_options import apply_declaration
from hostdx.scenarios.contract.model import OptionMap, PreparedRun, Run, Scenario, own_test_directory
from hostdx.scenarios.experiment.budget import TimeBudget
from hostdx.scenarios.experiment.experiment import LoadExperiment
from hostdx.scenarios.experiment.groups import levels_beside_verdicts, values_behind_verdict
from hostdx.scenarios.experiment.guards.watch import InterferenceWatch, watch_for
from hostdx.scenarios.experiment.load_schedule import ScheduledLoad, measure_loads
from hostdx.scenarios.experiment.schedule.train_scheduler import BatchScheduler
from hostdx.scenarios.experiment.statistics.stats import median_and_interval
from hostdx.scenarios.fullstack.findings import fullstack_findings
from hostdx.scenarios.fullstack.limits import stream_limit
from hostdx.scenarios.fullstack.loads import LINKS, StreamLoad, write_budget_shares
from hostdx.scenarios.fullstack.machine import StreamBounds, add_card_bounds
from hostdx.scenarios.fullstack.measurement.bench import StreamBench, StreamCost
from hostdx.scenarios.fullstack.measurement.messages import OpenStreams, SliceJob
from hostdx.scenarios.fullstack.measurement.remote import RemotePeer
from hostdx.scenarios.fullstack.plan import (
    BUDGET_S,
    MAX_STREAMS,
    NAMESPACES,
    PEER_SPARE_S,
    FullstackSetup,
    make_plan_and_setup,
)
from hostdx.scenarios.fullstack.results import FullstackFigures, SideRate, StreamsResult
from hostdx.scenarios.fullstack.trains import StreamBatches

Engine = Callable[[Run, FullstackSetup, PrivateDirectory], StreamBench]
PeerStart = Callable[[str, str, float], Awaitable[RemotePeer]]


def make_built_in_bench(run: Run, layout: FullstackSetup, private: PrivateDirectory) -> StreamBench:
    return StreamBench(
        run.host, private, layout.place.leaf_devices, layout.place.size_bytes, layout.streams,
        WriteBudget(layout.most_bytes), layout.directions,
    )  # fmt: skip


@apply_declaration(__file__, most_streams=MAX_STREAMS)
class Fullstack(Scenario):
    takes_s: ClassVar[float] = BUDGET_S + 20

    def __init__(
        self,
        engine: Engine = make_built_in_bench,
        watch: Callable[[Run, FullstackSetup], InterferenceWatch | None] | None = None,
        peer: PeerStart = RemotePeer.start,
    ) -> None:
        """Others are for tests, not for users."""
        self.engine, self.watch, self.peer = engine, watch or _make_watch, peer

    def prepare(self, host: Host, options: OptionMap) -> PreparedRun:
        plan, layout = make_plan_and_setup(host, options, self.make_plan)
        return PreparedRun(plan, partial(self._run, layout))

    async def _run(self, layout: FullstackSetup, run: Run) -> None:
        async with AsyncExitStack() as stack:
            with run.begin_step("prepare", "write the test files") as step:
                private = await stack.enter_async_context(own_test_directory(run, layout.test_directory))
                bench = self.engine(run, layout, private)
                stack.push_async_callback(bench.close)
                await bench.prepare_files(step.report_written)
            with run.begin_step("connect", "connect the two ends"):
                bounds = await self._connect_and_find_bounds(run, layout, bench, stack)
            with run.begin_step("measure", "measure and judge"):
                await _measure_and_judge_loads(run, layout, bench, bounds, self.watch(run, layout))

    async def _connect_and_find_bounds(
        self, run: Run, layout: FullstackSetup, bench: StreamBench, stack: AsyncExitStack
    ) -> StreamBounds:
        name, address, port, token = "hostdx-fullstack", "", 0, ""
        if layout.peer_kind == "namespaces":
            name = (await stack.enter_async_context(run.apply_change(NAMESPACES))).value
            stack.push_async_callback(bench.close)  # before these are undone
        elif layout.peer:
            peer = await self.peer(layout.peer, layout.token, run.plan.seconds + PEER_SPARE_S)
            stack.push_async_callback(peer.close)
            address, port, token = peer.address, peer.port, peer.token
        request = OpenStreams(where=layout.peer_kind, address=address, port=port, token=token, links=LINKS)
        ready = await bench.open(name, request)
        run.emit_note(f"network: {layout.network_text}")
        if ready.unprivileged:
            run.emit_note("not root: the name spaces lie in a user namespace")
        if ready.uncounted:
            run.emit_note(f"memory traffic is not counted: {ready.uncounted}")
        bounds = add_card_bounds(run.host, layout.machine, ready.here) if ready.here else layout.machine
        for bound in (*bounds.network, *(disk_bound for each in bounds.disk.values() for disk_bound in each)):
            run.emit_fact("fullstack", bound.kind, bound.bytes_per_s, "B/s", source=bound.source)
        return bounds


class _JudgedLoads:
    """Levels and verdicts of the loads that were measured, in their order."""

    def __init__(self) -> None:
        self.levels: list[SideRate] = []
        self.verdicts: list[ev.RunVerdict] = []

    def add(self, load: StreamLoad, experiment: LoadExperiment, costs: Mapping[SliceJob, StreamCost]) -> None:
        self.verdicts += experiment.verdicts
        metric = load.planned_workload.metrics[0]
        shown = levels_beside_verdicts(experiment.groups, metric, experiment.verdicts)
        for name, side in load.sides.items():
            values = values_behind_verdict(experiment.groups, name, metric, experiment.verdicts)
            cost = costs.get(side)
            if values and cost is not None and (load.pairs or name == "zerocopy"):
                paired_rate = shown[name] * 1e6 if name in shown else None
                self.levels.append(_side_rate(load, name, [v * 1e6 for v in values], cost, paired_rate))

    def verdicts_of(self, load: str) -> list[ev.RunVerdict]:
        return [verdict for verdict in self.verdicts if verdict.workload == load]


def _side_rate(
    load: StreamLoad, name: str, values: Sequence[float], cost: StreamCost, paired_rate: float | None
) -> SideRate:
    middle, ends = median_and_interval(values, paired_rate)
    seconds = cost.seconds or 1.0
    return SideRate(
        direction=load.direction, side=name, rate=middle, ci95=ends, groups=len(values),
        cpu_s_per_gb=cost.cpu_s_per_gb,
        peer_cpu_s_per_gb=cost.peer_cpu_s / cost.bytes * 1e9 if cost.bytes else 0.0,
        cpus=cost.host_cpu_s / seconds / (os.cpu_count() or 1), busy=cost.busy_s / seconds,
        softirq=cost.softirq_s / seconds,
        worker=cost.worker_s / seconds,
        memory=cost.memory_bytes / cost.bytes if cost.memory_bytes is not None and cost.bytes else None,
        copied=cost.copied / cost.sends if cost.sends else None,
    )  # fmt: skip


async def _measure_and_judge_loads(
    run: Run,
    layout: FullstackSetup,
    bench: StreamBench,
    bounds: StreamBounds,
    watch: InterferenceWatch | None,
) -> None:
    every = layout.chosen_loads(direct=bench.direct)
    if not bench.direct:
        run.emit_note("this file system takes no O_DIRECT: disk alone goes through the page cache too")
    judged = _JudgedLoads()
    family = sum(load.comparison_count for load in every)
    budget = TimeBudget(run.plan.measuring_s, run.clock)

    def scheduled_load(load: StreamLoad) -> ScheduledLoad:
        trains = StreamBatches(bench, load, shares.get(load.id, 0.0))
        scheduler = BatchScheduler(run, load.planned_workload, trains, watch)
        return ScheduledLoad(scheduler, lambda done: judged.add(load, done, bench.costs))

    lots = [[load] for load in every if load.pairs]  # each with pairs of its own
    lots += [
        [load for load in every if not load.pairs and load.planned_workload.aside is aside]
        for aside in (False, True)
    ]
    shares = write_budget_shares([load for lot in lots for load in lot])
    rest = sum(load.budget_weight for load in every)
    for lot in filter(None, lots):
        weight = sum(load.budget_weight for load in lot)
        share = TimeBudget(budget.left_s * weight / rest, run.clock)
        rest -= weight
        pairs, entries = lot[0].pairs or None, [scheduled_load(load) for load in lot]
        await measure_loads(run, share, entries, family=family, pairs=pairs, steps=False)
    limits = [
        stream_limit(way, judged.levels, judged.verdicts_of(way), bounds, private=not layout.peer)
        for way in layout.directions
    ]
    measured = FullstackFigures(
        directory=layout.test_directory,
        disk=layout.place.device_name,
        network=layout.network_text,
        private=not layout.peer,
        streams=layout.streams,
        levels=tuple(judged.levels),
        limits=tuple(limit for limit in limits if limit is not None),
        card=bounds.card.name if bounds.card is not None else "",
    )
    run.emit(StreamsResult(t=run.elapsed_s(), value=measured))
    for limit in fullstack_findings(measured, judged.verdicts, bounds):
        run.emit_finding(limit)


def _make_watch(run: Run, layout: FullstackSetup) -> InterferenceWatch:
    return watch_for(run, layout.place.leaf_devices, directories=[layout.test_directory])
