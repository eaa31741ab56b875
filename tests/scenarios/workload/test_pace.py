"""What fits into a budget: a run lasts as long as its own variant's command, not as long as the slowest one's."""

from __future__ import annotations

import asyncio

from probes.engine.measured import Measured
from scenarios.contract.model import Options
from scenarios.experiment.load_schedule import measure_workload
from scenarios.workload.request import parse_request
from scenarios.workload.variant_bench import CPU, WALL
from tests.fakes import FakeClock, FakeRun


class Lasting:
    """Implements `Variant`: a run lasts so long."""

    def __init__(self, variant: str, seconds: float, clock: FakeClock) -> None:
        self.variant, self.seconds, self.clock = variant, seconds, clock

    async def make_active(self) -> None:
        pass

    async def wait_until_idle(self) -> None:
        pass

    async def measure_block(self, seconds: float) -> Measured:
        self.clock.advance(self.seconds)
        return Measured(seconds=self.seconds, values={WALL: self.seconds, CPU: 1.0}, operations=1)


def test_four_groups_of_unlike_runs_fit_where_they_do() -> None:
    """24 s of warm-up and 4 x 48 s; four groups of the slower one's runs alone would need 288 s."""
    wanted = parse_request(Options({"cmd": "true", "variant": ["disk:", "memory:"]}), "/")
    clock = FakeClock()
    run = FakeRun(clock=clock)
    benches = [Lasting("disk", 18.0, clock), Lasting("memory", 6.0, clock)]
    verdicts, _ = asyncio.run(
        measure_workload(run, wanted.load, benches, budget_s=220.0, family=1, pairs=wanted.variant_pairs)
    )
    assert {verdict.metric: (verdict.verdict, verdict.groups) for verdict in verdicts} == {
        WALL: ("faster", 4),
        CPU: ("no material difference", 4),
    }
