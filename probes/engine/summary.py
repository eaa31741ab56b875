"""From what the workers kept to one measured block."""

import itertools
from collections.abc import Iterator, Sequence

from hostdx.probes.engine import histogram
from hostdx.probes.engine.completions import sum_steps_of_workers
from hostdx.probes.engine.measured import Measured, ValueInWindow
from hostdx.probes.engine.spec import BlockReply, SliceReply
from hostdx.probes.engine.workloads import EngineLoad

STEP_S = 0.5  # samples inside a longer block: twice a second
ENGINE_BOUND = 0.70  # of a core a worker


def block_cuts_s(seconds: float, onset_s: float = 0.0) -> list[float]:
    """Where a block is cut, in seconds after its start: at the onset's end, then twice a second, and at its end."""
    ends = [onset_s] if 0 < onset_s < seconds else []
    at = ends[-1] if ends else 0.0
    # A last piece of less than half a step would be all noise: it is left with the one before.
    while seconds - at > 1.5 * STEP_S - 1e-9:
        at += STEP_S
        ends.append(at)
    return [*ends, seconds]


def combine_replies(
    load: EngineLoad,
    replies: Sequence[BlockReply],
    ends: Sequence[float],
    onset: bool,
    device_bytes: int | None,
) -> Measured:
    """`replies` are the workers' answers (see `operations.run_block`), `ends` what `block_cuts_s` gave them."""
    first = 1 if onset else 0
    steady = _sum_slices(load, [r["slices"][first:] for r in replies])
    all_slices = _sum_slices(load, [r["slices"] for r in replies])
    values = steady if first else all_slices
    within = list(_values_of_slices(load, replies, ends)) if len(ends) > 1 else []
    before = _sum_slices(load, [r["slices"][:1] for r in replies]) if first else None
    return Measured(
        seconds=values.seconds,
        values=values.values,
        operations=values.operations,
        bytes=values.bytes,
        # The counters are read around the block: an onset's share of them goes by its share of the bytes.
        device_bytes=_share_of_bytes(device_bytes, values.bytes, all_slices.bytes),
        cpu_s=values.cpu_s,
        p50_ns=values.p50_ns,
        p99_ns=values.p99_ns,
        histogram=values.histogram,
        within=within,
        onset=before,
        remark=engine_bound_text(load, values),
        completions=sum_steps_of_workers([reply.get("steps", ()) for reply in replies]),
    )


def engine_bound_text(load: EngineLoad, measured: Measured) -> str:
    """Where our own CPU time may be what is measured, that is said."""
    if load.kind == "cpu" or measured.seconds <= 0:
        return ""
    share = measured.cpu_s / (measured.seconds * load.workers)
    if load.kind == "metadata" and share > ENGINE_BOUND:
        # Names live in memory until the journal commits: this is the file system's code, not our loop.
        return f"CPU-bound: {100 * share:.0f} % of a core, in the file system's own code; the disk is hardly touched"
    return f"engine-bound: {100 * share:.0f} % of a core a worker" if share > ENGINE_BOUND else ""


def _sum_slices(load: EngineLoad, slices: Sequence[Sequence[SliceReply]]) -> Measured:
    """Some consecutive slices of every worker. The rate is the sum of the workers' rates, each over its own time."""
    rate = 0.0
    seconds = 0.0
    for own in slices:
        spent = sum(s["ns"] for s in own) / 1e9
        seconds = max(seconds, spent)
        if spent > 0:
            rate += sum(s["n"] for s in own) / spent
    pieces = [s for own in slices for s in own]
    counts = histogram.merge_histograms({int(k): int(n) for k, n in s["h"]} for s in pieces)
    operations = sum(s["n"] for s in pieces)
    return Measured(
        seconds=seconds,
        values={load.metric: rate_in_load_unit(load, rate)},
        operations=operations,
        bytes=operations * load.block_bytes if load.kind in ("read", "write") else 0,
        cpu_s=sum(s["cpu"] for s in pieces),
        p50_ns=histogram.percentile(counts, 0.50),
        p99_ns=histogram.percentile(counts, 0.99),
        histogram=histogram.bucket_pairs(counts),
    )


def rate_in_load_unit(load: EngineLoad, operations_per_s: float) -> float:
    """In the load's own unit: MB/s are 10^6 bytes a second."""
    return operations_per_s * load.block_bytes / 1e6 if load.unit == "MB/s" else operations_per_s


def _values_of_slices(
    load: EngineLoad, replies: Sequence[BlockReply], ends: Sequence[float]
) -> Iterator[ValueInWindow]:
    columns = itertools.zip_longest(*(r["slices"] for r in replies))
    for index, column in enumerate(columns):
        pieces = [s for s in column if s is not None]
        part = _sum_slices(load, [[s] for s in pieces])
        if not part.operations:
            continue
        at = ends[index] if index < len(ends) else ends[-1] + part.seconds
        rate = part.values[load.metric]
        yield ValueInWindow(at, load.metric, rate, load.unit)
        if load.kind in ("read", "write") and load.unit != "MB/s":
            yield ValueInWindow(at, "bytes/s", part.bytes / part.seconds, "B/s")
        yield ValueInWindow(at, "cpu/operation", 1e6 * part.cpu_s / part.operations, "µs")
        for name, value in (("p50", part.p50_ns), ("p99", part.p99_ns)):
            if value is not None:
                yield ValueInWindow(at, name, float(value), "ns")


def _share_of_bytes(device_bytes: int | None, part: int, total: int) -> int | None:
    if device_bytes is None or not total:
        return device_bytes
    return round(device_bytes * part / total)
