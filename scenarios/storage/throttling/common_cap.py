"""Two sides that both run into a cap: their ratio says nothing of the disks, and the verdict says why."""

from collections.abc import Mapping, Sequence

import msgspec

from hostdx.probes.engine.measured import MeasuredBatch
from hostdx.scenarios.contract.events import RunVerdict
from hostdx.scenarios.contract.verdict.verdict import as_equal
from hostdx.scenarios.storage.throttling.caps import SAME, Throttle, are_rates_near
from hostdx.scenarios.storage.throttling.detection import STEP_S, BlockCompletions
from hostdx.scenarios.storage.throttling.findings import cap_words

NEARLY_EQUAL = 0.25  # of the sides' rates: a cap that is shared out slice by slice scatters


def completions_by_load(
    variants: Sequence[str], counted: Mapping[str, Sequence[MeasuredBatch]], *, shared: bool
) -> dict[str, dict[str, list[BlockCompletions]]]:
    """By side and load, the trains that count; of all sides together where they share a device.

    A side of two disks pauses while the other one is served: its course is good for its rate only.
    """
    return {
        variant: {
            load: [
                _join_completions(train, range(len(variants)) if shared else [number])
                for train in trains
                if train.begins and len(train.sides) == len(variants)
            ]
            for load, trains in counted.items()
        }
        for number, variant in enumerate(variants)
    }


def recast_verdict(verdict: RunVerdict, caps: Mapping[str, Throttle]) -> RunVerdict:
    """`no material difference` with the reason where both sides stand at the same cap; a clear difference stays."""
    base, other = caps.get(verdict.baseline), caps.get(verdict.variant)
    if base is None or other is None or not (verdict.is_equal or verdict.is_undecided):
        return verdict
    if base.unit != other.unit or not are_rates_near(base.value, other.value, SAME):
        return verdict
    if verdict.ratio is None or not are_rates_near(verdict.ratio, 1.0, NEARLY_EQUAL):
        return verdict  # they had unlike shares of it: what lies under the cap is not known
    reason = f"both at the cap of {cap_words(base)}"
    figures = msgspec.structs.replace(
        verdict, explain=reason, smallest_effect=None, seconds_to_decide=None, ci95=None
    )
    return as_equal(figures, reason)


def _join_completions(train: MeasuredBatch, sides: Sequence[int]) -> BlockCompletions:
    """Return what these sides finished, by the clock; its seconds are those in which they were served."""
    own = [
        (round((begin - train.begins[0]) / STEP_S), steps)
        for begin, steps, side in zip(train.begins, train.completions, train.order, strict=False)
        if side in sides
    ]
    counts = [0] * max((first + len(steps) for first, steps in own), default=0)
    for first, steps in own:
        for at, count in enumerate(steps, first):
            counts[at] += count
    seconds = STEP_S * (len(counts) if len(sides) > 1 else sum(len(steps) for _, steps in own))
    return BlockCompletions(began_s=train.begins[0], seconds=seconds, completions=counts)
