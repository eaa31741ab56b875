"""The same corners by a program that the site has: ior, mdtest, elbencho or fio, each corner a start of its own.

What it prints is imported as any result of it is. Sizes are about those of a block of ours; it takes the time itself,
so its start does not count. find has no such program. What each does otherwise than ours: fio and elbencho open their
files outside of the time, elbencho writes its shared file without fsync.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from probes.children.bounded_wait import wait_briefly_for
from probes.children.command import find_tool
from probes.children.parent_death import tie_to
from probes.engine import residency
from probes.engine.disk.flush import flush_file_system
from probes.files.private_directory import PrivateDirectory
from probes.imports import kinds
from probes.imports.model import ImportRefusedError
from probes.imports.source import ImportSource
from scenarios.box.measurement.corner import CORNERS, HARD_BYTES, HARD_FILE_BYTES, BoxTest
from scenarios.box.measurement.equivalents import equivalent_command

ENGINES = ("ior", "mdtest", "elbencho", "fio")
MPI = ("mpirun", "mpiexec")
LONGEST_S, END_S = 60.0, 2.0  # of a start, of its end
MAX_OUTPUT_BYTES = 8 << 20  # bytes
RESIDENT = 0.01
_MPI_SETTINGS = {  # Open MPI 4 and 5: root, and more processes than cores
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
_MDTEST = {"create": "file creation", "stat": "file stat", "open": "file read", "delete": "file removal"}
_ELBENCHO = {"create": "write", "stat": "stat", "open": "read", "delete": "rmfiles"}


class Program(NamedTuple):
    """`engine`: which of ENGINES; `path`: where it lies; `mpi`: what starts its processes, "" where it does itself."""

    engine: str
    path: str
    mpi: str


class CornerDirectory(NamedTuple):
    """As `equivalents.BoxSizes`, with whether the easy files pass by the page cache."""

    directory_path: str
    worker_count: int
    side_bytes: int
    most_names: int
    direct: bool


def found(asked: str) -> Program | str:
    """By name or path; what is missing in one line."""
    engine = asked.rpartition("/")[2]
    if engine not in ENGINES:
        return f"--engine {asked}: is none of {', '.join(ENGINES)}, nor the path of one"
    path = find_tool(asked)
    if path is None:
        return f"--engine {asked}: there is no such program here; install it, or give its path"
    mpi = next((one for name in MPI if (one := find_tool(name))), "") if engine in ("ior", "mdtest") else ""
    if engine in ("ior", "mdtest") and not mpi:
        return f"--engine {asked}: neither {' nor '.join(MPI)} is here, which start its processes"
    return Program(engine, path, mpi)


def can(engine: str, corner: BoxTest) -> bool:
    if corner.what == "find" or (engine == "fio" and not corner.moves_bytes):
        return False
    return engine not in ("ior", "mdtest") or corner.moves_bytes == (engine == "ior")


def argv(program: Program, corner: BoxTest, place: CornerDirectory) -> tuple[str, ...]:
    if program.engine == "fio":
        return program.path, *_fio(corner, place)
    if program.engine == "elbencho":
        return program.path, *_elbencho(corner, place)
    words = shlex.split(equivalent_command(corner, place))
    direct = ["--posix.odirect"] if place.direct and corner.moves_bytes and corner.side == "easy" else []
    return program.mpi, *words[1:3], program.path, *words[4:], *direct


def _fio(corner: BoxTest, place: CornerDirectory) -> list[str]:
    each = place.side_bytes // place.worker_count // corner.record_bytes * corner.record_bytes
    given = [
        "--name=box",
        f"--directory={place.directory_path}/box",
        f"--numjobs={place.worker_count}",
        "--group_reporting",
    ]
    given += ["--output-format=json", "--ioengine=psync", "--fallocate=none", f"--bs={corner.record_bytes}"]
    # of a shared file that is written, whoever begins last would drop what the others have there
    given.append(f"--invalidate={int(corner.what == 'read')}")
    given += ["--create_on_open=1", "--end_fsync=1"] if corner.what == "write" else []
    if corner.side == "easy":
        return [*given, f"--direct={int(place.direct)}", f"--rw={corner.what}", f"--size={each}"]
    others = HARD_BYTES * (place.worker_count - 1)  # between a job's records lie everybody else's
    return [
        *given, "--filename=shared", f"--rw={corner.what}:{others}", f"--offset_increment={HARD_BYTES}",
        f"--io_size={each}", f"--size={each * place.worker_count}",
    ]  # fmt: skip


def _elbencho(corner: BoxTest, place: CornerDirectory) -> list[str]:
    where, workers = f"{place.directory_path}/box", str(place.worker_count)
    if corner.moves_bytes:
        given = [
            "-w" if corner.what == "write" else "-r",
            "--nolive",
            "-t",
            workers,
            "-b",
            str(corner.record_bytes),
        ]
        each = place.side_bytes // place.worker_count // corner.record_bytes * corner.record_bytes
        if corner.side == "easy":
            direct = ["--direct"] if place.direct else []
            return [
                *given,
                *direct,
                "-s",
                str(each),
                *(f"{where}/own.{n}" for n in range(place.worker_count)),
            ]
        return [*given, "--strided", "-s", str(each * place.worker_count), f"{where}/shared"]
    does = {"create": ["-d", "-w"], "stat": ["--stat"], "open": ["-r"], "delete": ["-F"]}[corner.what]
    size = HARD_FILE_BYTES if corner.side == "hard" else 0
    names = max(1, place.most_names // place.worker_count)
    of = [
        "-n",
        "1" if corner.side == "easy" else "0",
        "-N",
        str(names),
        "-s",
        str(size),
        "-b",
        str(max(1, size)),
    ]
    return [*does, "--nolive", "-t", workers, *of, f"{where}/{corner.side}"]


def value(engine: str, corner: BoxTest, output: bytes) -> float:
    """B/s or operations a second. Raises ImportRefusedError."""
    kind = kinds.find_kind("elbencho-table" if engine == "elbencho" else engine)
    result = kinds.parse(ImportSource(engine, output), kind)
    metric = "entries" if engine == "elbencho" and not corner.moves_bytes else corner.metric_name
    ends = {"ior": corner.what, "mdtest": _MDTEST.get(corner.what, "")}.get(engine, "")
    if metric == "entries":
        ends = _ELBENCHO[corner.what]
    for measure in result.measures:
        if measure.metric == metric and measure.workload.endswith(ends):
            return measure.value
    raise ImportRefusedError(f"{engine}: prints no {corner.metric_name} of this corner")


async def corners(
    program: Program, private: PrivateDirectory, place: CornerDirectory
) -> tuple[dict[str, float], list[str]]:
    """In a private directory of ours, which `place` names by its link. The values by corner, and in a line each why
    one is missing. A later corner needs what an earlier one made.
    """
    values: dict[str, float] = {}
    troubles: list[str] = []
    for name in ("box", "box/easy", "box/hard"):
        os.mkdir(name, mode=0o700, dir_fd=private.fd)
    for corner in CORNERS:
        if not can(program.engine, corner):
            continue
        try:
            if corner.what in ("read", "open") and (share := await _dropped(private)) > RESIDENT:
                raise ImportRefusedError(
                    f"cached: {100 * share:.0f} % of the pages stayed in this host's memory"
                )
            values[corner.id] = value(program.engine, corner, await _output(argv(program, corner, place)))
        except (ImportRefusedError, OSError) as why:
            troubles.append(f"{program.engine}, {corner.id}: {why}")
    return values, troubles


async def _output(words: tuple[str, ...]) -> bytes:
    """Ends with us. Raises ImportRefusedError where it fails, lasts or says too much."""
    child = await asyncio.create_subprocess_exec(
        *words, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        env=_environment(), cwd="/", preexec_fn=partial(tie_to, os.getpid(), signal.SIGTERM),
    )  # fmt: skip
    assert child.stdout is not None
    said = b""
    try:
        async with asyncio.timeout(LONGEST_S):
            while (part := await child.stdout.read(1 << 16)) and len(said) <= MAX_OUTPUT_BYTES:
                said += part
            status = await child.wait() if len(said) <= MAX_OUTPUT_BYTES else -1
    except TimeoutError:
        raise ImportRefusedError(f"not done after {LONGEST_S:.0f} s") from None
    finally:
        if child.returncode is None:
            child.terminate()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(child.wait(), END_S)
        if child.returncode is None:
            child.kill()
            await wait_briefly_for(child)
    if status != 0:
        words_of = [line for line in said.decode("utf-8", "backslashreplace").splitlines() if line.strip()]
        raise ImportRefusedError(
            f"exit status {status}: {words_of[-1][:200] if words_of else 'it says nothing'}"
        )
    return said


def _environment() -> Mapping[str, str]:
    return (
        {key: text for key, text in os.environ.items() if not key.startswith("LC_")}
        | {"LC_ALL": "C"}
        | _MPI_SETTINGS
    )


async def _dropped(private: PrivateDirectory) -> float:
    """Return what is in memory still of the files that it made, after dropping: the largest share of one."""
    await flush_file_system(private, LONGEST_S)
    return await asyncio.to_thread(_drop_all, private.fd)


def _drop_all(directory: int) -> float:
    most = 0.0
    for _, _, names, at in os.fwalk("box", dir_fd=directory):
        for name in names:
            fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=at)
            try:
                most = max(most, residency.drop_pages(fd))
            finally:
                os.close(fd)
    return most
