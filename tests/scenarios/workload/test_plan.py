"""The plan: what is agreed to on the screen, and what a person reads of a variant."""

from __future__ import annotations

from probes.host import Host
from scenarios.model import Options
from scenarios.registry import load

VALUES = {"cmd": "echo 'a b'", "prepare": "true", "variant": ["a:", "b: PGPASSWORD=hunter2 wrap='env -u X'"]}


def test_all_commands_are_shown_before_they_are_started() -> None:
    scenario = load("workload")
    plan = scenario.plan(Host(), Options(VALUES, scenario.options))
    assert plan.commands == ("echo 'a b'", "env -u X echo 'a b'", "true")
    assert plan.options["cwd"] and not plan.actions


def test_a_secret_is_masked_where_a_variant_is_named() -> None:
    scenario = load("workload")
    plan = scenario.plan(Host(), Options(VALUES, scenario.options))
    assert [v.id for v in plan.variants] == ["a", "b"]
    assert "hunter2" not in str(plan.variants) and "PGPASSWORD" in plan.variants[1].label
