"""How many bytes a block of new files may write, and how many blocks that leaves, once the warm-up has shown the speed.

A block is bounded in bytes, for the wear; what it lasts is the disk's doing. A SATA SSD writes 100 MiB in 0.2 s, which
says more about its cache than about it: so a block is given what it writes in half a second, and where the bound of
the session does not allow that for all of them there are fewer, rather than shorter ones.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from probes import units
from probes.bench.disk.budget import WriteBudget
from scenarios.experiment.before_after import LEAST_BLOCKS
from scenarios.fstrim.layout import MOST_A_BLOCK, Layout
from scenarios.fstrim.measurement.durations import LEAST_BLOCK_S, Pattern
from scenarios.fstrim.measurement.load import CHURN_ID

# Blocks are seldom as fast as the warm-up, and some are faster.
AMPLE = 1.25


class BlockSize(NamedTuple):
    """`text` says what was changed and why; empty where nothing was."""

    pattern: Pattern
    bytes: int
    text: str = ""


def after_warm_up(
    layout: Layout, budget: WriteBudget, pattern: Pattern, phases: int, bytes_per_s: float
) -> BlockSize:
    """One size for all phases. `bytes_per_s`: what the warm-up wrote."""
    need = int(bytes_per_s * min(LEAST_BLOCK_S, pattern.block_s) * AMPLE)

    def each(blocks: int) -> int:
        with_again = blocks + again_at_most(blocks)
        by_wear = budget.left_bytes / budget.amplification(CHURN_ID) / (phases * with_again)
        return max(1, int(min(by_wear, layout.by_space(with_again), MOST_A_BLOCK)))

    usual = min(layout.block_bytes, each(pattern.blocks))
    if usual >= need:
        return BlockSize(pattern, usual)
    counts = range(pattern.blocks, LEAST_BLOCKS - 1, -1)
    blocks = next((n for n in counts if each(n) >= need), min(LEAST_BLOCKS, pattern.blocks))
    size = min(need, each(blocks))
    text = (
        f"at the {units.rate(bytes_per_s)} of the warm-up a block of {units.size(usual)} would last "
        f"{usual / bytes_per_s:.2f} s: measured are {blocks} blocks a phase of at most {units.size(size)}, "
        f"about {min(pattern.block_s, size / bytes_per_s):.2g} s each"
    )
    return BlockSize(msgspec.structs.replace(pattern, blocks=blocks), size, text)


def again_at_most(blocks: int) -> int:
    """Disturbed blocks of a phase that are measured again; their bytes are set aside."""
    return max(2, blocks // 3)
