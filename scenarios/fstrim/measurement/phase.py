"""A phase of scenario `fstrim`: blocks of new files, each with its reference block beside it, watched by the guards."""

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from hostdx.probes.engine.measured import Measured, MeasurementInvalid, served_by_cache_reason
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.model import Run
from hostdx.scenarios.contract.plan import Workload
from hostdx.scenarios.experiment.guards.watch import InterferenceWatch
from hostdx.scenarios.experiment.schedule.guarded import GuardedBlocks
from hostdx.scenarios.fstrim.measurement.load import CHURN_ID, REFERENCE_ID, BuiltInTrimLoad
from hostdx.scenarios.fstrim.measurement.trim import MIN_BLOCK_S, TrimPattern, max_repeated_blocks


class StoppedByGuards(Exception):
    """The guards ended it; one line."""


class MeasuredPhase(NamedTuple):
    """`values` and `references` block by block; `reason`: why there are fewer than wanted."""

    name: str
    values: list[float]
    references: list[float]
    seconds: float
    written_bytes: int
    reason: str = ""

    @property
    def value(self) -> float:
        return median(self.values)

    @property
    def reference_value(self) -> float:
        return median(self.references)


class PhaseMeasurer:
    """Measures phase after phase; `block_bytes` is the most that a block writes, the same in all of them."""

    def __init__(
        self,
        run: Run,
        engine: BuiltInTrimLoad,
        loads: Sequence[Workload],
        pattern: TrimPattern,
        block_bytes: int,
        watch: InterferenceWatch | None,
    ) -> None:
        self.run = run
        self.engine = engine
        self.load, self.control = loads
        self.pattern = pattern
        self.block_bytes = block_bytes
        self.watch = watch
        self.cached = ""  # why the reads beside the blocks are not the disk's
        self.bytes_per_s = 0.0  # what the warm-up wrote
        self.lasted: list[float] = []  # seconds of each block that counts
        self.blocks = GuardedBlocks(run, watch)

    async def warm_up(self) -> int:
        """Starts the workers, and tells caches from disks; never counted. Bytes written."""
        if self.watch is not None:
            await self.watch.look_before_first_block()
            self._raise_if_stopped()
        if self.load.id != CHURN_ID:
            await self._measure_block(self.control, "warmup", "warmup", 0)
            return 0
        measured, _ = await self._measure_block(self.load, "warmup", "warmup", 0)
        await self._measure_block(self.control, "warmup", "warmup", 0)
        self.bytes_per_s = measured.bytes / measured.seconds if measured.seconds > 0 else 0.0
        return measured.bytes

    async def measure_phase(self, name: str, label: ev.Phase) -> MeasuredPhase:
        """Raises Stopped. A load that cannot go on ends the phase with its reason."""
        values: list[float] = []
        references: list[float] = []
        written, again = 0, 0
        most_again = max_repeated_blocks(self.pattern.blocks)
        began = self.run.clock.now()
        reason = ""
        while len(values) < self.pattern.blocks:
            self._report_progress(name, len(values))
            try:
                measured, disturbed = await self._measure_block(self.load, name, label, len(values))
                written += measured.bytes
                reference, reference_disturbed = await self._measure_block(
                    self.control, name, label, len(values)
                )
            except MeasurementInvalid as why:
                reason = str(why)
                break
            if (disturbed or reference_disturbed) and again < most_again:
                again += 1
                continue
            self.lasted.append(measured.seconds)
            values.append(measured.values[self.load.metrics[0].name])
            references.append(reference.values[self.control.metrics[0].name])
        seconds = self.run.clock.now() - began
        return MeasuredPhase(name, values, references, seconds, written, reason)

    @property
    def too_short_text(self) -> str:
        """Return what the blocks lasted, where that is too little; a user's own command lasts as long as it does."""
        if self.load.id != CHURN_ID or not self.lasted:
            return ""
        wanted, usual = min(MIN_BLOCK_S, self.pattern.block_s), median(self.lasted)
        if usual >= 0.9 * wanted:
            return ""
        return (
            f"windows of new files lasted only {usual:.2g} s: this disk writes all that a session may write "
            f"too fast for windows of {wanted:.2g} s, so they show the disk's cache more than its cells"
        )

    async def _measure_block(
        self, load: Workload, variant: str, label: ev.Phase, number: int
    ) -> tuple[Measured, bool]:
        async def measure_block_or_reference() -> Measured:
            if load.id != REFERENCE_ID:
                return await self.engine.measure_block(self.pattern.block_s, self.block_bytes)
            measured = await self.engine.measure_control_reads(self.pattern.reference_s)
            self.cached = served_by_cache_reason(measured) or self.cached
            return measured

        measured, disturbed = await self.blocks.measure(
            load.id, variant, measure_block_or_reference, group=number, phase=label
        )
        await self.engine.finish_requests()
        waits = await self.blocks.pause_to_spare_others(load.id, number)
        self._raise_if_stopped()
        return measured, bool(disturbed or waits)

    def _raise_if_stopped(self) -> None:
        if self.blocks.stop_reason:
            raise StoppedByGuards(self.blocks.stop_reason)

    def _report_progress(self, name: str, done: int) -> None:
        left = (self.pattern.blocks - done) * (self.pattern.block_s + self.pattern.reference_s)
        self.run.emit_progress(name, f"{self.load.title}: window {done + 1} of {self.pattern.blocks}", left)
