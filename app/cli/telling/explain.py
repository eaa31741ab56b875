"""`hostdx explain SCENARIO`: what it measures, how, and what it cannot tell: the README.md of the scenario's folder."""

import sys
from pathlib import Path

import click

from app.cli.scenario_command import found, unknown
from app.output import out
from app.printable import printable_lines
from scenarios.model import Scenario

MOST_BYTES = 1 << 18


@click.command()
@click.argument("scenario")
def explain(scenario: str) -> int:
    """What a scenario measures, how, and what it cannot tell."""
    known = found("explain", scenario)
    if known is None:
        raise unknown("explain", scenario)
    out(printable_lines(text_of(known).rstrip("\n")))
    return 0


def text_of(scenario: Scenario) -> str:
    """The page beside the scenario's code; what it declares of itself where it brings none."""
    module = sys.modules[type(scenario).__module__]
    file_name = getattr(module, "__file__", None)
    if file_name:
        page = Path(file_name).with_name("README.md")
        try:
            with page.open("rb") as file:
                return file.read(MOST_BYTES).decode("utf-8", "backslashreplace")
        except OSError:
            pass
    return f"# {scenario.id}: {scenario.title}\n\n{scenario.question} {scenario.why}\n"
