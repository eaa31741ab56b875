"""One trim: what fstrim claims, what the kernel counted, and when the disk came to rest."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from hostdx.probes import units
from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.diskstats import disk_counters
from hostdx.probes.types import Absent
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.model import Run, UsageError
from hostdx.scenarios.experiment.before_after import MIN_BLOCKS
from hostdx.scenarios.fstrim.measurement.load import CHURN_ID
from hostdx.scenarios.fstrim.trim_setup import MAX_BLOCK_BYTES, TrimSetup

MIN_BLOCK_S = 0.5  # a block alone; a shorter one shows the drive's cache, not the drive
MIN_PAIR_S = 0.5  # a block with its reference beside it


class TrimPattern(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds; `blocks` are those of a phase."""

    blocks: int = 12
    block_s: float = 1.5
    reference_s: float = 0.5
    idle_s: float = 60.0  # the control; the trim with its settling is given the same time
    rest_s: float = 5.0  # so long the discard counters must stand still
    settle_at_most_s: float = 60.0

    def spread_over_budget(self, budget_s: float, phases: int) -> TrimPattern:
        """`budget_s` of measuring: fewer blocks before shorter ones. Raises UsageError where too short for any."""
        need = phases * MIN_BLOCKS * MIN_PAIR_S
        if budget_s < need:
            raise UsageError(
                f"a budget of {budget_s:.0f} s is too short; give --budget {math.ceil(need)} or more"
            )
        blocks = max(MIN_BLOCKS, min(self.blocks, int(budget_s / phases / MIN_PAIR_S)))
        each = budget_s / phases / blocks
        return msgspec.structs.replace(
            self, blocks=blocks, block_s=each * 0.8, reference_s=min(2.0, each * 0.2)
        )

    def with_idle_time(self, idle_s: float) -> TrimPattern:
        """Another length of the control. Raises UsageError."""
        if not 1 <= idle_s <= 3600:
            raise UsageError(f"--idle {idle_s:g} is not between 1 and 3600 seconds")
        rest_s, most_s = min(self.rest_s, idle_s / 2), min(self.settle_at_most_s, idle_s)
        return msgspec.structs.replace(self, idle_s=idle_s, rest_s=rest_s, settle_at_most_s=most_s)


LOOK_S = 0.5


class DiscardCounters(NamedTuple):
    """The leaves' counters: what was asked to be discarded, and written, since boot; None on old kernels."""

    requests: int | None
    bytes: int | None
    in_flight: int
    written: int


class TrimOutcome(NamedTuple):
    """`claimed`: what `fstrim -v` printed (None where it printed something else); `rest_s`: from its end until the
    counters stood still, None where they did not within the time.
    """

    claimed: int | None
    output: str
    requested: int | None
    requests: int | None
    rest_s: float | None


def read_discard_counters(host: Host, leaves: Sequence[str]) -> DiscardCounters | Absent:
    counters = disk_counters(host)
    if isinstance(counters, Absent):
        return counters
    missing = [name for name in leaves if name not in counters]
    if missing:
        return Absent(f"{', '.join(missing)} is gone", "missing", "/proc/diskstats")
    own = [counters[name] for name in leaves]
    counted = [c for c in own if c.discards is not None and c.discard_bytes is not None]
    all_count = len(counted) == len(own)
    return DiscardCounters(
        sum(c.discards or 0 for c in counted) if all_count else None,
        sum(c.discard_bytes or 0 for c in counted) if all_count else None,
        sum(c.in_flight for c in own),
        sum(c.write_bytes for c in own),
    )


def claimed_bytes(output: str) -> int | None:
    """`/mnt: 3.9 GiB (4186771456 bytes) trimmed`; the number is there since util-linux 2.24, in other words before."""
    bytes_match = re.search(r"\(([0-9]{1,20}) bytes\)[^()]*$", output) or re.search(
        r":\s*([0-9]{1,20}) B\b", output
    )
    bytes_match = bytes_match or re.search(r"\b([0-9]{1,20}) bytes (?:were|was) trimmed", output)
    return int(bytes_match[1]) if bytes_match else None


async def trim_and_wait(
    run: Run, action: Action, leaves: Sequence[str], pattern: TrimPattern, pad_to_s: float = 0.0
) -> TrimOutcome:
    """Trims and waits until the disk rests, at most `settle_at_most_s`. Raises RunRefused (from `apply_change`).

    `pad_to_s`: the least that the step takes, as its caller pads it; the time left that is shown counts it.
    """
    padded_until = run.clock.now() + pad_to_s
    before = read_discard_counters(run.host, leaves)
    async with run.apply_change(action) as applied:
        ended = run.clock.now()
        rest_s = await _await_rest(run, leaves, pattern, ended, padded_until)
    after = read_discard_counters(run.host, leaves)
    requested = requests = None
    if isinstance(before, DiscardCounters) and isinstance(after, DiscardCounters):
        if before.bytes is not None and after.bytes is not None:
            requested = after.bytes - before.bytes
        if before.requests is not None and after.requests is not None:
            requests = after.requests - before.requests
    return TrimOutcome(claimed_bytes(applied.value), applied.value, requested, requests, rest_s)


async def _await_rest(
    run: Run, leaves: Sequence[str], pattern: TrimPattern, ended: float, padded_until: float
) -> float | None:
    """Waits until for `rest_s` nothing is in flight and no discard comes, at most `settle_at_most_s`.

    Returns since when no discard came, seconds after fstrim's end; None where discards came to the last.

    Others' requests are in flight too: on a busy disk the whole time passes, and only the counters tell.
    """
    quiet_since = counted_since = ended
    last: int | None = None
    while True:
        now = read_discard_counters(run.host, leaves)
        if isinstance(now, Absent):
            return None
        at = run.clock.now()
        if last is not None and now.bytes != last:
            quiet_since = counted_since = at
        if now.in_flight:
            quiet_since = at
        last = now.bytes
        if at - quiet_since >= pattern.rest_s:
            return max(0.0, counted_since - ended)
        if at - ended >= pattern.settle_at_most_s:
            return max(0.0, counted_since - ended) if at - counted_since >= pattern.rest_s else None
        left_s = max(0.0, pattern.rest_s - (at - quiet_since), padded_until - at)
        run.emit_progress("trim", "waiting until the disk is idle", left_s)
        await run.clock.sleep(min(LOOK_S, pattern.rest_s))


# Blocks are seldom as fast as the warm-up, and some are faster.
AMPLE = 1.25


class ChosenBlockSize(NamedTuple):
    """`text` says what was changed and why; empty where nothing was."""

    pattern: TrimPattern
    bytes: int
    text: str = ""


def block_size_after_warm_up(
    layout: TrimSetup, budget: WriteBudget, pattern: TrimPattern, phases: int, bytes_per_s: float
) -> ChosenBlockSize:
    """One size for all phases. `bytes_per_s`: what the warm-up wrote."""
    need = int(bytes_per_s * min(MIN_BLOCK_S, pattern.block_s) * AMPLE)

    def block_bytes_for(blocks: int) -> int:
        with_again = blocks + max_repeated_blocks(blocks)
        by_wear = budget.left_bytes / budget.write_amplification(CHURN_ID) / (phases * with_again)
        return max(1, int(min(by_wear, layout.block_bytes_by_space(with_again), MAX_BLOCK_BYTES)))

    usual = min(layout.block_bytes, block_bytes_for(pattern.blocks))
    if usual >= need:
        return ChosenBlockSize(pattern, usual)
    counts = range(pattern.blocks, MIN_BLOCKS - 1, -1)
    blocks = next((n for n in counts if block_bytes_for(n) >= need), min(MIN_BLOCKS, pattern.blocks))
    size = min(need, block_bytes_for(blocks))
    text = (
        f"at the {units.format_rate(bytes_per_s)} of the warm-up a window of {units.format_size(usual)} would last "
        f"{usual / bytes_per_s:.2f} s: so each phase has {blocks} windows of at most {units.format_size(size)}, "
        f"about {min(pattern.block_s, size / bytes_per_s):.2g} s each"
    )
    return ChosenBlockSize(msgspec.structs.replace(pattern, blocks=blocks), size, text)


def max_repeated_blocks(blocks: int) -> int:
    """Disturbed blocks of a phase that are measured again; their bytes are set aside."""
    return max(2, blocks // 3)
