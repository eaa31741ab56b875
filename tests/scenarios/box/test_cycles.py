"""Cycles of corners with drawn rates: what is measured in turn, what is judged, what is refused."""

import asyncio
from collections import Counter

import msgspec
import pytest

from hostdx.scenarios.box.cycles import MIN_GROUPS, PILOTS, BoxCycles
from hostdx.scenarios.box.findings import box_findings
from hostdx.scenarios.box.measurement.corner import CORNERS, corners_of_load
from hostdx.scenarios.box.plan import box_workloads
from hostdx.scenarios.box.results import CornerFigures
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import Disturbance
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.model import StepInProgress
from hostdx.scenarios.contract.verdict.verdict import Word
from tests.every_case import every_case
from tests.fakes.clock import FakeClock
from tests.fakes.run import FakeRun
from tests.fakes.watch import FakeWatch
from tests.scenarios.box.drawn_bench import DrawnBench

WORKERS = 4


class Sizes(msgspec.Struct):
    directory_path: str = "/data"
    worker_count: int = WORKERS
    side_bytes: int = 1 << 28
    most_names: int = 20_000


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
        for corner in corners_of_load("ior-write"):  # no level either: the order decides it
            assert levels[corner.id].median is None and levels[corner.id].reason
        return
    assert verdict.is_slower and verdict.ratio == pytest.approx(1 / 2.25, rel=0.1)
    assert not verdict.order.is_established
    fresh = [event for event in done.run.of(ev.Group) if event.workload == "ior-write" and event.t > anew.t]
    assert verdict.groups == len(fresh)
    orders = [group.ordered_variants[0] for group in fresh]
    assert all(a != b for a, b in zip(orders[::2], orders[1::2], strict=False))  # balanced
