"""What is named of corners: the law holds for bandwidth, a find by intervals, an odd run only where it is alone."""

import msgspec
import pytest

from hostdx.scenarios.analysis.compare.odd import LoadWithOutliers, OutlierRun, RunOutliers
from hostdx.scenarios.analysis.compare.run_summary import FigureKey
from hostdx.scenarios.box.bounds import THIS, outlier_run_findings
from hostdx.scenarios.box.findings import box_findings
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.plan import Metric
from hostdx.scenarios.contract.verdict.verdict import Word
from tests.every_case import every_case
from tests.scenarios.box.test_bounds import draw_corners
from tests.scenarios.box.test_cycles import run_box


@every_case(
    ("load", "direct", "factor", "is_told"),
    [
        ("ior-write", False, 1.5, True),
        ("mdtest-write", False, 1.5, False),
        ("ior-read", True, 1.8, False),  # only hard is read ahead
        ("ior-read", True, 3.0, True),
    ],
)
def test_hard_is_no_faster_by_more_than_its_page_cache_gives(
    load: str, direct: bool, factor: float, is_told: bool
) -> None:
    faster = ev.RunVerdict(
        t=0.0, workload=load, metric="m", baseline="easy", variant="hard", verdict=Word.FASTER,
        ratio=factor, ci95=(factor - 0.2, factor + 0.2), groups=12,
    )  # fmt: skip
    figures = msgspec.structs.replace(draw_corners(1), direct=direct)
    assert (
        any(box_finding.id == f"box.below.{load}" for box_finding in box_findings(figures, [faster]))
        is is_told
    )


@pytest.mark.parametrize(("highest", "is_told"), [(15.0, True), (200.0, False)])
def test_a_find_is_slow_where_the_intervals_lie_apart(highest: float, is_told: bool) -> None:
    ends = {"find": (10.0, (8.0, highest)), "mdtest-hard-stat": (100.0, (90.0, 110.0))}
    figures = draw_corners(1)
    levels = tuple(
        msgspec.structs.replace(level, median=ends[level.corner][0], ci95=ends[level.corner][1])
        if level.corner in ends
        else level
        for level in figures.levels
    )
    findings = box_findings(msgspec.structs.replace(figures, levels=levels), [])
    assert any(finding.id == "box.find" for finding in findings) is is_told


@every_case(("odd_indices", "is_named"), [((7,), True), ((3, 7), False), ((6, 7), True)])
def test_an_odd_run_is_alone_or_the_newest_of_those_since_when_it_lasts(
    odd_indices: tuple[int, ...], is_named: bool
) -> None:
    runs = (*(f"run {n}" for n in range(7)), THIS)
    load = LoadWithOutliers(
        key=FigureKey("ior-hard-write", "bandwidth"), metric=Metric("bandwidth", "B/s"), runs=8, core=("run 1",),
        centre=1e8, low=9e7, high=1.1e8, groups=len(odd_indices) > 1,
        apart=tuple(OutlierRun(run=runs[n], index=n, value=3e7, ratio=0.3, ci95=(0.2, 0.4)) for n in odd_indices),
    )  # fmt: skip
    findings = list(outlier_run_findings(draw_corners(1), RunOutliers(runs=runs, loads=1, found=(load,))))
    assert [finding.id for finding in findings] == (["box.odd.ior-hard-write"] if is_named else [])


@pytest.mark.parametrize(("names", "is_told"), [(99_999, False), (1_000_000, True)])
def test_a_directory_of_many_names_is_named(names: int, is_told: bool) -> None:
    figures = msgspec.structs.replace(draw_corners(1), beside=names, listed_s=0.7)
    assert any(box_finding.id == "box.crowded" for box_finding in box_findings(figures, [])) is is_told


def test_the_loads_of_a_run_share_the_error() -> None:
    verdicts = run_box().verdicts
    assert len(verdicts) > 1
    assert {verdict.alpha for verdict in verdicts.values()} == {0.05 / len(verdicts)}


def test_of_two_cycles_nothing_is_called() -> None:
    verdicts = run_box(slow={"ior-hard-read": 12.0}, budget_s=20.0).verdicts
    assert verdicts and all(verdict.is_not_measured and verdict.reason for verdict in verdicts.values())
