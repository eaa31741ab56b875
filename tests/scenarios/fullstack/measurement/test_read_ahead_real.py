"""A slice leaves no read to the side that follows it, by the disk's own counters."""

import asyncio
import os
import tempfile
from pathlib import Path

import pytest

from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.files.private_directory import PrivateDirectory, inode_of
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.diskstats import disk_bytes
from hostdx.probes.system.disk.topology import DirectoryPlacement, find_placement
from hostdx.scenarios.fullstack.measurement.bench import StreamBench
from hostdx.scenarios.fullstack.measurement.messages import Job, OpenStreams, SliceJob
from tests.needs import ROOT, needs
from tests.real.trim_disk import TrimDisk

pytestmark = [pytest.mark.real, needs(ROOT)]


async def read_ratios(directory: Path) -> dict[Job, float]:
    """Bytes that the disk read over those that were sent, in slices of 20 ms."""
    fd = os.open(directory, os.O_RDONLY)
    private = PrivateDirectory.open(str(directory), inode_of(fd))
    place = find_placement(Host(), str(directory))
    assert isinstance(place, DirectoryPlacement)
    bench = StreamBench(Host(), private, place.leaves, 128 << 20, 2, WriteBudget(), ["out"])
    by_job: dict[Job, float] = {}
    try:
        await bench.prepare_files(None)
        await bench.open("hostdx-test-streams", OpenStreams(where="loopback"))
        jobs: tuple[Job, ...] = ("copy", "sendfile", "direct")
        for job in jobs:
            before = disk_bytes(Host(), place.leaves, "read")
            train = await bench.measure_batch([SliceJob(job=job)], [0] * 8, 0.02)
            after = disk_bytes(Host(), place.leaves, "read")
            assert before is not None and after is not None
            by_job[job] = (after - before) / train.sides[0].bytes
    finally:
        await bench.close()
        private.close()
        os.close(fd)
    return by_job


def test_what_is_read_ahead_is_sent() -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder, TrimDisk(Path(folder), "ext4", 1) as disk:
        ratios = asyncio.run(read_ratios(disk.mountpoint))
    assert all(0.99 < ratio < 1.1 for ratio in ratios.values()), ratios
