"""Triage as a stream: a broken rule or a third party's scenario never takes it down."""

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from hostdx.probes.reading import other_package
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract import registry
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.rule import FactUnreadable, HostRule, RuleInapplicable
from hostdx.scenarios.triage import triage
from hostdx.scenarios.triage.triage import examine_host
from tests.every_case import every_case
from tests.fakes.hosts.tree import Tree


def find_fault(host: Host) -> Iterator[Finding]:
    yield Finding(id="x.y", severity="warning", title="something")


def find_nothing(host: Host) -> Iterator[Finding]:
    return iter(())


def raise_unreadable(host: Host) -> Iterator[Finding]:
    raise FactUnreadable("needs root")


def raise_inapplicable(host: Host) -> Iterator[Finding]:
    raise RuleInapplicable("no disk")


def break_halfway(host: Host) -> Iterator[Finding]:
    yield Finding(id="x.z", severity="warning", title="half")
    raise ZeroDivisionError("a bug")


@every_case(
    ("check", "state", "findings"),
    [
        (find_fault, "spoke", 1),
        (find_nothing, "ok", 0),
        (raise_unreadable, "unreadable", 0),
        (raise_inapplicable, "not applicable", 0),
        (break_halfway, "unreadable", 0),
    ],
)
def test_every_way_a_rule_can_end(check, state: str, findings: int) -> None:  # type: ignore[no-untyped-def]
    rule = HostRule("x", "x", "x", check)
    events = list(triage.apply_rule(rule, Host("/nonexistent"), lambda: 1.0))
    assert sum(isinstance(e, ev.Found) for e in events) == findings
    last = events[-1]
    assert isinstance(last, ev.Checked) and last.state == state


def test_a_scenario_that_cannot_be_loaded_is_offered_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    ghost = EntryPoint("ghost", "no.such.module:Ghost", registry.GROUP)
    monkeypatch.setattr(other_package, "entry_points_of", lambda group: (ghost,))
    offers = list(triage.scenario_offers(Host("/nonexistent"), lambda: 0.0))
    assert offers[-1].id == "ghost" and "ModuleNotFoundError" in offers[-1].blocked
    assert {o.id for o in offers[:-1]} == set(registry.bundled_scenario_ids())


def test_every_rule_answers_on_an_empty_tree(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Absent is not zero: on a tree that holds nothing, no rule finds anything."""
    host = Host(str(tmp_path))
    for rule in triage.all_rules():
        events = list(triage.apply_rule(rule, host, lambda: 0.0))
        assert [e for e in events if isinstance(e, ev.Found)] == [], rule.id
        last = events[-1]
        assert isinstance(last, ev.Checked)
        assert not last.fault, (rule.id, last.reason)


def test_a_host_is_read_for_so_long_and_no_longer(tmp_path: Path) -> None:
    """What was not read is said so; nothing about it is called well."""
    Tree(tmp_path).put("/proc/cpuinfo", "processor : 0\n").disk("/sys/devices/a/sda")
    host = Host(str(tmp_path))
    host.until_s = 0.0
    events = list(examine_host(host, lambda: 0.0))
    checks = [e for e in events if isinstance(e, ev.Checked)]
    assert checks and {e.state for e in checks} <= {"unreadable", "not applicable"}
    assert not [e for e in events if isinstance(e, ev.Found)]
    assert host.read_file_text("/proc/cpuinfo").kind == "timeout"  # type: ignore[union-attr]
    assert host.list_names("/sys") == Absent(
        "/sys was not read: the time for reading this host is over", "timeout", "/sys"
    )
    assert isinstance(host.read_command("true"), Absent) and not host.path_exists("/proc/cpuinfo")
    host.until_s = None
    assert host.read_file_text("/proc/cpuinfo") == "processor : 0"
