"""What a part of a checkup measures, as samples of the checkup itself: its screen draws them while the part runs."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

import msgspec

from scenarios.contract import events as ev
from scenarios.contract.plan import Plan
from scenarios.experiment.schedule.recorded_trains import blocks_in_batch


def relay_samples(part: str, plan: Plan | None, event: ev.AnyEvent, now_s: float) -> list[ev.SampleTaken]:
    """Return one sample for each variant that the event measured, at the checkup's own time `now_s`; none of other
    events. Of a load the leading metric counts, of a slice batch the mean of its windows.
    """
    if isinstance(event, ev.SampleTaken):
        series = f"{part}: {event.series}"
        return [msgspec.structs.replace(event, t=now_s, at_s=None, series=series)]
    if isinstance(event, ev.SliceBatch):
        blocks = blocks_in_batch(event)
    elif isinstance(event, ev.Block):
        blocks = [event]
    else:
        return []
    load = next((w for w in plan.workloads if w.id == blocks[0].workload), None) if plan and blocks else None
    if load is None or not load.metrics:
        return []
    metric = load.metrics[0]
    values: dict[str, list[float]] = {}
    for block in blocks:
        if metric.name in block.values:
            values.setdefault(block.variant, []).append(block.values[metric.name])
    return [
        ev.SampleTaken(
            t=now_s,
            series=f"{part}: {load.title}",
            variant=_variant_name(values, variant),
            block=blocks[0].index,
            value=fmean(own),
            unit=metric.unit,
        )
        for variant, own in values.items()
    ]


def _variant_name(values: Mapping[str, object], variant: str) -> str:
    """Return an empty name for the only variant: there is none to be told from."""
    return variant if len(values) > 1 else ""
