"""The first page, and its confirmation."""

import math
from xml.etree import ElementTree

import pytest

from hostdx.app.recordings.session import RunSession
from hostdx.app.report.confirmation import disk_mounts
from hostdx.app.report.figures.interval_chart import scale_for_bars
from hostdx.app.report.figures.verdict_table import VerdictRow, make_bars
from hostdx.app.report.forms.svg import bar_svg, chart_svg
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.results.document import Axis, Chart, ChartSeries

SVG = "{http://www.w3.org/2000/svg}"


def effects_svg(rows: list[VerdictRow]) -> str:
    bars = list(make_bars(rows).values())
    inner = "".join(bar_svg(bar, scale_for_bars(bars), 0.05) for bar in bars)
    return f"<all>{inner}</all>"


def make_row(load_: str, ratio: float | None, ci95: tuple[float, float] | None = None) -> VerdictRow:
    verdict = ev.RunVerdict(
        t=1, workload="w", metric="m", baseline="A", variant="B", verdict="slower", ratio=ratio, ci95=ci95
    )
    return VerdictRow(load_, "1", "2", "size", "interval", verdict)


@pytest.mark.parametrize("ratio", [1e-9, 1e300])
def test_the_largest_effects_stay_inside(ratio: float) -> None:
    svg = ElementTree.fromstring(effects_svg([make_row("a", ratio, (ratio / 2, ratio * 2))]))
    (picture,) = svg.iter(f"{SVG}svg")
    wide = float(picture.attrib["viewBox"].split()[2])
    assert all(5 <= float(mark.attrib["cx"]) <= wide - 5 for mark in svg.iter(f"{SVG}circle"))


def test_blocks_have_a_form_of_their_own_for_each_side() -> None:
    sides = (ChartSeries("A", ((0, 1.0),), "A = <a>"), ChartSeries("B", ((0, 2.0),), "B = b"))
    svg = ElementTree.fromstring(chart_svg(Chart("t", sides, Axis(0, 2), Axis(0, 3))))
    assert (len([*svg.iter(f"{SVG}circle")]), len([*svg.iter(f"{SVG}rect")])) == (2, 2)  # and the legend
    assert chart_svg(Chart("t", sides, Axis(0, math.inf), Axis(0, 3))) == ""


ROOT, DATA, FAST = ("/", "/dev/vda1"), ("/data", "/dev/sdb1"), ("/fast", "/dev/nvme0n1p2")


def make_host(*mounts: tuple[str, str]) -> RunSession:
    session = RunSession()
    for path, source in mounts:
        for name, value in (("type", "ext4"), ("source", source), ("options", "rw,relatime")):
            fact = ev.FactRead(t=0.0, subject=f"mount:{path}", name=name, value=value, source="mountinfo")
            session.apply(fact)
    return session


def test_a_foreign_recording_s_type_of_a_file_system_that_is_no_word_is_none_of_ours() -> None:
    session = make_host(ROOT)
    session.apply(ev.FactRead(t=0.0, subject="mount:/data", name="type", value={"a": 1}, source="mountinfo"))
    assert list(disk_mounts(session)) == [ROOT]
