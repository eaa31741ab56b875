"""Scenario `null` with engines that cost no time: its verdicts, its answer, what it says before and when it cannot."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from hostdx.probes.engine.disk.refusals import DirectorySuitability
from hostdx.probes.engine.measured import BenchRefused
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.mounts import Mount
from hostdx.probes.system.disk.topology import DirectoryPlacement
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.model import Clock, OptionMap, RunRefused, UsageError
from hostdx.scenarios.experiment.files import directories
from hostdx.scenarios.null import scenario as null
from hostdx.scenarios.null.findings import build_findings
from hostdx.scenarios.null.results import LeastEffect, NullAnswer, Resolution
from hostdx.scenarios.null.scenario import Null
from tests.fakes import FakeClock, FakeRun
from tests.fakes.noise import white
from tests.fakes.run import conduct_fake
from tests.fakes.trains import FakeTrains

EMPTY = Path("/nonexistent-captured-tree")


class FakeBench:
    """Instead of the storage engine: three loads on one noisy machine."""

    benches: list[FakeBench] = []
    clock: Clock
    sigma = 0.015
    refuses = ""
    hangs = False

    def __init__(
        self, host: Host, directory: str, private: str | None, *rest: object, budget: object, crew: object
    ) -> None:
        self.directory, self.private = directory, private
        self.stretch = float(str(rest[3]))
        self.prepared: tuple[str, ...] = ()
        self.closed = False
        self.result_notes = ("buffered",) if directory != "/" else ()
        self.benches.append(self)

    async def prepare_files(self, progress: object, workloads: tuple[str, ...]) -> None:
        self.prepared = workloads
        if self.refuses:
            raise BenchRefused(self.refuses)
        assert callable(progress)
        progress(1 << 20, 2 << 20)

    async def share_files_of(self, other: FakeBench) -> None:
        self.prepared = other.prepared

    async def close(self) -> None:
        self.closed = True


def trains_of(benches: dict[str, FakeBench], workload: str) -> FakeTrains:
    """What the scenario makes of its benches."""
    bench = next(iter(benches.values()))
    return FakeTrains(
        bench.clock,
        {name: 10_000.0 / (1 + bench.stretch) for name, bench in benches.items()},
        metric="iterations/s" if workload == "cpu" else "IOPS",
        noise=white(len(workload), bench.sigma),
        hangs=bench.hangs,
        device=workload != "cpu",
    )


def place(directory: str, refusal: str = "") -> DirectorySuitability:
    mount = Mount(mountpoint="/", root="/", devno="8:1", source="/dev/sda1", fstype="ext4", options=("rw",))
    placement = DirectoryPlacement(
        directory=directory, mount=mount, device="sda1", layers=("sda1",), leaves=("sda",)
    )
    return DirectorySuitability(
        directory=directory, refusal=refusal, size_bytes=256 << 20, placement=placement
    )


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> type[FakeBench]:
    return fake_engine(monkeypatch, tmp_path)


def fake_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> type[FakeBench]:
    fake = type("Bench", (FakeBench,), {"benches": []})
    monkeypatch.setattr(null, "StorageBench", fake)
    monkeypatch.setattr(null, "StorageBatches", trains_of)
    monkeypatch.setattr(directories, "check_suitability", lambda host, directory, **_: place(directory))
    monkeypatch.setattr(directories, "default_directories", lambda host: (str(tmp_path),))
    return fake


def run_of(engine: type[FakeBench], scenario: Null, seed: int = 1, **options: str | float) -> FakeRun:
    host = Host(
        str(EMPTY)
    )  # what this machine does meanwhile is no guard's business: the clock is not its clock
    host.live = True
    run = FakeRun(seed=seed, host=host, clock=FakeClock(), options=dict(options), declared=scenario.options)
    engine.clock = run.clock
    return run


async def test_a_planted_fifth_is_found_and_said(engine: type[FakeBench]) -> None:
    scenario = Null(stretch=0.2)
    run = run_of(engine, scenario)
    await conduct_fake(scenario, run)
    assert {v.verdict for v in run.of(ev.RunVerdict)} == {"slower"}
    wrong = [f.finding for f in run.of(ev.Found) if f.finding.id == "null.difference"]
    assert not any(f.finding.answers for f in run.of(ev.Found))
    assert len(wrong) == 3 and all(f.severity == "warning" for f in wrong)
    assert "found a difference where there is none" in run.of(Resolution)[0].quote


async def test_cancelled_in_a_train_everything_is_closed_and_removed(
    engine: type[FakeBench], tmp_path: Path
) -> None:
    scenario = Null()
    run = run_of(engine, scenario)
    engine.hangs = True
    task = asyncio.create_task(conduct_fake(scenario, run))
    while not any(s.id == "randread-4k-qd1" for s in run.of(ev.RunStep)) and not task.done():
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [bench.closed for bench in engine.benches] == [True, True]
    assert run.applied == run.reverted
    assert list(tmp_path.iterdir()) == []


async def test_without_a_suitable_directory_the_cpu_is_measured(
    engine: type[FakeBench], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directories, "check_suitability", lambda host, d, **_: place(d, f"{d} is on tmpfs"))
    scenario = Null()
    run = run_of(engine, scenario)
    plan = scenario.prepare(run.host, run.options).plan
    assert plan.refusal == "" and plan.writes == () and plan.actions == ()
    assert "is on tmpfs" in plan.left_out[0]
    await conduct_fake(scenario, run)
    assert [v.workload for v in run.of(ev.RunVerdict)] == ["cpu"]
    assert engine.benches[0].prepared == ()
    assert run.of(ev.Note)


async def test_an_engine_that_finds_no_space_refuses_and_leaves_nothing(
    engine: type[FakeBench], tmp_path: Path
) -> None:
    engine.refuses = f"{tmp_path}: No space left on device; name another directory"
    scenario = Null()
    run = run_of(engine, scenario)
    with pytest.raises(RunRefused, match="No space left"):
        await conduct_fake(scenario, run)
    assert run.applied == run.reverted
    assert engine.benches[0].closed


@pytest.mark.parametrize(
    ("options", "words"), [({"budget": 3}, "give --budget"), ({"dir": ["/a", "/b"]}, "give --dir once")]
)
def test_wrong_requests_get_their_line(options: dict[str, object], words: str) -> None:
    scenario = Null()
    with pytest.raises(UsageError, match=words):
        scenario.prepare(Host(), OptionMap(options, scenario.options))  # type: ignore[arg-type]


def test_severity_follows_the_size_of_what_shows() -> None:
    def severity_of(*sizes: float | None) -> str:
        reaches = tuple(LeastEffect(f"w{i}", f"w{i}", size, "inconclusive") for i, size in enumerate(sizes))
        return build_findings(NullAnswer("/d", "sda", reaches), [], [])[0].severity

    assert severity_of(0.01, 0.05) == "ok"
    assert severity_of(0.01, 0.12) == "notice"
    assert severity_of(0.01, 0.40) == "warning"
    assert severity_of(None, None) == "warning"


def test_what_is_no_answer_is_not_quoted() -> None:
    assert (
        Resolution(t=0.0, value=NullAnswer("/d", "sda", (LeastEffect("w", "w", None, "inconclusive"),))).quote
        == ""
    )


def test_an_answer_with_a_gap_is_not_ok_and_names_it() -> None:
    answer = NullAnswer(
        "/data",
        "sda",
        (
            LeastEffect("randread-4k-qd1", "random read", 0.012, "no material difference", 8, 22.0),
            LeastEffect("fsync-4k-qd1", "synced write", None, "not measured", reason="no room"),
        ),
    )
    [finding] = build_findings(answer, [], [])
    assert finding.severity == "notice" and "1.2 %" in finding.title and finding.answers
    assert answer.reaches[1].title in finding.title
    assert "not measured: synced write" in Resolution(t=0.0, value=answer).quote
