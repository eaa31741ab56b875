"""The plan of scenario `rpfilter`: what is compared, how long it takes, what cannot be copied into the namespaces."""

import math
from collections.abc import Iterator
from typing import Any

from hostdx.probes.reading.host import Host
from hostdx.probes.system.firewall.reverse_path import Protocol
from hostdx.probes.system.running.allowed import may_administer
from hostdx.probes.types import Absent
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.model import OptionMap, UsageError
from hostdx.scenarios.contract.plan import PlannedStep
from hostdx.scenarios.experiment.budget import minimum_seconds
from hostdx.scenarios.experiment.load_schedule import MIN_LOAD_S
from hostdx.scenarios.rpfilter.facts import RpFilterFacts, read_rp_filter_facts
from hostdx.scenarios.rpfilter.measurement.measured_check import MeasuredCheck, choose_check
from hostdx.scenarios.rpfilter.measurement.route_set import MAX_ROUTES, RouteSet, scale_routes
from hostdx.scenarios.rpfilter.measurement.variants import Trial, build_trials

RATES_S = 3.0  # how long this host's own packets are counted before anything is sent
MAX_RATES_S = 60.0
PREPARING_S = 2.0
BUDGET_S, BUDGET_ALL_S = 20.0, 240.0
BLOCK_S = 0.5

POLICY_RULES: dict[Protocol, int] = {"IPv6": 2, "IPv4": 3}  # that every kernel has: local, main; and default

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
    risk="none: a process of hostdx holds them, and the kernel removes them when it ends",
)


def plan_fields(host: Host, options: OptionMap, blocked: str, needs: str) -> dict[str, Any]:
    """The fields of the plan. Raises UsageError; `blocked`: why nothing can be measured here."""
    routes, link, budget = options.as_integer("routes", -1), options.as_number("link"), budget_s(options)
    if "routes" in options.values and options.values["routes"] is not None and not 0 <= routes <= MAX_ROUTES:
        raise UsageError(f"--routes {routes}: between 0 and {MAX_ROUTES}")
    if link < 0 or budget <= 0 or not 0.05 <= options.as_number("block", BLOCK_S) <= 5:
        raise UsageError("--link and --budget take a number above 0, --block 0.05 to 5")
    if not 0 <= options.as_number("rates", RATES_S) <= MAX_RATES_S:
        raise UsageError(f"--rates: 0 to {MAX_RATES_S:g} seconds")
    facts = read_rp_filter_facts(host)
    main = choose_check(facts)
    tried = workloads_to_compare(facts, options)
    need = sum(seconds_needed(trial) for trial in tried)
    if budget < need:
        raise UsageError(
            f"a budget of {budget:.0f} s is too short for {tried[0].workload.title};"
            f" give --budget {math.ceil(need)} or more"
        )
    variants = {c.variant.id: c.variant for trial in reversed(tried) for c in trial.compared}
    return {
        "options": dict(options.values),
        "variants": tuple(
            variants[c] for c in dict.fromkeys(c.variant.id for t in tried for c in t.compared)
        ),
        "workloads": tuple(trial.workload for trial in tried),
        "steps": tuple(
            PlannedStep(id=step, title=title, seconds=seconds)
            for (step, title), seconds in zip(STEPS.items(), (1.0, RATES_S, PREPARING_S, budget), strict=True)
        ),
        "actions": () if blocked else (NAMESPACES,),
        "rights": (needs,),
        "seconds": budget + RATES_S + PREPARING_S + 1.0,
        "measuring_s": budget,
        "sentences": (
            f"measures {main.variant_label}: {main.text}",
            "first reads what is loaded, the routes and the settings, and changes nothing (`hostdx triage` "
            "reads the same)",
            "loads the check in hostdx's own network namespaces, never in the live firewall",
            f"sends small packets from one CPU, through {len(tried[0].compared)} variants in turn",
            "tests every variant first: genuine packets arrive, and only the check drops forged ones",
        ),
        "left_out": tuple(_left_out_lines(facts, main, blocked)) + main.left_out,
    }


def workloads_to_compare(facts: RpFilterFacts, options: OptionMap) -> tuple[Trial, ...]:
    return build_trials(
        facts,
        everything=options.is_set("all"),
        again=options.is_set("again"),
        block_s=options.as_number("block", BLOCK_S),
    )


def budget_s(options: OptionMap) -> float:
    return options.as_number("budget", BUDGET_ALL_S if options.is_set("all") else BUDGET_S)


def seconds_needed(trial: Trial) -> float:
    return MIN_LOAD_S if trial.load == "udp" else minimum_seconds(trial.workload, len(trial.compared))


def routes_of(facts: RpFilterFacts, count: int) -> RouteSet:
    """The host's own routes, or `--routes` of them: fewer, or more with made-up ones."""

    def routes_for(protocol: Protocol) -> tuple[tuple[str, str], ...]:
        table = facts.routes[protocol]
        own = [] if isinstance(table, Absent) else [(r.prefix, r.interface) for r in table.unicast]
        return scale_routes(own, len(own) if count < 0 else count, ipv6=protocol == "IPv6")

    return RouteSet(ipv6=routes_for("IPv6"), ipv4=routes_for("IPv4"))


def _left_out_lines(facts: RpFilterFacts, main: MeasuredCheck, blocked: str) -> Iterator[str]:
    if blocked:
        yield blocked
    if not facts.ipv6:
        yield "IPv6 is off on this host: IPv4 is measured, for which firewalld has no check of its own"
    dearer = "they make each lookup cost more than measured here"
    for protocol, rules in facts.policy_rules.items():
        usual = POLICY_RULES[protocol]
        if not isinstance(rules, Absent) and rules > usual:
            more = "a policy rule" if rules == usual + 1 else f"{rules - usual} policy rules"
            tables = "" if protocol == "IPv6" else ", and of its route tables only the main one is"
            yield f"of {protocol} {more} beyond the usual {usual} cannot be copied{tables}: {dearer}"
    for protocol, table in facts.routes.items():
        if not isinstance(table, Absent) and len(table.unicast) > MAX_ROUTES:
            yield f"of {len(table.unicast):,} {protocol} routes the first {MAX_ROUTES:,} are copied"
    if isinstance(facts.ruleset, Absent):
        yield f"the live ruleset: {facts.ruleset.reason}; {main.name} is measured"


# What forbids user namespaces to those who are not root: the value that forbids, and who set it.
_FORBIDDING = (
    ("/proc/sys/user/max_user_namespaces", 0, "user.max_user_namespaces is 0"),
    (
        "/proc/sys/kernel/unprivileged_userns_clone",
        0,
        "kernel.unprivileged_userns_clone is 0 (Debian's setting)",
    ),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        1,
        "AppArmor takes the rights away in them (kernel.apparmor_restrict_unprivileged_userns is 1, Ubuntu's default)",
    ),
)


def no_namespaces_reason(host: Host) -> str:
    """Empty where nothing speaks against it; the kernel has the last word."""
    if not host.path_exists("/proc/self/ns/net"):
        return "this kernel has no network namespaces (CONFIG_NET_NS)"
    if may_administer(host):
        return ""
    for path, value, reason in _FORBIDDING:
        if host.read_integer(path) == value:
            return (
                f"needs root: network namespaces need CAP_SYS_ADMIN, and user namespaces are closed: {reason}"
            )
    return ""
