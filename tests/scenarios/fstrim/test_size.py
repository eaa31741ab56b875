"""How large a block is once the speed is known: half a second at least, within the bound, rather fewer than shorter."""

import pytest

from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.reading.host import Host
from hostdx.scenarios.contract.model import Options
from hostdx.scenarios.experiment.before_after import MIN_BLOCKS
from hostdx.scenarios.fstrim.measurement.load import CHURN_ID
from hostdx.scenarios.fstrim.measurement.phase import PhaseMeasurer
from hostdx.scenarios.fstrim.measurement.trim import (
    ChosenBlockSize,
    TrimPattern,
    block_size_after_warm_up,
    max_repeated_blocks,
)
from hostdx.scenarios.fstrim.plan import load_and_control_workloads, parse_request
from hostdx.scenarios.fstrim.trim_setup import MAX_BLOCK_BYTES, MAX_WRITTEN_BYTES, TrimSetup
from tests.fakes import FakeRun
from tests.fakes.hosts.drive import Drive

MIB, GIB = 1 << 20, 1 << 30


class SizedSetup(TrimSetup):
    def __init__(self, free: int = 500 * GIB) -> None:
        self.free = free
        self.most_bytes, self.fixed_bytes, self.block_bytes = MAX_WRITTEN_BYTES, 256 * MIB, 104 * MIB

    def block_bytes_by_space(self, blocks: int, free: int | None = None) -> float:
        return (self.free * 0.05 - self.fixed_bytes) / (blocks + 1)


def size_at(
    bytes_per_s: float, *, phases: int = 3, amplified: float = 1.0, free: int = 500 * GIB
) -> ChosenBlockSize:
    budget = WriteBudget(MAX_WRITTEN_BYTES)
    budget.charge(360 * MIB, int(360 * MIB * amplified), CHURN_ID)
    size = block_size_after_warm_up(SizedSetup(free), budget, TrimPattern(), phases, bytes_per_s)
    blocks = size.pattern.blocks
    written = phases * (blocks + max_repeated_blocks(blocks)) * size.bytes
    assert written * budget.write_amplification(CHURN_ID) <= budget.left_bytes
    return size


def test_a_slow_disk_keeps_what_was_planned() -> None:
    size = size_at(60e6)
    assert (size.pattern.blocks, size.bytes, size.text) == (12, 104 * MIB, "")


@pytest.mark.parametrize("limits", [{"amplified": 4.0}, {"free": 40 * GIB}])
def test_what_cannot_be_afforded_is_not_promised(limits: dict[str, float]) -> None:
    size = size_at(3e9, **limits)  # type: ignore[arg-type]
    assert size.pattern.blocks == MIN_BLOCKS and size.bytes < 0.5 * 3e9
    assert size.bytes <= MAX_BLOCK_BYTES


async def test_blocks_that_were_too_short_are_said() -> None:
    layout = TrimSetup(Host("/nonexistent-captured-tree"), "/data", blocks=6, phases=3)
    pattern = TrimPattern(blocks=6, block_s=1.5, reference_s=0.5)
    loads = load_and_control_workloads(parse_request(Options({"dir": "/data"})), layout, pattern)
    run = FakeRun()
    blocks = PhaseMeasurer(run, Drive(run.clock), loads, pattern, MIB, None)
    await blocks.measure_phase("before", "before")
    assert blocks.lasted == [1.5] * 6 and blocks.too_short_text == ""
    blocks.lasted = [0.2] * 6
    assert "lasted only 0.2 s" in blocks.too_short_text
