"""A throttle seen in the course of one load: pauses at a fixed rate, a rate that is too even, a burst that ends.

A disk's own rate scatters; what meters it (`blkio.throttle`, `io.max`, a hypervisor, a cloud) lets so many operations
or bytes pass in a period and then waits, or gives each its turn by the clock. Pure: it works on what was counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby, pairwise
from statistics import fmean, median
from typing import Literal, TypeAlias

import msgspec

from hostdx.probes.engine.completions import STEP_NS

Form: TypeAlias = Literal["pauses", "even"]

STEP_S = STEP_NS / 1e9
STEPS_A_WINDOW = (1, 2, 5, 10, 20)  # those in which the disk finishes enough operations to see a pause
MIN_WINDOW_OPERATIONS = 4
LOW = 0.25  # of what a busy window holds
GAP_S = 0.05  # between two blocks at most, to follow the clock across it
MIN_PAUSE_S, MAX_PAUSE_S = 0.004, 0.6
MIN_PERIODS = 8
REGULAR = 0.12  # median deviation of periods, and of the operations in them, as a share
MIN_PAUSED_SHARE = 0.12  # of the time
MAX_RATE_DEVIATION = 0.25  # of the rate in a period and that of all blocks
EVEN = 0.008  # from the tenth to the ninetieth of the rates
MIN_BLOCKS = 6
TAIL = 0.6  # of a block: what a bucket saved between two blocks is used up before
MIN_PIECE_OPERATIONS = 24  # operations
MORE_OR_LESS = 3  # operations and a step's, from the tenth to the ninetieth of the pieces
TURNS, MIN_TURNS = 32, 4  # of a stretch: so many completions are held against the clock
KEPT = 1.0  # twice the share of what one is off the clock that the next one is not; see `_keeps_to_the_clock`
MAX_UNCUT_S, CUT_S = 1.5, 0.5  # a block that lasts for its operations' sake would hide a burst's end
MIN_STEP_RATIO = 1.3


class BlockCompletions(msgspec.Struct, frozen=True, kw_only=True):
    """One block. `began_s` by one clock for all; `completions`: operations in each `STEP_S` since then."""

    began_s: float
    seconds: float
    completions: Sequence[int]

    @property
    def operation_count(self) -> int:
        return sum(self.completions)

    @property
    def rate(self) -> float:
        """Operations a second."""
        return self.operation_count / self.seconds if self.seconds > 0 else 0.0

    def cut_into_parts(self) -> list[BlockCompletions]:
        """Itself, or a long one's parts."""
        if self.seconds <= MAX_UNCUT_S:
            return [self]
        parts, steps = round(self.seconds / CUT_S), len(self.completions)
        edges = [round(steps * part / parts) for part in range(parts + 1)]
        return [
            BlockCompletions(
                began_s=self.began_s + low * STEP_S,
                seconds=(high - low) * STEP_S,
                completions=self.completions[low:high],
            )
            for low, high in pairwise(edges)
        ]


class DiskCap(msgspec.Struct, frozen=True, kw_only=True):
    """`rate`: operations a second. Of pauses: how long, how often. Of a burst: what it gave beyond the cap, how fast.

    `refill_s`: of idling until such a burst is there again; `seconds`: in which the cap was seen.
    """

    form: Form
    rate: float
    seconds: float
    period_s: float = 0.0
    pause_s: float = 0.0
    burst_operations: float = 0.0
    burst_rate: float = 0.0
    burst_s: float = 0.0

    @property
    def refill_s(self) -> float:
        return self.burst_operations / self.rate


def find_cap(blocks: Sequence[BlockCompletions], workers: int = 1) -> DiskCap | None:
    """Return what held these blocks of one load, in the order measured; None where nothing is seen.

    `even` alone proves no throttle: a link or an idle hard disk is even, too
    (`hostdx.scenarios.storage.throttling.caps`).
    """
    blocks = [
        part
        for block in blocks
        if block.operation_count and block.seconds > 0
        for part in block.cut_into_parts()
    ]
    at = _burst_end_or_zero(blocks)
    if at and (held := _find_cap(blocks[at:], workers)):
        return _with_burst(held, blocks, at)
    return _find_cap(blocks, workers)


def _find_cap(blocks: Sequence[BlockCompletions], workers: int) -> DiskCap | None:
    return _find_pauses(blocks) or _find_even_rate(blocks, workers)


def _find_pauses(blocks: Sequence[BlockCompletions]) -> DiskCap | None:
    """Periods of the same length with the same number of operations in each, and then none or few.

    In wider windows too: what one period lets pass comes in several parts where the CPUs are busy.
    """
    caps = (_find_periods(blocks, steps) for steps in STEPS_A_WINDOW)
    return next((cap for cap in caps if cap is not None), None)


def _find_periods(blocks: Sequence[BlockCompletions], steps: int) -> DiskCap | None:
    windows = [_count_windows(block, steps) for block in blocks]
    busy = _typical_busy_count([count for own in windows for count in own])
    if busy < MIN_WINDOW_OPERATIONS:
        return None
    width = steps * STEP_S
    every = [_split_periods(line, LOW * busy, width) for line in _join_windows(blocks, windows, width)]
    periods = [period for own in every for period in own]
    uncut = [period for period in periods if not period.cut]
    periods = uncut if len(uncut) >= MIN_PERIODS else periods
    if len(periods) < MIN_PERIODS:
        return None
    lengths, counts = [p.seconds for p in periods], [p.operations for p in periods]
    period, count, pause = median(lengths), median(counts), median(p.pause_s for p in periods)
    regular = (
        period >= 5 * width
        and _median_deviation(lengths, period) <= max(REGULAR * period, width)
        and _median_deviation(counts, count) <= max(REGULAR * count, 1)
    )
    rate = sum(counts) / sum(lengths)
    mean = sum(block.operation_count for block in blocks) / sum(block.seconds for block in blocks)
    # the same in all blocks: what pauses for some of them is busy with something else
    throughout = abs(count / period / mean - 1) <= MAX_RATE_DEVIATION
    if not regular or not throughout or pause < MIN_PAUSED_SHARE * period:
        return None
    if not MIN_PAUSE_S <= pause <= MAX_PAUSE_S:
        return None
    return DiskCap(form="pauses", rate=rate, seconds=_elapsed_s(blocks), period_s=period, pause_s=pause)


def _count_windows(block: BlockCompletions, steps: int) -> list[int]:
    """Whole windows: one that the block's end cuts would look like a pause."""
    counts = block.completions
    return [sum(counts[at : at + steps]) for at in range(0, len(counts) - steps + 1, steps)]


def _typical_busy_count(counts: Sequence[int]) -> int:
    """The count that half of the operations are in windows of, at least: pauses do not lower it."""
    left = sum(counts) / 2
    for count in sorted(counts, reverse=True):
        left -= count
        if left <= 0:
            return count
    return 0


def _join_windows(
    blocks: Sequence[BlockCompletions], windows: Sequence[list[int]], width: float
) -> list[list[int | None]]:
    """Blocks that follow each other closely as one line, with None for what lies between them."""
    lines: list[list[int | None]] = []
    ended = float("-inf")
    for block, own in zip(blocks, windows, strict=True):
        gap = block.began_s - ended
        if 0 <= gap <= GAP_S:
            lines[-1] += [None] * round(gap / width)
        else:
            lines.append([])
        lines[-1] += own
        ended = block.began_s + len(own) * width
    return lines


class _WorkAndPause(msgspec.Struct, frozen=True):
    """From a pause's end to the next one's. `cut`: by a gap between blocks, when nothing was asked for."""

    seconds: float
    operations: int
    pause_s: float
    cut: bool


def _split_periods(line: Sequence[int | None], pause_below: float, width: float) -> list[_WorkAndPause]:
    """The whole ones. A gap between blocks goes on as what is before it."""
    states: list[tuple[bool, int, bool]] = []  # paused, operations, gap
    for count in line:
        paused = (states[-1][0] if states else False) if count is None else count < pause_below
        states.append((paused, count or 0, count is None))
    runs = [(paused, list(own)) for paused, own in groupby(states, key=lambda state: state[0])]
    return [
        _WorkAndPause(
            width * (len(active) + len(pause)),
            sum(n for _, n, _ in (*active, *pause)),
            width * len(pause),
            any(gap for _, _, gap in active),
        )
        # the line's ends cut the first and the last run
        for (idle, active), (_, pause) in pairwise(runs[1:-1])
        if not idle
    ]


def _median_deviation(values: Sequence[float], centre: float) -> float:
    return median(abs(value - centre) for value in values)


def _find_even_rate(blocks: Sequence[BlockCompletions], workers: int) -> DiskCap | None:
    """Every block's tail at the same rate, give or take an operation; a slow disk's tails some together."""
    tails = [_block_tail(before, block) for before, block in pairwise(blocks)]
    usual = median(sum(tail) for tail in tails) if tails else 0
    if usual <= 0:
        return None
    together = math.ceil(MIN_PIECE_OPERATIONS / usual)
    lines = [tails[at : at + together] for at in range(0, len(tails) - together + 1, together)]
    pieces = [(sum(map(sum, line)), sum(map(len, line)) * STEP_S) for line in lines]
    if len(pieces) < MIN_BLOCKS:
        return None
    rates = sorted(count / seconds for count, seconds in pieces)
    edge = len(rates) // 10
    middle = median(rates)
    few = (MORE_OR_LESS * math.sqrt(together) + middle * STEP_S) / median(seconds for _, seconds in pieces)
    if rates[-1 - edge] - rates[edge] > max(EVEN * middle, few) or not _keeps_to_the_clock(blocks, workers):
        return None
    return DiskCap(
        form="even", rate=sum(n for n, _ in pieces) / sum(s for _, s in pieces), seconds=_elapsed_s(blocks)
    )


def _keeps_to_the_clock(blocks: Sequence[BlockCompletions], workers: int) -> bool:
    """Return whether a late completion makes the next one no later, as where a meter gives each its turn.

    A disk that serves one after another begins with the next when the one before has ended: its own scatter, however
    small, adds up. Of a walk like that the ratio of Durbin and Watson (Sargan and Bhargava's test) is near 6 / TURNS,
    of independent deviations from the clock near 2. As many at once are as many such walks: a turn is one of each.
    """
    lines: list[list[int]] = []
    for before, block in pairwise(blocks):
        if not lines or not _follows_directly(before, block):
            lines.append([])
        lines[-1] += _block_tail(before, block)
    strides = [workers * max(1, sum(line) // (TURNS * workers)) for line in lines]
    ends = [
        (n, own)
        for n, line in zip(strides, lines, strict=True)
        if len(own := _completion_times(line, n)) >= MIN_TURNS
    ]
    if not ends:
        return False
    period_s = sum(own[-1] - own[0] for _, own in ends) / sum(n * (len(own) - 1) for n, own in ends)
    between = total_squares = 0.0
    for stride, own in ends:
        off = [at - turn * stride * period_s for turn, at in enumerate(own)]
        middle = fmean(off)
        total_squares += sum((offset - middle) ** 2 for offset in off)
        between += sum((later - offset) ** 2 for offset, later in pairwise(off))
    # a little more than what counting in steps leaves
    rounded = sum(len(own) for _, own in ends) * STEP_S**2 / 9
    return between >= KEPT * total_squares or total_squares <= rounded


def _completion_times(counts: Sequence[int], stride: int) -> list[float]:
    """When every `stride`-th operation ended; those of one step evenly within it."""
    times, done = [], 0
    for step, count in enumerate(counts):
        times += [(step + (n + 0.5) / count) * STEP_S for n in range(-done % stride, count, stride)]
        done += count
    return times


def _follows_directly(before: BlockCompletions, block: BlockCompletions) -> bool:
    return block.began_s - before.began_s - before.seconds < STEP_S


def _block_tail(before: BlockCompletions, block: BlockCompletions) -> Sequence[int]:
    """A block's whole steps; without the first of them where it does not go on from the one before."""
    steps = int(block.seconds / STEP_S + 1e-6)
    return block.completions[0 if _follows_directly(before, block) else round((1 - TAIL) * steps) : steps]


def _burst_end_or_zero(blocks: Sequence[BlockCompletions]) -> int:
    """The first block of the lower plateau, 0 without: all before it faster than all after it, and by a good deal."""
    rates = [block.rate for block in blocks]
    best, at = MIN_STEP_RATIO, 0
    for place in range(2, len(rates) - MIN_BLOCKS + 1):  # the burst may end within the block before
        low = max(rates[place:])
        drop = min(rates[: place - 1]) / low if low else 0.0
        if drop > best:
            best, at = drop, place
    return at


def _with_burst(held: DiskCap, blocks: Sequence[BlockCompletions], at: int) -> DiskCap:
    """Return what was given beyond the cap until the plateau began, the bucket's refill meanwhile taken off."""
    before = blocks[:at]
    ended = before[-1].began_s + before[-1].seconds
    beyond = sum(block.operation_count for block in before) - held.rate * (ended - before[0].began_s)
    rate = median(block.rate for block in before[: max(1, at - 1)])
    return msgspec.structs.replace(
        held, burst_operations=max(0.0, beyond), burst_rate=rate, burst_s=sum(block.seconds for block in before)
    )  # fmt: skip


def _elapsed_s(blocks: Sequence[BlockCompletions]) -> float:
    return blocks[-1].began_s + blocks[-1].seconds - blocks[0].began_s
