"""What every scenario keeps, whoever brings it: the built-in ones, and each that is installed beside them."""

import ast
from pathlib import Path

import pytest

from hostdx.app.cli.measuring.run import run as run_command
from hostdx.app.cli.scenario_command import ScenarioGroup
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Json
from hostdx.scenarios.contract.model import OptionMap, RunRefused, Scenario, UsageError, missing_attributes
from hostdx.scenarios.contract.plan import Plan
from hostdx.scenarios.contract.registry import load_scenario, scenario_names

ROOT = Path(__file__).parents[3]
TEXTS = ("id", "title", "question", "why", "answers")


def one_line(text: str) -> bool:
    return "\n" not in text and text == text.strip()


def plan_of(scenario: Scenario, host: Host) -> Plan | None:
    """Its plan; None where it asks for an option first, in one line."""
    values: dict[str, Json] = {o.name: str(ROOT) for o in scenario.options if o.required}
    try:
        return scenario.prepare(host, OptionMap(values, scenario.options)).plan
    except (UsageError, RunRefused) as error:
        assert str(error) and one_line(str(error))
        return None


@pytest.mark.parametrize("name", scenario_names())
def test_it_declares_all_that_hostdx_asks(name: str) -> None:
    scenario = load_scenario(name)
    assert not missing_attributes(scenario) and scenario.id == name
    for text in (getattr(scenario, attribute) for attribute in TEXTS):
        assert text and one_line(text)
    assert one_line(scenario.needs) and scenario.takes_s >= 0
    names = [option.name for option in scenario.options]
    assert len(set(names)) == len(names)
    assert scenario.remembers == any(
        o.name == "state" and o.hidden and o.kind == "path" for o in scenario.options
    )
    if scenario.measures:
        assert "budget" in names


@pytest.mark.parametrize("name", scenario_names())
def test_its_options_do_not_hide_those_of_every_run(name: str) -> None:
    assert isinstance(run_command, ScenarioGroup)
    command = run_command._make_command(name, load_scenario(name))
    spelled = [word for parameter in command.params for word in parameter.opts]
    assert len(set(spelled)) == len(spelled)


@pytest.mark.parametrize("name", scenario_names())
def test_on_a_tree_that_holds_nothing_it_says_why_not_in_one_line(name: str, tmp_path: Path) -> None:
    host = Host(str(tmp_path))
    assert one_line(load_scenario(name).blocking_reason(host))
    plan = plan_of(load_scenario(name), host)
    assert plan is None or plan.refusal or load_scenario(name).blocking_reason(host)


@pytest.mark.parametrize("name", scenario_names())
def test_its_plan_here_is_its_own_and_always_the_same(name: str) -> None:
    scenario = load_scenario(name)
    first, second = plan_of(scenario, Host()), plan_of(load_scenario(name), Host())
    if first is None or second is None:
        assert first is second
        return
    assert first.scenario == name and first.title == scenario.title and first.question == scenario.question
    assert first.with_digest().digest == second.with_digest().digest
    assert one_line(first.refusal) and all(one_line(sentence) for sentence in first.sentences)
    ids = {workload.id for workload in first.workloads}
    assert len(ids) == len(first.workloads) and len({v.id for v in first.variants}) == len(first.variants)


def test_nothing_is_declared_that_nobody_reads() -> None:
    read = {
        node.attr
        for path in [
            *(ROOT / "app").rglob("*.py"),
            *(ROOT / "scenarios/contract").glob("*.py"),
            *(ROOT / "scenarios/triage").glob("*.py"),
            *(ROOT / "scenarios/checkup").glob("*.py"),
        ]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Load)
        and ast.unparse(node.value)
        in ("scenario", "self.scenario", "self._scenario", *(["self"] if path.name == "model.py" else []))
    }
    assert {*Scenario.__annotations__, "blocking_reason", "prepare"} - read == set()
