"""What the firewall's reverse-path check costs on this host: read, measured in namespaces of hostdx's own, and weighed.

The live firewall, routes and settings are only read.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from typing import ClassVar

from probes.action import Action
from probes.bench.measured import BenchRefused
from probes.bench.net.network import Network
from probes.bench.net.route_set import MOST_ROUTES, RouteSet, scaled
from probes.command import tool
from probes.host import Host
from probes.system.packet_rates import PacketRates, packet_counters, rates
from probes.types import Absent
from scenarios import events as ev
from scenarios.experiment.budget import Budget, Need, least_seconds, share
from scenarios.experiment.campaign import LEAST_LOAD_S, Entry, campaign
from scenarios.experiment.interleaved import compare
from scenarios.experiment.train_experiment import TrainExperiment
from scenarios.guards.watch import watch_for
from scenarios.model import Options, Refused, Run, Scenario, Step, Usage
from scenarios.plan import Option, Plan, PlannedStep
from scenarios.rpfilter import other_costs
from scenarios.rpfilter.arm import Bench, NetworkArm
from scenarios.rpfilter.cost import answer, extra, line_rate
from scenarios.rpfilter.fact_events import fact_events, rate_events
from scenarios.rpfilter.facts import Facts, read
from scenarios.rpfilter.findings import finding
from scenarios.rpfilter.measured_check import Chosen, chosen
from scenarios.rpfilter.rights import why_no_namespaces
from scenarios.rpfilter.rules import POLICY_RULES, POLICY_RULES4, RULES, subject_of
from scenarios.rpfilter.trains import NetworkTrains, Pairs
from scenarios.rpfilter.variants import NONE, Trial, trials
from scenarios.rule import Inapplicable, Unreadable

RATES_S = 3.0  # how long this host's own packets are counted before anything is sent
MOST_RATES_S = 60.0
PREPARING_S = 2.0
BUDGET_S, BUDGET_ALL_S = 20.0, 240.0
BLOCK_S = 0.5

STEPS = {
    "read": "read firewall, routes and settings",
    "rates": "count this host's own packets",
    "namespaces": "private namespaces with this host's routes",
    "measure": "measure and judge",
}

NAMESPACES = Action(
    kind="resource",
    resource="namespace",
    title="two private network namespaces with a veth pair, routes and rules inside",
    target="hostdx-rpfilter-*",
    parameters={"held by": "process"},
    risk="none: a process of hostdx's own holds them, and the kernel removes them when it ends",
)


class Rpfilter(Scenario):
    """See scenarios.model.Scenario. `start` opens the bench; tests bring one that needs no kernel."""

    id: ClassVar[str] = "rpfilter"
    title: ClassVar[str] = "Reverse-path check of the firewall"
    question: ClassVar[str] = "What does the firewall's reverse-path check cost on this host?"
    why: ClassVar[str] = (
        "A 100 Gbit/s storage node reached half of its throughput; after weeks the culprit was IPv6_rpfilter=yes in"
        " firewalld: every IPv6 packet asks the routing table about its source."
    )
    answers: ClassVar[str] = "nanoseconds a packet, cores at line rate, what to change"
    takes_s: ClassVar[float] = BUDGET_S + RATES_S + PREPARING_S
    suspect: ClassVar[str] = "the firewall's reverse-path check"
    checkup_s: ClassVar[float] = 30.0
    needs: ClassVar[str] = "nft; root, or unprivileged user namespaces"
    reads_anyway: ClassVar[bool] = True
    options: ClassVar[tuple[Option, ...]] = (
        Option(
            name="all",
            kind="flag",
            help="also loose, strict, mark, IPv4, rp_filter 0/1/2, TCP with and without offloads",
        ),
        Option(
            name="routes",
            kind="integer",
            help=f"routes in the table searched, at most {MOST_ROUTES} (default: this host's)",
        ),
        Option(name="link", kind="number", help="line rate in Gbit/s where the card does not tell it"),
        Option(name="again", kind="flag", help="no rule against itself: must not differ", hidden=True),
        Option(
            name="block", kind="number", default=BLOCK_S, help="seconds of a block", hidden=True, unit="s"
        ),
        Option(
            name="rates", kind="number", default=RATES_S, help="seconds of counting", hidden=True, unit="s"
        ),
        Option(
            name="budget",
            kind="number",
            help=f"time of measuring: 90, 90s, 2m (default {BUDGET_S:.0f} s, with --all {BUDGET_ALL_S:.0f} s)",
            unit="s",
        ),
    )

    def __init__(self, start: Callable[[str], Awaitable[Bench]] | None = None) -> None:
        self._start: Callable[[str], Awaitable[Bench]] = Network.start if start is None else start

    def blocked(self, host: Host) -> str:
        if not host.live:
            return "a captured tree can be read (triage), not measured"
        if not tool("nft"):
            return "nft is not installed (package nftables): the checks can be read (`hostdx triage`), not measured"
        why = why_no_namespaces(host)
        return f"{why}; the checks can be read (`hostdx triage`), not measured" if why else ""

    def plan(self, host: Host, options: Options) -> Plan:
        routes, link, budget = options.integer("routes", -1), options.number("link"), budget_s(options)
        if (
            "routes" in options.values
            and options.values["routes"] is not None
            and not 0 <= routes <= MOST_ROUTES
        ):
            raise Usage(f"--routes {routes}: between 0 and {MOST_ROUTES}")
        if link < 0 or budget <= 0 or not 0.05 <= options.number("block", BLOCK_S) <= 5:
            raise Usage("--link and --budget take a number above 0, --block 0.05 to 5")
        if not 0 <= options.number("rates", RATES_S) <= MOST_RATES_S:
            raise Usage(f"--rates: 0 to {MOST_RATES_S:g} seconds")
        facts = read(host)
        main = chosen(facts)
        tried = _trials(facts, options)
        need = sum(_least_s(trial) for trial in tried)
        if budget < need:
            raise Usage(
                f"a budget of {budget:.0f} s is too short for {tried[0].workload.title};"
                f" give --budget {math.ceil(need)} or more"
            )
        variants = {c.variant.id: c.variant for trial in reversed(tried) for c in trial.compared}
        return Plan(
            scenario=self.id,
            title=self.title,
            question=self.question,
            why=self.why,
            options=dict(options.values),
            variants=tuple(
                variants[c] for c in dict.fromkeys(c.variant.id for t in tried for c in t.compared)
            ),
            workloads=tuple(trial.workload for trial in tried),
            steps=tuple(
                PlannedStep(id=step, title=title, seconds=seconds)
                for (step, title), seconds in zip(
                    STEPS.items(), (1.0, RATES_S, PREPARING_S, budget), strict=True
                )
            ),
            reads=(
                "nft list ruleset, iptables-save where it is used",
                "/etc/firewalld/firewalld.conf",
                "/proc/sys/net/ipv4/conf/*/rp_filter",
                "/proc/net/ipv6_route, /proc/net/route",
                "/proc/net/softnet_stat, /proc/net/snmp6, /sys/class/net",
            ),
            actions=() if self.blocked(host) else (NAMESPACES,),
            rights=(self.needs,),
            seconds=budget + RATES_S + PREPARING_S + 1.0,
            measuring_s=budget,
            sentences=(
                f"Measured is {main.whose}: {main.text}.",
                "First it reads, and changes nothing: what is loaded, the routes, the settings (also `hostdx triage`).",
                "It is loaded in a network namespace of hostdx's own, never in the live firewall.",
                f"Small packets from one CPU, {len(tried[0].compared)} variants in turn, for about {budget:.0f} s.",
                "Every variant is proved first: honest packets arrive, forged ones are dropped by the check alone.",
            ),
            left_out=tuple(_left_out(facts, main, self.blocked(host))) + main.left_out,
        ).sealed()

    async def run(self, run: Run) -> None:
        facts = read(run.host)
        with run.step("read", STEPS["read"]):
            for event in fact_events(facts, run.time()):
                run.emit(event)
        blocked = self.blocked(run.host)
        if blocked:
            self._read_only(run)
            raise Refused(blocked)
        now = await self._rates(run)
        try:
            await self._measure(run, facts, now)
        except BenchRefused as why:
            self._read_only(run)
            raise Refused(str(why)) from None

    def _read_only(self, run: Run) -> None:
        """What the read-only rules say: all that is left where nothing can be measured."""
        for rule in RULES:
            try:
                for found in rule.check(run.host):
                    run.found(found)
            except (Unreadable, Inapplicable) as why:
                run.note(f"{rule.title}: {why}")

    async def _rates(self, run: Run) -> PacketRates | Absent:
        with run.step("rates", STEPS["rates"]):
            before = packet_counters(run.host, run.clock.now())
            await run.clock.sleep(run.options.number("rates", RATES_S))
            found = rates(before, packet_counters(run.host, run.clock.now()))
            for event in rate_events(found, read(run.host).cards, run.time()):
                run.emit(event)
        return found

    async def _measure(self, run: Run, facts: Facts, now: PacketRates | Absent) -> None:
        async with AsyncExitStack() as stack:
            with run.step("namespaces", STEPS["namespaces"]) as step:
                applied = await stack.enter_async_context(run.change(NAMESPACES))
                bench = await self._start(applied.value)
                stack.push_async_callback(bench.close)
                await self._prepare(run, facts, bench, step)
            with run.step("measure", STEPS["measure"]):
                await self._judge(run, facts, bench, now)

    async def _prepare(self, run: Run, facts: Facts, bench: Bench, step: Step) -> None:
        asked = run.options.integer("routes", -1)
        added = await bench.set_up(_routes(facts, asked), ipv6=facts.ipv6)
        if bench.in_user_namespace:
            run.note("not root: measured inside a user namespace")
        step.done(f"{added.ipv6_routes} IPv6 and {added.ipv4_routes} IPv4 routes copied in")
        run.fact("network", "routes searched", added.ipv6_routes, source="private namespace")

    async def _judge(self, run: Run, facts: Facts, bench: Bench, now: PacketRates | Absent) -> None:
        tried = _trials(facts, run.options)
        budget = Budget(budget_s(run.options), run.clock)
        family = sum(len(trial.pairs) for trial in tried)
        margin = run.options.number("margin", 0.05)
        watch = watch_for(run)
        beside: list[tuple[Trial, list[ev.Verdict]]] = []
        pairs = Pairs(bench, _routes(facts, run.options.integer("routes", -1)), ipv6=facts.ipv6)

        def entry(trial: Trial) -> Entry:
            async def make(most_s: float) -> TrainExperiment:
                trains = NetworkTrains(bench, pairs, trial)
                return TrainExperiment(
                    run, trial.workload, trains, most_s=most_s, family=family, margin=margin, watch=watch
                )

            def done(experiment: TrainExperiment) -> None:
                verdicts = experiment.conclude()
                if trial is tried[0]:
                    self._conclude(run, facts, verdicts, experiment.levels.get(NONE, []), now)
                else:
                    beside.append((trial, verdicts))

            return Entry(trial.workload.id, trial.workload.title, make, done, steps=False)

        in_blocks = tuple(trial for trial in tried if trial.load == "tcp")
        blocks_s = sum(least_seconds(t.workload, len(t.compared)) for t in in_blocks)
        await campaign(
            run,
            Budget(max(LEAST_LOAD_S, budget.left_s - blocks_s), run.clock),
            [entry(trial) for trial in tried if trial.load == "udp"],
        )
        for number, trial in enumerate(in_blocks):
            arms = [NetworkArm(bench, run.clock, trial, compared) for compared in trial.compared]
            needs = [Need(least_seconds(t.workload, len(t.compared))) for t in in_blocks[number:]]
            share_s = share(budget.left_s, needs)
            verdicts, _ = await compare(
                run, trial.workload, arms, budget_s=share_s, family=family, margin=margin, watch=watch
            )
            beside.append((trial, verdicts))
        also = other_costs.finding(beside, facts, now)
        if also is not None:
            run.found(also)

    def _conclude(
        self,
        run: Run,
        facts: Facts,
        verdicts: list[ev.Verdict],
        path: list[float],
        now: PacketRates | Absent,
    ) -> None:
        """`path`: nanoseconds a packet without a rule."""
        main = chosen(facts)
        found = answer(verdicts, path, now, facts.fastest, run.options.number("link"), main.protocol)
        measured = main.rule if found is not None else None
        for rule in RULES:
            try:
                for said in rule.check(run.host):
                    if measured is None or (said.id, said.subject) != (
                        "rpfilter.loaded",
                        subject_of(measured),
                    ):
                        run.found(said)
            except (Unreadable, Inapplicable):
                continue
        if found is None:
            run.note("the check's cost could not be measured, see the verdict's reason")
            return
        run.emit(ev.Extra(t=run.time(), name="rpfilter", value=extra(found, facts, main)))
        if found.lines:
            run.emit(ev.Extra(t=run.time(), name="at_line_rate", value=line_rate(found)))
        run.found(finding(found, facts, main))


def _trials(facts: Facts, options: Options) -> tuple[Trial, ...]:
    return trials(
        facts,
        everything=options.flag("all"),
        again=options.flag("again"),
        block_s=options.number("block", BLOCK_S),
    )


def budget_s(options: Options) -> float:
    return options.number("budget", BUDGET_ALL_S if options.flag("all") else BUDGET_S)


def _least_s(trial: Trial) -> float:
    return LEAST_LOAD_S if trial.load == "udp" else least_seconds(trial.workload, len(trial.compared))


def _routes(facts: Facts, asked: int) -> RouteSet:
    """The host's own routes, or `--routes` of them: fewer, or more with made-up ones."""
    own6 = () if isinstance(facts.routes6, Absent) else facts.routes6.unicast
    own4 = () if isinstance(facts.routes4, Absent) else facts.routes4.unicast
    pairs6 = [(r.prefix, r.interface) for r in own6]
    pairs4 = [(r.prefix, r.interface) for r in own4]
    return RouteSet(
        ipv6=scaled(pairs6, len(pairs6) if asked < 0 else asked, ipv6=True),
        ipv4=scaled(pairs4, len(pairs4) if asked < 0 else asked, ipv6=False),
    )


def _left_out(facts: Facts, main: Chosen, blocked: str) -> Iterator[str]:
    if blocked:
        yield blocked
    if not facts.ipv6:
        yield "IPv6 is off on this host: IPv4 is measured, for which firewalld has no check of its own"
    dearer = "they make each lookup dearer than measured"
    for protocol, rules, usual in (
        ("IPv6", facts.policy_rules, POLICY_RULES),
        ("IPv4", facts.policy_rules4, POLICY_RULES4),
    ):
        if not isinstance(rules, Absent) and rules > usual:
            more = "a policy rule" if rules == usual + 1 else f"{rules - usual} policy rules"
            tables = "" if protocol == "IPv6" else ", and of its route tables only the main one is"
            yield f"of {protocol} {more} beyond the usual {usual} cannot be copied{tables}: {dearer}"
    if not isinstance(facts.routes6, Absent) and len(facts.routes6.unicast) > MOST_ROUTES:
        yield f"of {len(facts.routes6.unicast):,} IPv6 routes the first {MOST_ROUTES:,} are copied"
    if not isinstance(facts.routes4, Absent) and len(facts.routes4.unicast) > MOST_ROUTES:
        yield f"of {len(facts.routes4.unicast):,} IPv4 routes the first {MOST_ROUTES:,} are copied"
    if isinstance(facts.ruleset, Absent):
        yield f"the live ruleset: {facts.ruleset.reason}; {main.name} is measured"
