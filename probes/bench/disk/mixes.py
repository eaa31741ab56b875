"""The mixed loads that an I/O scheduler is judged by, as data: several kinds of worker at the same time.

What storage farms do and what starves: many random readers, two writers beside a small reader, several streams,
readers of different priority.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from probes.bench.command_line import fio_directory, pasted
from probes.bench.workloads import MIB, UNIT, WRITTEN_AT_MOST, Load

File: TypeAlias = Literal["read", "direct", "buffered", "none"]

# Measured on XFS with two writers and a 4 KiB reader: after the switch to bfq the reader got 9835, 5256, 70, 33, 22
# ... 9 operations second by second, under mq-deadline a flat 1200 to 2000. So the first seconds stand apart.
ONSET_S = 5.0
MIXED_BLOCK_S = 15.0
READERS_BLOCK_S = 3.0
BEST_EFFORT = 2  # ioprio class, include/uapi/linux/ioprio.h


class Role(msgspec.Struct, frozen=True, kw_only=True):
    """Workers that do the same. `priority` is (class, level) of ioprio_set(2)."""

    load: Load
    file: File
    priority: tuple[int, int] | None = None


class Mix(msgspec.Struct, frozen=True, kw_only=True):
    """Roles that run at the same time. `judged` names the metrics that get a verdict, the leading one first.

    `advantage` names a metric that is the ratio of the first role's rate to the second's.
    """

    id: str
    title: str
    why: str
    roles: tuple[Role, ...]
    block_s: float
    onset_s: float = 0.0
    advantage: str = ""
    control: bool = False

    @property
    def writes(self) -> bool:
        return any(role.load.kind == "write" for role in self.roles)

    @property
    def writers(self) -> int:
        return sum(role.load.workers for role in self.roles if role.load.kind == "write")

    @property
    def workers(self) -> int:
        return sum(role.load.workers for role in self.roles)


def _reader(name: str, workers: int = 1) -> Load:
    return Load(
        id=name,
        title=name,
        kind="read",
        metric=name,
        unit="IOPS",
        why="",
        workers=workers,
        min_operations=0,
    )


def _stream(name: str, kind: Literal["read", "write"], workers: int = 1) -> Load:
    return Load(
        id=name,
        title=name,
        kind=kind,
        metric=name,
        unit="MB/s",
        why="",
        block_bytes=MIB,
        workers=workers,
        sequential=True,
        min_operations=0,
    )


_CPU = Load(
    id="cpu",
    title="CPU only",
    kind="cpu",
    metric="iterations/s",
    unit="iterations/s",
    why="",
    min_operations=0,
)

MIXES: tuple[Mix, ...] = (
    Mix(id="writers-reader", title="two writers and a small reader",
        why="who has to wait: a login, a database or a directory listing while other jobs write",
        roles=(Role(load=_reader("reader IOPS"), file="read"),
               Role(load=_stream("direct write", "write"), file="direct"),
               Role(load=_stream("buffered write", "write"), file="buffered")),
        block_s=MIXED_BLOCK_S, onset_s=ONSET_S),
    Mix(id="readers", title="eight random readers",
        why="many jobs that read small pieces: throughput, and what the scheduler costs in CPU time",
        roles=(Role(load=_reader("IOPS", 8), file="read"),), block_s=READERS_BLOCK_S),
    Mix(id="streams", title="four sequential readers",
        why="what storage servers do: several long reads at once, which need few seeks in a good order",
        roles=(Role(load=_stream("MB/s", "read", 4), file="read"),), block_s=READERS_BLOCK_S),
    Mix(id="write-streams", title="eight sequential writers",
        why="what storage servers do most: many files are written at once, and each change of file is a seek",
        roles=(Role(load=_stream("write MB/s", "write", 8), file="direct"),), block_s=MIXED_BLOCK_S, onset_s=ONSET_S),
    Mix(id="ioprio", title="readers of high and low priority",
        why="whether ionice and IOSchedulingPriority= have an effect here",
        roles=(Role(load=_reader("high IOPS", 4), file="read", priority=(BEST_EFFORT, 0)),
               Role(load=_reader("low IOPS", 4), file="read", priority=(BEST_EFFORT, 7))),
        block_s=READERS_BLOCK_S, advantage="high/low"),
    Mix(id="cpu", title="CPU only", why="touches no disk: if it differs, the comparison is not about the scheduler",
        roles=(Role(load=_CPU, file="none"),), block_s=0.5, control=True),
)  # fmt: skip


def files_bytes(size_bytes: int, mixes: Sequence[Mix]) -> dict[File, int]:
    """The sizes of the files that these mixes need: one to read, one for each kind of writer."""
    wanted = {role.file for mix in mixes for role in mix.roles} - {"none"}
    write = max(UNIT, min(size_bytes // 4, WRITTEN_AT_MOST) // UNIT * UNIT)
    read = max(UNIT, size_bytes // UNIT * UNIT)
    order: tuple[File, ...] = ("read", "direct", "buffered")
    return {file: read if file == "read" else write for file in order if file in wanted}


def fio_equivalent(mix: Mix, size_bytes: int, directory: str, rate: int | None) -> str:
    """The fio command that runs the same jobs at the same time; none for the CPU."""
    sizes = files_bytes(size_bytes, [mix])
    words = [
        "fio",
        fio_directory(directory),
        "--ioengine=psync",
        "--time_based",
        f"--runtime={mix.block_s:g}",
    ]
    words += ["--group_reporting", "--unlink=1"]
    for role in mix.roles:
        if role.file == "none":
            return ""
        load = role.load
        rw = load.kind if load.sequential else f"rand{load.kind}"
        words += [f"--name={load.id.replace(' ', '-')}", f"--rw={rw}", f"--bs={load.block_bytes}"]
        words += [f"--direct={int(role.file != 'buffered')}", f"--numjobs={load.workers}"]
        words += [f"--size={sizes[role.file]}"]
        if load.kind == "write":
            words += ["--refill_buffers", *([f"--rate={rate}"] if rate else [])]
        if role.priority:
            words += [f"--prioclass={role.priority[0]}", f"--prio={role.priority[1]}"]
    return pasted(words)
