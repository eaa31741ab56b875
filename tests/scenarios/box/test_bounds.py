"""This run beside its own past: the box of like runs, and the corner in which this one lies apart."""

import random

import msgspec

from hostdx.scenarios.box.bounds import THIS, boxes_with_outliers, outlier_run_findings, same_setup_runs
from hostdx.scenarios.box.results import CornerFigures, CornerLevel, CornersResult
from tests.every_case import every_case
from tests.scenarios.box.drawn_bench import USUAL


def draw_corners(seed: int, slow: str = "", factor: float = 1.0) -> CornerFigures:
    rng = random.Random(seed)
    levels = tuple(
        CornerLevel(
            corner=corner,
            unit="B/s" if corner.startswith("ior") else "IOPS",
            cycles=20,
            median=rate * rng.lognormvariate(0.0, 0.03) / (factor if corner == slow else 1.0),
        )
        for corner, rate in USUAL.items()
    )
    return CornerFigures(
        directory="/data", file_system="xfs", source="/dev/sdb1", workers=4, direct=True, file_bytes=1 << 29,
        names=2000, levels=levels,
    )  # fmt: skip


def past_runs(seed: int, count: int = 7) -> list[tuple[str, CornerFigures]]:
    return [(f"run {n}", draw_corners(1000 * seed + n)) for n in range(count)]


@every_case("seed", range(10))
@every_case("corner", ["ior-hard-write", "mdtest-hard-write", "find"])
def test_the_corner_that_got_slower_is_the_one_named(corner: str, seed: int) -> None:
    now = draw_corners(seed, corner, 3.0)
    _, odd = boxes_with_outliers(now, past_runs(seed))
    assert [f.id for f in outlier_run_findings(now, odd)] == [f"box.odd.{corner}"]


def test_the_box_has_all_like_runs_and_marks_the_odd_corner() -> None:
    now = draw_corners(3, "ior-hard-write", 3.0)
    boxes, _ = boxes_with_outliers(now, past_runs(3))
    assert [box.title for box in boxes] == ["write", "read"]
    assert boxes[0].runs[-1] == THIS and len(boxes[0].runs) == 8 and boxes[0].processes == 4
    assert [(o.run, o.workload) for o in boxes[0].odd] == [(THIS, "ior-hard-write")]
    assert boxes[1].odd == ()


def test_only_the_same_file_system_with_as_many_workers_is_its_past() -> None:
    now = draw_corners(1)
    others = [
        msgspec.structs.replace(now, source="/dev/sdc1"),
        msgspec.structs.replace(now, workers=8),
        msgspec.structs.replace(now, file_system="ext4"),
        now,
    ]
    recorded = [(f"run {n}", CornersResult(t=1.0, value=corners)) for n, corners in enumerate(others)]
    assert [name for name, _ in same_setup_runs(now, recorded)] == ["run 3"]
