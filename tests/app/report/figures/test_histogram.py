"""The times of a load's operations as a histogram: of blocks that are given, in each of its forms."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from app.recordings.reader import load
from app.recordings.session import RunSession
from app.report.figures.histogram import BUCKETS, histogram_lines, latency_histograms
from app.report.forms import html, markdown
from app.report.forms.svg import histogram_svg
from app.report.full_report import report
from app.terminal.lines import cell_width
from scenarios.contract import events as ev
from scenarios.contract.results.document import Gallery, Histogram
from tests.every_case import every_case

DEMOS = Path(__file__).parents[4] / "app" / "recordings" / "demos"


def session(*blocks: tuple[str, list[tuple[int, int]]], disturbed: bool = False) -> RunSession:
    told = RunSession()
    for n, (variant, found) in enumerate(blocks):
        told.apply(
            ev.Block(
                t=n, workload="w", index=n, group=n, seconds=1.0, variant=variant, values={}, histogram=found,
                phase="warmup" if disturbed else "steady",
            )
        )  # fmt: skip
    return told


def test_what_is_ten_times_as_long_stands_further_right_and_every_operation_is_in_it() -> None:
    told = session(("A", [(1000, 90)]), ("A", [(1000, 10), (2000, 5)]), ("B", [(10_000, 200)]))
    (found,) = latency_histograms(told, "w")
    (_, first), (_, second) = found.rows
    assert (sum(first), sum(second)) == (105, 200)
    assert max(n for n, count in enumerate(first) if count) < second.index(200) < BUCKETS


def test_a_duration_that_no_operation_took_is_on_no_axis() -> None:
    (found,) = latency_histograms(session(("A", [(1000, 500), (1 << 60, 0)])), "w")
    assert sum(found.rows[0][1]) == 500 and found.high_ns < 2000


@every_case("found", [[], [(1000, 5)], [(0, 500)]])
def test_too_few_operations_have_no_shape(found: list[tuple[int, int]]) -> None:
    assert latency_histograms(session(("A", found)), "w") == ()
    assert latency_histograms(session(("A", [(1000, 500)]), disturbed=True), "w") == ()


def test_every_form_draws_each_side() -> None:
    made = report(load(DEMOS / "storage.jsonl"), "demo:storage")
    many = [part for section in made.sections for part in section.parts if isinstance(part, Gallery)]
    found = [one for part in many for one in part.drawings if isinstance(one, Histogram)]
    assert len(found) == 7 and all(len(one.rows) == 2 for one in found)
    for one in found:
        drawn = ElementTree.fromstring(histogram_svg(one))
        assert len([*drawn.iter("{http://www.w3.org/2000/svg}rect")]) == 2 * BUCKETS
        assert one.title in markdown.render_markdown(made) and one.title in html.render_html(made)


@every_case("width", [10, 40, 120])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    (found,) = latency_histograms(session(("A", [(1000, 500)]), ("B", [(5000, 500)])), "w")
    assert max(cell_width(line) for line in histogram_lines(found, width)) <= width
