"""How long everything takes in scenario `fstrim`."""

from __future__ import annotations

import math

import msgspec

from scenarios.experiment.before_after import LEAST_BLOCKS
from scenarios.model import Usage

LEAST_BLOCK_S = 0.5  # a block alone; a shorter one shows the drive's cache, not the drive
LEAST_PAIR_S = 0.5  # a block with its reference beside it


class Pattern(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds; `blocks` are those of a phase."""

    blocks: int = 12
    block_s: float = 1.5
    reference_s: float = 0.5
    idle_s: float = 60.0  # the control; the trim with its settling is given the same time
    rest_s: float = 5.0  # so long the discard counters must stand still
    settle_at_most_s: float = 60.0

    def for_budget(self, budget_s: float, phases: int) -> Pattern:
        """`budget_s` of measuring: fewer blocks before shorter ones. Raises Usage where it is too short for any."""
        need = phases * LEAST_BLOCKS * LEAST_PAIR_S
        if budget_s < need:
            raise Usage(f"a budget of {budget_s:.0f} s is too short; give --budget {math.ceil(need)} or more")
        blocks = max(LEAST_BLOCKS, min(self.blocks, int(budget_s / phases / LEAST_PAIR_S)))
        each = budget_s / phases / blocks
        return msgspec.structs.replace(
            self, blocks=blocks, block_s=each * 0.8, reference_s=min(2.0, each * 0.2)
        )

    def for_idle(self, idle_s: float) -> Pattern:
        """Another length of the control. Raises Usage."""
        if not 1 <= idle_s <= 3600:
            raise Usage(f"--idle {idle_s:g} is not between 1 and 3600 seconds")
        rest_s, most_s = min(self.rest_s, idle_s / 2), min(self.settle_at_most_s, idle_s)
        return msgspec.structs.replace(self, idle_s=idle_s, rest_s=rest_s, settle_at_most_s=most_s)
