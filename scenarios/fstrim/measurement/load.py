"""What loads the disk in scenario `fstrim`: the built-in churn or the user's own command, and reads of a fixed file."""

from typing import NamedTuple

import msgspec

from hostdx.probes import units
from hostdx.probes.engine.command.command import CommandBench
from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.engine.disk.preparation import Progress
from hostdx.probes.engine.disk.storage import StorageBench
from hostdx.probes.engine.measured import Measured, MeasurementInvalid
from hostdx.probes.files.private_directory import PrivateDirectory
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.diskstats import disk_bytes
from hostdx.scenarios.fstrim.ageing import ChurnBench

CHURN_ID = "churn"
COMMAND_ID = "command"
REFERENCE_ID = "randread-4k-qd1"
COMMAND_METRIC = "runs/h"


class EngineSettings(NamedTuple):
    """Where an engine works and what it may: `leaves` are the devices, `file_bytes` is the size of the fixed file."""

    host: Host
    directory: str
    private: PrivateDirectory
    leaves: tuple[str, ...]
    file_bytes: int
    seed: int
    budget: WriteBudget


class BuiltInTrimLoad:
    """hostdx's own load. All metrics are "more is better"."""

    def __init__(self, ground: EngineSettings) -> None:
        host, private, leaves, budget = ground.host, ground.private, ground.leaves, ground.budget
        self.reads = StorageBench(
            host, ground.directory, private, ground.file_bytes, ground.seed, leaves, budget=budget
        )
        self.churn = ChurnBench(host, private, leaves, ground.seed + 1, budget)

    async def prepare_files(self, progress: Progress) -> None:
        await self.reads.prepare_files(progress, (REFERENCE_ID,))

    async def measure_block(self, seconds: float, most_bytes: int) -> Measured:
        """New files, kept until `delete`."""
        return await self.churn.measure_block(seconds, most_bytes)

    async def measure_control_reads(self, seconds: float) -> Measured:
        """Reads of a file that stays as it is."""
        return await self.reads.measure_block(REFERENCE_ID, seconds)

    async def delete(self) -> int:
        """Return what the blocks left; bytes. Returns when they count as free."""
        deleted = await self.churn.delete()
        await self.churn.sync_until_free()
        return deleted

    async def finish_requests(self) -> None:
        await self.reads.finish_requests()

    async def close(self) -> None:
        await self.churn.close()
        await self.reads.close()


class CommandTrimLoad(BuiltInTrimLoad):
    """The user's own command instead of the churn; its TMPDIR and working directory are the private one.

    It is killed when the budget is spent, and not started again where a run like the last would exceed it.
    """

    def __init__(self, ground: EngineSettings, command: str) -> None:
        super().__init__(ground)
        self.command = CommandBench(ground.host, command, ground.private, ground.leaves)
        self.host = ground.host
        self.leaves = ground.leaves
        self.budget = ground.budget
        self._last_bytes = 0

    async def measure_block(self, seconds: float, most_bytes: int) -> Measured:
        if self.budget.spent_bytes + self._last_bytes > self.budget.most_bytes:
            raise MeasurementInvalid(
                "one more run of the command would write more than the "
                f"{units.format_size(self.budget.most_bytes)} of a "
                "session; give one that writes less"
            )
        before = self._written_bytes()
        try:
            measured = await self.command.measure_block(most_bytes=self.budget.left_bytes)
        except MeasurementInvalid:
            await self.delete()  # what is not on the disk yet never gets there
            self._charge_written_since(before)
            raise
        await self.command.finish_requests()
        self._charge_written_since(before)
        took = measured.values["seconds"]
        return msgspec.structs.replace(
            measured, values={COMMAND_METRIC: 3600 / took if took > 0 else 0.0}, bytes=self._last_bytes
        )

    def _charge_written_since(self, before: int) -> None:
        self._last_bytes = max(0, self._written_bytes() - before)
        self.budget.charge(self._last_bytes, self._last_bytes)

    def _written_bytes(self) -> int:
        return disk_bytes(self.host, self.leaves, "write") or 0
