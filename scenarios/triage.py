"""Triage: the host at a glance, what can be run here, and every read-only rule, in about a second.

Nothing is written and no load is started. What arrives first is what a person looks for first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module

from probes.host import Host
from probes.system.firewall_summary import firewall_facts
from probes.system.summary import Entry, summary_facts
from scenarios import events as ev
from scenarios.fstrim_glance import trim_facts
from scenarios.registry import load, names
from scenarios.rules.rule import Inapplicable, Rule, Unreadable

RULE_MODULES: tuple[str, ...] = (
    "scenarios.rules.rpfilter",
    "scenarios.rules.storage",
    "scenarios.rules.iosched",
    "scenarios.rules.fstrim",
    "scenarios.rules.host",
)


def all_rules() -> tuple[Rule, ...]:
    return tuple(rule for module in RULE_MODULES for rule in import_module(module).RULES)


def fact_events(host: Host, time: Callable[[], float]) -> Iterator[ev.AnyEvent]:
    """The host's facts as events; what could not be read comes as `absent` with its reason."""
    return as_events(summary_facts(host), time)


def as_events(entries: Iterable[Entry], time: Callable[[], float]) -> Iterator[ev.AnyEvent]:
    for entry in entries:
        if isinstance(entry, tuple):
            name, absent = entry
            yield ev.AbsentFact(t=time(), name=name, reason=absent.reason, source=absent.source)
        else:
            yield ev.FactRead(
                t=time(), name=entry.name, value=entry.value, source=entry.source, unit=entry.unit
            )


def offers(host: Host, time: Callable[[], float]) -> Iterator[ev.Offer]:
    """Every scenario with what it answers and, where it cannot run here, why."""
    for name in names():
        try:
            scenario = load(name)
            yield ev.Offer(
                t=time(),
                id=scenario.id,
                title=scenario.title,
                question=scenario.question,
                takes_s=scenario.takes_s,
                needs=scenario.needs,
                answers=scenario.answers,
                blocked=scenario.blocked(host),
                options=tuple(o for o in scenario.options if not o.hidden),
            )
        except Exception as error:  # a third party's scenario must not take triage down
            text = f"cannot be loaded: {type(error).__name__}: {error}"
            yield ev.Offer(t=time(), id=name, title=name, question="", takes_s=0, blocked=text)


def apply_rule(rule: Rule, host: Host, time: Callable[[], float]) -> Iterator[ev.AnyEvent]:
    """One rule's events: its findings, then how it went."""
    try:
        found = list(rule.check(host))
    except Unreadable as why:
        yield ev.Checked(t=time(), rule=rule.id, state="unreadable", reason=str(why))
        return
    except Inapplicable as why:
        yield ev.Checked(t=time(), rule=rule.id, state="not applicable", reason=str(why))
        return
    except Exception as error:  # a broken rule is said, and the others go on
        reason = f"the rule failed: {type(error).__name__}: {error}"
        yield ev.Checked(t=time(), rule=rule.id, state="unreadable", reason=reason)
        return
    for finding in found:
        yield ev.Found(t=time(), finding=finding)
    yield ev.Checked(t=time(), rule=rule.id, state="spoke" if found else "ok")


def examine(host: Host, time: Callable[[], float]) -> Iterator[ev.AnyEvent]:
    """Facts, offers, then what programs must be asked for, then every rule. `time` gives the events' `t`."""
    yield from fact_events(host, time)
    yield from offers(host, time)
    yield from as_events(firewall_facts(host), time)
    yield from as_events(trim_facts(host), time)
    for rule in all_rules():
        yield from apply_rule(rule, host, time)
