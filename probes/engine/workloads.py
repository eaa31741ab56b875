"""The built-in engine's loads, as data (`loads.toml`): what a block does, and which other tool would measure the same.

Most important first, as in the design: what most jobs feel. One process a worker: a queue depth of N is N workers.
"""

import shlex
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

import msgspec

from hostdx.probes.files.safe_read import read_shipped_toml

Kind: TypeAlias = Literal["read", "write", "metadata", "cpu"]

MIB = 1 << 20
WRITTEN_AT_MOST = 256 * MIB
MAX_PLACES, USUAL_PLACES = 64, 16
READ_AT_LEAST = 16 * MIB  # of a place, where there are many: what is written to has a quarter, 2 MiB a stream
UNIT = USUAL_PLACES * MIB
NAMES_AT_ONCE = 16  # files that the metadata load makes, looks up and deletes in one cycle


class EngineLoad(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
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
    slice_s: float | None = None  # the shortest, where it is not an experiment's own
    # a block's end, where it comes before its time; the same for all blocks and sides
    most_bytes: int | None = None
    budget_share: float = 1.0  # of what may still be written when this load begins
    control: bool = False


LOADS = read_shipped_toml(__file__, "loads.toml", dict[str, tuple[EngineLoad, ...]])["load"]
IDS: tuple[str, ...] = tuple(load.id for load in LOADS)


def engine_load(workload_id: str) -> EngineLoad:
    """Return the load with this id. Raise KeyError where there is none."""
    for load in LOADS:
        if load.id == workload_id:
            return load
    raise KeyError(f"no such load: {workload_id!r} (known: {', '.join(IDS)})")


def file_set_count(size_bytes: int, *, spinning: bool = False) -> int:
    """Return how many file sets a variant has: 64 where each still gets 16 MiB to be read, else 16.

    A file set is a directory of our own with a file that is read and one that is written. Two like
    files need not be equally fast: on virtual disks the file sets of one directory differ by 0.5 to
    7 % (measured), so one file for each variant would compare two files, not two directories. 64
    small file sets cover a disk better than 16 large ones; a spinning disk gets 16.
    """
    return USUAL_PLACES if spinning or size_bytes < MAX_PLACES * READ_AT_LEAST else MAX_PLACES


def read_and_written_file_bytes(size_bytes: int, count: int) -> tuple[int, int]:
    """Return the sizes of the file that is read and the one written in each of `count` file sets, whole MiB.

    The written files have a quarter of the size of those that are read, at most 256 MiB together:
    every byte of them wears the disk.
    """
    written = min(size_bytes // 4, WRITTEN_AT_MOST)
    return max(MIB, size_bytes // count // MIB * MIB), max(MIB, written // count // MIB * MIB)


def all_read_file_bytes(size_bytes: int) -> int:
    """Return the size of all files together that are read, given the size asked for: whole MiB in each file set."""
    count = file_set_count(size_bytes)
    return count * read_and_written_file_bytes(size_bytes, count)[0]


def all_written_file_bytes(size_bytes: int) -> int:
    """Return the size of all files together that are written."""
    count = file_set_count(size_bytes)
    return count * read_and_written_file_bytes(size_bytes, count)[1]


def prepared_bytes(size_bytes: int, workloads: Sequence[str] = IDS) -> int:
    """Return the bytes that `prepare_files` writes for these loads."""
    kinds = {engine_load(workload).kind for workload in workloads}
    return (all_read_file_bytes(size_bytes) if "read" in kinds else 0) + (
        all_written_file_bytes(size_bytes) if "write" in kinds else 0
    )


def fio_command(workload: str, size_bytes: int, directory: str, seconds: int = 3) -> str:
    """Return the fio command line that measures the same; for metadata mdtest's, for the CPU "".

    psync with as many jobs, because the engine works like that. `--filename` lets them share one
    file (the engine writes to several, together as large). `--refill_buffers` keeps the data
    incompressible (fio's HOWTO). fio lays the file out before it measures.
    """
    load = engine_load(workload)
    if load.kind == "cpu":
        return ""
    if load.kind == "metadata":
        return shell_line(
            ["mdtest", "-F", "-u", "-C", "-T", "-r", "-n", str(NAMES_AT_ONCE), "-i", "100", "-d", directory]
        )
    write = load.kind == "write"
    size = all_written_file_bytes(size_bytes) if write else all_read_file_bytes(size_bytes)
    pattern = ("write" if write else "read") if load.sequential else ("randwrite" if write else "randread")
    share = size // load.workers // load.block_bytes * load.block_bytes
    return shell_line(
        [
            "fio",
            f"--name={load.id}",
            escape_fio_directory(directory),
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


def shell_line(words: Iterable[str]) -> str:
    """Return one line for bash, zsh and ksh. Control characters and bytes that are no text are
    written as `$'...'`: raw they would break the line or be shown as something else.
    """
    return " ".join(map(_quote_shell_word, words))


def escape_fio_directory(directory: str) -> str:
    """fio splits directories at colons (HOWTO, `directory`, `filename`) and takes `\\:` for one.

    For a file in it `--filename` gets its bare name: fio 3.33 cuts its value at `#` and `;`, a directory's it does not.
    """
    return f"--directory={directory.replace(':', chr(92) + ':')}"


def _quote_shell_word(word: str) -> str:
    if all(letter.isprintable() for letter in word):
        return shlex.quote(word)
    return "$'" + "".join(map(_escape_letter, word)) + "'"


def _escape_letter(letter: str) -> str:
    if letter in "\\'":
        return "\\" + letter
    if letter.isprintable():
        return letter
    return "".join(f"\\x{byte:02x}" for byte in letter.encode("utf-8", "surrogateescape"))
