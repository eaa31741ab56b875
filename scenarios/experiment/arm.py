"""An arm of an experiment: one variant of one workload, ready to be measured block by block."""

from __future__ import annotations

from typing import Protocol

from probes.bench.measured import Measured


class Arm(Protocol):
    """`compare` calls `activate` before a block whenever another arm was measured before it."""

    @property
    def variant(self) -> str:
        """The variant's id, as in the plan."""
        ...

    async def activate(self) -> None:
        """Makes the variant active and checks that it is. Raises NotApplicable with the reason."""
        ...

    async def block(self, seconds: float) -> Measured:
        """Measures for about `seconds`. Cancelling it stops the load at once and leaves nothing running."""
        ...

    async def quiesce(self) -> None:
        """Waits (bounded) until what this arm has in flight is done: fdatasync, in-flight zero."""
        ...
