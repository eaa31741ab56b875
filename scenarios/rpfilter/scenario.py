"""What the firewall's reverse-path check costs on this host: read, measured in namespaces of hostdx's own, and weighed.

The live firewall, routes and settings are only read.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from typing import ClassVar

from hostdx.probes.children.command import find_tool
from hostdx.probes.engine.measured import BenchRefused
from hostdx.probes.reading.host import Host
from hostdx.probes.system.network.packet_rates import PacketRates, rates_between, read_packet_counters
from hostdx.probes.types import Absent
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.declared_options import apply_declaration
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.model import OptionMap, PreparedRun, Run, RunRefused, Scenario, StepInProgress
from hostdx.scenarios.contract.rule import FactUnreadable, RuleInapplicable
from hostdx.scenarios.experiment.budget import TimeBudget
from hostdx.scenarios.experiment.experiment import LoadExperiment
from hostdx.scenarios.experiment.groups import levels_beside_verdicts
from hostdx.scenarios.experiment.guards.watch import watch_for
from hostdx.scenarios.experiment.load_schedule import MIN_LOAD_S, ScheduledLoad, measure_loads
from hostdx.scenarios.experiment.schedule.blocks import BlockScheduler
from hostdx.scenarios.experiment.schedule.train_scheduler import BatchScheduler
from hostdx.scenarios.experiment.scheduler import LoadScheduler
from hostdx.scenarios.rpfilter import cost
from hostdx.scenarios.rpfilter.cost import build_cost_answer, cost_of_check, line_rate_rows
from hostdx.scenarios.rpfilter.facts import RpFilterFacts, facts_for_triage, rate_facts, read_rp_filter_facts
from hostdx.scenarios.rpfilter.findings import cost_finding
from hostdx.scenarios.rpfilter.measurement.measured_check import choose_check
from hostdx.scenarios.rpfilter.measurement.network import LabNetwork
from hostdx.scenarios.rpfilter.measurement.route_set import MAX_ROUTES
from hostdx.scenarios.rpfilter.measurement.trains import NamespacePairs, NetworkBatches, NetworkVariantBench
from hostdx.scenarios.rpfilter.measurement.variants import NONE, Trial
from hostdx.scenarios.rpfilter.plan import (
    BLOCK_S,
    BUDGET_ALL_S,
    BUDGET_S,
    NAMESPACES,
    PREPARING_S,
    RATES_S,
    STEPS,
    budget_s,
    no_namespaces_reason,
    plan_fields,
    routes_of,
    seconds_needed,
    workloads_to_compare,
)
from hostdx.scenarios.rpfilter.results import AtLineRate, CostResult
from hostdx.scenarios.rpfilter.rules import RULES, rule_subject


@apply_declaration(
    __file__,
    most_routes=MAX_ROUTES,
    block_s=BLOCK_S,
    rates_s=RATES_S,
    budget_s=BUDGET_S,
    budget_all_s=BUDGET_ALL_S,
)
class Rpfilter(Scenario):
    """See hostdx.scenarios.contract.model.Scenario. `start` opens the bench; tests bring one that needs no kernel."""

    takes_s: ClassVar[float] = BUDGET_S + RATES_S + PREPARING_S

    def __init__(self, start: Callable[[str], Awaitable[LabNetwork]] | None = None) -> None:
        self._start: Callable[[str], Awaitable[LabNetwork]] = LabNetwork.start if start is None else start

    def blocking_reason(self, host: Host) -> str:
        if not host.live:
            return "a captured tree can be read (triage), not measured"
        if not find_tool("nft"):
            return "nft is not installed (package nftables): the checks can be read (`hostdx triage`), not measured"
        why = no_namespaces_reason(host)
        return f"{why}; the checks can be read (`hostdx triage`), not measured" if why else ""

    def prepare(self, host: Host, options: OptionMap) -> PreparedRun:
        plan = self.make_plan(**plan_fields(host, options, self.blocking_reason(host), self.needs))
        return PreparedRun(plan, self._run)

    async def _run(self, run: Run) -> None:
        facts = read_rp_filter_facts(run.host)
        with run.begin_step("read", STEPS["read"]):
            for fact_entry in facts_for_triage(run.host, facts):
                run.emit(ev.fact_event(fact_entry, run.elapsed_s()))
        blocked = self.blocking_reason(run.host)
        if blocked:
            self._emit_rule_findings(run)
            raise RunRefused(blocked)
        now = await self._count_and_emit_rates(run)
        try:
            await self._measure_in_namespaces(run, facts, now)
        except BenchRefused as why:
            self._emit_rule_findings(run)
            raise RunRefused(str(why)) from None

    def _emit_rule_findings(self, run: Run) -> None:
        """What the read-only rules say: all that is left where nothing can be measured."""
        for rule_finding in _findings_of_check_rules(run.host, run.emit_note):
            run.emit_finding(rule_finding)

    async def _count_and_emit_rates(self, run: Run) -> PacketRates | Absent:
        with run.begin_step("rates", STEPS["rates"]):
            before = read_packet_counters(run.host, run.clock.now())
            await run.clock.sleep(run.options.as_number("rates", RATES_S))
            packet_rates = rates_between(before, read_packet_counters(run.host, run.clock.now()))
            for fact_entry in rate_facts(packet_rates, read_rp_filter_facts(run.host).cards):
                run.emit(ev.fact_event(fact_entry, run.elapsed_s()))
        return packet_rates

    async def _measure_in_namespaces(self, run: Run, facts: RpFilterFacts, now: PacketRates | Absent) -> None:
        async with AsyncExitStack() as stack:
            with run.begin_step("namespaces", STEPS["namespaces"]) as step:
                applied = await stack.enter_async_context(run.apply_change(NAMESPACES))
                bench = await self._start(applied.value)
                stack.push_async_callback(bench.close)
                await self._copy_routes_in(run, facts, bench, step)
            with run.begin_step("measure", STEPS["measure"]):
                await self._measure_and_judge_trials(run, facts, bench, now)

    async def _copy_routes_in(
        self, run: Run, facts: RpFilterFacts, bench: LabNetwork, step: StepInProgress
    ) -> None:
        asked = run.options.as_integer("routes", -1)
        added = await bench.set_up(routes_of(facts, asked), ipv6=facts.ipv6)
        if bench.in_user_namespace:
            run.emit_note("not root: measured inside a user namespace")
        step.finish_with_remark(f"{added.ipv6_routes} IPv6 and {added.ipv4_routes} IPv4 routes copied in")
        run.emit_fact("network", "routes searched", added.ipv6_routes, source="private namespace")

    async def _measure_and_judge_trials(
        self, run: Run, facts: RpFilterFacts, bench: LabNetwork, now: PacketRates | Absent
    ) -> None:
        tried = workloads_to_compare(facts, run.options)
        budget = TimeBudget(budget_s(run.options), run.clock)
        family = sum(len(trial.variant_pairs) for trial in tried)
        watch = watch_for(run)
        further_verdicts: list[tuple[Trial, list[ev.RunVerdict]]] = []
        pairs = NamespacePairs(bench, routes_of(facts, run.options.as_integer("routes", -1)), ipv6=facts.ipv6)

        def schedule_trial(trial: Trial) -> ScheduledLoad:
            scheduler: LoadScheduler
            if trial.load == "udp":
                scheduler = BatchScheduler(run, trial.workload, NetworkBatches(bench, pairs, trial), watch)
            else:
                variants = [NetworkVariantBench(bench, run.clock, trial, each) for each in trial.compared]
                scheduler = BlockScheduler(run, trial.workload, variants, watch)

            def conclude_trial(experiment: LoadExperiment) -> None:
                verdicts = experiment.verdicts
                if trial is tried[0]:
                    shown = levels_beside_verdicts(experiment.groups, trial.workload.metrics[0], verdicts)
                    self._emit_conclusion(run, facts, verdicts, shown.get(NONE), now)
                else:
                    further_verdicts.append((trial, verdicts))

            return ScheduledLoad(scheduler, conclude_trial)

        packets = [schedule_trial(trial) for trial in tried if trial.load == "udp"]
        streams = [trial for trial in tried if trial.load == "tcp"]
        kept_s = sum(map(seconds_needed, streams))
        for_packets = TimeBudget(max(MIN_LOAD_S, budget.left_s - kept_s), run.clock)
        await measure_loads(run, for_packets, packets, family=family, steps=False)
        await measure_loads(
            run, budget, [schedule_trial(trial) for trial in streams], family=family, steps=False
        )
        also = cost.further_costs_finding(further_verdicts, facts, now)
        if also is not None:
            run.emit_finding(also)

    def _emit_conclusion(
        self,
        run: Run,
        facts: RpFilterFacts,
        verdicts: list[ev.RunVerdict],
        no_rule_ns: float | None,
        now: PacketRates | Absent,
    ) -> None:
        """`no_rule_ns`: nanoseconds a packet without a rule."""
        main = choose_check(facts)
        cost_answer = build_cost_answer(
            verdicts, no_rule_ns, now, facts.fastest_card, run.options.as_number("link"), main.protocol
        )
        measured = main.rule if cost_answer is not None else None
        own = ("rpfilter.loaded", rule_subject(measured)) if measured is not None else None
        for rule_finding in _findings_of_check_rules(run.host, lambda _: None):
            if (rule_finding.id, rule_finding.subject) != own:
                run.emit_finding(rule_finding)
        if cost_answer is None:
            run.emit_note("the check's cost could not be measured, see the verdict's reason")
            return
        run.emit(CostResult(t=run.elapsed_s(), value=cost_of_check(cost_answer, facts, main)))
        if cost_answer.lines:
            run.emit(AtLineRate(t=run.elapsed_s(), value=line_rate_rows(cost_answer)))
        run.emit_finding(cost_finding(cost_answer, facts, main))


def _findings_of_check_rules(host: Host, on_no_answer: Callable[[str], None]) -> Iterator[Finding]:
    """Yield what the read-only rules say; why one of them says nothing goes to `on_no_answer`."""
    for rule in RULES:
        try:
            yield from rule.check(host)
        except (FactUnreadable, RuleInapplicable) as why:
            on_no_answer(f"{rule.title}: {why}")
