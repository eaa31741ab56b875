"""`hostdx explain`: every scenario has a page in one order, and its first paragraphs fit on one screen."""

import re
from pathlib import Path

import pytest

from hostdx.app.cli.entry import run_command_line
from hostdx.app.cli.telling.explain import SUMMARY_LABELS, read_explain_page, summarize_page
from hostdx.scenarios.contract import registry
from tests.every_case import every_case
from tests.syntax import ROOT

SCREEN_LINES, SCREEN_COLUMNS = 24, 80
HEADINGS = [
    "Question",
    "What it measures",
    "How",
    "What the verdict means",
    "What it cannot tell",
    "Options",
    "Safety",
]
OUR_PAGES = [
    page for name in registry.scenario_names() if (page := ROOT / "scenarios" / name / "README.md").exists()
]


@every_case("name", registry.scenario_names())
def test_every_scenario_is_explained(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["explain", name, "--long"]) == 0
    page = capsys.readouterr().out
    assert page.startswith(f"{name}:") and len(page) > 400
    assert run_command_line(["explain", name]) == 0
    summary = summarize_page(read_explain_page(registry.load_scenario(name)).rstrip("\n"), name)
    assert capsys.readouterr().out.rstrip("\n") == summary
    assert max(map(len, page.splitlines())) <= 100 and not re.search(r"^#|\*\*|`", page, re.MULTILINE)


@every_case("path", OUR_PAGES)
def test_every_page_has_the_same_sections_and_a_summary_of_one_screen(path: Path) -> None:
    page = path.read_text(encoding="utf-8")
    assert [line[3:] for line in page.splitlines() if line.startswith("## ")] == HEADINGS
    lines = summarize_page(page, path.parent.name).splitlines()
    assert [
        label for label in SUMMARY_LABELS.values() if not any(row.startswith(label) for row in lines)
    ] == []
    assert len(lines) <= SCREEN_LINES and max(map(len, lines)) <= SCREEN_COLUMNS


def test_a_page_without_the_sections_is_its_own_summary() -> None:
    page = "# mine: A title\n\n## Another heading\n\ntext"
    assert summarize_page(page, "mine") == page


def test_an_unknown_one_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["explain", "storge"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_scenario_without_a_page_says_what_it_declares() -> None:
    class Mine:
        id, title, question, why = "mine", "A title", "What is it?", "Because."

    Mine.__module__ = "builtins"
    assert read_explain_page(Mine()).startswith("# mine: A title")  # type: ignore[arg-type]
