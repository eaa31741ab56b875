"""The time axis of a file of samples: a row a metric, incidents at their place, nothing wider than the screen."""

import msgspec

from hostdx.app.report.figures.timeline import timeline_lines, timeline_parts
from hostdx.probes.imports import kinds
from hostdx.probes.imports.source import ImportSource
from hostdx.scenarios.analysis.imported.results import FileTimeline, TimelineResult
from hostdx.scenarios.analysis.incidents.incidents import Timeline, judge_samples
from tests.fakes.sampled_files import sar_day

HOUR_S = 3600


def judge_day(**planted: tuple[int, int]) -> Timeline:
    timeline = judge_samples(kinds.parse(ImportSource("file", sar_day(**planted).encode())))  # type: ignore[arg-type]
    assert timeline is not None
    return timeline


def test_a_quiet_file_has_rows_and_no_marks() -> None:
    timeline = judge_day()
    assert len(timeline_lines(timeline, 100)) == len(timeline.rows) + 1


def test_the_first_page_has_a_row_an_incident() -> None:
    timeline = judge_day(disk=(12 * HOUR_S, 14 * HOUR_S), steal=(20 * HOUR_S, 21 * HOUR_S))
    result = TimelineResult(t=0.0, value=FileTimeline("file", timeline))
    section = result.section_on_top(0.0)
    assert section is not None and len(timeline_parts(result, 80)) == 1
    (table,) = section.parts
    assert len(table.rows) == 2  # type: ignore[union-attr]
    quiet = TimelineResult(t=0.0, value=FileTimeline("file", judge_day()))
    assert quiet.section_on_top(0.0) is None


def test_a_moment_far_behind_the_end_is_drawn_at_the_end() -> None:
    """As in a damaged recording, whose length is next to nothing beside its moments."""
    timeline = judge_day(disk=(12 * HOUR_S, 14 * HOUR_S))
    rows = tuple(msgspec.structs.replace(row, points=((0.0, 1.0), (1e300, 2.0))) for row in timeline.rows)
    lines = timeline_lines(msgspec.structs.replace(timeline, seconds=1e-300, rows=rows), 100)
    assert len(lines) == len(timeline.rows) + 2 and max(map(len, lines)) <= 100
