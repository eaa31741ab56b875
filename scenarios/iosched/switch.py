"""Switching: every stay in another scheduler is one journalled change, left again for the current one."""

from collections.abc import Sequence
from contextlib import AsyncExitStack

from probes.engine.measured import Measured
from probes.system.disk.scheduler import Scheduling, queue_path, read_scheduling
from probes.types import is_present
from scenarios.contract.disturbance import Disturbance
from scenarios.contract.model import Applied, Run, RunRefused
from scenarios.contract.plan import Workload
from scenarios.experiment.guards.watch import InterferenceWatch
from scenarios.experiment.schedule.switch import scheduler_change
from scenarios.iosched.measurement.mixed import MixedBench
from scenarios.iosched.measurement.mixes import Mix
from scenarios.iosched.restoration import QueueFileTracker

# Others' bytes on the device in a block: beyond this share of ours, and this rate, the group is measured again.
FOREIGN_SHARE = 0.30
FOREIGN_RATE = 2e6


class Switcher:
    """Which scheduler is active, and the way back. `close` must be called however the run ends."""

    def __init__(self, run: Run, leaves: Sequence[str], current: str) -> None:
        self.run = run
        self.untouched = QueueFileTracker(run.host, leaves)
        self.leaves = tuple(leaves)
        self.current = current
        self.active = current
        self.states_by_scheduler: dict[str, tuple[Scheduling, ...]] = {}
        self._stay = AsyncExitStack()
        self._stays: list[tuple[str, Applied]] = []

    async def switch_to(self, scheduler: str) -> None:
        """Makes it active on every leaf and checks that it is. Raises RunRefused where it is not."""
        if scheduler != self.active:
            await self.switch_back()
            self.check(self.current)
            if scheduler != self.current:
                await self._leave_for(scheduler)
        self.check(scheduler)

    async def _leave_for(self, scheduler: str) -> None:
        self.untouched.record_foreign_changes()
        self.active = scheduler
        for leaf in self.leaves:
            change = self.run.apply_change(scheduler_change(leaf, self.current, scheduler))
            try:
                self._stays.append((leaf, await self._stay.enter_async_context(change)))
            except RunRefused:  # then nothing is changed
                raise
            except Exception as why:
                self.untouched.record_undo(leaf, [("failed", str(why))])
                raise
        self.untouched.record_own_switch()

    async def switch_back(self) -> None:
        """To the scheduler that was found, with its settings."""
        if not self._stays:
            self.active = self.current
            return
        self.untouched.record_foreign_changes()
        stay, self._stay, self.active = self._stay, AsyncExitStack(), self.current
        stays, self._stays = self._stays, []
        try:
            await stay.aclose()
        finally:
            for leaf, applied in stays:
                self.untouched.record_undo(leaf, applied.endings)
            self.untouched.record_own_switch()

    def check(self, scheduler: str) -> None:
        """Somebody else (a udev rule on a change event, tuned) may set it at any time: then nothing is measured."""
        states = [read_scheduling(self.run.host, leaf) for leaf in self.leaves]
        for leaf, state in zip(self.leaves, states, strict=True):
            now = state.active if is_present(state) and is_present(state.active) else "not readable"
            if now != scheduler:
                raise RunRefused(
                    f"{leaf}: the scheduler is {now} where {scheduler} was set: another program changes it "
                    "(a udev rule, tuned); stop that, then run again"
                )
        if scheduler not in self.states_by_scheduler:
            self.states_by_scheduler[scheduler] = tuple(s for s in states if is_present(s))
            for state in self.states_by_scheduler[scheduler]:
                self._record_settings(state, scheduler)

    def _record_settings(self, state: Scheduling, scheduler: str) -> None:
        """What comes along with a scheduler: its settings, the depth, write-back throttling."""
        subject, base = f"disk:{state.device}", queue_path(state.device)
        for name, value in (("nr_requests", state.nr_requests), ("wbt_lat_usec", state.wbt_lat_usec)):
            self.run.emit_fact(subject, f"{name} with {scheduler}", value, source=f"{base}/{name}")
        if state.tunables:
            text = " ".join(f"{k}={v}" for k, v in state.tunables.items())
            self.run.emit_fact(subject, f"tunables of {scheduler}", text, source=f"{base}/iosched")


class MixedVariantBench:
    """One scheduler under one mixed load."""

    def __init__(
        self, variant: str, switcher: Switcher, bench: MixedBench, mix: Mix, workload: Workload
    ) -> None:
        self.variant = variant
        self.switcher = switcher
        self.bench = bench
        self.mix = mix
        self.workload = workload

    async def make_active(self) -> None:
        await self.switcher.switch_to(self.variant)

    async def measure_block(self, seconds: float) -> Measured:
        measured = await self.bench.measure_block(self.mix, seconds, self.workload.onset_s)
        self.switcher.check(self.variant)
        return measured

    async def wait_until_idle(self) -> None:
        await self.bench.wait_until_settled()


class MixedWatch(InterferenceWatch):
    """The guards, with others' I/O told by the bench: readers' and writers' bytes do not go by one count."""

    def __init__(
        self, run: Run, bench: MixedBench, devices: Sequence[str], directories: Sequence[str]
    ) -> None:
        super().__init__(run, devices, directories=directories)
        self.bench = bench

    def end(self, workload: str, variant: str, measured: Measured) -> Disturbance | None:
        disturbance = super().end(workload, variant, measured)
        # The stop rule tells others by the direction of their I/O: here the fdatasync at a block's end writes
        # while readers read, and on an idle disk it took that for somebody who suffers (measured).
        if self._bystanders is not None:
            self._bystanders.pass_over()
        if disturbance is not None or self.bench.last is None:
            return disturbance
        own_bytes, foreign_bytes, seconds = self.bench.last
        if foreign_bytes > FOREIGN_SHARE * own_bytes and foreign_bytes / max(seconds, 0.1) > FOREIGN_RATE:
            return Disturbance("device", self._culprit_of_kind("device"), foreign_bytes, own_bytes, "B")
        return None
