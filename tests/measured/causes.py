"""Does a checkup's first line name what was planted? Root: loop devices, control groups of version 1 or 2.

    python -m tests.measured.causes [--runs 10] [--budget 90] [--only busy-cpu,frozen] [--dir /var/tmp]

Planted, one after another: programs that keep all CPUs busy, a neighbour that saturates the measured disk, a disk that
is throttled to 300 operations a second, a frozen file system with tasks that wait for it, a CPU quota for hostdx and
all that it starts, a file system that is mounted `sync`. Printed: which line of the ranked answer names it (beside
other work the host's own load comes first), else the first line. All of it lies on loop devices and in control groups
of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

REAL = Path(sys.executable).resolve()
HOG = "while True: pass"
WRITER = 'while :; do dd if=/dev/zero of="$0/dd" bs=1M count=256 oflag=direct conv=notrunc 2>/dev/null; done'
QUOTA_SHARE = 0.3
OPERATIONS = 300  # a second
BESIDE = [
    "sh",
    "-c",
    '"$@"; exit $?',
    "sh",
]  # or hostdx takes what its parent, a Python too, started for its own
GROUPS = Path("/sys/fs/cgroup")


class Cause(NamedTuple):
    """`planted` plants it and gives the arguments of the checkup; `scenarios` of which the first item must be one, and
    a word of which its fields must have one."""

    planted: Callable[[Path], Iterator[tuple[list[str], list[str]]]]
    scenarios: frozenset[str]
    words: Sequence[str]


def sh(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


@contextmanager
def disk(place: Path, name: str, options: str = "defaults") -> Iterator[tuple[Path, str]]:
    """Where it is mounted, and the loop device's name."""
    image, mounted = place / f"{name}.img", place / name
    sh("truncate", "-s", "8G", str(image))
    loop = sh("losetup", "--direct-io=on", "--find", "--show", str(image))
    try:
        sh("mkfs.ext4", "-q", loop)
        mounted.mkdir()
        sh("mount", "-o", options, loop, str(mounted))
        yield mounted, Path(loop).name
    finally:
        for _ in range(50):
            if subprocess.run(["umount", str(mounted)], capture_output=True, check=False).returncode == 0:
                break
            time.sleep(0.1)
        sh("losetup", "--detach", loop)
        image.unlink()


@contextmanager
def program(*argv: str) -> Iterator[None]:
    """In a session of its own, ended with its children."""
    began = subprocess.Popen(
        argv, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        os.killpg(began.pid, signal.SIGKILL)
        began.wait()


def busy_cpu(place: Path) -> Iterator[tuple[list[str], list[str]]]:
    hog = place / "hog"
    hog.symlink_to(REAL)
    with ExitStack() as stack:
        for _ in range(2 * (os.cpu_count() or 1)):
            stack.enter_context(program(str(hog), "-c", HOG))
        time.sleep(5)
        yield [], BESIDE


def neighbour(place: Path) -> Iterator[tuple[list[str], list[str]]]:
    with disk(place, "shared") as (mounted, _):
        for name in ("theirs", "ours"):
            (mounted / name).mkdir()
        with (
            program("sh", "-c", WRITER, str(mounted / "theirs")),
            program("sh", "-c", WRITER.replace("/dd", "/dd2"), str(mounted / "theirs")),
        ):
            time.sleep(5)
            yield [f"--dir={mounted / 'ours'}"], BESIDE
        time.sleep(0.5)


def throttled(place: Path) -> Iterator[tuple[list[str], list[str]]]:
    with disk(place, "plain") as (plain, _), disk(place, "capped") as (capped, name):
        number = Path("/sys/block", name, "dev").read_text().strip()
        files = [GROUPS / f"blkio/blkio.throttle.{way}_iops_device" for way in ("read", "write")]
        for file in files:
            file.write_text(f"{number} {OPERATIONS}")
        try:
            yield [f"--dir={plain}", f"--dir={capped}"], BESIDE
        finally:
            for file in files:
                file.write_text(f"{number} 0")


def frozen(place: Path) -> Iterator[tuple[list[str], list[str]]]:
    with disk(place, "frozen") as (mounted, _):
        sh("fsfreeze", "--freeze", str(mounted))
        stuck = [subprocess.Popen(["touch", str(mounted / name)]) for name in ("one", "two")]
        try:
            time.sleep(2)
            yield [], BESIDE
        finally:
            sh("fsfreeze", "--unfreeze", str(mounted))
            for child in stuck:
                child.wait()


def limited(place: Path) -> Iterator[tuple[list[str], list[str]]]:
    own = GROUPS / "cpu" / place.name if (GROUPS / "cpu").is_dir() else GROUPS / place.name
    own.mkdir()
    try:
        if (own / "cpu.cfs_quota_us").exists():
            (own / "cpu.cfs_period_us").write_text("100000")
            (own / "cpu.cfs_quota_us").write_text(str(int(100_000 * QUOTA_SHARE)))
        else:
            (own / "cpu.max").write_text(f"{int(100_000 * QUOTA_SHARE)} 100000")
        yield [], ["sh", "-c", f'echo $$ > {own}/cgroup.procs && "$@"; exit $?', "sh"]
    finally:
        for _ in range(50):
            try:
                own.rmdir()
                break
            except OSError:
                time.sleep(0.1)


def slow_fs(place: Path) -> Iterator[tuple[list[str], list[str]]]:
    with disk(place, "plain") as (plain, _), disk(place, "slow", "sync,data=journal") as (slow, _):
        yield [f"--dir={plain}", f"--dir={slow}"], BESIDE


CAUSES: Mapping[str, Cause] = {
    "busy-cpu": Cause(busy_cpu, frozenset({"host", "cpuwatch"}), ("hog",)),
    "neighbour": Cause(neighbour, frozenset({"host", "storage"}), ("dd", "sh [", "sh (")),
    "throttled": Cause(throttled, frozenset({"storage"}), ("capped", "limit", "cap of")),
    "frozen": Cause(frozen, frozenset({"dstate"}), ("frozen",)),
    "limited": Cause(limited, frozenset({"host", "numa"}), ("stopped tasks in", f"{QUOTA_SHARE} CPUs")),
    "slow-fs": Cause(slow_fs, frozenset({"storage"}), ("slow",)),
}


def named(name: str, budget: float, folder: Path, keep: Path | None) -> tuple[int, str]:
    """The rank of the item that names it, 0 for none, and what that or the first one says."""
    cause = CAUSES[name]
    with tempfile.TemporaryDirectory(prefix="hostdx-cause-", dir=folder) as own:
        place = Path(own)
        planting = contextmanager(cause.planted)
        with planting(place) as (arguments, before):
            recording = (keep or place) / f"{name}-{os.getpid()}-{time.monotonic_ns()}.jsonl"
            env = os.environ | {"XDG_STATE_HOME": str(place / "state")}
            (place / "state").mkdir(mode=0o700)
            done = subprocess.run(
                [*before, sys.executable, "-P", "-m", "app.cli", "run", "checkup", "--yes", "--json", "--quiet",
                 f"--budget={budget:g}", f"--recording={recording}", *arguments],
                env=env, capture_output=True, text=True, check=False,
            )  # fmt: skip
        if done.returncode != 0:
            return 0, f"exit {done.returncode}: {done.stderr.strip()[-300:]}"
        items = json.loads(done.stdout)["checkup"]
        for one in items:
            print(
                "     ", one.get("rank", "-"), one["state"], one["scenario"], one["words"][:160], flush=True
            )
    for one in sorted((one for one in items if one.get("rank")), key=lambda one: int(one["rank"])):
        if one["scenario"] in cause.scenarios and any(word in one["words"] for word in cause.words):
            return one["rank"], one["words"]
    return 0, items[0]["words"] if items else "no answer"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--budget", type=float, default=90.0)
    parser.add_argument("--only", default=",".join(CAUSES))
    parser.add_argument("--dir", type=Path, default=Path("/var/tmp"))
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # nothing planted stays behind
    for name in asked.only.split(","):
        ranks = []
        for _ in range(asked.runs):
            rank, words = named(name, asked.budget, asked.dir, asked.keep)
            ranks.append(rank)
            print(f"{name:10} {f'rank {rank}' if rank else 'MISSED'} {words}", flush=True)
        found = f"named in {sum(map(bool, ranks))} of {asked.runs}, first in {ranks.count(1)}"
        print(f"{name:10} {found}", flush=True)


if __name__ == "__main__":
    main()
