"""One worker's block, run in this process on a small file."""

import errno
import itertools
import os
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hostdx.probes.engine import loops, operations
from hostdx.probes.engine.loads import metadata
from hostdx.probes.engine.operations import POOL_BYTES, WorkerState, run_block
from hostdx.probes.engine.worker import fill_file
from tests.every_case import every_case

PAGE = 4096
PAGES = 64


@pytest.fixture
def fd(tmp_path: Path) -> Iterator[int]:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(PAGE * PAGES))
    descriptor = os.open(path, os.O_RDWR)
    yield descriptor
    os.close(descriptor)


def make_spec(fd: int, kind: str = "read", **more: Any) -> dict[str, Any]:
    return {
        "kind": kind,
        "seed": 1,
        "fds": [fd],
        "first": 0,
        "start": 0,
        "length": PAGE * PAGES,
        "block_bytes": PAGE,
        "sequential": False,
        "sync": False,
        "direct": True,
        "stretch": 0.0,
        "slices": [0.02],
        "least": 0,
        "most": None,
        "at_most_s": 5.0,
    } | more


def names_spec(fd: int, **more: Any) -> dict[str, Any]:
    return make_spec(fd, "metadata", folder="3", stem=7, names=8, links=False) | {"fd": fd} | more


def now_ns() -> int:
    return time.perf_counter_ns()


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock is 10 µs after the one before: on a loaded machine a whole block can pass unserved."""
    looks = itertools.count(1)
    monkeypatch.setattr(time, "perf_counter_ns", lambda: 10_000 * next(looks))


@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize(("kind", "sync"), [("read", False), ("write", False), ("write", True)])
def test_each_kind_does_operations_and_counts_them(fd: int, kind: str, sync: bool, direct: bool) -> None:
    block = run_block(make_spec(fd, kind, sync=sync, direct=direct), WorkerState(), now_ns)
    (record,) = block["slices"]
    assert record["n"] == block["n"] > 0
    assert sum(count for _, count in record["h"]) == record["n"]
    assert 0 < record["ns"] <= block["ns"]
    assert record["cpu"] >= 0


def test_a_short_block_goes_on_until_its_least_operations(fd: int) -> None:
    block = run_block(make_spec(fd, slices=[0.0], least=5000, at_most_s=60.0), WorkerState(), now_ns)
    assert block["n"] == 5000
    assert len(block["slices"]) == 2


def test_a_file_that_ends_too_early_is_an_error(fd: int) -> None:
    os.ftruncate(fd, PAGE)
    with pytest.raises(loops.ShortTransfer):
        run_block(make_spec(fd, sequential=True, most=5, slices=[60.0]), WorkerState(), now_ns)


def test_a_write_that_stops_in_the_middle_says_what_stopped_it(
    fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As at a quota: the first write ends early, the rest of it has the error's number."""
    limit, write = 3 * PAGE // 2, os.pwritev

    def write_up_to_limit(file: int, buffers: list[memoryview], offset: int) -> int:
        data = b"".join(buffers)[: max(0, limit - offset)]
        if not data:
            raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))
        return write(file, [memoryview(data)], offset)

    monkeypatch.setattr(os, "pwritev", write_up_to_limit)
    with pytest.raises(OSError, match=os.strerror(errno.EDQUOT)) as raised:
        run_block(make_spec(fd, kind="write", sequential=True, most=5, slices=[60.0]), WorkerState(), now_ns)
    assert raised.value.errno == errno.EDQUOT


@pytest.mark.parametrize("sync", [False, True])
def test_a_write_that_is_taken_in_parts_is_one_whole_write(
    fd: int, sync: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As btrfs does near a quota: a part now, the rest when it is asked for."""
    written: list[tuple[int, int]] = []

    def write_half_page_at_most(file: int, buffers: list[memoryview], offset: int) -> int:
        count = os.pwrite(file, b"".join(buffers)[: PAGE // 2], offset)
        written.append((offset, count))
        return count

    monkeypatch.setattr(os, "pwritev", write_half_page_at_most)
    block = run_block(
        make_spec(fd, kind="write", sync=sync, sequential=True, most=3, slices=[60.0]), WorkerState(), now_ns
    )
    assert block["n"] == 3
    assert written == [(half * PAGE // 2, PAGE // 2) for half in range(6)]


def test_sequential_blocks_go_on_where_the_last_one_stopped(fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    offsets: list[int] = []
    real = os.preadv

    def note_and_read(fd: int, buffers: Any, offset: int) -> int:
        offsets.append(offset // PAGE)
        return real(fd, buffers, offset)

    monkeypatch.setattr(os, "preadv", note_and_read)
    source = WorkerState()
    for _ in range(3):
        run_block(make_spec(fd, sequential=True, most=30, slices=[60.0]), source, now_ns)
    assert offsets == [n % PAGES for n in range(90)]


def test_what_is_written_neither_compresses_nor_repeats() -> None:
    source = WorkerState()
    data = b"".join(bytes(source.random_pool()) for _ in range(2))
    assert len(zlib.compress(data[: 1 << 20], 1)) > 0.99 * (1 << 20)
    assert len({data[at : at + PAGE] for at in range(0, 2 * POOL_BYTES, PAGE)}) == 2 * POOL_BYTES // PAGE


def test_filling_writes_every_byte_and_tells_how_far_it_is(tmp_path: Path) -> None:
    size = POOL_BYTES + 3 * PAGE
    fd = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    progress: list[int] = []
    try:
        fill_file(fd, size, WorkerState(), progress.append)
        data = os.pread(fd, 2 * size, 0)
    finally:
        os.close(fd)
    assert progress == [POOL_BYTES, size]
    assert len(data) == size
    assert len({data[at : at + PAGE] for at in range(0, size, PAGE)}) == size // PAGE


def test_metadata_creates_stats_deletes_and_leaves_nothing(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        (tmp_path / "3").mkdir()
        names = metadata.NameCycle(fd, "3", "one", 4)
        counts = []
        for number in range(2 * names.cycle_length):
            names.do_operation(number)
            counts.append(len(list((tmp_path / "3").iterdir())))
        assert counts == [1, 2, 3, 4, 4, 4, 4, 4, 3, 2, 1, 0] * 2
        block = run_block(names_spec(fd, most=30, slices=[60.0]), WorkerState(), now_ns)
        assert block["n"] == 30
        assert list(tmp_path.rglob("*")) == [tmp_path / "3"]
    finally:
        os.close(fd)


def test_where_names_are_links_no_inode_is_freed_and_the_file_stays(tmp_path: Path) -> None:
    """ext4 without a journal passes over freed inodes: what was deleted makes the next creations slower."""
    place = tmp_path / "3"
    place.mkdir()
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    fd_place = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        assert metadata.supports_links(fd_place)
        assert [path.name for path in place.iterdir()] == [metadata.LINKED]
        inode = (place / metadata.LINKED).stat().st_ino
        names = metadata.NameCycle(fd, "3", "one", 4, links=True)
        links = []
        for number in range(2 * names.cycle_length):
            names.do_operation(number)
            links.append((place / metadata.LINKED).stat().st_nlink)
            assert {path.stat().st_ino for path in place.iterdir()} == {inode}
        assert links == [2, 3, 4, 5, 5, 5, 5, 5, 4, 3, 2, 1] * 2
        names.do_operation(0)
        names.clear()
        assert (place / metadata.LINKED).stat().st_nlink == 1
        assert run_block(names_spec(fd, links=True, most=30, slices=[60.0]), WorkerState(), now_ns)["n"] == 30
        assert [path.name for path in place.iterdir()] == [metadata.LINKED]
    finally:
        os.close(fd_place)
        os.close(fd)


@every_case("number", [errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK])
def test_a_file_system_without_links_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse_link(*_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", refuse_link)
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        assert not metadata.supports_links(fd)
    finally:
        os.close(fd)


@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize("sync", [False, True])
def test_blocks_at_random_go_round_all_files(tmp_path: Path, sync: bool) -> None:
    fds = [os.open(tmp_path / str(number), os.O_RDWR | os.O_CREAT) for number in range(3)]
    try:
        for fd in fds:
            os.ftruncate(fd, PAGE * PAGES)
        count = 2 * 3 * operations.ROTATED
        files = make_spec(-1, "write", fds=fds, sync=sync, direct=False, most=count, slices=[60.0])
        assert run_block(files, WorkerState(), now_ns)["n"] == count
        written = [sum(any(page) for page in pages_of(fd)) for fd in fds]
    finally:
        for fd in fds:
            os.close(fd)
    assert all(operations.ROTATED < n <= 2 * operations.ROTATED for n in written)


def test_a_stream_goes_through_the_files_of_its_own_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fds = [os.open(tmp_path / str(number), os.O_RDWR | os.O_CREAT) for number in range(3)]
    reads: list[tuple[int, int]] = []
    real = os.preadv

    def note_and_read(fd: int, buffers: Any, offset: int) -> int:
        reads.append((fds.index(fd), offset // PAGE))
        return real(fd, buffers, offset)

    monkeypatch.setattr(os, "preadv", note_and_read)
    try:
        for fd in fds:
            os.ftruncate(fd, PAGE * 4)
        stream = make_spec(-1, fds=fds, sequential=True, length=PAGE * 4, most=24, slices=[60.0])
        run_block(stream, WorkerState(), now_ns)
    finally:
        for fd in fds:
            os.close(fd)
    assert reads == [(number, block) for number in range(3) for block in range(4)] * 2


def pages_of(fd: int) -> Iterator[bytes]:
    return (os.pread(fd, PAGE, at) for at in range(0, PAGE * PAGES, PAGE))


def test_a_planted_latency_makes_each_operation_longer() -> None:
    done: list[tuple[int, int]] = []

    def note_times(_offset: int) -> None:
        began = time.perf_counter_ns()
        loops.wait_until(began + 200_000)
        done.append((began, time.perf_counter_ns()))

    latencies: list[int] = []
    last = loops.run_operation(note_times, iter(range(20)), 1 << 62, latencies.append, 0.5)
    assert last >= done[-1][1]
    for (began, ended), latency in zip(done, latencies, strict=True):
        assert latency >= 1.5 * (ended - began)


def test_after_all_rests_of_a_page_the_rotations_begin_anew() -> None:
    rests = set()
    at = 0
    for _ in range(PAGE):
        at = (at + operations.ODD_BYTES) % PAGE
        rests.add(at)
    assert len(rests) == PAGE
