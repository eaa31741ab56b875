"""Triage as a stream: a broken rule or a third party's scenario never takes it down."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from probes.host import Host
from scenarios import events as ev
from scenarios import registry, triage
from scenarios.finding import Finding
from scenarios.rules.rule import Inapplicable, Rule, Unreadable


def speaks(host: Host) -> Iterator[Finding]:
    yield Finding(id="x.y", severity="warning", title="something")


def silent(host: Host) -> Iterator[Finding]:
    return iter(())


def unreadable(host: Host) -> Iterator[Finding]:
    raise Unreadable("needs root")


def inapplicable(host: Host) -> Iterator[Finding]:
    raise Inapplicable("no disk")


def broken(host: Host) -> Iterator[Finding]:
    yield Finding(id="x.z", severity="warning", title="half")
    raise ZeroDivisionError("a bug")


@pytest.mark.parametrize(
    ("check", "state", "findings"),
    [
        (speaks, "spoke", 1),
        (silent, "ok", 0),
        (unreadable, "unreadable", 0),
        (inapplicable, "not applicable", 0),
        (broken, "unreadable", 0),
    ],
)
def test_every_way_a_rule_can_end(check, state: str, findings: int) -> None:  # type: ignore[no-untyped-def]
    rule = Rule("x", "x", "x", check)
    events = list(triage.apply_rule(rule, Host("/nonexistent"), lambda: 1.0))
    assert sum(isinstance(e, ev.Found) for e in events) == findings
    last = events[-1]
    assert isinstance(last, ev.Checked) and last.state == state


def test_a_scenario_that_cannot_be_loaded_is_offered_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "BUILT_IN", {"ghost": "no.such.module:Ghost"})
    monkeypatch.setattr(triage, "names", lambda: ("ghost",))
    offers = list(triage.offers(Host("/nonexistent"), lambda: 0.0))
    assert [o.id for o in offers] == ["ghost"] and "cannot be loaded" in offers[0].blocked


def test_every_rule_answers_on_an_empty_tree(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Absent is not zero: on a tree that holds nothing, no rule finds anything."""
    host = Host(str(tmp_path))
    for rule in triage.all_rules():
        events = list(triage.apply_rule(rule, host, lambda: 0.0))
        assert [e for e in events if isinstance(e, ev.Found)] == [], rule.id
        last = events[-1]
        assert isinstance(last, ev.Checked)
        assert "the rule failed" not in last.reason, (rule.id, last.reason)
