"""Plots, timelines and histograms of a report."""

import math

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from hostdx.app.recordings.session import RunSession
from hostdx.app.report.figures.latency import latency_figure
from hostdx.app.report.figures.plot import draw_plot, rounded_axis
from hostdx.app.report.figures.timeline import timeline_lines, timeline_parts
from hostdx.probes.imports import kinds
from hostdx.probes.imports.source import ImportSource
from hostdx.scenarios.analysis.imported.results import FileTimeline, TimelineResult
from hostdx.scenarios.analysis.incidents.incidents import Timeline, judge_samples
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.results.document import ChartSeries
from tests.fakes.sampled_files import sar_day

NUMBERS = st.one_of(
    st.floats(), st.floats(0, 1e6), st.sampled_from([0.0, -0.0, 5e-324, 1e308, math.inf, math.nan])
)


@settings(deadline=None, max_examples=80)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=12), st.integers(0, 100), st.integers(0, 30))
def test_always_the_size_that_was_asked_for(
    points: list[tuple[float, float]], width: int, height: int
) -> None:
    x, y = rounded_axis([p[0] for p in points]), rounded_axis([p[1] for p in points])
    lines = draw_plot([ChartSeries("A", tuple(points))], width, height, x, y)
    assert len(lines) == height
    assert all(len(line) == width for line in lines)


@given(st.lists(NUMBERS, max_size=20))
def test_an_axis_holds_its_values(values: list[float]) -> None:
    axis = rounded_axis(values)
    assert axis.low < axis.high
    assert all(axis.low <= v * 1.01 + 1e-9 and v * 0.99 - 1e-9 <= axis.high for v in values if 0 <= v < 1e15)


HOUR_S = 3600


def judge_day(**planted: tuple[int, int]) -> Timeline:
    timeline = judge_samples(kinds.parse_import(ImportSource("file", sar_day(**planted).encode())))  # type: ignore[arg-type]
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


def make_session(*blocks: tuple[str, list[tuple[int, int]]], disturbed: bool = False) -> RunSession:
    run_session = RunSession()
    for n, (variant, counts) in enumerate(blocks):
        run_session.apply(
            ev.Block(
                t=n, workload="w", index=n, group=n, seconds=1.0, variant=variant, values={}, histogram=counts,
                phase="warmup" if disturbed else "steady",
            )
        )  # fmt: skip
    return run_session


def test_a_duration_that_no_operation_took_is_on_no_axis() -> None:
    (latency_histogram,) = latency_figure(make_session(("A", [(1000, 500), (1 << 60, 0)])), "w")
    assert sum(latency_histogram.rows[0][1]) == 500 and latency_histogram.high_ns < 2000
