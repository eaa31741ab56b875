"""Groups of blocks, one at a time: for what takes a moment to switch. See `scheduler.LoadScheduler`."""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from hostdx.probes.engine.measured import Measured, MeasurementInvalid, VariantsUnfit, WriteBudgetSpent
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import Disturbance
from hostdx.scenarios.contract.model import Run
from hostdx.scenarios.contract.plan import Workload
from hostdx.scenarios.experiment.budget import group_seconds
from hostdx.scenarios.experiment.groups import GroupBlocks
from hostdx.scenarios.experiment.guards.watch import InterferenceWatch
from hostdx.scenarios.experiment.schedule.guarded import GuardedBlocks
from hostdx.scenarios.experiment.scheduler import LoadScheduler, MeasuredGroups

SETTLE_S = 0.5  # of idling before each block, on average, where the two orders contradict each other
# groups that are measured where no more fit: with so few the single blocks must show a difference as well
MIN_GROUPS = 4


class VariantBench(Protocol):
    """Measures one variant of the load. `switch_to_variant` is called before a window whenever another variant was
    measured before it.
    """

    variant: str  # its id, as in the plan

    async def switch_to_variant(self) -> None:
        """Make the variant active and check that it is. Raise MeasurementInvalid with the reason."""
        return

    async def measure_block(self, seconds: float) -> Measured:
        """Measure for about `seconds`. Cancelling stops the load at once and leaves nothing running."""
        ...

    async def finish_requests(self) -> None:
        """Wait, for a limited time, until the requests of this variant are done: fdatasync, nothing in flight."""
        return


class BlockScheduler(LoadScheduler):
    """Measures in windows: every variant is made active before its window. `blocks` keeps the windows that count."""

    noun = "group"

    def __init__(
        self,
        run: Run,
        workload: Workload,
        benches: Sequence[VariantBench],
        watch: InterferenceWatch | None = None,
        longer_settle: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """`longer_settle`: returns after each group by how many seconds a variant waits longer before its windows."""
        self.run, self.workload, self.watch = run, workload, watch
        self._longer_settle = longer_settle
        self.benches = {bench.variant: bench for bench in benches}
        self.blocks = GuardedBlocks(run, watch)
        self.fewest = min(MIN_GROUPS, workload.min_groups)
        self._block_s = self._longest_s = workload.block_s
        self._group_s = group_seconds(workload, len(benches))
        self._switching_s = 0.0
        self._took: dict[str, float] = {}  # seconds of each variant's warm-up
        self._active: VariantBench | None = None
        self._index = 0
        self._settle_s = 0.0

    @property
    def variant_names(self) -> tuple[str, ...]:
        return tuple(self.benches)

    @property
    def group_s(self) -> float:
        return self._group_s

    async def warm_up(self, most_s: float) -> bool:
        """Measure a window of the next variant, which never counts; it shows how long a window must be for the
        fewest operations.

        Its whole time shows nothing, because workers start in it. The windows' own length and the switches do.
        """
        cold = [bench for variant, bench in self.benches.items() if variant not in self._took]
        if cold:
            await self._warm_up_variant(cold[0])
        if len(cold) > 1:
            return False
        asked_s, load = self._block_s, self.workload
        self._block_s = min(self._longest_s, max(load.max_block_s, load.block_s))
        # A block that ended early spent its bytes (a stream of writes), and will again; a block of one operation, a
        # command, lasts as long as that does on its side.
        own_length = load.min_operations == 1
        blocks_s = sum(
            2 * (t if own_length or t < 0.9 * asked_s else self._block_s)
            for variant, t in self._took.items()
            if variant in self.benches
        )
        self._group_s = blocks_s + self._switches_per_group * self._switching_s / max(1, len(self._took))
        return True

    @property
    def _switches_per_group(self) -> float:
        """Return how many there are in a group and at its successor's beginning, on average."""
        return 2 * len(self.benches) - 1.5

    async def _warm_up_variant(self, bench: VariantBench) -> None:
        measured, _ = await self._measure_block(bench, -1, "warmup")
        onset_s = measured.onset.seconds if measured.onset is not None else 0.0
        self._took[bench.variant] = measured.seconds + onset_s
        if measured.operations > 0 and measured.seconds > 0:
            needed = self.workload.min_operations * measured.seconds / measured.operations
            self._longest_s = max(self._longest_s, needed + self.workload.onset_s)

    async def measure(self, orders: Sequence[Sequence[str]]) -> MeasuredGroups:
        group = GroupBlocks(self._index, orders[0])
        self._index += 1
        try:
            await self._measure_group_blocks(group)
        except (WriteBudgetSpent, VariantsUnfit) as why:
            kind, lost_variant = (
                ("budget", "") if isinstance(why, WriteBudgetSpent) else ("not applicable", why.variants[0])
            )
            group.disturbed.append(Disturbance(kind, subject=lost_variant, text=str(why)))
            self._emit_group(group)
            raise
        stalled = () if self.blocks.stop_reason else group.stalled_variants(self.workload, self.pairs)
        group.disturbed += [Disturbance("stall", subject=variant) for variant in stalled]
        self._emit_group(group)
        groups = [] if self.blocks.stop_reason else [group]
        return MeasuredGroups(groups, group, tuple(group.disturbed), stalled if len(stalled) == 1 else ())

    async def _measure_group_blocks(self, group: GroupBlocks) -> None:
        for variant in group.order:
            measured, disturbed = await self._measure_block(self.benches[variant], group.index, "steady")
            group.add(variant, measured)
            group.loud |= self.watch is not None and self.watch.loud
            others = await self.blocks.pause_to_spare_others(self.workload.id, group.index)
            group.disturbed += filter(None, [disturbed, others])
            if self.blocks.stop_reason:
                group.disturbed.append(Disturbance("stopped", text=self.blocks.stop_reason))
                return

    async def _measure_block(
        self, bench: VariantBench, group: int, phase: ev.Phase
    ) -> tuple[Measured, Disturbance | None]:
        try:
            await self._switch_to(bench)
            return await self.blocks.measure(
                self.workload.id,
                bench.variant,
                lambda: bench.measure_block(self._block_s),
                group=group,
                phase=phase,
            )
        except MeasurementInvalid as why:
            self._active = None
            if isinstance(why, WriteBudgetSpent):
                raise
            raise VariantsUnfit([bench.variant], str(why)) from why

    async def _switch_to(self, bench: VariantBench) -> None:
        """Wait until the other variant's requests are done, then make this one active."""
        if self._active is bench and not self._settle_s:
            return
        began = self.run.clock.now()
        await self.pause_workers()
        if self._settle_s:  # drawn: a neighbour in the groups' own rhythm is then in step with them no more
            await self.run.clock.sleep(self._settle_s * self.run.rng.uniform(0.5, 1.5))
        await bench.switch_to_variant()
        self._active = bench
        self._switching_s += self.run.clock.now() - began

    def begin_anew_if_needed(self, groups: Sequence[GroupBlocks]) -> bool:
        if not (longer_s := self._longer_settle()):
            return False
        self._group_s += self._switches_per_group * longer_s
        self._emit_restart("switch")
        return True

    def try_restart_with_settling(self, left_s: float) -> bool:
        """Begin every window after a flush and an idle second, also the second of two windows of one variant."""
        group_s = self._group_s + 2 * len(self.benches) * SETTLE_S
        if self._settle_s or left_s < self.fewest * group_s:
            return False
        self._settle_s, self._group_s = SETTLE_S, group_s
        self._emit_restart("order")
        return True

    def _emit_restart(self, why: Literal["order", "switch"]) -> None:
        t, load = self.run.elapsed_s(), self.workload.id
        self.run.emit(ev.SliceLengthChosen(t=t, workload=load, seconds=self._block_s, why=why, blocks=True))

    async def pause_workers(self) -> None:
        if self._active is not None:
            before, self._active = self._active, None
            await before.finish_requests()

    def _emit_group(self, group: GroupBlocks) -> None:
        if group.disturbed:
            self.blocks.leave_out(self.workload.id, group.index)
        self.run.emit(
            ev.Group(
                t=self.run.elapsed_s(),
                workload=self.workload.id,
                index=group.index,
                order=group.order_text,
                log_ratios={} if group.disturbed else group.log_ratios(self.workload, self.pairs),
                disturbed=tuple(dict.fromkeys(group.disturbed)),
            )
        )

    def drop_variants(self, variants: Sequence[str]) -> None:
        before = len(self.benches)
        self.benches = {variant: bench for variant, bench in self.benches.items() if variant not in variants}
        self._group_s *= len(self.benches) / max(1, before)
