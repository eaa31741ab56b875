"""A watch that reports what a test tells it to."""

from collections.abc import Callable

from hostdx.probes.engine.measured import Measured
from hostdx.scenarios.contract.disturbance import Disturbance
from hostdx.scenarios.contract.model import Run
from hostdx.scenarios.experiment.guards.watch import InterferenceWatch

Script = Callable[[int], Disturbance | None]  # the number of the block since the beginning, warm-up included


class FakeWatch(InterferenceWatch):
    """`script` says of every block what disturbed it; `stop_after` blocks it stops the run."""

    def __init__(self, run: Run, script: Script = lambda _block: None, stop_after: int | None = None) -> None:
        super().__init__(run)
        self.script = script
        self.stop_after = stop_after
        self.blocks: list[tuple[str, str]] = []

    async def look_before_first_block(self) -> None:
        return

    def begin_block(self) -> None:
        return

    def end_block(self, workload: str, variant: str, measured: Measured) -> Disturbance | None:
        number = len(self.blocks)
        self.blocks.append((workload, variant))
        if self.stop_after is not None and number + 1 >= self.stop_after:
            self.stopped = "others' I/O waits twice as long: rsync [7]"
        return self.script(number)
