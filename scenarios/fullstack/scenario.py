"""Scenario `fullstack`: streams from disk to network and back, each part alone, both at once, and what is the limit."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import ClassVar, Protocol

from probes.bench.disk.budget import WriteBudget
from probes.bench.streams.bench import StreamBench, StreamCost
from probes.bench.streams.messages import Open, Side, StreamsReady
from probes.bench.streams.remote import RemotePeer
from probes.host import Host
from probes.private_directory import PrivateDirectory
from scenarios import events as ev
from scenarios.declared_options import apply_declaration
from scenarios.experiment.budget import Budget
from scenarios.experiment.experiment import LoadExperiment
from scenarios.experiment.groups import level_values, values_beside
from scenarios.experiment.load_schedule import ScheduledLoad, run_campaign
from scenarios.experiment.schedule.train_scheduler import BatchScheduler
from scenarios.experiment.statistics.stats import level_interval
from scenarios.fullstack.findings import findings
from scenarios.fullstack.limits import limit
from scenarios.fullstack.loads import LINKS, Load, written_shares
from scenarios.fullstack.machine import Machine, with_card
from scenarios.fullstack.plan import BUDGET_S, MOST_STREAMS, NAMESPACES, PEER_SPARE_S, FullstackSetup, make
from scenarios.fullstack.results import FullstackFigures, SideRate, Streams
from scenarios.fullstack.trains import Bench, StreamTrains
from scenarios.guards.watch import InterferenceWatch, watch_for
from scenarios.model import Options, Prepared, Run, Scenario, own_directory


class Opened(Bench, Protocol):
    """What is streamed with: `StreamBench`, or a test's own."""

    direct: bool
    costs: dict[Side, StreamCost]

    async def prepare_files(self, progress: Callable[[int, int], None] | None) -> None: ...

    async def open(self, name: str, request: Open) -> StreamsReady: ...

    async def close(self) -> None: ...


Engine = Callable[[Run, FullstackSetup, PrivateDirectory], Opened]
PeerStart = Callable[[str, str, float], Awaitable[RemotePeer]]


def built_in(run: Run, layout: FullstackSetup, private: PrivateDirectory) -> Opened:
    return StreamBench(
        run.host, private, layout.place.leaf_devices, layout.place.size_bytes, layout.streams,
        WriteBudget(layout.most_bytes), layout.directions,
    )  # fmt: skip


@apply_declaration(__file__, most_streams=MOST_STREAMS)
class Fullstack(Scenario):
    takes_s: ClassVar[float] = BUDGET_S + 20

    def __init__(
        self,
        engine: Engine = built_in,
        watch: Callable[[Run, FullstackSetup], InterferenceWatch | None] | None = None,
        peer: PeerStart = RemotePeer.start,
    ) -> None:
        """Others are for tests, not for users."""
        self.engine, self.watch, self.peer = engine, watch or _watch, peer

    def prepare(self, host: Host, options: Options) -> Prepared:
        plan, layout = make(host, options, self.make_plan)
        return Prepared(plan, partial(self._run, layout))

    async def _run(self, layout: FullstackSetup, run: Run) -> None:
        async with AsyncExitStack() as stack:
            with run.begin_step("prepare", "write the test files") as step:
                private = await stack.enter_async_context(own_directory(run, layout.directory))
                bench = self.engine(run, layout, private)
                stack.push_async_callback(bench.close)
                await bench.prepare_files(step.report_written)
            with run.begin_step("connect", "connect the two ends"):
                found = await self._connect(run, layout, bench, stack)
            with run.begin_step("measure", "measure and judge"):
                await _measure(run, layout, bench, found, self.watch(run, layout))

    async def _connect(
        self, run: Run, layout: FullstackSetup, bench: Opened, stack: AsyncExitStack
    ) -> Machine:
        name, address, port, token = "hostdx-fullstack", "", 0, ""
        if layout.where == "namespaces":
            name = (await stack.enter_async_context(run.change(NAMESPACES))).value
            stack.push_async_callback(bench.close)  # before these are undone
        elif layout.peer:
            peer = await self.peer(layout.peer, layout.token, run.plan.seconds + PEER_SPARE_S)
            stack.push_async_callback(peer.close)
            address, port, token = peer.address, peer.port, peer.token
        request = Open(where=layout.where, address=address, port=port, token=token, links=LINKS)
        ready = await bench.open(name, request)
        run.emit_note(f"network: {layout.network}")
        if ready.unprivileged:
            run.emit_note("not root: the name spaces lie in a user namespace")
        if ready.uncounted:
            run.emit_note(f"memory traffic is not counted: {ready.uncounted}")
        found = with_card(run.host, layout.machine, ready.here) if ready.here else layout.machine
        for bound in (*found.network, *(one for each in found.disk.values() for one in each)):
            run.emit_fact("fullstack", bound.what, bound.bytes_per_s, "B/s", source=bound.source)
        return found


class _Judged:
    """Levels and verdicts of the loads that were measured, in their order."""

    def __init__(self) -> None:
        self.levels: list[SideRate] = []
        self.verdicts: list[ev.RunVerdict] = []

    def add(self, load: Load, experiment: LoadExperiment, costs: Mapping[Side, StreamCost]) -> None:
        self.verdicts += experiment.verdicts
        metric = load.workload.metrics[0]
        shown = values_beside(experiment.groups, metric, experiment.verdicts)
        for name, side in load.sides.items():
            values = level_values(experiment.groups, name, metric, experiment.verdicts)
            cost = costs.get(side)
            if values and cost is not None and (load.pairs or name == "zerocopy"):
                beside = shown[name] * 1e6 if name in shown else None
                self.levels.append(_level(load, name, [v * 1e6 for v in values], cost, beside))

    def of(self, load: str) -> list[ev.RunVerdict]:
        return [verdict for verdict in self.verdicts if verdict.workload == load]


def _level(
    load: Load, name: str, values: Sequence[float], cost: StreamCost, beside: float | None
) -> SideRate:
    middle, ends = level_interval(values, beside)
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


async def _measure(
    run: Run, layout: FullstackSetup, bench: Opened, found: Machine, watch: InterferenceWatch | None
) -> None:
    every = layout.loads(direct=bench.direct)
    if not bench.direct:
        run.emit_note("this file system takes no O_DIRECT: disk alone goes through the page cache too")
    judged = _Judged()
    family = sum(load.comparisons for load in every)
    budget = Budget(run.plan.measuring_s, run.clock)

    def entry(load: Load) -> ScheduledLoad:
        trains = StreamTrains(bench, load, shares.get(load.id, 0.0))
        scheduler = BatchScheduler(run, load.workload, trains, watch)
        return ScheduledLoad(scheduler, lambda done: judged.add(load, done, bench.costs))

    lots = [[load] for load in every if load.pairs]  # each with pairs of its own
    lots += [
        [load for load in every if not load.pairs and load.workload.aside is aside] for aside in (False, True)
    ]
    shares = written_shares([load for lot in lots for load in lot])
    rest = sum(load.weight for load in every)
    for lot in filter(None, lots):
        weight = sum(load.weight for load in lot)
        share = Budget(budget.left_s * weight / rest, run.clock)
        rest -= weight
        pairs, entries = lot[0].pairs or None, [entry(load) for load in lot]
        await run_campaign(run, share, entries, family=family, pairs=pairs, steps=False)
    limits = [
        limit(way, judged.levels, judged.of(way), found, private=not layout.peer) for way in layout.directions
    ]
    measured = FullstackFigures(
        directory=layout.directory, disk=layout.place.device_name, network=layout.network, private=not layout.peer,
        streams=layout.streams, levels=tuple(judged.levels),
        limits=tuple(one for one in limits if one is not None),
        card=found.card.name if found.card is not None else "",
    )  # fmt: skip
    run.emit(Streams(t=run.time(), value=measured))
    for one in findings(measured, judged.verdicts, found):
        run.emit_finding(one)


def _watch(run: Run, layout: FullstackSetup) -> InterferenceWatch:
    return watch_for(run, layout.place.leaf_devices, directories=[layout.directory])
