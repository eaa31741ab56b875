"""The box names the broken runs without a vote, and puts an application into it with the way to tune."""

from __future__ import annotations

import msgspec
import pytest

from app.report.figures.box import drawable_boxes
from probes.imports.model import ImportedMeasure
from scenarios.analysis.compare.bounding_box import (
    BoundingBoxFigures,
    Placed,
    log_position,
    make_boxes,
    mark_outliers,
)
from scenarios.analysis.compare.odd import Apart, OddLoad, OddRuns
from scenarios.analysis.compare.run_summary import FigureKey
from scenarios.analysis.compare.snapshot import Snapshot
from scenarios.analysis.imported.cross_run import box_findings
from scenarios.contract.plan import Metric
from tests.every_case import every_case

GIB = float(1 << 30)


def run(n: int, hard: float = 1.0, easy: float = 2.0, meta: tuple[float, float] = (11.0, 130.0)) -> Snapshot:
    named = (("ior-hard", hard * GIB, "B/s"), ("ior-easy", easy * GIB, "B/s"))
    rates = (("mdtest-hard", meta[0] * 1000, "IOPS"), ("mdtest-easy", meta[1] * 1000, "IOPS"))
    measures = tuple(ImportedMeasure(workload=w, metric="x", value=v, unit=u) for w, v, u in (*named, *rates))
    return Snapshot(name=f"run {n}", kind="io500", began=None, host=None, measures=measures)


def box(*runs: Snapshot) -> BoundingBoxFigures:
    [found] = make_boxes(runs)
    return found


def test_a_sound_box_has_nothing_to_say() -> None:
    sound = box(*(run(n, 0.9 + n / 60, 1.9, (10.7 + n / 20, 100.0 + 3 * n)) for n in range(13)))
    assert not sound.odd and not box_findings(sound)


def test_the_majority_below_hard_is_named_and_the_others_are_not() -> None:
    broken = {2, 3, 5, 6, 7, 8, 9, 10}
    odd = box(*(run(n, 0.9, 0.47 if n in broken else 1.9) for n in range(1, 14)))
    assert {(o.run, o.workload, o.kind) for o in odd.odd} == {
        (f"run {n}", "ior-easy", "easy below hard") for n in broken
    }
    assert odd.corners[1].median == pytest.approx(1.9 * GIB)  # of the sound runs
    [found] = box_findings(odd)
    assert found.severity == "warning"
    assert "8 of 13" in found.title and "2, 3, 5 to 10" in found.title
    assert len(found.evidence) == 9 and found.remedy  # the two groups, then each broken run


def test_one_run_elsewhere_is_marked_at_its_corner() -> None:
    sound = box(*(run(n) for n in range(8)))
    key = FigureKey("mdtest-easy", "x")
    apart = Apart(run="run 4", index=4, value=40e3, ratio=0.3, ci95=(0.2, 0.4))
    load = OddLoad(key=key, metric=Metric("x", "IOPS"), runs=8, core=("run 0",), centre=13e4, low=12e4, high=14e4,
                   apart=(apart,))  # fmt: skip
    [found] = mark_outliers([sound], OddRuns(runs=(), loads=4, found=(load,)))
    assert [(o.run, o.workload, o.kind) for o in found.odd] == [("run 4", "mdtest-easy", "elsewhere")]
    assert not box_findings(found)  # said once, of the pile


def test_versions_of_the_benchmark_have_boxes_of_their_own() -> None:
    runs = [run(n) for n in range(4)]
    named = [
        msgspec.structs.replace(
            r, measures=tuple(msgspec.structs.replace(m, conditions={"version": v}) for m in r.measures)
        )
        for r, v in zip(runs, ("sc22", "sc22", "isc25", "sc22"), strict=True)
    ]
    assert [(b.version, len(b.runs)) for b in make_boxes(named)] == [("sc22", 3), ("isc25", 1)]


def test_equal_within_five_per_cent_is_not_below() -> None:
    assert not box(run(1, 1.0, 0.96)).odd
    assert box(run(1, 1.0, 0.94)).odd


@every_case(
    ("bandwidth", "words", "advised"),
    [
        (0.5, "lies below IOR hard", True),
        (1.1, "of the way from IOR hard to IOR easy", True),
        (1.9, "of the way from IOR hard to IOR easy", False),
        (4.0, "lies above IOR easy", False),
    ],
)
def test_an_application_is_placed_with_the_direction_of_tuning(
    bandwidth: float, words: str, advised: bool
) -> None:
    point = Placed(name="job", bandwidth=bandwidth * GIB, direction="read")
    [found] = box_findings(msgspec.structs.replace(box(run(1)), placed=(point,)))
    assert words in found.title and bool(found.remedy) is advised


def test_the_position_is_a_share_of_the_logarithms() -> None:
    found = box(run(1, 1.0, 4.0))
    assert log_position(2 * GIB, *found.corners[:2]) == pytest.approx(0.5)
    assert log_position(0.0, *found.corners[:2]) is None


def test_a_full_result_has_a_box_for_writing_and_one_for_reading() -> None:
    names = ("ior-hard-write", "ior-easy-write", "mdtest-hard-write", "mdtest-easy-write", "ior-hard-read",
             "ior-easy-read", "mdtest-hard-stat", "mdtest-easy-stat")  # fmt: skip
    measures = tuple(
        ImportedMeasure(workload=n, metric="x", value=1.0 + i, unit="") for i, n in enumerate(names)
    )
    snapshot = Snapshot(name="a", kind="io500", began=None, host=None, measures=measures)
    assert [b.title for b in make_boxes([snapshot])] == ["write", "read"]


def test_what_a_logarithmic_axis_cannot_hold_is_not_drawn() -> None:
    sound = box(run(1), run(2))
    foreign = [msgspec.structs.replace(c, median=5e-324, low=5e-324, high=5e-324) for c in sound.corners]
    assert drawable_boxes([sound, msgspec.structs.replace(sound, corners=tuple(foreign))]) == [sound]
