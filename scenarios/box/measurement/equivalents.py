"""The same corner by another program: what a site would run to check it."""

from __future__ import annotations

from typing import Protocol

from scenarios.box.measurement.corner import EASY_BYTES, HARD_BYTES, HARD_FILE_BYTES, BoxTest


class BoxSizes(Protocol):
    """`most_names`: of all workers, on a side."""

    @property
    def directory_path(self) -> str: ...
    @property
    def worker_count(self) -> int: ...
    @property
    def side_bytes(self) -> int: ...
    @property
    def most_names(self) -> int: ...


def equivalent_command(corner: BoxTest, sizes: BoxSizes) -> str:
    """The command line of ior or mdtest (under mpirun with as many processes), GNU find's for find."""
    directory, workers = f"{sizes.directory_path}/box", sizes.worker_count
    names = max(1, sizes.most_names // workers)
    if corner.what == "find":
        return f"find {directory} -newer {directory}/timestamp -size {HARD_FILE_BYTES}c -name '*01*'"
    if corner.moves_bytes:
        way = "-w -e" if corner.what == "write" else "-r"
        if corner.side == "easy":
            size = f"-F -t {EASY_BYTES} -b {sizes.side_bytes // workers // EASY_BYTES * EASY_BYTES}"
        else:
            size = f"-t {HARD_BYTES} -b {HARD_BYTES} -s {sizes.side_bytes // workers // HARD_BYTES}"
        return f"mpirun -n {workers} ior -C -Q 1 -g -k {way} {size} -o {directory}/ior-{corner.side}"
    phase = {"create": "-C", "stat": "-T", "open": "-E", "delete": "-r"}[corner.what]
    size = "-u -L" if corner.side == "easy" else f"-t -w {HARD_FILE_BYTES} -e {HARD_FILE_BYTES}"
    return f"mpirun -n {workers} mdtest {phase} -F {size} -n {names} -d {directory}/mdtest-{corner.side}"
