"""`hostdx explain SCENARIO`: what it measures, how, and what it cannot tell: the README.md of the scenario's folder."""

import sys
from pathlib import Path

import click

from app.cli.scenario_command import find_scenario, unknown_scenario_failure
from app.output import print_result
from app.printable import make_lines_printable
from scenarios.model import Scenario

MAX_PAGE_BYTES = 1 << 18


@click.command()
@click.argument("scenario")
def explain(scenario: str) -> int:
    """What a scenario measures, how, and what it cannot tell."""
    loaded = find_scenario("explain", scenario)
    if loaded is None:
        raise unknown_scenario_failure("explain", scenario)
    print_result(make_lines_printable(read_page(loaded).rstrip("\n")))
    return 0


def read_page(scenario: Scenario) -> str:
    """The page beside the scenario's code; what it declares of itself where it brings none."""
    module = sys.modules[type(scenario).__module__]
    file_name = getattr(module, "__file__", None)
    if file_name:
        page = Path(file_name).with_name("README.md")
        try:
            with page.open("rb") as file:
                return file.read(MAX_PAGE_BYTES).decode("utf-8", "backslashreplace")
        except OSError:
            pass
    return f"# {scenario.id}: {scenario.title}\n\n{scenario.question} {scenario.why}\n"
