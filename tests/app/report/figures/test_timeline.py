"""The time axis of a file of samples: a row a metric, incidents at their place, nothing wider than the screen."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from app.report.figures.timeline import timeline_lines, timeline_parts, timeline_svg
from probes.imports import kinds
from probes.imports.source import ImportSource
from scenarios.analysis.imported.results import FileTimeline, TimelineResult
from scenarios.analysis.incidents.incidents import Timeline, judge_samples
from tests.every_case import every_case
from tests.fakes.sampled_files import sar_day

HOUR_S = 3600


def made(**planted: tuple[int, int]) -> Timeline:
    timeline = judge_samples(kinds.parse(ImportSource("file", sar_day(**planted).encode())))  # type: ignore[arg-type]
    assert timeline is not None
    return timeline


@every_case("width", [60, 80, 120, 200])
def test_the_mark_stands_where_the_incident_was(width: int) -> None:
    timeline = made(disk=(12 * HOUR_S, 14 * HOUR_S))
    lines = timeline_lines(timeline, width)
    assert len(lines) == len(timeline.rows) + 2 and max(map(len, lines)) <= width
    *rows, marks, clocks = lines
    first, last = marks.index("▀"), marks.rindex("▀")
    left, right = clocks.index("00:01"), len(clocks)
    assert (first - left) / (right - left) == pytest.approx(12 / 24, abs=0.06)
    assert (last - left) / (right - left) == pytest.approx(14 / 24, abs=0.06)
    assert all({"▇", "█"} & set(row[first : last + 1]) for row in rows), "the rows are highest there"


def test_a_quiet_file_has_rows_and_no_marks() -> None:
    timeline = made()
    assert len(timeline_lines(timeline, 100)) == len(timeline.rows) + 1


def test_the_svg_has_a_line_a_row_and_a_mark_an_incident() -> None:
    timeline = made(disk=(12 * HOUR_S, 14 * HOUR_S), steal=(20 * HOUR_S, 21 * HOUR_S))
    tree = ET.fromstring(timeline_svg(timeline))
    assert len([e for e in tree.iter() if e.tag.endswith("polyline")]) == len(timeline.rows)
    titles = [e.text or "" for e in tree.iter() if e.tag.endswith("title")]
    assert sum("12:00" in text or "20:00" in text for text in titles) == 2


def test_the_first_page_has_a_row_an_incident() -> None:
    timeline = made(disk=(12 * HOUR_S, 14 * HOUR_S), steal=(20 * HOUR_S, 21 * HOUR_S))
    result = TimelineResult(t=0.0, value=FileTimeline("file", timeline))
    section = result.on_top(0.0)
    assert section is not None and len(timeline_parts(result, 80)) == 1
    (table,) = section.parts
    assert len(table.rows) == 2  # type: ignore[union-attr]
    quiet = TimelineResult(t=0.0, value=FileTimeline("file", made()))
    assert quiet.on_top(0.0) is None
