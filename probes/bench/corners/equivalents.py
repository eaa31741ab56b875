"""The same corner by another program: what a site would run to check it."""

from __future__ import annotations

from typing import Protocol

from probes.bench.corners.corner import EASY_BYTES, HARD_BYTES, HARD_FILE_BYTES, Corner


class Sizes(Protocol):
    """`most_names`: of all workers, on a side."""

    @property
    def directory(self) -> str: ...
    @property
    def workers(self) -> int: ...
    @property
    def side_bytes(self) -> int: ...
    @property
    def most_names(self) -> int: ...


def equivalent(corner: Corner, sizes: Sizes) -> str:
    """The command line of ior or mdtest (under mpirun with as many processes), GNU find's for find."""
    where, workers = f"{sizes.directory}/box", sizes.workers
    names = max(1, sizes.most_names // workers)
    if corner.what == "find":
        return f"find {where} -newer {where}/timestamp -size {HARD_FILE_BYTES}c -name '*01*'"
    if corner.moves:
        way = "-w -e" if corner.what == "write" else "-r"
        if corner.side == "easy":
            size = f"-F -t {EASY_BYTES} -b {sizes.side_bytes // workers // EASY_BYTES * EASY_BYTES}"
        else:
            size = f"-t {HARD_BYTES} -b {HARD_BYTES} -s {sizes.side_bytes // workers // HARD_BYTES}"
        return f"mpirun -n {workers} ior -C -Q 1 -g -k {way} {size} -o {where}/ior-{corner.side}"
    phase = {"create": "-C", "stat": "-T", "open": "-E", "delete": "-r"}[corner.what]
    size = "-u -L" if corner.side == "easy" else f"-t -w {HARD_FILE_BYTES} -e {HARD_FILE_BYTES}"
    return f"mpirun -n {workers} mdtest {phase} -F {size} -n {names} -d {where}/mdtest-{corner.side}"
