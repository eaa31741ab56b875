"""`hostdx explain`: every scenario has a page of its own; one without a page says what it declares."""

from __future__ import annotations

import pytest

from app.cli.entry import run_command_line
from app.cli.telling.explain import read_page
from scenarios import registry


@pytest.mark.parametrize("name", registry.scenario_names())
def test_every_scenario_is_explained(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["explain", name]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"# {name}:") and len(shown) > 400


def test_an_unknown_one_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["explain", "storge"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_scenario_without_a_page_says_what_it_declares() -> None:
    class Mine:
        id, title, question, why = "mine", "A title", "What is it?", "Because."

    Mine.__module__ = "builtins"
    assert read_page(Mine()).startswith("# mine: A title")  # type: ignore[arg-type]
