"""The first page of a report, its pictures, and how it is printed."""

from __future__ import annotations

import math
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from app.recordings.reader import load
from app.report.figures.interval_chart import scale_for_bars
from app.report.figures.verdict_table import VerdictRow, list_verdict_rows, make_bars
from app.report.forms import html, markdown
from app.report.forms.svg import SMALL, WIDE, bar_svg, chart_svg
from app.report.full_report import report
from scenarios.contract import events as ev
from scenarios.contract.results.document import Axis, Chart, ChartSeries, Effects, Gallery
from tests.every_case import every_case

DEMOS = Path(__file__).parents[3] / "app" / "recordings" / "demos"
SVG = "{http://www.w3.org/2000/svg}"


def effects_svg(found: list[VerdictRow]) -> str:
    drawn = list(make_bars(found).values())
    inner = "".join(bar_svg(bar, scale_for_bars(drawn), 0.05) for bar in drawn)
    return f"<all>{inner}</all>"


def row(load_: str, ratio: float | None, ci95: tuple[float, float] | None = None) -> VerdictRow:
    verdict = ev.RunVerdict(
        t=1, workload="w", metric="m", baseline="A", variant="B", verdict="slower", ratio=ratio, ci95=ci95
    )
    return VerdictRow(load_, "1", "2", "size", "interval", verdict)


@every_case("name", ["storage", "rpfilter", "null"])
def test_the_answer_its_numbers_and_their_trust_stand_before_the_rest(name: str) -> None:
    made = report(load(DEMOS / f"{name}.jsonl"), f"{name}.jsonl")
    front = [section.title for section in made.sections if not section.appendix]
    assert front[:2] == ["Result", "Can it be trusted?"]
    assert all(section.appendix for section in made.sections[len(front) :])
    text = markdown.render_markdown(made)
    assert text.count("\n---\n") == 1 and text.index("| effect |") < text.index("\n---\n")
    assert not re.search(r"reaches \\?\|", text)  # nothing nested is dumped into a cell


@pytest.mark.parametrize("name", ["storage", "null"])
def test_every_picture_is_sound_svg_and_keeps_to_its_frame(name: str) -> None:
    made = report(load(DEMOS / f"{name}.jsonl"), f"{name}.jsonl")
    parts = [part for section in made.sections for part in section.parts]
    (drawn,) = (part.drawn for part in parts if isinstance(part, Effects))
    pictures = [bar_svg(bar, scale_for_bars(drawn.bars), drawn.margin) for bar in drawn.bars]
    many = [one for part in parts if isinstance(part, Gallery) for one in part.drawings]
    pictures += [chart_svg(one, wide) for one in many if isinstance(one, Chart) for wide in (WIDE, SMALL)]
    assert len(pictures) >= 3
    for picture in pictures:
        drawn = ElementTree.fromstring(picture)
        wide, high = map(float, drawn.attrib["viewBox"].split()[2:])
        marks = [*drawn.iter(f"{SVG}circle")]
        assert marks
        for mark in marks:
            assert 0 <= float(mark.attrib["cx"]) <= wide and 0 <= float(mark.attrib["cy"]) <= high


def test_an_effect_is_drawn_where_it_is_and_text_stays_text() -> None:
    drawn = ElementTree.fromstring(effects_svg([row("<script>&\x1b", 0.5, (0.4, 0.6)), row("b", 1.0)]))
    slower, same = (float(mark.attrib["cx"]) for mark in drawn.iter(f"{SVG}circle"))
    assert slower < same
    assert "<script>&\\x1b: size" in [title.text for title in drawn.iter(f"{SVG}title")]


@every_case("ratio", [None, math.inf, math.nan, 0.0, -1.0])
def test_what_cannot_be_drawn_is_not(ratio: float | None) -> None:
    assert make_bars([row("a", ratio)]) == {}


@pytest.mark.parametrize("ratio", [1e-9, 1e300])
def test_the_largest_effects_stay_inside(ratio: float) -> None:
    drawn = ElementTree.fromstring(effects_svg([row("a", ratio, (ratio / 2, ratio * 2))]))
    (whole,) = drawn.iter(f"{SVG}svg")
    wide = float(whole.attrib["viewBox"].split()[2])
    assert all(5 <= float(mark.attrib["cx"]) <= wide - 5 for mark in drawn.iter(f"{SVG}circle"))


def test_blocks_have_a_form_of_their_own_for_each_side() -> None:
    sides = (ChartSeries("A", ((0, 1.0),), "A = <a>"), ChartSeries("B", ((0, 2.0),), "B = b"))
    drawn = ElementTree.fromstring(chart_svg(Chart("t", sides, Axis(0, 2), Axis(0, 3))))
    assert (len([*drawn.iter(f"{SVG}circle")]), len([*drawn.iter(f"{SVG}rect")])) == (2, 2)  # and the legend
    assert chart_svg(Chart("t", sides, Axis(0, math.inf), Axis(0, 3))) == ""


def test_the_page_is_made_for_paper_too() -> None:
    page = html.render_html(report(load(DEMOS / "storage.jsonl"), "storage.jsonl"))
    assert "@media print" in page and "size: A4" in page and "prefers-color-scheme: dark" in page
    assert page.count('<details class="first"') == 1


def test_each_bar_says_which_variant_it_is_of_where_there_are_several() -> None:
    drawn = effects_svg(list_verdict_rows(load(DEMOS / "rpfilter.jsonl")))
    assert "check against none" in drawn and "trivial against none" in drawn


def test_no_command_is_cut_off_on_the_page() -> None:
    """It was wider than the page, and only its beginning was read."""
    page = html.render_html(report(load(DEMOS / "rpfilter.jsonl"), "rpfilter.jsonl"))
    style = page[page.index("<style>") : page.index("@media print")]
    assert re.search(r"pre \{[^}]*white-space: pre-wrap", style)


def test_who_is_stuck_stands_on_the_first_page_and_nothing_is_dumped() -> None:
    text = markdown.render_markdown(report(load(DEMOS / "dstate.jsonl"), "demo:dstate"))
    first, rest = text.split("\n---\n")
    assert "| pid | task | in D | waits in | on |" in first
    assert re.search(r"\| \d+ \| dd \| 21 s \| percpu_rwsem_wait \|", first)
    assert "## Stuck" not in rest
