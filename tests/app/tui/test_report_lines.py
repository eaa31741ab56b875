"""The markdown on the screen: no line is wider than the screen, and no letter is lost in folding."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from app.document_markdown import rendered
from app.recording import load
from app.report import report
from app.tui.markdown import markdown_lines

DEMOS = Path(__file__).parents[3] / "app" / "demos"


@pytest.mark.parametrize("width", [40, 57, 78, 118])
@pytest.mark.parametrize("demo", ["storage", "rpfilter", "dstate"])
def test_words_survive_the_folding(demo: str, width: int) -> None:
    source = rendered(report(load(DEMOS / f"{demo}.jsonl"), demo))
    prose = "\n".join(row for row in source.split("\n") if row.startswith("- ") and "`" not in row)
    lines = ["".join(part for part, _ in line) for line in markdown_lines(prose, width)]
    assert max(cell_len(line) for line in lines) <= width
    shown = re.sub(r"\W", "", "".join(lines))
    assert shown == re.sub(r"\W", "", re.sub(r"&\w+;", "", prose))
