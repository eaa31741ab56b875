"""Trains of the storage engine: the same workers serve several directories in turn, slice by slice."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hostdx.probes.engine import histogram
from hostdx.probes.engine.batch_source import BatchSource, refuse_unfit_variants
from hostdx.probes.engine.completions import sum_steps_of_workers
from hostdx.probes.engine.disk.budget import PRESUMED_SYNCED
from hostdx.probes.engine.disk.storage import LARGE_BYTES, LEAD_S, REHEARSED_BYTES, StorageBench
from hostdx.probes.engine.measured import (
    Measured,
    MeasuredBatch,
    MeasurementInvalid,
    VariantsUnfit,
    served_by_cache_reason,
)
from hostdx.probes.engine.pool import WorkerFailed
from hostdx.probes.engine.slices import TRAIN_AT_LEAST_S, TRAIN_OVERRUN
from hostdx.probes.engine.spec import LoadSpec
from hostdx.probes.engine.summary import rate_in_load_unit
from hostdx.probes.engine.workloads import EngineLoad, engine_load
from hostdx.probes.system.disk.diskstats import counter_growth
from hostdx.probes.system.disk.failing import io_error_advice

FIRST_SLICE_S = 0.02
STREAMED_PLACES = 16  # streams go through several files at once: so many sets of them
# A train is planned for so many times the bytes that its slices wrote until now: slices that the bytes end, and not the
# clock, hold so few operations that they scatter twice as much (streamed writes, measured).
HEADROOM = 1.5


class StorageBatches(BatchSource[StorageBench]):
    """One load on several benches that share their workers, by variant. Not for two tasks at once."""

    def __init__(self, benches: Mapping[str, StorageBench], workload: str | EngineLoad) -> None:
        super().__init__(benches, FIRST_SLICE_S, has_first_quarters=True)
        self.load = workload if isinstance(workload, EngineLoad) else engine_load(workload)
        self.remarks: set[str] = set()
        self._benches = list(benches.values())
        self._crew = self._benches[0].crew
        if any(bench.crew is not self._crew for bench in self._benches):
            raise ValueError("the directories of a train share their workers")
        self._budget = self._benches[0].budget
        self._rng = random.Random(self._benches[0].seed)
        files = min(bench.places for bench in self._benches)
        self._together = max(1, files // STREAMED_PLACES) if self.load.sequential else 1
        self.places = 1 if self.load.kind == "cpu" else files // self._together
        # written, of a slice's planned time: with what is not counted and what is late
        self._bytes_per_s = 0.0

    async def start_workers_and_rehearse(self) -> MeasuredBatch:
        """Start the workers, and learn how fast this load is. Raise
        MeasurementInvalid, WriteBudgetSpent, BenchRefused.
        """
        if self.load.kind == "write":
            presumed = 1.0 if self.load.block_bytes >= LARGE_BYTES else PRESUMED_SYNCED
            self._budget.set_load_share(self.load.id, self.load.budget_share, presumed)
        if self.load.kind == "read":
            await self.check_cached_reads()
        return await super().start_workers_and_rehearse()

    async def measure_batch(
        self,
        order: Sequence[int],
        slice_s: float,
        *,
        onset_s: float = 0.0,
        quarters: bool = False,
        places: Sequence[int] = (),
    ) -> MeasuredBatch:
        """Measure slices of `slice_s` seconds in this order of variants (by number), of which the
        first `onset_s` seconds do not count.

        `quarters`: also the rates within them. `places`: the file set of each slice; without it, any.

        Raise MeasurementInvalid where a variant cannot run or reads come from a cache, WriteBudgetSpent where the write
        limit is too small for the whole batch, WorkerFailed where a worker died. Cancelling kills the workers.
        """
        load = self.load
        lead = load.workers > 1
        most = self._max_operations_per_part(len(order), slice_s, parts=2 if onset_s else 1, lead=lead)
        if not places:
            drawn = self._rng.sample(range(self.places), self.places)
            places = [drawn[at // len(self._benches) % len(drawn)] for at in range(len(order))]
        visited = sorted(set(zip(order, places, strict=True)))
        numbers = {both: number for number, both in enumerate(visited)}
        specs: list[LoadSpec] = [
            {
                "sides": self._side_specs(worker, visited),
                "seed": self._rng.getrandbits(48),
                "order": [numbers[both] for both in zip(order, places, strict=True)],
                "slice_s": slice_s,
                "onset_s": onset_s,
                "lead": lead,
                "quarters": quarters,
                "most": most,
                "place": worker,
                "crew": load.workers,
            }
            for worker in range(load.workers)
        ]
        before = self._bytes_by_disk_set()
        began = time.perf_counter()
        longest = max(TRAIN_AT_LEAST_S, TRAIN_OVERRUN * slice_s * len(order))
        try:
            replies = await self._crew.pool.run_together_or_kill(
                "train", specs, LEAD_S + 0.0002 * load.workers, longest
            )
        except WorkerFailed as error:
            failed = self._benches if error.side is None else [self._benches[error.side]]
            hint = io_error_advice(error.errno, *(b.directory for b in failed))
            raise WorkerFailed(
                f"{_join_directories(failed)}, {load.id}: {error}{hint}", error.errno
            ) from error
        took = time.perf_counter() - began
        moved = {disk: counter_growth(before[disk], now) for disk, now in self._bytes_by_disk_set().items()}
        replies = [reply | {"h": self._merge_histograms_by_side(reply["h"], visited)} for reply in replies]
        measured = self._batch_of_replies(order, slice_s, replies, moved, took)
        self._charge_budget_and_note_rate(measured, sum(reply["uncounted"] for reply in replies), slice_s)
        self._refuse_cached_reads(measured, moved)
        return measured

    def without_variants(self, variants: Iterable[str]) -> StorageBatches:
        """Return the same load for the other directories, whose file sets may be more."""
        remaining = super().without_variants(variants)
        left = StorageBatches(remaining._variants, self.load)
        left.remarks, left._bytes_per_s = self.remarks, self._bytes_per_s
        return left

    async def finish_requests(self) -> None:
        for bench in self._benches:
            await bench.finish_requests()

    def _side_specs(self, worker: int, visited: Sequence[tuple[int, int]]) -> list[LoadSpec]:
        """Return what a worker does on each side in each file set that is used."""
        sides, unfit = [], {}
        for number, place in visited:
            files = range(place * self._together, (place + 1) * self._together)
            try:
                sides.append(self._benches[number].load_spec(self.load, worker, files) | {"mark": number})
            except MeasurementInvalid as why:
                unfit[self.variant_names[number]] = str(why)
        refuse_unfit_variants(unfit)
        return sides

    def _merge_histograms_by_side(
        self, histograms: Sequence[Sequence[tuple[int, int]]], visited: Sequence[tuple[int, int]]
    ) -> list[list[tuple[int, int]]]:
        """Return the buckets with counts by side, put together from those by file set."""
        by_side: list[list[dict[int, int]]] = [[] for _ in self._benches]
        for (side, _), buckets in zip(visited, histograms, strict=True):
            by_side[side].append(dict(buckets))
        return [sorted(histogram.merge_histograms(parts).items()) for parts in by_side]

    def affordable_s(self, groups: int) -> float:
        """Return how long slices may be so that so many groups fit into the write limit; infinite without a limit."""
        if self.load.kind != "write" or not self._bytes_per_s:
            return math.inf
        left_s = self._budget.bytes_left_for(self.load.id) / self._bytes_per_s / HEADROOM
        return left_s / (groups * 2 * len(self._benches))

    def _max_operations_per_part(self, slices: int, slice_s: float, parts: int, lead: bool) -> int | None:
        """Return the most operations of one worker in each part of a slice (onset, rest), so that
        the batch stays within the write limit.
        """
        load = self.load
        if load.kind != "write":
            return None
        expected = HEADROOM * self._bytes_per_s * slice_s * slices
        self._budget.check(int(max(expected, load.block_bytes * load.workers * slices)), load.id)
        left = self._budget.bytes_left_for(load.id)
        if not self._bytes_per_s:
            left = min(left, REHEARSED_BYTES)
        each = left // load.block_bytes // load.workers // slices
        return max(1, each // parts - (lead and parts == 1))

    def _charge_budget_and_note_rate(self, measured: MeasuredBatch, uncounted: int, slice_s: float) -> None:
        if self.load.kind != "write":
            return
        our_bytes = sum(side.bytes for side in measured.sides) + uncounted * self.load.block_bytes
        self._budget.charge(our_bytes, measured.device_bytes, self.load.id)
        if measured.order:
            self._bytes_per_s = our_bytes / (slice_s * len(measured.order))

    def _batch_of_replies(
        self,
        order: Sequence[int],
        slice_s: float,
        replies: Sequence[dict[str, Any]],
        moved: Mapping[tuple[str, ...], int | None],
        took: float,
    ) -> MeasuredBatch:
        count = min(len(reply["n"]) for reply in replies)
        long = [max(reply["ns"][at] for reply in replies) / 1e9 for at in range(count)]
        if self.load.kind == "cpu":  # the CPU's speed, not how many others want it; nothing of it is switched
            even = [[n / 4] * 4 for n in replies[0]["n"]]
            replies = [reply | {"ns": _nanoseconds_on_cpu(reply), "quarters": even} for reply in replies]
        values, fourths = [], []
        for at in range(count):
            values.append(
                rate_in_load_unit(self.load, sum(_rate_per_second(r["n"][at], r["ns"][at]) for r in replies))
            )
            within = zip(
                *(
                    [4 * _rate_per_second(n, r["ns"][at]) for n in r["quarters"][at]]
                    for r in replies
                    if r["quarters"]
                ),
                strict=False,
            )
            fourths.append([rate_in_load_unit(self.load, sum(rates)) for rates in within])
        known_bytes = [now for now in moved.values() if now is not None]
        return MeasuredBatch(
            seconds=took,
            slice_s=slice_s,
            order=list(order[:count]),
            values={self.load.metric: values},
            lengths=long,
            operations=[sum(reply["n"][at] for reply in replies) for at in range(count)],
            quarters=fourths if all(fourths) else [],
            sides=[
                self._side_total(
                    number, [at for at in range(count) if order[at] == number], replies, long, moved
                )
                for number in range(len(self._benches))
            ],
            device_bytes=sum(known_bytes) if known_bytes and len(known_bytes) == len(moved) else None,
            waited_s=sum(sum(reply["waited"]) for reply in replies) / 1e9,
            begins=[min(reply["begins"][at] for reply in replies) / 1e9 for at in range(count)],
            completions=[
                sum_steps_of_workers([reply["steps"][at] for reply in replies]) for at in range(count)
            ],
        )

    def _side_total(
        self,
        number: int,
        own: Sequence[int],
        replies: Sequence[dict[str, Any]],
        long: Sequence[float],
        moved: Mapping[tuple[str, ...], int | None],
    ) -> Measured:
        """Return all slices of one side together. Its device bytes are known where no other uses the same disks."""
        counts = histogram.merge_histograms(
            {int(k): int(n) for k, n in reply["h"][number]} for reply in replies
        )
        operations = sum(reply["n"][at] for reply in replies for at in own)
        # As a block's: of every worker all its operations over all their time, so that a stall weighs what it took.
        rate = sum(
            _rate_per_second(sum(r["n"][at] for at in own), sum(r["ns"][at] for at in own)) for r in replies
        )
        leaves = self._benches[number].leaves
        alone = sum(bench.leaves == leaves for bench in self._benches) == 1
        return Measured(
            seconds=sum(long[at] for at in own),
            values={self.load.metric: rate_in_load_unit(self.load, rate)} if own else {},
            operations=operations,
            bytes=operations * self.load.block_bytes if self.load.kind in ("read", "write") else 0,
            device_bytes=moved.get(leaves) if alone else None,
            cpu_s=sum(reply["cpu"][at] for reply in replies for at in own) / 1e9,
            p50_ns=histogram.percentile(counts, 0.50),
            p99_ns=histogram.percentile(counts, 0.99),
            histogram=histogram.bucket_pairs(counts),
        )

    def _refuse_cached_reads(
        self, measured: MeasuredBatch, moved: Mapping[tuple[str, ...], int | None]
    ) -> None:
        """Raise MeasurementInvalid where a cache served reads of any side: they are not the device's."""
        if self.load.kind != "read":
            return
        for leaves, now in moved.items():
            shared = [n for n, bench in enumerate(self._benches) if bench.leaves == leaves]
            all_reads = Measured(
                seconds=0, values={}, bytes=sum(measured.sides[n].bytes for n in shared), device_bytes=now
            )
            served = [n for n in shared if measured.sides[n].bytes]
            names = [self.variant_names[n] for n in served]
            if names and (why := served_by_cache_reason(all_reads)):
                # all of them: whose it is is told by `start_workers_and_rehearse`
                raise VariantsUnfit(names, why)

    def _bytes_by_disk_set(self) -> dict[tuple[str, ...], int | None]:
        """Return the counters in this load's direction, by set of disks."""
        return {bench.leaves: bench.device_bytes(self.load.kind) for bench in self._benches}


def _join_directories(benches: Iterable[StorageBench]) -> str:
    return " and ".join(dict.fromkeys(bench.directory for bench in benches))


def _nanoseconds_on_cpu(reply: dict[str, Any]) -> list[int]:
    return [max(1, ns - waited) for ns, waited in zip(reply["ns"], reply["waited"], strict=True)]


def _rate_per_second(operations: float, ns: int) -> float:
    return operations / ns * 1e9 if ns > 0 else 0.0
