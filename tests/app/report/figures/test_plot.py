"""The adapter to plotext: exact sizes, and nothing that crashes it gets through."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from hostdx.app.report.figures.plot import draw_plot, nice_axis
from hostdx.scenarios.contract.results.document import ChartSeries

NUMBERS = st.one_of(
    st.floats(), st.floats(0, 1e6), st.sampled_from([0.0, -0.0, 5e-324, 1e308, math.inf, math.nan])
)


@settings(deadline=None, max_examples=80)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=12), st.integers(0, 100), st.integers(0, 30))
def test_always_the_size_that_was_asked_for(
    points: list[tuple[float, float]], width: int, height: int
) -> None:
    x, y = nice_axis([p[0] for p in points]), nice_axis([p[1] for p in points])
    lines = draw_plot([ChartSeries("A", tuple(points))], width, height, x, y)
    assert len(lines) == height
    assert all(len(line) == width for line in lines)


@given(st.lists(NUMBERS, max_size=20))
def test_an_axis_holds_its_values(values: list[float]) -> None:
    axis = nice_axis(values)
    assert axis.low < axis.high
    assert all(axis.low <= v * 1.01 + 1e-9 and v * 0.99 - 1e-9 <= axis.high for v in values if 0 <= v < 1e15)
