"""The places of a bench: directories with a file to be read and one to be written to, links where names are made."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from hostdx.probes.engine.disk.storage import StorageBench
from hostdx.probes.engine.disk.trains import StorageBatches
from hostdx.probes.engine.pool import SharedWorkers
from hostdx.probes.engine.workloads import engine_load
from hostdx.probes.reading.host import Host
from tests.fakes.held import open_private

SIZE = 16 << 20


async def test_every_place_has_files_of_its_own_and_gets_its_turn(tmp_path: Path) -> None:
    bench = StorageBench(Host(), str(tmp_path), open_private(tmp_path), 4 * SIZE, 1, [])
    try:
        await bench.prepare_files(workloads=["fsync-4k-qd1", "randread-4k-qd1"])
        write, read = engine_load("fsync-4k-qd1"), engine_load("randread-4k-qd1")
        by_kind = {kind: bench._files.files_of_kind(kind) for kind in ("read", "write")}
        assert {kind: [file.bytes for file in files] for kind, files in by_kind.items()} == {
            "read": [4 << 20] * 16,
            "write": [1 << 20] * 16,
        }
        laid = [[folder_of(file.fd) for file in files] for files in by_kind.values()]
        assert laid[0] == laid[1] and {path.parent for path in laid[0]} == {tmp_path}
        assert {path.name for path in laid[0]} == {str(number) for number in range(16)}
        fds = [file.fd for file in by_kind["write"]]
        assert sorted(bench._worker_spec(write, 0, range(16), [0.1], 1, None, 1.0)["fds"]) == sorted(
            fds
        )  # a block: all of them
        assert (
            sorted(bench._files.take_written_descriptors()) == sorted(fds)
            and bench._files.take_written_descriptors() == []
        )
        assert bench.side_spec(read, 0, [7])["fds"] == [by_kind["read"][7].fd]
        trains = StorageBatches({"A": bench, "B": bench}, write)
        assert trains.places == 16
        train = await trains.measure_batch([0, 1, 1, 0, 1, 0, 0, 1], 0.02, places=[3] * 4 + [11] * 4)
        assert train.order == [0, 1, 1, 0, 1, 0, 0, 1]
        assert sum(train.operations) == sum(side.operations for side in train.sides) > 0
        assert [sum(n for _, n in side.histogram) for side in train.sides] == [
            side.operations for side in train.sides
        ]
        assert sorted(bench._files.take_written_descriptors()) == sorted([fds[3], fds[11]])
    finally:
        await bench.close()


def folder_of(fd: int) -> Path:
    return Path(f"/proc/self/fd/{fd}").readlink().parent


@pytest.mark.parametrize("works", [True, False])
async def test_all_sides_make_links_or_none_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, works: bool
) -> None:
    """A side on a file system without links cannot: then files are made on all of them."""
    original, refused = os.link, "B" if not works else ""

    def link_or_refuse(*names: Any, src_dir_fd: int, dst_dir_fd: int) -> None:
        if refused and Path(f"/proc/self/fd/{src_dir_fd}").readlink().parent.name == refused:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))
        original(*names, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(os, "link", link_or_refuse)
    crew, benches = SharedWorkers(), []
    for name in "AB":
        (tmp_path / name).mkdir()
        place = open_private(tmp_path / name)
        benches.append(StorageBench(Host(), str(tmp_path / name), place, SIZE, 1, [], crew=crew, links=True))
    try:
        await StorageBench.prepare_all(benches, workloads=["metadata"])
        assert [bench.side_spec(engine_load("metadata"), 0, [3])["links"] for bench in benches] == [works] * 2
        trains = StorageBatches(dict(zip("AB", benches, strict=True)), "metadata")
        assert (await trains.measure_batch([0, 1, 1, 0], 0.01)).order == [0, 1, 1, 0]
        assert (await benches[0].measure_block("metadata", 0.02, min_operations=1)).operations > 0
    finally:
        for bench in benches:
            await bench.close()
