"""The built-in engine's loads, as data: what a block does, and which other tool would measure the same.

Most important first, as in the design: what most jobs feel. One process a worker: a queue depth of N is N workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from probes.bench.command_line import fio_directory, pasted

Kind: TypeAlias = Literal["read", "write", "metadata", "cpu"]

MIB = 1 << 20
# 256 operations. At 1.7 GB/s (seen on a virtual disk) 18 blocks of half a second would write 15 GiB.
MOST_STREAMED_A_BLOCK = 256 * MIB
WRITTEN_AT_MOST = 256 * MIB
MOST_WRITE_FILES = 16
UNIT = 8 * MIB  # eight parts of whole blocks of 1 MiB: a stream has one, or a file of its own
NAMES_AT_ONCE = 64  # files that the metadata load has in its directory at any moment


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of load. `metric` is the leading one, `better` its good direction. Bytes and seconds.

    workers     processes, each with one operation in flight: the queue depth.
    sync        every write is followed by fdatasync, and its latency holds both.
    sequential  each worker runs through a part of the file of its own; otherwise uniformly random offsets.
    """

    id: str
    title: str
    kind: Kind
    metric: str
    unit: str
    why: str
    better: Literal["more", "less"] = "more"
    block_bytes: int = 4096
    workers: int = 1
    sequential: bool = False
    sync: bool = False
    block_s: float = 0.5
    max_block_s: float = 5.0
    min_operations: int = 200
    slice_operations: int = 50  # of each worker in a slice of a train
    most_bytes: int | None = (
        None  # a block's end, where it comes before its time; the same for all blocks and sides
    )
    budget_share: float = 1.0  # of what may still be written when this load begins
    control: bool = False


LOADS: tuple[Load, ...] = (
    Load(
        id="randread-4k-qd1",
        title="random read 4k QD1",
        kind="read",
        metric="IOPS",
        unit="IOPS",
        why="one read at a time (queue depth 1), its latency: databases, small files, starting programs",
    ),
    Load(
        id="randread-4k-qd16",
        title="random read 4k QD16",
        kind="read",
        metric="IOPS",
        unit="IOPS",
        workers=16,
        why="16 reads at a time (queue depth 16), what the device does in parallel: NVMe beats SATA there",
    ),
    Load(
        id="fsync-4k-qd1",
        title="synced write 4k QD1",
        kind="write",
        metric="IOPS",
        unit="IOPS",
        sync=True,
        budget_share=0.5,  # the streams come after it
        why="one write at a time, on the disk before the next: databases, mail; shows power-loss protection",
    ),
    Load(
        id="metadata",
        title="create/stat/delete",
        kind="metadata",
        metric="ops/s",
        unit="ops/s",
        why="small files made and deleted: unpacking, building; the file system more than the disk",
    ),
    Load(
        id="read-1m-qd8",
        title="stream read 1M x8",
        kind="read",
        metric="MB/s",
        unit="MB/s",
        block_bytes=MIB,
        workers=8,
        sequential=True,
        slice_operations=2,  # 16 MiB
        why="8 streams of 1 MiB reads: event files",
    ),
    Load(
        id="write-1m-qd8",
        title="stream write 1M x8",
        kind="write",
        metric="MB/s",
        unit="MB/s",
        block_bytes=MIB,
        workers=8,
        sequential=True,
        min_operations=16,
        slice_operations=2,
        most_bytes=MOST_STREAMED_A_BLOCK,
        why="8 streams of 1 MiB writes: output and checkpoints",
    ),
    Load(
        id="cpu",
        title="CPU only",
        kind="cpu",
        metric="iterations/s",
        unit="iterations/s",
        control=True,
        why="touches no disk: if it differs, the comparison is not about the disk",
    ),
)

IDS: tuple[str, ...] = tuple(load.id for load in LOADS)


def load_of(workload_id: str) -> Load:
    """The load with this id; KeyError otherwise."""
    for load in LOADS:
        if load.id == workload_id:
            return load
    raise KeyError(f"no such load: {workload_id!r} (known: {', '.join(IDS)})")


def file_bytes(size_bytes: int) -> int:
    """The size of the file that is read: `size_bytes` rounded down to eight parts of whole MiB."""
    return max(UNIT, size_bytes // UNIT * UNIT)


def write_files(size_bytes: int) -> tuple[int, ...]:
    """The sizes of the files that are written to, given the size of the one that is read: together a quarter of it.

    They need not be large, because they are overwritten, and every byte of them wears the disk. Several, because two
    like files need not be equally fast: on a virtual disk synced writes to one of two were 8 % slower, to the other
    one in the next run. So many that such a difference averages out, of 8 MiB at least each. And a stream has a file of
    its own: eight streams in eighths of one such file write one MiB again and again, and groups of streamed writes
    scatter three times as much as those of eight files at a time (measured there).
    """
    whole = max(UNIT, min(size_bytes // 4, WRITTEN_AT_MOST))
    count = min(MOST_WRITE_FILES, whole // UNIT)
    return (whole // count // UNIT * UNIT,) * count


def write_file_bytes(size_bytes: int) -> int:
    """All files that are written to together."""
    return sum(write_files(size_bytes))


def prepared_bytes(size_bytes: int, workloads: Sequence[str] = IDS) -> int:
    """What `prepare` writes for these loads."""
    kinds = {load_of(workload).kind for workload in workloads}
    return (file_bytes(size_bytes) if "read" in kinds else 0) + (
        write_file_bytes(size_bytes) if "write" in kinds else 0
    )


def fio_equivalent(workload: str, size_bytes: int, directory: str, seconds: int = 3) -> str:
    """The fio command line that measures the same; for metadata mdtest's, for the CPU none ("").

    psync with as many jobs, because that is what the engine does; `--filename` makes them share one file (ours write
    to several, together as large); `--refill_buffers` keeps the data incompressible (fio's HOWTO). fio lays the file
    out before it measures.
    """
    load = load_of(workload)
    if load.kind == "cpu":
        return ""
    if load.kind == "metadata":
        return pasted(
            ["mdtest", "-F", "-u", "-C", "-T", "-r", "-n", str(NAMES_AT_ONCE), "-i", "100", "-d", directory]
        )
    write = load.kind == "write"
    size = write_file_bytes(size_bytes) if write else file_bytes(size_bytes)
    pattern = ("write" if write else "read") if load.sequential else ("randwrite" if write else "randread")
    share = size // load.workers // load.block_bytes * load.block_bytes
    return pasted(
        [
            "fio",
            f"--name={load.id}",
            fio_directory(directory),
            "--filename=hostdx.fio",
            f"--rw={pattern}",
            f"--bs={load.block_bytes // 1024}k",
            "--ioengine=psync",
            "--direct=1",
            f"--numjobs={load.workers}",
            *([f"--size={share}", f"--offset_increment={share}"] if load.sequential else [f"--size={size}"]),
            *(["--norandommap"] if not load.sequential else []),
            *(["--fdatasync=1"] if load.sync else []),
            *(["--refill_buffers"] if write else []),
            "--time_based",
            f"--runtime={seconds}",
            "--group_reporting",
            "--unlink=1",
        ]
    )
