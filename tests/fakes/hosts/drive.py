"""A drive that gets slower with every round and gets it back by a trim; the host's noise is in all it does."""

from collections.abc import Callable

from hostdx.probes.engine.disk.preparation import Progress
from hostdx.probes.engine.measured import Measured
from hostdx.scenarios.contract.model import Clock
from tests.fakes.noise import Noise, no_noise

BLOCK_BYTES = 1 << 20


class Drive:
    """Stands for `BuiltIn` of `hostdx.scenarios.fstrim.measurement.load`.

    `level` is what new files reach of their speed (1: all of it).

    `wear()` is asked before every block; a test lets it look what was trimmed meanwhile.
    """

    def __init__(
        self, clock: Clock, noise: Noise = no_noise, wear: Callable[[], float] = lambda: 1.0
    ) -> None:
        self.clock = clock
        self.noise = noise
        self.wear = wear
        self.held = 0
        self.closed = 0
        self.deletions: list[int] = []

    async def prepare_files(self, tell: Progress) -> None:
        tell(1, 1)

    async def measure_block(self, seconds: float, most_bytes: int) -> Measured:
        speed = 500.0 * self.wear() * self.noise(self.clock.now())
        await self.clock.sleep(seconds)
        self.held += BLOCK_BYTES
        return Measured(seconds=seconds, values={"MB/s": speed}, bytes=BLOCK_BYTES, operations=16)

    async def measure_control_reads(self, seconds: float) -> Measured:
        speed = 9000.0 * self.noise(self.clock.now())
        await self.clock.sleep(seconds)
        operations = round(speed * seconds)
        return Measured(
            seconds=seconds,
            values={"IOPS": speed},
            operations=operations,
            bytes=4096 * operations,
            device_bytes=4096 * operations,
        )

    async def delete(self) -> int:
        count, self.held = self.held, 0
        self.deletions.append(count)
        return count

    async def finish_requests(self) -> None:
        return

    async def close(self) -> None:
        self.closed += 1
