"""The built-in storage engine: needs neither root nor fio.

One persistent process a worker, O_DIRECT into an aligned buffer, precomputed offsets, latencies kept. With threads
instead of processes it reached 0.6 of fio's psync IOPS, with processes 0.94 to 1.03 (measured, design page).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from probes.bench.budget import WriteBudget
from probes.bench.measured import Measured
from probes.host import Host

Progress: TypeAlias = Callable[[int, int], None]  # bytes written so far, bytes to write


class StorageBench:
    """One directory under test; it implements what an arm needs. Not for two tasks at once.

    directory          where the unnamed files are made (O_TMPFILE, else unlinked at once).
    private_directory  a directory of our own, made and removed by the caller: the metadata load works in it. Without
                       it that load is not applicable.
    size_bytes         of the file that is read; the file that is written is `write_file_bytes(size_bytes)`.
    seed               of offsets and data.
    leaves             kernel names of the leaf devices ("vda"); empty: nothing is checked against counters.
    budget             shared by all benches of a run.
    stretch            a planted latency for tests: 0.2 makes every operation 20 % longer.
    """

    def __init__(
        self,
        host: Host,
        directory: str,
        private_directory: str | None,
        size_bytes: int,
        seed: int,
        leaves: Sequence[str],
        stretch: float = 0.0,
        *,
        budget: WriteBudget | None = None,
    ) -> None:
        raise NotImplementedError

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be said beside every result: "buffered: this file system refuses O_DIRECT", ..."""
        raise NotImplementedError

    async def prepare(self, progress: Progress | None = None, workloads: Sequence[str] = ()) -> None:
        """Makes and fills the files that `workloads` (default: all) need. Raises BenchRefused. Progress on the loop."""
        raise NotImplementedError

    async def block(
        self, workload_id: str, seconds: float, *, onset_s: float = 0.0, min_operations: int | None = None
    ) -> Measured:
        """One block. Longer than `seconds` until `min_operations` (the load's own by default) are done, at most the
        load's `max_block_s` (or `seconds`, if more). Raises BenchRefused if a worker died, NotApplicable if the write
        budget is spent. Cancelling stops the workers within 0.2 s; the next block starts new ones.
        """
        raise NotImplementedError

    async def quiesce(self) -> None:
        """fdatasync of what was written, then until the leaves have nothing in flight; at most 2 s."""
        raise NotImplementedError

    async def close(self) -> None:
        """Ends the workers and closes the files, which frees their space. May be called twice."""
        raise NotImplementedError


def cache_check(measured: Measured) -> str:
    """For a block of a read load: why its bytes did not come from the device, or "".

    No counters (`device_bytes` None): no check, "".
    """
    raise NotImplementedError
