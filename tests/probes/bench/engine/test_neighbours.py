"""Which of several new files becomes a side's: the one that lies nearest to the first side's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from probes.bench.engine import neighbours
from probes.bench.engine.neighbours import NEAR_BYTES, TRIES, Neighbours
from probes.bench.measured import BenchRefused
from probes.host import Host
from probes.system.disk.mounts import mount_of
from probes.types import present
from tests.fakes.held import held

FAR = 3 << 30


def tells(path: Path) -> bool:
    found = mount_of(Host(), str(path))
    return present(found) and found.fstype in ("ext4", "xfs", "btrfs")


class Opened(NamedTuple):
    fd: int


class Disk:
    """Files that lie where it is told, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.places: Iterator[int | None] = iter(())
        self.at: dict[int, int | None] = {}
        self.made: list[int] = []

    def make(self) -> Opened:
        try:
            at = next(self.places)
        except StopIteration:
            raise BenchRefused("full") from None
        fd = os.open(self.folder, os.O_RDWR | os.O_TMPFILE)
        self.at[fd] = at
        self.made.append(fd)
        return Opened(fd)

    def open_fds(self) -> list[int]:
        return [fd for fd in self.made if Path(f"/proc/self/fd/{fd}").is_symlink()]


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    made = Disk(tmp_path)
    monkeypatch.setattr(neighbours, "begins_at", lambda fd: made.at[fd])
    yield made
    for fd in set(made.open_fds()):
        os.close(fd)


def test_the_first_near_one_is_taken_and_the_others_are_closed(disk: Disk) -> None:
    disk.places = iter([10, FAR, FAR + 5, 10 + NEAR_BYTES, 10])
    beside = Neighbours()
    first = beside.nearest(0, disk.make)
    second = beside.nearest(0, disk.make)
    assert disk.at[second.fd] == 10 + NEAR_BYTES
    assert len(disk.made) == 4
    assert set(disk.open_fds()) == {first.fd, second.fd}


def test_where_all_are_far_the_nearest_of_a_few_is_taken(disk: Disk) -> None:
    disk.places = iter([0, *(FAR + abs(n - 3) for n in range(TRIES)), 0])
    beside = Neighbours()
    first = beside.nearest(0, disk.make)
    second = beside.nearest(0, disk.make)
    assert disk.at[second.fd] == FAR
    assert set(disk.open_fds()) == {first.fd, second.fd}


def test_where_trying_does_not_help_it_is_tried_less_until_it_does(disk: Disk) -> None:
    beside = Neighbours()
    made = []
    for number, second in enumerate([[FAR] * TRIES, [FAR] * TRIES, [FAR] * TRIES, [0], [FAR] * TRIES]):
        disk.places = iter([0, *second])
        before = len(disk.made)
        beside.nearest(number, disk.make)
        beside.nearest(number, disk.make)
        made.append(len(disk.made) - before - 1)
    assert made == [TRIES, TRIES // 2, 1, 1, TRIES]


def test_each_of_many_sides_lies_beside_one_that_is_there(disk: Disk) -> None:
    disk.places = iter(range(0, 9 * NEAR_BYTES // 4, NEAR_BYTES // 4))
    beside = Neighbours()
    for _ in range(9):
        beside.nearest(0, disk.make)
    assert len(disk.made) == 9


def test_each_number_has_a_place_of_its_own(disk: Disk) -> None:
    disk.places = iter([0, FAR])
    beside = Neighbours()
    beside.nearest(0, disk.make)
    assert disk.at[beside.nearest(1, disk.make).fd] == FAR


def test_a_file_system_that_does_not_tell_gets_one_file(disk: Disk) -> None:
    disk.places = iter([None, None])
    beside = Neighbours()
    for _ in range(2):
        beside.nearest(0, disk.make)
    assert len(disk.open_fds()) == 2


def test_the_first_file_must_be_had_and_a_further_one_need_not(disk: Disk) -> None:
    disk.places = iter([0, FAR])
    beside = Neighbours()
    first, second = (beside.nearest(0, disk.make) for _ in range(2))
    assert disk.at[second.fd] == FAR
    assert set(disk.open_fds()) == {first.fd, second.fd}
    with pytest.raises(BenchRefused):
        beside.nearest(0, disk.make)


def test_a_directory_is_made_until_one_is_near(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original, numbers = os.stat, iter([100, FAR, 2 * FAR, 101])

    class Numbered(NamedTuple):
        st_ino: int

    monkeypatch.setattr(os, "stat", lambda *_, **__: Numbered(next(numbers)))
    beside, rooms = Neighbours(), []
    for name in "AB":
        (tmp_path / name).mkdir(mode=0o700)
        rooms.append(beside.room(held(tmp_path / name)))
    monkeypatch.setattr(os, "stat", original)
    assert [sorted(p.name for p in (tmp_path / name).iterdir()) for name in "AB"] == [["0"], ["2"]]
    assert [room.name for room in rooms] == ["0", "2"]
    for room in rooms:
        room.remove()
    assert [list((tmp_path / name).iterdir()) for name in "AB"] == [[], []]


def test_where_a_file_begins_is_unknown_without_a_block(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDWR | os.O_TMPFILE)
    try:
        assert neighbours.begins_at(fd) is None
    finally:
        os.close(fd)


def test_where_a_written_file_begins_is_known_on_a_disk(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(1 << 20))
    with path.open() as file:
        os.fsync(file.fileno())
        at = neighbours.begins_at(file.fileno())
    if at is None and not tells(tmp_path):
        pytest.skip("this file system does not say where its files lie")
    assert at is not None and at > 0
