"""Reads of what stayed in memory are refused: they would measure memory."""

import asyncio

import pytest

from hostdx.scenarios.box.measurement.bench import RESIDENT, BoxBench, ReadsServedByCache
from hostdx.scenarios.box.measurement.corner import CORNERS
from tests.every_case import every_case


class _Pool:
    def __init__(self, share: float) -> None:
        self._share = share

    async def drop_caches(self, _order: str, _specs: object) -> float:
        return self._share


@every_case(("share", "is_refused"), [(0.0, False), (RESIDENT, False), (0.02, True), (0.9, True)])
def test_what_is_in_memory_is_no_reading_of_the_disk(share: float, is_refused: bool) -> None:
    bench = BoxBench.__new__(BoxBench)
    bench._pool = _Pool(share)  # type: ignore[assignment]
    reads = next(corner for corner in CORNERS if corner.operation == "read")
    drop = bench._drop_cached_reads(reads, [{"fds": [3]}])  # type: ignore[typeddict-item]
    if is_refused:
        with pytest.raises(ReadsServedByCache):
            asyncio.run(drop)
    else:
        asyncio.run(drop)
