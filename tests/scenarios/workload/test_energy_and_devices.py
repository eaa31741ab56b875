"""Energy is judged where RAPL can be read, in the family of the others; the bytes of the disks below a run."""

import asyncio
import random
from pathlib import Path

import pytest

from hostdx.probes.engine.command import energy
from hostdx.probes.engine.command.supervised import JobRun
from hostdx.probes.engine.measured import Measured
from hostdx.probes.reading.host import Host
from hostdx.scenarios.contract.model import Options
from hostdx.scenarios.experiment.load_schedule import measure_workload
from hostdx.scenarios.workload import request as asked
from hostdx.scenarios.workload.variant_bench import (
    CPU,
    ENERGY,
    MIN_ENERGY_J,
    WALL,
    BytesMoved,
    LeafBytes,
    window_values_of,
)
from tests.fakes import FakeRun
from tests.fakes.clock import FakeClock
from tests.probes.engine.command.test_energy import make_zone


def make_run(package_j: float | None, dram_j: float | None) -> JobRun:
    zero: dict[str, object] = dict.fromkeys(JobRun.__struct_fields__, 0)
    fields = {"waits": (), "energy_package_j": package_j, "energy_dram_j": dram_j}
    return JobRun(**zero | {"counts": {}, "slots": {}} | fields)  # type: ignore[arg-type]


def test_energy_is_packages_and_memory_and_never_nothing() -> None:
    assert window_values_of(make_run(20.0, 3.0))[ENERGY] == 23.0
    assert window_values_of(make_run(20.0, None))[ENERGY] == 20.0
    assert ENERGY not in window_values_of(make_run(None, None))
    assert (
        window_values_of(make_run(0.0, None))[ENERGY] == MIN_ENERGY_J
    )  # ended before the counters moved: no stall


class Burning:
    """Implements `Variant`: as long as the other, with other joules."""

    def __init__(self, variant: str, joules: float, clock: FakeClock, rng: random.Random) -> None:
        self.variant, self.joules, self.clock, self.rng = variant, joules, clock, rng

    async def make_active(self) -> None:
        pass

    async def wait_until_idle(self) -> None:
        pass

    async def measure_block(self, seconds: float) -> Measured:
        self.clock.advance(1.0)
        near = [1 + self.rng.gauss(0, 0.01) for _ in range(3)]
        values = {WALL: near[0], CPU: near[1], ENERGY: self.joules * near[2]}
        return Measured(seconds=near[0], values=values, operations=1)


@pytest.mark.parametrize("has_rapl", [True, False])
def test_the_verdict_on_energy_where_rapl_is_there(
    has_rapl: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if has_rapl:
        make_zone(tmp_path, "intel-rapl:0", "package-0", 5_000_000)
    monkeypatch.setattr(asked, "is_energy_readable", lambda: energy.is_energy_readable(str(tmp_path)))
    request = asked.parse_request(Options({"cmd": "true", "variant": ["A:", "B:"]}), "/")
    clock, rng = FakeClock(), random.Random(1)
    run = FakeRun(clock=clock)
    benches = [Burning("A", 30.0, clock, rng), Burning("B", 36.0, clock, rng)]
    verdicts, _ = asyncio.run(
        measure_workload(run, request.load, benches, budget_s=120.0, family=1, pairs=request.variant_pairs)
    )
    verdict_by_metric = {verdict.metric: verdict.verdict for verdict in verdicts}
    alike = "no material difference"
    assert verdict_by_metric == {WALL: alike, CPU: alike} | ({ENERGY: "slower"} if has_rapl else {})
    assert {verdict.alpha for verdict in verdicts} == {0.05 / len(verdicts)}


def put_diskstats(root: Path, sda: int, sdb: int) -> None:
    line = "   8  {} {} 10 0 {} 5 20 0 {} 7 0 9 12\n"
    (root / "proc").mkdir(exist_ok=True)
    (root / "proc/diskstats").write_text(
        line.format(0, "sda", sda, 2 * sda) + line.format(16, "sdb", sdb, 2 * sdb)
    )


def test_the_disks_below_a_run_move_everybodys_bytes(tmp_path: Path) -> None:
    put_diskstats(tmp_path, 100, 100)
    below = LeafBytes(Host(str(tmp_path)), ())
    below.note_counters()
    assert below.bytes_moved() is None
    below.leaves = ("sda", "sdb")
    below.note_counters()
    put_diskstats(tmp_path, 150, 101)
    assert below.bytes_moved() == BytesMoved(51 * 512, 102 * 512)
    put_diskstats(tmp_path, 5, 101)
    assert below.bytes_moved() is None  # it was taken out and put in again
