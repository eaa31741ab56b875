"""Whole runs of box with a planted slow corner beside their own past: `KIND DIR [N [FS [RATE [BUDGET [PAST]]]]]`, root.

Each planted run is held against the same PAST ones, five or none. KIND iops: a control group (version 1) lets the run
read RATE times a second from the loop device with the file system FS, however large the reads: the small ones suffer
most, those of mdtest hard (ior hard is read ahead). KIND names: RATE entries in the directory, which the run does not
make. KIND fuse: a FUSE over FS whose requests for the shared file are RATE ms late. Named in so many: the first corner
that is named is a planted one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.app.launcher import argv, environment
from tests.measured.corners.shared_fuse import Shared
from tests.measured.where.slow_fuse import served
from tests.real.trim_disk import TrimDisk

GROUP = Path("/sys/fs/cgroup/blkio/hostdx-box-benchmark")
GIB = (3, 20)  # ext4 has an inode for every 16 KiB
NAMING = ("box.far", "box.odd", "box.find", "box.crowded", "box.below")
HARD_READS = ("ior-hard-read", "mdtest-hard-read")
SHARED = ("ior-hard-read", "ior-hard-write")


class Case(NamedTuple):
    kind: str
    file_system: str = "ext4"
    rate: int = 200
    budget_s: int = 40
    past: int = 5

    def right(self, named: list[str]) -> bool:
        if self.kind == "names":
            return "box.crowded" in named
        return bool(named) and named[0].endswith(SHARED if self.kind == "fuse" else HARD_READS)


def run(
    place: Path, directory: str, case: Case, group: Path | None, *, planted: bool
) -> tuple[list[str], dict[str, str]]:
    """The ids of what was named, the worst first, and each corner's level. A planted run is nobody's past."""

    def join() -> None:
        if group is not None:
            (group / "cgroup.procs").write_text(str(os.getpid()))

    began = time.time()
    words = ("run", "box", "--dir", directory, "--size", "96M", "--yes", "--json", "--quiet")
    process = subprocess.Popen(
        argv(*words, "--budget", str(case.budget_s)), env=environment(place), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, preexec_fn=join,
    )  # fmt: skip
    out, _ = process.communicate()
    told = json.loads(out)
    levels = {one["corner"]: f"{one['median']:.3g}" for one in told["corners"]["levels"] if one.get("median")}
    for recording in (place / "state/hostdx/recordings").glob("*box*") if planted else ():
        if recording.stat().st_mtime > began:
            recording.unlink()
    found = [one["id"] for one in told["findings"] if one["severity"] != "ok"]
    return [one for one in found if one.startswith(NAMING)], levels


def runs(case: Case, count: int, directory: Path) -> None:
    named = called = 0
    with (
        tempfile.TemporaryDirectory(dir=directory, prefix="hostdx-planted-") as made,
        TrimDisk(Path(made), case.file_system, GIB[case.kind == "names"]) as disk,
    ):
        group = GROUP if case.kind == "iops" else None
        measured = Path(disk.mountpoint) / "measured"
        measured.mkdir()
        try:
            for number in range(case.past + count):
                if number == case.past and case.kind == "names":
                    began = time.monotonic()
                    _fill(measured, case.rate)
                    print(f"{case.rate} names made in {time.monotonic() - began:.0f} s", flush=True)
                elif number == case.past and group is not None:
                    group.mkdir(exist_ok=True)
                    device = Path(f"/sys/block/{disk.device}/dev").read_text().strip()
                    (group / "blkio.throttle.read_iops_device").write_text(f"{device} {case.rate}")
                planted = number >= case.past
                began = time.monotonic()
                with _seen(measured, case, planted) as seen:
                    found, levels = run(
                        Path(made), str(seen), case, group if planted else None, planted=planted
                    )
                named += planted and case.right(found)
                called += not planted and bool(found)
                took = f"{time.monotonic() - began:.0f} s"
                print(number, "planted" if planted else "past", found, levels, took, flush=True)
        finally:
            if group is not None and group.exists():
                time.sleep(0.5)
                group.rmdir()
    print(
        f"{case}: named in {named} of {count}; something named in {called} of {case.past} without", flush=True
    )


@contextmanager
def _seen(measured: Path, case: Case, planted: bool) -> Iterator[Path]:
    """Where the run is to measure."""
    if case.kind != "fuse":
        yield measured
        return
    late_s = case.rate / 1000 if planted else 0.0
    place = measured.parent.parent / "fuse"
    with served(place, lambda: Shared(str(measured), late_s).serve):
        yield place


def _fill(directory: Path, entries: int) -> None:
    fd = os.open(directory, os.O_RDONLY)
    for number in range(entries):
        os.close(os.open(f"{number:08d}", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)


if __name__ == "__main__":
    kind, where, *more = sys.argv[1:]
    count = int(more[0]) if more else 10
    told = [str(more[1])] if len(more) > 1 else []
    runs(Case(kind, *told, *map(int, more[2:])), count, Path(where))
