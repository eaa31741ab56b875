"""A measured block as the events that record it."""

from __future__ import annotations

from collections.abc import Iterator

from probes.bench.measured import Measured
from scenarios import events as ev
from scenarios.disturbance import Disturbance

# Two blocks of a variant make a group, and p99 is shown from 1000 operations a group on: ten of them lie beyond it.
P99_FROM_OPERATIONS = 500


def block_events(
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
    """What happened inside the block, its onset apart, then the block itself; all at its end, `t`."""
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
