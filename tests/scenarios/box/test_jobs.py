"""Jobs in a bounding box, its cycles and what it advises."""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from hostdx.app.recordings.reader import load_recording
from hostdx.probes.reading.host import Host
from hostdx.scenarios.analysis.compare.bounding_box import (
    AccessPattern,
    ApplicationPoint,
    BoxCorner,
    log_position,
    place_applications,
)
from hostdx.scenarios.analysis.compare.odd import LoadWithOutliers, OutlierRun, RunOutliers
from hostdx.scenarios.analysis.compare.placing import placing_finding
from hostdx.scenarios.analysis.compare.run_summary import FigureKey
from hostdx.scenarios.box.bounds import (
    THIS,
    boxes_with_outliers,
    outlier_run_findings,
    own_boxes,
    same_setup_runs,
)
from hostdx.scenarios.box.cycles import MIN_GROUPS, PILOTS, BoxCycles
from hostdx.scenarios.box.findings import box_findings
from hostdx.scenarios.box.jobs import Unread, read_job_points, read_job_recording
from hostdx.scenarios.box.measurement.corner import CORNERS, box_tests_of
from hostdx.scenarios.box.plan import BoxSetup, box_workloads
from hostdx.scenarios.box.results import CornerFigures, CornerLevel, CornersResult
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import Disturbance
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.model import OptionMap, StepInProgress
from hostdx.scenarios.contract.plan import Metric
from hostdx.scenarios.contract.verdict.verdict import Word
from tests.every_case import every_case
from tests.fakes.clock import FakeClock
from tests.fakes.run import FakeRun
from tests.fakes.watch import FakeWatch
from tests.probes.imports.originals import _DARSHAN
from tests.scenarios.box.drawn_bench import USUAL, DrawnBench

MB = 1e6


def darshan_text(**counters: float) -> str:
    """Four processes that write one shared file, 47,008 bytes a call: 100 MB in 1 s of each one's time."""
    usual = {
        "READS": 0, "WRITES": 2127, "OPENS": 4, "BYTES_WRITTEN": 100_000_000, "BYTES_READ": 0,
        "SIZE_WRITE_10K_100K": 2127, "FILE_NOT_ALIGNED": 2100, "F_WRITE_TIME": 4.0,
        "F_META_TIME": 0.1, "F_READ_TIME": 0.0,
    }  # fmt: skip
    head = _DARSHAN.replace("nprocs: 2", "nprocs: 4")
    return head + "".join(
        f"POSIX\t-1\t1\tPOSIX_{name}\t{value}\t/f\t/\text4\n" for name, value in (usual | counters).items()
    )


def placing_findings(points: Sequence[ApplicationPoint], share: float = 0.1) -> list[Finding]:
    """In a box of 4 workers whose corners are known to that share of themselves."""
    figures = draw_corners(1)
    levels = tuple(
        msgspec.structs.replace(
            level, ci95=(level.median * (1 - share), level.median * (1 + share)) if level.median else None
        )
        for level in figures.levels
    )
    boxes = own_boxes(msgspec.structs.replace(figures, levels=levels))
    return [placing_finding(box, point) for box in place_applications(boxes, points) for point in box.placed]


def advice_titles(finding: Finding) -> list[str]:
    return [remedy.title for remedy in finding.remedy]


def test_small_calls_in_a_shared_file_are_tuned_towards_larger_ones_and_own_files(tmp_path: Path) -> None:
    log = tmp_path / "job.txt"
    log.write_text(darshan_text())
    [point] = read_job_points(str(log))
    assert point.direction == "write" and point.processes == 4 and point.bandwidth == pytest.approx(100e6)
    assert point.pattern == AccessPattern(
        mean_bytes=pytest.approx(47_015, rel=1e-3), small=1.0, unaligned=pytest.approx(0.987, abs=0.01),
        shared_files=1, files=1,
    )  # fmt: skip
    [finding] = placing_findings([point])
    assert finding.severity == "notice" and len(advice_titles(finding)) == 3


@every_case(
    ("change", "processes", "count"),
    [
        ({"small": 0.1}, 4, 2),
        ({"unaligned": 0.1}, 4, 2),
        ({"shared_files": 0}, 4, 2),
        ({"small": 0.1, "unaligned": 0.0, "shared_files": 0}, 4, 1),  # nothing in its pattern: what else
        ({}, 1, 0),  # one process against four says nothing
    ],
)
def test_each_direction_comes_from_what_was_counted(
    change: dict[str, float], processes: int, count: int
) -> None:
    pattern = AccessPattern(mean_bytes=47_008, small=1.0, unaligned=1.0, shared_files=1, files=1)
    point = ApplicationPoint(
        name="job", direction="write", bandwidth=450 * MB, processes=processes,
        pattern=msgspec.structs.replace(pattern, **change),
    )  # fmt: skip
    [finding] = placing_findings([point])
    assert len(advice_titles(finding)) == count


def test_near_the_easy_corner_nothing_is_advised() -> None:
    [finding] = placing_findings(
        [ApplicationPoint(name="job", direction="write", bandwidth=880 * MB, processes=4)]
    )
    assert finding.severity == "ok" and not finding.remedy


def write_run(directory: Path, rates: Sequence[float], user_s: float = 0.1) -> Path:
    """A workload that writes in runs of 2 s."""
    path = directory / "work.jsonl"
    head = ev.Began(
        t=0.0, schema=ev.SCHEMA, version="0", scenario="workload", command=[], host="h", wall="", seed=1, pid=1,
        pid_start=1, boot_id="",
    )  # fmt: skip
    blocks = [
        ev.Block(
            t=float(n), workload="command", variant="a", group=n, index=0, seconds=2.0,
            values={"wall time": 2.0, "written": 2.0 * rate, "read": 0.0, "user CPU": user_s},
        )
        for n, rate in enumerate(rates, 1)
    ]  # fmt: skip
    path.write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in (head, *blocks)))
    return path


@pytest.mark.parametrize(("user_s", "advised"), [(0.2, True), (1.8, False)])
def test_what_computes_most_of_its_time_is_not_held_up_by_its_files(
    tmp_path: Path, user_s: float, advised: bool
) -> None:
    blocks = load_recording(write_run(tmp_path, [100 * MB] * 8, user_s)).blocks["command"]
    [finding] = placing_findings(list(read_job_recording("work", blocks)))
    assert bool(finding.remedy) is advised


def test_runs_that_moved_nothing_and_other_scenarios_are_no_point(tmp_path: Path) -> None:
    idle_blocks = load_recording(write_run(tmp_path, [0.0] * 8)).blocks["command"]
    assert list(read_job_recording("work", idle_blocks)) == []
    other = ev.Began(
        t=0.0, schema=ev.SCHEMA, version="0", scenario="storage", command=[], host="h", wall="", seed=1, pid=1,
        pid_start=1, boot_id="",
    )  # fmt: skip
    busy = load_recording(write_run(tmp_path, [100 * MB] * 8)).blocks["command"]
    assert list(read_job_recording("work", [other, *busy])) == []


def test_what_is_no_job_is_refused_in_the_plan(tmp_path: Path) -> None:
    (tmp_path / "job").write_text("hello\n")
    with pytest.raises(Unread):
        read_job_points(str(tmp_path / "job"))
    setup = BoxSetup(Host(Path("/")), OptionMap({"dir": str(tmp_path), "job": [str(tmp_path / "job")]}, ()))
    assert str(tmp_path / "job") in setup.refusal_reason


def test_a_value_beyond_all_measure_has_a_place_too() -> None:
    """A recording may hold any positive number; of 1e-300 and 1e300 no quotient exists."""
    hard, easy = (
        BoxCorner(workload=name, unit="GB/s", values=(value,), median=value, low=value, high=value)
        for name, value in (("hard", 1e300), ("easy", 1e305))
    )
    assert log_position(1e-300, hard, easy) == pytest.approx(-120)


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


WORKERS = 4


class Sizes(msgspec.Struct):
    directory_path: str = "/data"
    worker_count: int = WORKERS
    side_bytes: int = 1 << 28
    max_files: int = 20_000


class BoxRun(msgspec.Struct):
    run: FakeRun
    cycles: BoxCycles
    bench: DrawnBench

    @property
    def verdicts(self) -> dict[str, ev.RunVerdict]:
        return {verdict.workload: verdict for verdict in self.cycles.load_verdicts()}

    @property
    def figures(self) -> CornerFigures:
        return CornerFigures(
            directory="/data", file_system="xfs", source="/dev/sdb1", workers=WORKERS, direct=True,
            file_bytes=1 << 29, names=2000, levels=self.cycles.corner_levels(),
        )  # fmt: skip

    @property
    def findings(self) -> list[Finding]:
        return list(box_findings(self.figures, self.cycles.load_verdicts()))


def run_box(
    seed: int = 1, budget_s: float = 120.0, *, watch: FakeWatch | None = None, **more: object
) -> BoxRun:
    clock = FakeClock()
    run = watch.run if watch is not None else FakeRun(seed=seed, clock=clock)
    assert isinstance(run, FakeRun) and isinstance(run.clock, FakeClock)
    bench = DrawnBench(run.clock, seed, **more)  # type: ignore[arg-type]
    cycles = BoxCycles(run, bench, box_workloads(Sizes()), watch, "this file system (xfs)")
    asyncio.run(cycles.measure(StepInProgress(run, "corners", "corners"), budget_s, WORKERS))
    return BoxRun(run, cycles, bench)


@every_case("seed", range(3))
@every_case(
    "corner",
    ["ior-hard-write", "ior-hard-read", "mdtest-hard-write", "mdtest-hard-stat", "mdtest-hard-delete"],
)
def test_a_planted_slow_corner_is_the_one_named(corner: str, seed: int) -> None:
    findings = run_box(seed, slow={corner: 12.0}).findings
    assert [f.id for f in findings if f.severity != "ok"] == [f"box.far.{corner}"]


@every_case("seed", range(5))
def test_of_two_slow_corners_the_farther_is_first(seed: int) -> None:
    findings = run_box(seed, slow={"ior-hard-read": 12.0, "mdtest-hard-write": 100.0}).findings
    assert [f.id for f in findings[:2]] == ["box.far.mdtest-hard-write", "box.far.ior-hard-read"]


def test_easy_below_hard_is_a_fault_whatever_others_say() -> None:
    done = run_box(slow={"ior-easy-read": 5.0})
    assert done.verdicts["ior-read"].is_faster
    assert [f.id for f in done.findings if f.severity == "warning"] == ["box.below.ior-read"]


def test_a_slow_find_is_named() -> None:
    findings = run_box(slow={"find": 100.0}).findings
    assert [f.id for f in findings if f.severity != "ok"] == ["box.find"]


def test_cached_reads_are_refused_and_never_a_level() -> None:
    for seed in range(10):
        done = run_box(seed, cached=frozenset({"ior-hard-read"}))
        level = next(
            corner_level
            for corner_level in done.cycles.corner_levels()
            if corner_level.corner == "ior-hard-read"
        )
        assert level.median is None and level.ci95 is None and level.cached and level.reason
        assert done.verdicts["ior-read"].verdict is Word.NOT_APPLICABLE
        assert [f.id for f in done.findings if f.severity != "ok"] == ["box.cached"]
        assert Counter(corner for _, corner in done.bench.order)["ior-hard-read"] == 1  # not tried again


def test_what_needs_names_that_were_not_made_is_not_tried() -> None:
    done = run_box(cached=frozenset({"mdtest-easy-write"}))
    tried = {corner for _, corner in done.bench.order}
    assert not tried & {"mdtest-easy-stat", "mdtest-easy-delete", "find"}
    assert done.verdicts["mdtest-stat"].verdict is Word.NOT_APPLICABLE
    assert done.verdicts["ior-write"].is_decided


def test_the_write_limit_ends_it_and_what_was_measured_holds() -> None:
    done = run_box(most_blocks=len(CORNERS) * (PILOTS + MIN_GROUPS))
    assert done.cycles.ended
    assert done.verdicts["ior-write"].is_slower and done.verdicts["ior-write"].groups == MIN_GROUPS
    few = run_box(most_blocks=len(CORNERS) * (PILOTS + 1))
    assert few.verdicts["ior-write"].is_not_measured and few.verdicts["ior-write"].ratio is None


def test_an_error_is_what_is_missing_to_a_verdict_not_budget() -> None:
    clock = FakeClock()
    run = FakeRun(clock=clock)
    bench = DrawnBench(clock, 1, most_blocks=len(CORNERS), last=OSError(5, "Input/output error"))
    cycles = BoxCycles(run, bench, box_workloads(Sizes()), None, "this file system (xfs)")
    with pytest.raises(OSError, match="Input/output"):
        asyncio.run(cycles.measure(StepInProgress(run, "corners", "corners"), 120.0, WORKERS))
    assert {verdict.reason for verdict in cycles.load_verdicts()} == {cycles.ended}
    assert "Input/output error" in cycles.ended


def test_a_disturbed_load_is_left_out_of_its_cycle_alone() -> None:
    run = FakeRun(clock=FakeClock())
    disturbed = Disturbance(kind="cpu", figure=0.9, usual=0.1)
    first = len(CORNERS) * PILOTS  # a side of ior write in the first cycle that counts
    done = run_box(watch=FakeWatch(run, lambda block: disturbed if block == first else None))
    verdicts = done.verdicts
    assert verdicts["ior-write"].groups == verdicts["ior-read"].groups - 1
    [group] = [group for group in run.of(ev.Group) if group.disturbed]
    assert (group.workload, group.index) == ("ior-write", PILOTS)


def test_a_budget_of_one_disturbed_cycle_is_exceeded_once_and_not_for_ever() -> None:
    """A cycle takes 4.8 s: two pilots and one that counts."""
    run, first = FakeRun(clock=FakeClock()), len(CORNERS) * PILOTS
    disturbed = Disturbance(kind="cpu", figure=0.9, usual=0.1)
    done = run_box(watch=FakeWatch(run, lambda block: disturbed if block == first else None), budget_s=15.0)
    assert all(
        corner_level.median for corner_level in done.cycles.corner_levels()
    ) and run.clock.now() == pytest.approx(4 * 4.8)
    run = FakeRun(clock=FakeClock())
    done = run_box(watch=FakeWatch(run, lambda block: disturbed), budget_s=15.0)
    assert (
        not any(corner_level.median for corner_level in done.cycles.corner_levels())
        and run.clock.now() <= 30.0
    )


def test_a_run_that_others_suffer_from_stops() -> None:
    done = run_box(watch=FakeWatch(FakeRun(clock=FakeClock()), stop_after=100))
    assert done.cycles.ended and len(done.bench.order) < 100 + len(CORNERS)


@pytest.mark.parametrize("flushed", [True, False])
def test_what_the_order_decides_is_measured_anew_after_settling_or_not_at_all(flushed: bool) -> None:
    """Whichever of easy and hard writes second is 2.5 times as fast; hard is in truth 2.25 times as slow."""
    done = run_box(second={"ior-write": 2.5}, flushed=flushed)
    verdict = done.verdicts["ior-write"]
    assert verdict.order is not None
    [anew] = done.run.of(ev.SliceLengthChosen)
    assert (anew.workload, anew.why) == ("ior-write", "order")
    if not flushed:
        assert verdict.is_not_measured and verdict.ratio is None
        assert verdict.order.second == pytest.approx(2.5, rel=0.1)
        levels = {corner_level.corner: corner_level for corner_level in done.cycles.corner_levels()}
        for corner in box_tests_of("ior-write"):  # no level either: the order decides it
            assert levels[corner.id].median is None and levels[corner.id].reason
        return
    assert verdict.is_slower and verdict.ratio == pytest.approx(1 / 2.25, rel=0.1)
    assert not verdict.order.is_established
    fresh = [event for event in done.run.of(ev.Group) if event.workload == "ior-write" and event.t > anew.t]
    assert verdict.groups == len(fresh)
    orders = [group.ordered_variants[0] for group in fresh]
    assert all(a != b for a, b in zip(orders[::2], orders[1::2], strict=False))  # balanced
