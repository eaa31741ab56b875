"""`hostdx explain SCENARIO`: one screen of its README.md, or all of it with `--long`."""

import shutil
import sys
import textwrap
from pathlib import Path

import click

from hostdx.app.cli.scenario_command import find_scenario, unknown_scenario_failure
from hostdx.app.terminal.markdown import markdown_lines
from hostdx.app.terminal.output import print_result
from hostdx.app.terminal.printable import make_lines_printable
from hostdx.scenarios.contract.model import Scenario

MAX_PAGE_BYTES = 1 << 18
SUMMARY_COLUMNS = 79
MAX_PAGE_COLUMNS = 100
# headings of a page, in the order of the summary, and the label that each first paragraph has there
SUMMARY_LABELS = {
    "Question": "Question",
    "What it measures": "Measures",
    "How": "Takes",
    "Safety": "Changes",
    "What the verdict means": "Verdict",
    "What it cannot tell": "Not covered",
}


@click.command()
@click.argument("scenario")
@click.option("--long", "is_long", is_flag=True, help="Print the whole page.")
@click.option("--markdown", "is_markdown", is_flag=True, help="Print the whole page as Markdown.")
def explain(scenario: str, is_long: bool, is_markdown: bool) -> int:
    """What a scenario measures, how, and what it cannot tell."""
    loaded = find_scenario("explain", scenario)
    if loaded is None:
        raise unknown_scenario_failure("explain", scenario)
    page = make_lines_printable(read_explain_page(loaded).rstrip("\n"))
    if is_markdown:
        print_result(page)
    else:
        print_result(markdown_as_plain_text(page) if is_long else summarize_page(page, scenario))
    return 0


def markdown_as_plain_text(markdown: str) -> str:
    """Return a Markdown page as plain text: headings, lists and tables laid out for the terminal's width."""
    columns = min(shutil.get_terminal_size((SUMMARY_COLUMNS + 1, 24)).columns - 1, MAX_PAGE_COLUMNS)
    lines = markdown_lines(markdown, max(columns, 40))
    return "\n".join("".join(part for part, _ in line).rstrip() for line in lines).strip()


def read_explain_page(scenario: Scenario) -> str:
    """Return the page beside the scenario's code, or its title, question and reason if it brings no page."""
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


def summarize_page(page: str, scenario: str) -> str:
    """Return the first paragraph of each section as one screen, or the page itself if it has no such sections."""
    paragraphs = read_first_paragraphs(page)
    margin = " " * (max(map(len, SUMMARY_LABELS.values())) + 2)
    blocks = [
        textwrap.fill(
            paragraphs[heading],
            SUMMARY_COLUMNS,
            initial_indent=label.ljust(len(margin)),
            subsequent_indent=margin,
            break_on_hyphens=False,
        )
        for heading, label in SUMMARY_LABELS.items()
        if heading in paragraphs
    ]
    if not blocks:
        return page
    title = page.splitlines()[0].lstrip("# ")
    return "\n".join([title, "", *blocks, "", f"More: hostdx explain {scenario} --long"])


def read_first_paragraphs(page: str) -> dict[str, str]:
    """Return the first paragraph below each heading of the second level, as one line without Markdown's marks."""
    paragraphs = {}
    for section in f"\n{page}".split("\n## ")[1:]:
        heading, _, body = section.partition("\n")
        paragraph = body.strip().split("\n\n")[0]
        paragraphs[heading.strip()] = " ".join(paragraph.replace("`", "").replace("**", "").split())
    return paragraphs
