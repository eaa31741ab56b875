"""The mixed loads that an I/O scheduler is judged by, as data (`mixes.toml`): several kinds of worker at the same time.

What storage farms do and what starves: many random readers, two writers beside a small reader, several streams,
readers of different priority.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from hostdx.probes.engine.workloads import UNIT, WRITTEN_AT_MOST, EngineLoad, fio_directory, shell_line
from hostdx.probes.files.safe_read import read_own_data

File: TypeAlias = Literal["read", "direct", "buffered", "none"]


class Role(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Workers that do the same. `priority` is (class, level) of ioprio_set(2)."""

    load: EngineLoad
    file: File
    priority: tuple[int, int] | None = None


class Mix(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
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
    def has_writers(self) -> bool:
        return any(role.load.kind == "write" for role in self.roles)

    @property
    def writer_count(self) -> int:
        return sum(role.load.workers for role in self.roles if role.load.kind == "write")

    @property
    def worker_count(self) -> int:
        return sum(role.load.workers for role in self.roles)


MIXES = read_own_data(__file__, "mixes.toml", dict[str, tuple[Mix, ...]])["mix"]


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
    return shell_line(words)
