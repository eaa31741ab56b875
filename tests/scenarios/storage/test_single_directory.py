"""One directory alone: what a load's end is said by, once."""

from typing import cast

import pytest

from hostdx.probes.engine.disk.storage import StorageBench
from hostdx.probes.engine.measured import Measured, MeasurementInvalid, WriteBudgetSpent
from hostdx.probes.engine.workloads import engine_load
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.experiment.budget import TimeBudget
from hostdx.scenarios.storage.plan import build_workloads
from hostdx.scenarios.storage.scenario import StorageMeasurement
from tests.fakes.clock import FakeClock
from tests.fakes.run import FakeRun
from tests.fakes.watch import FakeWatch
from tests.scenarios.storage.test_findings import target


class RaisingBench:
    """Blocks of half a second until `error` is raised."""

    def __init__(self, clock: FakeClock, blocks: int, error: Exception | None) -> None:
        self.clock, self.left, self.why = clock, blocks, error
        self.late_s = 0.0

    async def start_workers_and_rehearse(self, _load: str) -> None:
        return

    async def measure_block(self, load: str, seconds: float) -> Measured:
        if not self.left and self.why is not None:
            raise self.why
        self.left -= 1
        self.clock.advance(seconds + self.late_s)
        return Measured(seconds=seconds, values={engine_load(load).metric: 100.0})


@pytest.mark.parametrize("blocks", [0, 3])
@pytest.mark.parametrize("error", [WriteBudgetSpent("nothing is left"), MeasurementInvalid("not here"), None])
async def test_why_a_load_ended_is_one_line(blocks: int, error: Exception | None) -> None:
    """As a note beside what was measured, else as the reason why the step was skipped; None: its watch stopped it."""
    clock = FakeClock()
    run = FakeRun(clock=clock)
    load = build_workloads(1 << 30, "/data", 1)[0]
    watch = FakeWatch(run, stop_after=None if error else max(1, blocks))
    bench = cast(StorageBench, RaisingBench(clock, blocks, error))
    measurement = StorageMeasurement(run, [target()], [load], {"A": bench}, watch)
    await measurement.measure_loads(TimeBudget(60.0, clock))
    [_, ended] = run.of(ev.RunStep)
    assert len(measurement.levels) == (blocks > 0) == (ended.state == "done")
    assert len(run.of(ev.Note)) == (blocks > 0) and bool(ended.reason) == (blocks == 0)


async def test_a_block_that_ends_late_leaves_no_time_below_none() -> None:
    clock = FakeClock()
    run = FakeRun(clock=clock)
    bench = RaisingBench(clock, 99, None)
    bench.late_s = 0.049  # the eleventh begins in time for half a second
    load = build_workloads(1 << 30, "/data", 1)[0]
    benches = {"A": cast(StorageBench, bench)}
    measurement = StorageMeasurement(run, [target()], [load], benches, FakeWatch(run))
    await measurement.measure_loads(TimeBudget(6.0, clock))
    left = [progress.seconds_left for progress in run.of(ev.Progress)]
    assert left[-1] == 0.0 and min(filter(None, left)) > 0
