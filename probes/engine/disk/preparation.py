"""The files of a bench, written completely: only what was written is read from the device."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from hostdx.probes import units
from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.engine.files import TestFile
from hostdx.probes.engine.measured import BenchRefused
from hostdx.probes.engine.pool import WorkerFailed, WorkerPool
from hostdx.probes.system.disk.diskstats import counter_growth
from hostdx.probes.system.disk.failing import io_error_advice

Progress: TypeAlias = Callable[[int, int], None]  # bytes written so far, bytes to write

# A neighbour's burst is in some of the pieces, and the smallest amplification is what counts;
# smaller ones are late in the counters by a part of themselves.
PIECE_BYTES = 64 << 20


@contextmanager
def open_directory(directory: str) -> Iterator[int]:
    """Its descriptor. Raises BenchRefused where it cannot be had."""
    try:
        fd = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise cannot_use_error(directory, error) from error
    try:
        yield fd
    finally:
        os.close(fd)


def cannot_use_error(directory: str, error: OSError) -> BenchRefused:
    return BenchRefused(f"{directory}: {error.strerror}{io_error_advice(error.errno, directory)}")


async def fill_files(
    pool: WorkerPool,
    files: Sequence[tuple[str, TestFile]],
    budget: WriteBudget,
    device_bytes: Callable[[], int | None],
    progress: Progress | None,
) -> None:
    """Writes every block of the files, each given with its directory. Raises BenchRefused with one line.

    `device_bytes`: what the devices count as written; the budget is charged with what that moves.
    """
    total = sum(file.bytes for _, file in files)
    finished = spent = 0
    last_device_bytes = device_bytes()

    def charge_budget(written: int) -> None:
        nonlocal spent, last_device_bytes
        now = device_bytes()
        budget.charge(written - spent, counter_growth(last_device_bytes, now))
        spent, last_device_bytes = written, now

    def report_written(written: int) -> None:
        if finished + written - spent >= PIECE_BYTES:
            charge_budget(finished + written)
        if progress is not None:
            progress(finished + written, total)

    for directory, file in files:
        try:
            await pool.run_long_command("fill", report_written, fd=file.fd, bytes=file.bytes)
        except WorkerFailed as error:
            raise BenchRefused(
                f"{directory}: writing the test file of {units.format_size(file.bytes)} failed: "
                f"{error}{io_error_advice(error.errno, directory)}"
            ) from error
        except OSError as error:
            raise cannot_use_error(directory, error) from error
        finished += file.bytes
    if finished > spent:
        charge_budget(finished)
