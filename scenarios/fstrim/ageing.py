"""New files written and deleted, again and again: the load that leaves a drive with stale addresses.

The files of a phase live until `delete`: were each one deleted at once, the file system would give its blocks to the
next, which is overwriting in place.
"""

import asyncio
import errno
import os
import random
from collections.abc import Sequence

from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.engine.disk.flush import flush_file_system
from hostdx.probes.engine.measured import Measured, MeasurementInvalid
from hostdx.probes.engine.pool import WorkerFailed, WorkerPool
from hostdx.probes.engine.spec import BlockReply, LoadSpec
from hostdx.probes.engine.summary import block_cuts_s, combine_replies
from hostdx.probes.engine.workloads import MIB, EngineLoad
from hostdx.probes.files.private_directory import PrivateDirectory
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.diskstats import counter_growth, leaf_counters
from hostdx.probes.system.disk.failing import io_error_advice

LEAD_S = 0.003
WORKERS = 4
STEP_BYTES = 64 << 10
LARGEST_FILE = 4 * MIB
SYNC_AT_MOST_S = 60.0
FREED_AT_MOST_S = 2

CHURN = EngineLoad(
    id="churn",
    title="new files of some MiB, four at a time, each synced",
    kind="write",
    metric="MB/s",
    unit="MB/s",
    block_bytes=STEP_BYTES,
    workers=WORKERS,
    min_operations=WORKERS * 4,
    why="what jobs do that unpack, build or write results: every byte goes to new blocks",
)


def least_block_bytes() -> int:
    """A block writes at least so much: four steps a worker."""
    return CHURN.min_operations * STEP_BYTES


class ChurnBench:
    """Works in `private`, made, removed and closed by the caller. Not for two tasks at once."""

    def __init__(
        self,
        host: Host,
        private: PrivateDirectory,
        leaves: Sequence[str],
        seed: int,
        budget: WriteBudget,
    ) -> None:
        """`leaves`: kernel names whose counters tell what was written."""
        self.host = host
        self.private = private
        self.leaves = tuple(leaves)
        self.budget = budget
        self._rng = random.Random(seed)
        self._pool = WorkerPool([private.fd])
        self._direct = True

    async def measure_block(self, seconds: float, most_bytes: int) -> Measured:
        """New files for `seconds` or `most_bytes`, whichever is less. Raises MeasurementInvalid, BenchRefused."""
        if refusal := self.budget.refusal_text(max(most_bytes, least_block_bytes()), CHURN.id):
            raise MeasurementInvalid(refusal)
        before = self._disks_written_bytes()
        try:
            replies = await self._run_churn_workers(seconds, most_bytes)
        except WorkerFailed as error:
            raise WorkerFailed(
                f"{self.private.path}, new files: {error}{io_error_advice(error.errno, self.private.path)}",
                error.errno,
            ) from error
        moved = counter_growth(before, self._disks_written_bytes())
        self.budget.charge(sum(reply["n"] for reply in replies) * STEP_BYTES, moved, CHURN.id)
        return combine_replies(CHURN, replies, block_cuts_s(seconds), False, moved)

    async def _run_churn_workers(self, seconds: float, most_bytes: int) -> list[BlockReply]:
        share = max(1, most_bytes // WORKERS // STEP_BYTES)
        while True:
            specs = [self._churn_spec(seconds, share) for _ in range(WORKERS)]
            try:
                return await self._pool.run_block(specs, LEAD_S)
            except WorkerFailed as error:
                # A file system that refuses O_DIRECT: the synced files reach the device all the same.
                if not self._direct or error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
                    raise
                self._direct = False

    def _churn_spec(self, seconds: float, most: int) -> LoadSpec:
        ends = block_cuts_s(seconds)
        return {
            "kind": "churn",
            "fd": self.private.fd,
            "seed": self._rng.getrandbits(48),
            "stretch": 0.0,
            "slices": ends,
            "least": min(most, CHURN.min_operations // WORKERS),
            "most": most,
            "at_most_s": max(seconds, CHURN.max_block_s),
            "block_bytes": STEP_BYTES,
            "file_bytes": min(LARGEST_FILE, most * STEP_BYTES),
            "direct": self._direct,
        }

    async def delete(self) -> int:
        """Deletes what was written since the last time; bytes. They are free once `sync_until_free` has returned."""
        return await asyncio.to_thread(_delete_and_count_bytes, self.private)

    async def sync_until_free(self) -> None:
        """The file system's journal is written: only then do the deleted files' blocks count as free.

        XFS takes a deleted file's blocks back in the background (fs/xfs/xfs_icache.c, inodegc; statfs pushes it): so
        until nothing more becomes free, at most 2 s, and then once more.
        """
        await flush_file_system(self.private, SYNC_AT_MOST_S)
        last = -1
        for _ in range(FREED_AT_MOST_S * 10):
            free = await asyncio.to_thread(_free_blocks_or_minus_one, self.private.fd)
            if free == last:
                break
            last = free
            await asyncio.sleep(0.1)
        await flush_file_system(self.private, SYNC_AT_MOST_S)

    def _disks_written_bytes(self) -> int | None:
        counters = leaf_counters(self.host, self.leaves)
        return None if counters is None else sum(c.write_bytes for c in counters)

    async def close(self) -> None:
        """Ends the workers; the directory's owner removes what is in it. May be called twice."""
        await self._pool.close()


def _free_blocks_or_minus_one(fd: int) -> int:
    try:
        return os.statvfs(fd).f_bfree
    except OSError:
        return -1


def _delete_and_count_bytes(private: PrivateDirectory) -> int:
    """Return what a command left in folders of its own too; what resists is said when the directory is removed."""
    deleted = 0
    try:
        for size in private.delete_contents():
            deleted += size
    except OSError:
        pass
    return deleted
