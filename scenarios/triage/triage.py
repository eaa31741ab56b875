"""Triage: the host at a glance, what can be run here, and every read-only rule, in about a second.

Nothing is written and no load is started. What arrives first is what a person looks for first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Literal, cast

from msgspec import structs

from hostdx.probes.reading import other_package
from hostdx.probes.reading.host import Host, OutOfTime
from hostdx.probes.reading.secrecy.secret_files import mask_evidence
from hostdx.probes.types import Absent, AbsentKind, FactOrUnread, UnreadFact
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Finding, finding_sort_key, fold_alike_findings
from hostdx.scenarios.contract.folders import scenario_packages_with
from hostdx.scenarios.contract.registry import load_scenario, offer_sort_key, scenario_names
from hostdx.scenarios.contract.rule import FactUnreadable, HostRule, RuleInapplicable
from hostdx.scenarios.triage.rules.engine import host_rule_of
from hostdx.scenarios.triage.rules.known import load_written_rules

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from hostdx.scenarios.contract.model import Scenario

RULES, FACTS = "hostdx.rules", "hostdx.facts"  # entry point groups of other packages
OUT_OF_TIME = "not read within the time limit: too much to read, or too slow"


def all_rules() -> tuple[HostRule, ...]:
    """Return the rules in code (`rules.py`), in data (`rules.toml`) and of the site, then those of other packages."""
    coded = (
        rule for name in scenario_packages_with("rules.py") for rule in import_module(f"{name}.rules").RULES
    )
    return (*coded, *(host_rule_of(text) for text in load_written_rules().rules), *_external_rules())


def _external_rules() -> Iterator[HostRule]:
    """Yield the rules of other packages; of one that cannot be loaded a rule that says so."""
    for entry in other_package.entry_points_of(RULES):
        try:
            rules = tuple(cast("Iterable[HostRule]", other_package.load_entry_point(entry)))
            if strange := next((rule for rule in rules if not isinstance(rule, HostRule)), None):
                raise TypeError(f"{type(strange).__name__} is no HostRule")
        except Exception as error:  # another package's module raises what it likes
            rules = (_unreadable_rule(entry.name, f"cannot be loaded: {type(error).__name__}: {error}"),)
        yield from rules


def _unreadable_rule(name: str, reason: str) -> HostRule:
    def check(_host: Host) -> Iterable[Finding]:
        raise FactUnreadable(reason)

    return HostRule(f"{name}.rules", name, f"the rules of the package {name}", check)


def scenario_facts(host: Host) -> Iterator[FactOrUnread]:
    """Yield the facts that the scenarios' own files (`glance.py`) add to triage."""
    for name in scenario_packages_with("glance.py"):
        yield from import_module(f"{name}.glance").glance(host)
    for entry in other_package.entry_points_of(FACTS):
        yield from _external_facts(entry, host)


def _external_facts(entry: EntryPoint, host: Host) -> Iterator[FactOrUnread]:
    """Yield the facts of another package, or one that says why it has none."""
    try:
        glance = cast("Callable[[Host], Iterable[FactOrUnread]]", other_package.load_entry_point(entry))
        with other_package.package_guard():
            facts = tuple(glance(host))
    except OutOfTime:
        raise
    except Exception as error:
        reason = f"the package's code failed: {type(error).__name__}: {error}"
        facts = (UnreadFact(entry.name, "facts", Absent(reason, "invalid", entry.value)),)
    yield from facts


def summary_fact_events(host: Host, time: Callable[[], float]) -> Iterator[ev.AnyEvent]:
    """Yield the host's facts as events; a fact that could not be read is `absent`, with its reason."""
    from hostdx.probes.system.summary import summary_facts  # the rules alone need none of them

    return fact_events_of(summary_facts(host), time)


def _firewall_events(host: Host, time: Callable[[], float]) -> Iterator[ev.AnyEvent]:
    from hostdx.probes.system.firewall.summary import firewall_facts

    return fact_events_of(firewall_facts(host), time)


def fact_events_of(entries: Iterable[FactOrUnread], time: Callable[[], float]) -> Iterator[ev.AnyEvent]:
    for entry in entries:
        yield ev.fact_event(entry, time())


def scenario_offers(host: Host, time: Callable[[], float]) -> Iterator[ev.ScenarioOffer]:
    """Yield every scenario with its answer and, where it cannot run here, the reason. Scenarios that cannot be
    loaded come last.
    """
    loaded: list[Scenario] = []
    broken: list[tuple[str, str]] = []
    for name in scenario_names():
        try:
            loaded.append(load_scenario(name))
        except Exception as error:  # a third party's scenario must not take triage down
            broken.append((name, f"cannot be loaded: {type(error).__name__}: {error}"))
    for scenario in sorted(loaded, key=offer_sort_key):
        try:
            yield ev.ScenarioOffer(
                t=time(),
                id=scenario.id,
                title=scenario.title,
                question=scenario.question,
                takes_s=scenario.takes_s,
                needs=scenario.needs,
                answers=scenario.answers,
                blocked=scenario.blocking_reason(host),
                options=tuple(o for o in scenario.options if not o.hidden),
                card=structs.replace(scenario.card, id=scenario.id),
            )
        except Exception as error:
            broken.append((scenario.id, f"cannot be evaluated: {type(error).__name__}: {error}"))
    for name, text in broken:
        yield ev.ScenarioOffer(t=time(), id=name, title=name, question="", takes_s=0, blocked=text)


def apply_rule(rule: HostRule, host: Host, time: Callable[[], float]) -> Iterator[ev.AnyEvent]:
    """Yield the events of one rule: its findings, then the outcome. Findings stand even where the rest is unknown."""
    findings: list[Finding] = []
    unknown = ""
    kind: AbsentKind = "missing"
    try:
        for finding in rule.check(host):
            findings.append(finding)
    except FactUnreadable as why:
        unknown, kind = str(why), why.kind
    except RuleInapplicable as why:
        yield ev.Checked(t=time(), rule=rule.id, state="not applicable", reason=str(why))
        return
    except OutOfTime:
        unknown, kind = OUT_OF_TIME, "timeout"
    except Exception as error:  # a broken rule is said, and the others go on
        fault = type(error).__name__
        reason = f"the rule failed: {fault}: {error}"
        yield ev.Checked(
            t=time(), rule=rule.id, state="unreadable", reason=reason, fault=fault, title=rule.title
        )
        return
    findings = fold_alike_findings(findings)
    for finding in findings:
        yield ev.Found(t=time(), finding=_commands_for_paths(_mask_secrets_of_finding(finding), host))
    state: Literal["spoke", "unreadable", "ok"] = "spoke" if findings else "unreadable" if unknown else "ok"
    title = rule.title if unknown else ""
    yield ev.Checked(t=time(), rule=rule.id, state=state, reason=unknown, kind=kind, title=title)


def _mask_secrets_of_finding(finding: Finding) -> Finding:
    """Return the finding without the secrets of the lines that it quotes: of logs, mounts, settings."""
    evidence = tuple(structs.replace(line, text=mask_evidence(line.text)) for line in finding.evidence)
    return structs.replace(finding, title=mask_evidence(finding.title), evidence=evidence)


def _commands_for_paths(finding: Finding, host: Host) -> Finding:
    """Return the finding with the commands that were asked in place of the paths that a sosreport has for them. A
    command that a person may run is left alone: names of devices are quoted there.
    """
    evidence = tuple(
        structs.replace(
            line, text=host.commands_for_paths(line.text), source=host.commands_for_paths(line.source)
        )
        for line in finding.evidence
    )
    return structs.replace(finding, title=host.commands_for_paths(finding.title), evidence=evidence)


def findings_about(host: Host, subjects: frozenset[str]) -> list[Finding]:
    """Return the findings of the rules on these subjects, the worst first."""
    rules = (rule for rule in all_rules() if rule.subject in subjects)
    return _sorted_findings(event for rule in rules for event in apply_rule(rule, host, lambda: 0.0))


def _sorted_findings(events: Iterable[ev.AnyEvent]) -> list[Finding]:
    """Return the findings in these events, the worst first."""
    findings = [event.finding for event in events if isinstance(event, ev.Found)]
    return sorted(findings, key=finding_sort_key)


def examine_host(host: Host, elapsed_s: Callable[[], float], *, facts: bool = True) -> Iterator[ev.AnyEvent]:
    """Yield facts, offers, the facts that programs must be asked for, then every rule. `elapsed_s` gives their `t`.

    Without `facts` only the rules are applied.
    """
    if facts:
        yield from _until_out_of_time(summary_fact_events(host, elapsed_s), "facts", elapsed_s)
        yield from _until_out_of_time(scenario_offers(host, elapsed_s), "scenarios", elapsed_s)
        yield from _until_out_of_time(_firewall_events(host, elapsed_s), "the firewall", elapsed_s)
        yield from _until_out_of_time(
            fact_events_of(scenario_facts(host), elapsed_s), "the scenarios' facts", elapsed_s
        )
    for problem in load_written_rules().problems:
        yield ev.Note(t=elapsed_s(), text=f"a rule was left out: {problem}")
    rules = sorted(all_rules(), key=lambda rule: rule.first_look is not None)  # who looks twice comes last
    for rule in rules:
        if rule.first_look is not None:
            with suppress(Exception):  # the rule asks again, and says what is wrong
                rule.first_look(host)
    for rule in rules:
        for event in _until_out_of_time(apply_rule(rule, host, elapsed_s), rule.id, elapsed_s):
            if host.is_out_of_time and isinstance(event, ev.Checked) and event.state == "ok":
                event = ev.Checked(
                    t=event.t, rule=rule.id, state="unreadable", reason=OUT_OF_TIME, kind="timeout"
                )
            yield event


def examine_live_host(
    elapsed_s: Callable[[], float], programs_s: float = 0.0
) -> tuple[list[ev.AnyEvent], list[Finding]]:
    """Apply every read-only rule to this host; return the events, and the findings in them, the worst first.
    `programs_s`: how long its programs are asked before, at most.
    """
    host = Host()
    if programs_s:
        from hostdx.probes.reading.asking_host import AskingHost

        host = AskingHost()
        host.ask_programs(programs_s)
    host.is_static = True
    events = list(examine_host(host, elapsed_s, facts=False))
    return events, _sorted_findings(events)


def _until_out_of_time(
    events: Iterator[ev.AnyEvent], part_name: str, time: Callable[[], float]
) -> Iterator[ev.AnyEvent]:
    """Yield the events until the time is over. The parts that come later say that they were not read."""
    try:
        yield from events
    except OutOfTime:
        yield ev.Note(t=time(), text=f"{part_name}: {OUT_OF_TIME}")
