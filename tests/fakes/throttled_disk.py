"""A disk as a process in time: workers, a service time that scatters, and what meters it. No clock, no I/O."""

import heapq
import random
from collections.abc import Callable, Sequence

import numpy as np

from hostdx.probes.engine.measured import Measured, MeasuredBatch
from hostdx.scenarios.storage.throttling.detection import STEP_S, BlockCompletions

Meter = Callable[[float], float]  # when an operation that asks now may begin; called in the order of time


def no_meter(now: float) -> float:
    return now


def slice_meter(rate: float, period_s: float) -> Meter:
    """As blk-throttle does it: so many operations in each period, the others wait for the next one."""
    state = {"period": 0, "used": 0}
    quota = rate * period_s

    def allowed_at(now: float) -> float:
        if int(now / period_s) > state["period"]:
            state.update(period=int(now / period_s), used=0)
        if state["used"] >= quota:
            state.update(period=state["period"] + 1, used=0)
        state["used"] += 1
        return max(now, state["period"] * period_s)

    return allowed_at


def bucket(rate: float, size: float) -> Meter:
    """A token bucket of `size` operations, full at first; an operation takes one."""
    state = {"at": 0.0, "tokens": size}

    def allowed_at(now: float) -> float:
        start = max(now, state["at"])
        tokens = min(size, state["tokens"] + (start - state["at"]) * rate)
        if tokens < 1:
            start, tokens = start + (1 - tokens) / rate, 1.0
        state.update(at=start, tokens=tokens - 1)
        return start

    return allowed_at


def serial_meter(mean: float, scatter: float, seed: int) -> Meter:
    """No meter: a disk that serves one operation after another, each in its own time."""
    state = {"free": 0.0}
    rng = random.Random(seed)

    def allowed_at(now: float) -> float:
        state["free"] = max(now, state["free"]) + max(mean / 10, rng.gauss(mean, scatter * mean))
        return state["free"]

    return allowed_at


def _draw_ends(
    meter: Meter, began: float, seconds: float, mean: float, scatter: float, workers: int, rng: random.Random
) -> np.ndarray:  # fmt: skip
    """When the operations end that begin in so many seconds, each worker one after another."""
    if meter is no_meter:  # then no worker waits for another: drawn at once
        draws = np.random.default_rng(rng.getrandbits(64))
        count = 2 * int(seconds / mean) + 20
        ends = np.maximum(mean / 10, draws.normal(mean, scatter * mean, (workers, count))).cumsum(axis=1)
        assert ends[:, -1].min() >= seconds
        begins = np.hstack([np.zeros((workers, 1)), ends[:, :-1]])
        return np.asarray(began + ends[begins < seconds])
    times: list[float] = []
    ready = [(began, n) for n in range(workers)]
    while ready[0][0] < began + seconds:
        now, worker = heapq.heappop(ready)
        times.append(meter(now) + max(mean / 10, rng.gauss(mean, scatter * mean)))
        heapq.heappush(ready, (times[-1], worker))
    return np.array(times)


def _count_steps(ends: np.ndarray, began: float, least: int) -> list[int]:
    """Operations in each step since then; so many steps at least."""
    return [int(n) for n in np.bincount(((ends - began) / STEP_S).astype(int), minlength=least)]


def courses(
    meter: Meter, *, operation_s: float, workers: int, blocks: int, scatter: float = 0.3, block_s: float = 0.5,
    gap_s: float = 0.02, seed: int = 1, drift: float = 0.0,
) -> list[BlockCompletions]:  # fmt: skip
    """Blocks of a load. `operation_s`: a mean; `scatter`: its deviation as a share; `drift`: of a block's mean."""
    rng = random.Random(seed)
    blocks_drawn = []
    began = 0.0
    for _ in range(blocks):
        mean = operation_s * max(0.2, rng.gauss(1, drift))
        ends = _draw_ends(meter, began, block_s, mean, scatter, workers, rng)
        counts = _count_steps(ends, began, round(block_s / STEP_S) + 1)
        last = float(ends.max())
        blocks_drawn.append(BlockCompletions(began_s=began, seconds=last - began, completions=counts))
        began = last + gap_s
    return blocks_drawn


def trains(
    meters: Sequence[Meter], *, operation_s: float, workers: int, count: int, slice_s: float = 0.02,
    scatter: float = 0.3, seed: int = 1,
) -> list[MeasuredBatch]:  # fmt: skip
    """Trains of a second, ABBA and BAAB, each side with its meter; the same one where they share a disk."""
    rng = random.Random(seed)
    batches = []
    now = 0.0
    for _ in range(count):
        began = now
        order: list[int] = []
        begins, counts = [], []
        while now < began + 1.0:
            group = rng.choice(([0, 1, 1, 0], [1, 0, 0, 1]))
            order += group
            for side in group:
                begins.append(now)
                ends = _draw_ends(meters[side], now, slice_s, operation_s, scatter, workers, rng)
                counts.append(_count_steps(ends, now, 1))
                now = float(ends.max())
        side_of_none = Measured(seconds=0.5, values={})
        batches.append(
            MeasuredBatch(
                seconds=now - began, slice_s=slice_s, order=order, values={}, sides=[side_of_none] * 2, lengths=[],
                operations=[], begins=begins, completions=counts,
            )
        )  # fmt: skip
        now += 0.03
    return batches
