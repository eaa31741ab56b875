"""The corners of IO500: easy and hard patterns of ior and mdtest, and find, as blocks of a few tenths of a second.

What each does is IO500's own definition (Kunkel, Bent, Lofstead, Markomanolis, "Establishing the IO-500 benchmark",
2017, and the io500 program's phase_*.c): ior-easy writes a file a process in transfers of 2 MiB, ior-hard 47,008 bytes
a record, all processes in turn in one shared file; mdtest-easy makes empty files in a directory a process, mdtest-hard
files of 3,901 bytes in one shared directory; find looks at all of these for a name, a size and a time.
"""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

import msgspec

EASY_BYTES = 2 << 20
HARD_BYTES = 47_008
HARD_FILE_BYTES = 3_901
FOUND = "01"  # part of the names that find looks for, as IO500's

Side: TypeAlias = Literal["easy", "hard", "all"]
BoxOperation: TypeAlias = Literal["write", "read", "create", "stat", "open", "delete", "find"]


class BoxTest(msgspec.Struct, frozen=True):
    """`load` is what both sides share, `metric_name` "bandwidth" in B/s or "IOPS"; `record_bytes` 0: none is moved."""

    id: str
    load: str
    difficulty: Side
    operation: BoxOperation
    record_bytes: int = 0

    @property
    def metric_name(self) -> str:
        return "bandwidth" if self.moves_bytes else "IOPS"

    @property
    def unit(self) -> str:
        return "B/s" if self.moves_bytes else "IOPS"

    @property
    def moves_bytes(self) -> bool:
        """Return whether bytes are what is measured."""
        return self.operation in ("write", "read")


CORNERS: tuple[BoxTest, ...] = (
    BoxTest("ior-easy-write", "ior-write", "easy", "write", EASY_BYTES),
    BoxTest("ior-hard-write", "ior-write", "hard", "write", HARD_BYTES),
    BoxTest("ior-easy-read", "ior-read", "easy", "read", EASY_BYTES),
    BoxTest("ior-hard-read", "ior-read", "hard", "read", HARD_BYTES),
    BoxTest("mdtest-easy-write", "mdtest-write", "easy", "create"),
    BoxTest("mdtest-hard-write", "mdtest-write", "hard", "create", HARD_FILE_BYTES),
    BoxTest("find", "find", "all", "find"),
    BoxTest("mdtest-easy-stat", "mdtest-stat", "easy", "stat"),
    BoxTest("mdtest-hard-stat", "mdtest-stat", "hard", "stat"),
    BoxTest("mdtest-hard-read", "mdtest-read", "hard", "open", HARD_FILE_BYTES),
    BoxTest("mdtest-easy-delete", "mdtest-delete", "easy", "delete"),
    BoxTest("mdtest-hard-delete", "mdtest-delete", "hard", "delete"),
)
BY_ID = {corner.id: corner for corner in CORNERS}
# in IO500's order: what a later one needs, an earlier one made
LOADS: tuple[str, ...] = tuple(dict.fromkeys(corner.load for corner in CORNERS))


def box_tests_of(load: str) -> tuple[BoxTest, ...]:
    """Easy and hard, or the one that there is."""
    return tuple(corner for corner in CORNERS if corner.load == load)


class BoxSizes(Protocol):
    """`max_files`: of all workers, on a side."""

    @property
    def directory_path(self) -> str: ...
    @property
    def worker_count(self) -> int: ...
    @property
    def side_bytes(self) -> int: ...
    @property
    def max_files(self) -> int: ...


def equivalent_command(corner: BoxTest, sizes: BoxSizes) -> str:
    """The command line of ior or mdtest (under mpirun with as many processes), GNU find's for find."""
    directory, workers = f"{sizes.directory_path}/box", sizes.worker_count
    names = max(1, sizes.max_files // workers)
    if corner.operation == "find":
        return f"find {directory} -newer {directory}/timestamp -size {HARD_FILE_BYTES}c -name '*01*'"
    if corner.moves_bytes:
        way = "-w -e" if corner.operation == "write" else "-r"
        if corner.difficulty == "easy":
            size = f"-F -t {EASY_BYTES} -b {sizes.side_bytes // workers // EASY_BYTES * EASY_BYTES}"
        else:
            size = f"-t {HARD_BYTES} -b {HARD_BYTES} -s {sizes.side_bytes // workers // HARD_BYTES}"
        return f"mpirun -n {workers} ior -C -Q 1 -g -k {way} {size} -o {directory}/ior-{corner.difficulty}"
    phase = {"create": "-C", "stat": "-T", "open": "-E", "delete": "-r"}[corner.operation]
    size = "-u -L" if corner.difficulty == "easy" else f"-t -w {HARD_FILE_BYTES} -e {HARD_FILE_BYTES}"
    return (
        f"mpirun -n {workers} mdtest {phase} -F {size} -n {names} -d {directory}/mdtest-{corner.difficulty}"
    )
