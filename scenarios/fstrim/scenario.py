"""Scenario `fstrim`: does this disk get slower from run to run, and does trimming bring it back?

One session measures before, after idling, and after a trim that was given the same time. `--round` adds one round to
the series of this file system, from cron or before each job; the trims in between are found in the counters.
"""

from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial

from probes.engine.disk.budget import WriteBudget
from probes.files.private_directory import PrivateDirectory
from probes.reading.host import Host
from probes.system.disk.trim.trim_timer import trim_timer
from probes.system.software.kernel import read_kernel
from probes.types import is_present
from scenarios.contract import events as ev
from scenarios.contract.declared_options import apply_declaration
from scenarios.contract.model import Options, Prepared, Run, RunRefused, Scenario, own_directory
from scenarios.contract.plan import Plan
from scenarios.experiment.guards.watch import InterferenceWatch, watch_for
from scenarios.fstrim.glance import chain_entries, spare_entries, timer_entry
from scenarios.fstrim.ledger import Ledger
from scenarios.fstrim.measurement.load import BuiltInLoad, CommandLoad, EngineSettings
from scenarios.fstrim.measurement.phase import PhaseMeasurer, StoppedByGuards
from scenarios.fstrim.measurement.trim import TrimPattern, after_warm_up
from scenarios.fstrim.plan import TrimRequest, make, without_trim_note
from scenarios.fstrim.rounds import measure_one_round
from scenarios.fstrim.rules import RULES
from scenarios.fstrim.session import TrimSession
from scenarios.fstrim.trim_setup import TrimSetup
from scenarios.triage.triage import apply_rule

EngineMaker = Callable[[Host, TrimSetup, TrimRequest, PrivateDirectory, int, WriteBudget], BuiltInLoad]


def built_in(
    host: Host,
    layout: TrimSetup,
    asked: TrimRequest,
    private: PrivateDirectory,
    seed: int,
    budget: WriteBudget,
) -> BuiltInLoad:
    ground = EngineSettings(
        host, layout.directory, private, layout.leaf_names, layout.fixed_bytes, seed, budget
    )
    return CommandLoad(ground, asked.command) if asked.command else BuiltInLoad(ground)


@apply_declaration(__file__)
class Fstrim(Scenario):
    def __init__(
        self,
        pattern: TrimPattern | None = None,
        engine: EngineMaker = built_in,
        watch: Callable[[Run, TrimSetup], InterferenceWatch | None] | None = None,
    ) -> None:
        """Another pattern and engine are for tests, not for users."""
        self.pattern = pattern or TrimPattern()
        self.engine = engine
        self.watch = watch or _watch

    def prepare(self, host: Host, options: Options) -> Prepared:
        plan, layout, asked, pattern = make(host, options, self.pattern, self.make_plan)
        return Prepared(plan, partial(self._run, layout, asked, pattern))

    async def _run(self, layout: TrimSetup, asked: TrimRequest, pattern: TrimPattern, run: Run) -> None:
        plan = run.plan
        if layout.no_trim and not asked.round:
            run.emit_note(without_trim_note(layout))
        timer = trim_timer(run.host)
        if layout.chain is not None:
            entries = (
                timer_entry(timer),
                *chain_entries(run.host, timer, layout.chain),
                *spare_entries(run.host, [layout.chain]),
            )
            for entry in entries:
                run.emit(ev.fact_event(entry, run.elapsed_s()))
        for rule in RULES:
            for event in apply_rule(rule, run.host, run.elapsed_s):
                if not isinstance(event, ev.Found) or event.finding.subject == layout.mount_directory:
                    run.emit(event)
        release = read_kernel(run.host).release
        ledger = Ledger(run, layout, release if is_present(release) else "")
        try:
            async with AsyncExitStack() as stack:
                blocks = await self._prepare_blocks(run, plan, layout, asked, pattern, stack, ledger)
                if asked.round:
                    await measure_one_round(run, layout, asked, blocks, timer)
                else:
                    await TrimSession(run, plan, layout, pattern, blocks, ledger, timer).run_phases()
        except StoppedByGuards as why:
            raise RunRefused(f"stopped: {why}") from None

    async def _prepare_blocks(
        self,
        run: Run,
        plan: Plan,
        layout: TrimSetup,
        asked: TrimRequest,
        pattern: TrimPattern,
        stack: AsyncExitStack,
        ledger: Ledger,
    ) -> PhaseMeasurer:
        """The private directory, the fixed file and a block that does not count."""
        with run.begin_step("prepare", "write the reference file") as step:
            ledger.begin()
            budget = WriteBudget(layout.most_bytes)
            private = await stack.enter_async_context(own_directory(run, layout.directory))
            engine = self.engine(run.host, layout, asked, private, run.seed, budget)
            stack.push_async_callback(engine.close)
            await engine.prepare_files(step.report_written)
            blocks = PhaseMeasurer(
                run, engine, plan.workloads, pattern, layout.block_bytes, self.watch(run, layout)
            )
            written = await blocks.warm_up()
            if blocks.bytes_per_s:
                block_size = after_warm_up(layout, budget, pattern, asked.phase_count, blocks.bytes_per_s)
                blocks.pattern, blocks.block_bytes = block_size.pattern, block_size.bytes
                if block_size.text:
                    run.emit_note(block_size.text)
            deleted = await engine.delete()
            ledger.end("prepare", written=written + layout.fixed_bytes, deleted=deleted)
            return blocks


def _watch(run: Run, layout: TrimSetup) -> InterferenceWatch:
    return watch_for(run, layout.leaf_names, directories=[layout.directory])
