"""The clock of a real run."""

from __future__ import annotations

import asyncio
import time


class Monotonic:
    """Implements `scenarios.model.Clock`: seconds since an arbitrary moment, never going back."""

    def now(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
