"""Blocks under the eyes of the guards: measured, recorded with what disturbed them, and kept where they count."""

from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

from hostdx.probes.engine.measured import Measured
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import Disturbance
from hostdx.scenarios.contract.model import Run
from hostdx.scenarios.experiment.guards.watch import InterferenceWatch, emit_disturbance

# Two blocks of a variant make a group, and p99 is shown from 1000 operations a group on: ten of them lie beyond it.
P99_FROM_OPERATIONS = 500

T = TypeVar("T")


async def measure_watched(
    watch: InterferenceWatch | None,
    load: str,
    work: Awaitable[T],
    as_block: Callable[[T], Measured],
    variant: str = "",
) -> tuple[T, Disturbance | None]:
    """Return what `work` measured, and what disturbed it. `variant`: the one measured; "" for all of them in turn."""
    if watch is not None:
        watch.begin_block()
    done = await work
    return done, None if watch is None else watch.end_block(load, variant, as_block(done))


class GuardedBlocks:
    """Measures windows and judges interference: `measure` a window, then `pause_to_spare_others`; `leave_out` a
    disturbed group. Without a watch nothing is disturbed.
    """

    def __init__(self, run: Run, watch: InterferenceWatch | None = None) -> None:
        self.run = run
        self.watch = watch
        self._index = 0
        self._blocks: list[ev.Block] = []
        self._left_out: set[tuple[str, int]] = set()

    @property
    def stop_reason(self) -> str:
        """Return why nothing more may be measured, or ""."""
        return self.watch.stopped if self.watch is not None else ""

    async def measure(
        self,
        workload: str,
        variant: str,
        block: Callable[[], Awaitable[Measured]],
        *,
        group: int,
        phase: ev.Phase = "steady",
    ) -> tuple[Measured, Disturbance | None]:
        """Return what `block` measured, and what disturbed it. A warm-up is recorded and never counts as disturbed."""
        measured, disturbance = await measure_watched(self.watch, workload, block(), lambda m: m, variant)
        disturbed = self._leave_out_if_disturbed(disturbance, workload, group) if phase != "warmup" else None
        for event in _block_events(
            self.run.elapsed_s(),
            measured,
            workload=workload,
            variant=variant,
            group=group,
            index=self._index,
            phase=phase,
            disturbed=(disturbed,) if disturbed is not None else (),
        ):
            self.run.emit(event)
            if isinstance(event, ev.Block) and phase != "warmup":
                self._blocks.append(event)
        self._index += 1
        return measured, disturbed

    async def pause_to_spare_others(self, workload: str, group: int) -> Disturbance | None:
        """Pause where other programs wait long for their I/O, and find out who causes it. A run that does stops."""
        return (
            None
            if self.watch is None
            else self._leave_out_if_disturbed(await self.watch.pause_to_spare_others(), workload, group)
        )

    def leave_out(self, workload: str, group: int) -> None:
        """Count nothing of that group."""
        self._left_out.add((workload, group))

    def counted_blocks(self, workload: str) -> list[ev.Block]:
        """Return the windows that count, with their onsets, in the order measured."""
        return [
            b for b in self._blocks if b.workload == workload and (workload, b.group) not in self._left_out
        ]

    def _leave_out_if_disturbed(
        self, disturbance: Disturbance | None, workload: str, group: int
    ) -> Disturbance | None:
        if disturbance is not None:
            self.leave_out(workload, group)
            emit_disturbance(disturbance, self.run, workload, group)
        return disturbance


def metric_values(
    blocks: list[ev.Block], variant: str, metric: str, phase: ev.Phase = "steady"
) -> list[float]:
    """Return one metric of one variant, window by window."""
    return [
        b.values[metric] for b in blocks if b.variant == variant and b.phase == phase and metric in b.values
    ]


def _block_events(
    t: float,
    measured: Measured,
    *,
    workload: str,
    variant: str,
    group: int,
    index: int,
    phase: ev.Phase = "steady",
    disturbed: tuple[Disturbance, ...] = (),
) -> Iterator[ev.AnyEvent]:
    """Yield the events of one window, all at its end `t`: what happened in it, its onset, then the window itself."""
    began = t - measured.seconds
    for within in measured.within:
        yield ev.SampleTaken(
            t=t,
            series=within.series,
            variant=variant,
            block=index,
            value=within.value,
            unit=within.unit,
            at_s=max(0.0, began + within.offset_s),
        )
    parts: list[tuple[Measured, ev.Phase, tuple[Disturbance, ...]]] = [(measured, phase, disturbed)]
    if measured.onset is not None:
        parts.insert(0, (measured.onset, "onset", ()))
    for part, name, trouble in parts:
        yield ev.Block(
            t=t,
            workload=workload,
            variant=variant,
            group=group,
            index=index,
            seconds=part.seconds,
            values=part.values,
            phase=name,
            operations=part.operations,
            bytes=part.bytes,
            device_bytes=part.device_bytes,
            cpu_s=part.cpu_s,
            p50_ns=part.p50_ns,
            p99_ns=part.p99_ns if part.operations >= P99_FROM_OPERATIONS else None,
            histogram=part.histogram,
            disturbed=trouble,
        )
