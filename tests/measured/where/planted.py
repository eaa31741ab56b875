"""Does the first line of the difference table name what was planted? Root for all of it; a user's share without.

    python -m tests.measured.where.planted [--runs 10] [--groups 5] [--only directory,fuse] [--as root,user]

Planted, each in the variant alone: four writers in one directory, which a creation holds for 10 ms; two threads at one
mutex; reads of a large array in place of a small one; fresh pages in place of used ones; fsync; a CPU quota (a control
group of its own); a sleep; a FUSE mount whose server takes 10 ms for a read (the mounts in a namespace of its
own). And, with `--only equal`, the same job twice: no line may be called different; with `--only states`, a job that
spends set times in user, system and asleep: each part within 2 points of the wall time of what was set.

Realtime priority (but for the quota) keeps neighbours away. As root everything is measured as root and as `nobody`.
A line a run where it was not named, then a line a truth.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from probes.engine.command.supervised import Supervisors
from scenarios.experiment.schedule.guarded import GuardedBlocks
from scenarios.workload.difference import REST, moved_words, rank_moved_parts
from scenarios.workload.parts import Split
from scenarios.workload.split import split_wall_time
from scenarios.workload.variant_bench import MUTEX, SYSTEM, USER, WAITING, CommandVariantBench
from scenarios.workload.variant_bench import QUOTA as QUOTA_PART
from scenarios.workload.variants import parse_variant
from tests.fakes.run import FakeRun
from tests.measured.where.slow_fuse import mounted

SOURCE = Path(__file__).with_name("job.c")
NOBODY = 65534
FAULTS = "page faults"  # of system CPU
READ_S = 0.01
QUOTA = 0.1  # of a CPU
STATES = {USER: 0.6, SYSTEM: 0.4, REST: 0.8}
POINTS = 2.0
NEW_NAMESPACE, PRIVATE, RECURSIVE = 0x20000, 1 << 18, 1 << 14


class Truth(NamedTuple):
    """`{dir}`, `{fuse}`, `{quota}` stand for what is made; `names`: what the first line may name, by part or wait."""

    baseline: str
    variant: str
    names: tuple[str, ...]
    root: bool = False  # to plant it


TRUTHS = {
    "directory": Truth("directory {fuse} 0 4 10", "directory {fuse} 1 4 10", ("directory-lock",), root=True),
    "mutex": Truth("mutex 0 400", "mutex 1 400", (MUTEX,)),
    "memory": Truth("memory 16 20000000", "memory 131072 20000000", (USER,)),
    "faults": Truth("faults 0 100", "faults 1 100", (FAULTS,)),
    "fsync": Truth("synced {dir}/f 0 400", "synced {dir}/f 1 400", ("journal", "disk-sync", "disk")),
    "quota": Truth("loops 150000000", "{quota} loops 150000000", (QUOTA_PART,), root=True),
    "sleep": Truth("asleep 100000000 0", "asleep 100000000 0.3", ("sleep",)),
    "fuse": Truth("files {dir} 30", "files {fuse} 30", ("fuse",), root=True),
    "equal": Truth("states 0.1 0.1 0.1", "states 0.1 0.1 0.1", ()),
    "states": Truth("loops 1", "states 0.6 0.4 0.8", ()),
}


@contextmanager
def quota_group() -> Iterator[Path]:
    """A group that may use QUOTA of a CPU, of version 1 or 2, which `nobody` may enter."""
    old = Path("/sys/fs/cgroup/cpu")
    top = old if (old / "tasks").exists() else Path("/sys/fs/cgroup")
    group = top / f"hostdx-planted-{os.getpid()}"
    group.mkdir()
    try:
        if top == old:
            (group / "cpu.cfs_period_us").write_text("20000")
            (group / "cpu.cfs_quota_us").write_text(str(int(20000 * QUOTA)))
        else:
            (group / "cpu.max").write_text(f"{int(20000 * QUOTA)} 20000")
        os.chown(group / "cgroup.procs", NOBODY, NOBODY)
        yield group
    finally:
        group.rmdir()


def before_others(wanted: bool) -> None:
    """On a busy host all else is hidden by the waiting for a CPU; what is started inherits it."""
    policy, priority = (os.SCHED_RR, 2) if wanted else (os.SCHED_OTHER, 0)
    os.sched_setscheduler(0, policy, os.sched_param(priority))


def own_mounts() -> None:
    """From here on what is mounted is seen by nobody else."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(NEW_NAMESPACE) or libc.mount(None, b"/", None, PRIVATE | RECURSIVE, None):
        raise OSError(ctypes.get_errno(), "a mount namespace of its own")


@contextmanager
def made(place: Path, root: bool) -> Iterator[dict[str, str]]:
    """What the truths need, by the words that stand for it."""
    program = place / "job"
    subprocess.run(["cc", "-O1", "-pthread", "-o", str(program), str(SOURCE)], check=True)
    words = {"dir": str(place / "dir"), "job": str(program)}
    (place / "dir").mkdir(mode=0o777)
    (place / "dir").chmod(0o777)
    (place / "dir" / "file").write_bytes(bytes(4096))
    with ExitStack() as stack:
        if root:
            words["fuse"] = str(stack.enter_context(mounted(place / "fuse", READ_S)))
            group = stack.enter_context(quota_group())
            enter = place / "enter"
            enter.write_text(f'#!/bin/sh\necho 0 > {group}/cgroup.procs || exit 9\nexec "$@"\n')
            enter.chmod(0o755)
            words["quota"] = str(enter)
        yield words


def command(text: str, words: dict[str, str]) -> str:
    first, _, rest = text.partition("} ") if text.startswith("{quota") else ("", "", text)
    return f"{words['quota'] + ' ' if first else ''}{words['job']} {rest.format(**words)}"


async def measured(baseline: str, variant: str, groups: int) -> Split:
    run = FakeRun()
    blocks = GuardedBlocks(run)
    async with Supervisors() as supervisors:
        benches = [
            CommandVariantBench(
                run, parse_variant(f"{name}: cmd={shlex.quote(cmd)}", "", "/"), supervisors, at_most_s=60.0
            )
            for name, cmd in (("A", baseline), ("B", variant))
        ]
        for bench in benches:
            await bench.measure_block()
        for group in range(groups):
            for bench in (benches, benches[::-1])[group % 2] + (benches[::-1], benches)[group % 2]:
                await blocks.measure("command", bench.variant, bench.measure_block, group=group)
    waits = {(bench.variant, wall_s): found for bench in benches for wall_s, found in bench.waited.items()}
    found = split_wall_time(blocks.counted_blocks("command"), "A", "B", waits)
    assert found is not None
    return found


def verdict(name: str, found: Split) -> tuple[bool, str]:
    """Whether the truth was told, and the first line."""
    truth, told = TRUTHS[name], moved_words(found)
    if name == "equal":
        called = [part.name for part in (*found.parts, *found.waits) if part.differs]
        return not called, f"{called} {told}"
    if name == "states":
        wall = found.parts[0].variant_s
        parts = {part.name: part for part in found.parts}
        queued = parts[WAITING].variant_s if WAITING in parts else 0.0
        off = {part: 100 * (parts[part].variant_s - set_s) / wall for part, set_s in STATES.items()}
        shown = ", ".join(f"{part} {points:+.2f}" for part, points in off.items())
        return all(
            abs(x) <= POINTS for x in off.values()
        ), f"{shown} points off; {queued / wall:.0%} without a CPU"
    first = next(iter(rank_moved_parts(found)[0]), None)
    name = (
        FAULTS if first and first.name == SYSTEM and found.faults is not None else first.name if first else ""
    )
    return first is not None and name in truth.names and first.differs, told


def child(name: str, groups: int, words: dict[str, str]) -> None:
    found = asyncio.run(
        measured(command(TRUTHS[name].baseline, words), command(TRUTHS[name].variant, words), groups)
    )
    for part in (*found.parts, *found.waits) if os.environ.get("PLANTED_SHOWS") else ():
        calls = getattr(part, "calls", ())
        print(
            f"{part.name:<40}{part.baseline_s:9.4f}{part.variant_s:9.4f} {part.differs} {calls}",
            file=sys.stderr,
        )
    print(json.dumps(verdict(name, found)))


def trial(name: str, groups: int, words: dict[str, str], user: bool) -> tuple[bool, str]:
    """In a process of its own, as the user that it is about: with a Python that it may run."""
    python, extra = sys.executable, dict[str, object]()
    if user and os.geteuid() == 0:
        paths = [str(Path.cwd()), *(path for path in sys.path if path.endswith("site-packages"))]
        python, extra = "/usr/bin/python3", {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        os.environ["PYTHONPATH"] = ":".join(paths)
    argv = [
        python,
        "-m",
        "tests.measured.where.planted",
        "--child",
        name,
        json.dumps(words),
        "--groups",
        str(groups),
    ]
    if os.geteuid() == 0:
        before_others(name != "quota")
    done = subprocess.run(argv, capture_output=True, text=True, check=False, **extra)  # type: ignore[call-overload]
    if done.returncode:
        return False, re.sub(r"\s+", " ", done.stderr)[-300:]
    print(done.stderr, end="", file=sys.stderr)
    told, line = json.loads(done.stdout.splitlines()[-1])
    return bool(told), str(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--groups", type=int, default=8)
    parser.add_argument(
        "--only", default=",".join(name for name in TRUTHS if name not in ("equal", "states"))
    )
    parser.add_argument("--as", dest="users", default="root,user" if os.geteuid() == 0 else "user")
    parser.add_argument("--dir", default="/var/tmp")
    parser.add_argument("--child", nargs=2)
    parser.add_argument("--verbose", action="store_true")
    asked = parser.parse_args()
    if asked.child:
        child(asked.child[0], asked.groups, json.loads(asked.child[1]))
        return
    root = os.geteuid() == 0
    if root:
        own_mounts()
    with tempfile.TemporaryDirectory(dir=asked.dir) as folder:
        place = Path(folder)
        place.chmod(0o755)
        with made(place, root) as words:
            for user in asked.users.split(","):
                for name in asked.only.split(","):
                    if TRUTHS[name].root and not root:
                        print(f"{user:<6}{name:<12}not planted: root")
                        continue
                    named = 0
                    for n in range(asked.runs):
                        told, line = trial(name, asked.groups, words, user == "user")
                        named += told
                        if not told or asked.verbose:
                            print(
                                f"      {name} {n + 1}: {'' if told else 'NOT '}as planted: {line}",
                                flush=True,
                            )
                    print(
                        f"{user:<6}{name:<12}{named} of {asked.runs}  (load {os.getloadavg()[0]:.1f})",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
