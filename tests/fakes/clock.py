"""A clock whose seconds pass only when somebody sleeps on it."""

import asyncio


class FakeClock:
    """Implements `hostdx.scenarios.contract.model.Clock`. Sleeping advances the time at once, and other tasks run."""

    def __init__(self, start_s: float = 0.0) -> None:
        self.seconds = start_s

    def now(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += max(0.0, seconds)
        await asyncio.sleep(0)

    def advance(self, seconds: float) -> None:
        self.seconds += seconds
