"""Scenario `contention` with an engine that costs no time: planted knees are found, and none where there is none."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import msgspec
import pytest

from hostdx.app.report.forms.cells import panel_lines
from hostdx.app.terminal.lines import cell_width
from hostdx.probes import units
from hostdx.probes.engine.measured import BenchRefused
from hostdx.probes.profile.wait_samples import WaitSample
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Json
from hostdx.scenarios.contention import judge
from hostdx.scenarios.contention import plan as contention_plan
from hostdx.scenarios.contention.measurement.bench import ScalingPoint
from hostdx.scenarios.contention.plan import CONTROL, make_contention_setup, read_loads
from hostdx.scenarios.contention.results import ScalingCurve, ScalingCurves, ScalingStep, WorkersLevel
from hostdx.scenarios.contention.results import WorkerWait as CurveWait
from hostdx.scenarios.contention.scenario import Contention
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.model import OptionMap, UsageError
from hostdx.scenarios.contract.results.document import Table
from hostdx.scenarios.contract.verdict.verdict import Word
from tests.fakes import FakeClock, FakeRun
from tests.fakes.run import conduct_fake

pytestmark = pytest.mark.disk

Rate = Callable[[str, int, int], float]  # load, side, workers: operations/s


class FakeWorkers:
    """Instead of workers: a planted rate with noise, and one place to wait in."""

    def __init__(self, rate: Rate, clock: FakeClock, sigma: float, seed: int) -> None:
        self.rate, self.clock, self.sigma, self.rng = rate, clock, sigma, Random(seed)
        self.asked: list[tuple[str, int, int]] = []
        self.started: list[tuple[str, int]] = []
        self.closed = False
        self.refuses = ""

    async def in_memory(self, name: str, kinds: Sequence[str], workers: int) -> FakeWorkers:
        self.started.append(("memory", workers))
        return self

    async def start_in_directories(self, fds: Sequence[int], workers: int) -> FakeWorkers:
        self.started.append((f"{len(fds)} directories", workers))
        return self

    async def measure_unqueued_point(
        self, load: str, side: int, workers: int, seconds: float, *, locks: bool = False
    ) -> ScalingPoint:
        if self.refuses:
            raise BenchRefused(self.refuses)
        if not locks:
            self.asked.append((load, side, workers))
        await self.clock.sleep(seconds)
        rate = self.rate(load, side, workers) * math.exp(self.rng.gauss(0, self.sigma))
        wait = WaitSample("D", 257, "xfs_ilock", 0.6 * seconds * workers, 0.0, ("xfs_ilock", "xfs_create"))
        return ScalingPoint(
            rate=rate, operations=int(rate * seconds), seconds=seconds, user_s=0.1, system_s=0.3,
            switches=int(rate * seconds), waits=(wait,) if load == "create" else (),
        )  # fmt: skip

    async def close(self) -> None:
        self.closed = True


def linear_rate(load: str, side: int, workers: int) -> float:
    return 1000.0 * workers


@pytest.fixture
def eight(monkeypatch: pytest.MonkeyPatch) -> None:
    plan_for_eight_cpus(monkeypatch)


def plan_for_eight_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run have eight CPUs, and a tenth of the bootstrap's samples: `test_usl.py` holds its intervals."""
    monkeypatch.setattr(contention_plan, "own_affinity", lambda: tuple(range(8)))
    monkeypatch.setattr(judge, "RESAMPLED", 40)


async def measure(
    place: Path, rate: Rate, sigma: float = 0.02, seed: int = 1, dirs: int = 1
) -> tuple[FakeRun, FakeWorkers]:
    clock = FakeClock()
    fake = FakeWorkers(rate, clock, sigma, seed)
    scenario = Contention(fake)
    directories: list[Json] = []
    for n in range(dirs):
        (place / f"{n}").mkdir(exist_ok=True)
        directories.append(str(place / f"{n}"))
    options: dict[str, Json] = {"dir": directories}
    host = Host()
    run = FakeRun(host=host, clock=clock, options=options, declared=scenario.options, seed=seed)
    await conduct_fake(scenario, run)
    return run, fake


def by_load(run: FakeRun) -> dict[str, ScalingCurve]:
    *so_far, curves = run.of(ScalingCurves)
    assert so_far and not any(
        curve.steps for curves in so_far for curve in curves.value
    )  # nothing is judged before
    return {curve.load: curve for curve in curves.value}


async def test_a_point_without_cpus_is_measured_again(tmp_path: Path, eight: None) -> None:
    """One point with nothing done would take each mean of its group along. Where twice the CPUs do 1.6 times as much
    (SMT, a busy host), a load that does 1.35 times as much scales.
    """
    calls = iter(range(10**6))

    def rate(load: str, side: int, workers: int) -> float:
        if next(calls) % 7 == 0:
            return 1e-6
        return 1000.0 * min(workers, 8) ** (0.43 if load == "create" else 0.68)

    run, _ = await measure(tmp_path, rate)
    assert all(curve.scales_to == 8 for curve in by_load(run).values())


async def test_what_is_serial_by_design_is_a_notice(tmp_path: Path, eight: None) -> None:
    serial = {load.id for load in read_loads() if load.serial}
    run, _ = await measure(
        tmp_path, lambda load, side, n: 1000.0 if load in serial else linear_rate(load, side, n)
    )
    (event,) = run.of(ev.Found)
    assert event.finding.severity == "notice" and len(event.finding.remedy) == len(serial)


@pytest.mark.parametrize(
    ("create", "cpus"),
    [
        pytest.param(lambda n: 500.0 / min(n, 8), lambda n: 1000.0, id="nothing"),
        pytest.param(lambda n: 1000.0 * n**0.4, lambda n: 1000.0 * n**0.4, id="little"),
    ],
)
async def test_where_the_cpus_gain_nothing_nothing_is_said(
    tmp_path: Path, eight: None, create: Callable[[int], float], cpus: Callable[[int], float]
) -> None:
    run, _ = await measure(tmp_path, lambda load, side, n: create(n) if load == "create" else cpus(n))
    for load, curve in by_load(run).items():
        assert curve.stops_after is None or load == CONTROL
        assert load == CONTROL or not any(step.is_decided for step in curve.steps)
    (event,) = run.of(ev.Found)
    assert event.finding.confidence == "hint"


async def test_a_bench_that_cannot_is_refused_and_closed(tmp_path: Path, eight: None) -> None:
    clock = FakeClock()
    fake = FakeWorkers(linear_rate, clock, 0.0, 1)
    fake.refuses = "create: No space left on device"
    scenario = Contention(fake)
    run = FakeRun(host=Host(), clock=clock, options={"dir": [str(tmp_path)]}, declared=scenario.options)
    with pytest.raises(BenchRefused):
        await conduct_fake(scenario, run)
    assert fake.closed and len(run.reverted) == 1


def make_options(**values: Json) -> OptionMap:
    return OptionMap(values, Contention.options)


def test_one_cpu_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(contention_plan, "own_affinity", lambda: (0,))
    assert make_contention_setup(Host(), make_options(dir=[str(tmp_path)])).refusal
    assert not make_contention_setup(Host(), make_options(dir=[str(tmp_path)], workers=2)).refusal


def test_a_request_that_is_wrong(eight: None, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        make_contention_setup(Host(), make_options(dir=[str(tmp_path)] * 3))
    with pytest.raises(UsageError):
        make_contention_setup(Host(), make_options(dir=[str(tmp_path)], budget=3.0))
    assert make_contention_setup(Host(), make_options(dir=[str(tmp_path / "none")])).refusal


def test_as_root_it_measures_in_memory_where_there_is_enough(
    eight: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(contention_plan, "makeable_file_systems", lambda: ("xfs", "ext4"))
    free = contention_plan.MEMORY_FACTOR * 2 * contention_plan.IMAGE_BYTES
    real = contention_plan.read_memory(Host())
    for bytes_, in_memory in ((free, True), (free - 1, False)):
        monkeypatch.setattr(
            contention_plan, "read_memory", lambda host, b=bytes_: msgspec.structs.replace(real, available=b)
        )
        layout = make_contention_setup(Host(), make_options())
        assert layout.memory == in_memory and bool(layout.left_out) == (not in_memory)
        plan = Contention().prepare(Host(), make_options()).plan
        assert [action.resource for action in plan.actions] == (["namespace"] if in_memory else ["directory"])
        assert bool(plan.writes) == (not in_memory)


def test_what_stops_stands_first_and_a_load_has_a_row_on_a_narrow_screen() -> None:
    """Sixteen loads took forty rows of records at 80 cells."""
    level = WorkersLevel(workers=1, rate=14.3e3, ci95=None, queued=0.0, system_share=0.0, switches=0.0)
    levels = (level, msgspec.structs.replace(level, workers=2, rate=15.1e3))
    step = ScalingStep(
        before=1, workers=2, gain=1.05, ci95=None, control=2.0, alpha=0.01, verdict=Word("slower")
    )
    wait = CurveWait(place="do_renameat2", call="rename", what="rwsem", share=0.2)
    curve = ScalingCurve(load="l", title="create, own directories", side="ext4", serial=False, groups=8, levels=levels,
                steps=(step,), scales_to=2, stops_after=None, usl=None, waits=())  # fmt: skip
    slow = msgspec.structs.replace(curve, scales_to=None, stops_after=1, waits=(wait,))
    section = ScalingCurves(t=0.0, value=(curve, slow)).section_on_top(0.0)
    table = section.parts[0] if section is not None else None
    assert isinstance(table, Table)
    assert [row[4:6] for row in table.rows] == [("1.1 ×", "only to 1"), ("1.1 ×", "to 2")]
    wide, narrow = panel_lines(table, 116), panel_lines(table, 62)
    assert len(wide) == len(narrow) == 3  # a row each
    texts = ["".join(part for part, _ in line) for line in narrow]
    assert all(str(units.format_prefixed(rate)).strip() in texts[1] for rate in (14.3e3, 15.1e3))
    assert cell_width(wide[0]) > cell_width(narrow[0])


async def test_the_table_has_a_column_a_level_from_the_first_load_on(tmp_path: Path, eight: None) -> None:
    run, _ = await measure(tmp_path, linear_rate)
    tables = run.of(ScalingCurves)
    heads = []
    for curves in tables:
        section = curves.section_on_top(0.0)
        table = section.parts[0] if section is not None else None
        assert isinstance(table, Table)
        heads.append([name for name in table.header if name.endswith(" w")])
    assert all(head == ["1 w", "2 w", "4 w", "8 w", "16 w"] for head in heads)
    assert [len(curves.value) for curves in tables[:3]] == [1, 2, 3]
    last = tables[-1].value[0]
    assert last.total_gain == pytest.approx(last.rate(8) / last.rate(1))


async def test_a_step_that_only_one_way_of_the_group_gives_is_not_judged(tmp_path: Path, eight: None) -> None:
    """Twice the workers seem to give nothing more on the way up, and all of it on the way down."""
    levels: list[int] = []

    def rate(load: str, side: int, workers: int) -> float:
        levels.append(workers)
        up = len(levels) < 2 or levels[-2] < workers or (levels[-2] == workers and levels[-3:-2] < [workers])
        return linear_rate(load, side, 1 if load == "create" and up else workers)

    run, _ = await measure(tmp_path, rate)
    first, *_ = by_load(run)["create"].steps
    assert first.is_undecided and first.reason
