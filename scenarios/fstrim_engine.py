"""What loads the disk in scenario `fstrim`: the built-in churn or the user's own command, and reads of a fixed file."""

from __future__ import annotations

from typing import Protocol

import msgspec

from probes.bench.budget import WriteBudget
from probes.bench.churn import ChurnBench
from probes.bench.command import CommandBench
from probes.bench.measured import Measured, NotApplicable
from probes.bench.storage import Progress, StorageBench
from probes.host import Host
from probes.system.diskstats import disk_counters
from probes.types import Absent

CHURN_ID = "churn"
COMMAND_ID = "command"
REFERENCE_ID = "randread-4k-qd1"
COMMAND_METRIC = "runs/h"


class Engine(Protocol):
    """One directory under test. All metrics are "more is better"."""

    async def prepare(self, tell: Progress) -> None: ...

    async def block(self, seconds: float, most_bytes: int) -> Measured:
        """New files, kept until `delete`."""
        ...

    async def reference(self, seconds: float) -> Measured:
        """Reads of a file that stays as it is."""
        ...

    async def delete(self) -> int:
        """What the blocks left; bytes. Returns when they count as free."""
        ...

    async def quiesce(self) -> None: ...

    async def close(self) -> None: ...


class BuiltIn:
    """hostdx's own load."""

    def __init__(
        self,
        host: Host,
        directory: str,
        private_directory: str,
        leaves: tuple[str, ...],
        file_bytes: int,
        seed: int,
        budget: WriteBudget,
    ) -> None:
        self.reads = StorageBench(host, directory, private_directory, file_bytes, seed, leaves, budget=budget)
        self.churn = ChurnBench(host, private_directory, leaves, seed + 1, budget)

    async def prepare(self, tell: Progress) -> None:
        await self.reads.prepare(tell, (REFERENCE_ID,))

    async def block(self, seconds: float, most_bytes: int) -> Measured:
        return await self.churn.block(seconds, most_bytes)

    async def reference(self, seconds: float) -> Measured:
        return await self.reads.block(REFERENCE_ID, seconds)

    async def delete(self) -> int:
        deleted = await self.churn.delete()
        await self.churn.sync()
        return deleted

    async def quiesce(self) -> None:
        await self.reads.quiesce()

    async def close(self) -> None:
        await self.churn.close()
        await self.reads.close()


class OwnCommand(BuiltIn):
    """The user's own command instead of the churn; its TMPDIR and working directory are the private one.

    What it writes cannot be bounded beforehand: it is not started again once it would exceed the budget.
    """

    def __init__(
        self,
        host: Host,
        directory: str,
        private_directory: str,
        leaves: tuple[str, ...],
        file_bytes: int,
        seed: int,
        budget: WriteBudget,
        command: str,
    ) -> None:
        super().__init__(host, directory, private_directory, leaves, file_bytes, seed, budget)
        self.command = CommandBench(host, command, private_directory, leaves)
        self.host = host
        self.leaves = leaves
        self.budget = budget
        self.private_directory = private_directory
        self._last_bytes = 0

    async def block(self, seconds: float, most_bytes: int) -> Measured:
        if self.budget.spent_bytes + self._last_bytes > self.budget.most_bytes:
            raise NotApplicable(
                f"another run of the command would write more than the {self.budget.most_bytes >> 20} MiB of a session"
            )
        before = self._written()
        measured = await self.command.block()
        await self.command.quiesce()
        self._last_bytes = self._written() - before
        self.budget.spend(self._last_bytes, self._last_bytes)
        took = measured.values["seconds"]
        return msgspec.structs.replace(
            measured, values={COMMAND_METRIC: 3600 / took if took > 0 else 0.0}, bytes=self._last_bytes
        )

    def _written(self) -> int:
        counters = disk_counters(self.host)
        if isinstance(counters, Absent):
            return 0
        return sum(counters[n].write_bytes for n in self.leaves if n in counters)
