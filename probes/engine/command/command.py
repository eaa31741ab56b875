"""The user's own command as a load: each block is one run of it, timed."""

import asyncio
import os
import shlex
import time
from collections.abc import Sequence

from hostdx.probes import units
from hostdx.probes.engine.command.supervised import CommandOrder, JobRun, Supervisors
from hostdx.probes.engine.disk.flush import flush_file_system
from hostdx.probes.engine.measured import BenchRefused, Measured, MeasurementInvalid
from hostdx.probes.files.private_directory import PrivateDirectory
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.diskstats import counter_growth, disk_bytes

LOOK_S = 0.02  # between two looks at what a bounded command has written


class CommandBench:
    """Runs `command` (split like a shell would, but without a shell) in `private`, which is also its TMPDIR.

    The window's value is `seconds` (less is better). Standard output is dropped; the end of
    standard error is kept for the reason of a failure. `at_most_s` ends a run that hangs.
    """

    def __init__(
        self,
        host: Host,
        command: str,
        private: PrivateDirectory,
        leaves: Sequence[str] = (),
        *,
        at_most_s: float = 600.0,
    ) -> None:
        try:
            self.argv = tuple(shlex.split(command))
        except ValueError as error:
            raise BenchRefused(
                f"the command cannot be split into words: {error}; check its quotes"
            ) from error
        if not self.argv:
            raise BenchRefused("the command is empty; give one with its arguments")
        self.host = host
        self.private = private
        self.leaves = tuple(leaves)
        self.at_most_s = at_most_s

    async def measure_block(self, _elapsed_s: float = 0.0, most_bytes: int | None = None) -> Measured:
        """Run the command once, however long it takes. Raise BenchRefused where it fails.
        Cancelling ends it and its children.

            The command is killed and MeasurementInvalid raised when it is about to pass `most_bytes`, by what the
            kernel accounts to it and its children or by the devices' counters, whichever is more.
        """
        device = disk_bytes(self.host, self.leaves, "both")
        env = os.environ | {"TMPDIR": self.private.proc_path, "LC_ALL": "C"}
        order = CommandOrder(argv=self.argv, cwd=self.private.proc_path, env=env, at_most_s=self.at_most_s)
        async with Supervisors() as supervisors:
            running = asyncio.ensure_future(supervisors.run(order))
            try:
                too_much = (
                    await self._kill_if_written_too_much(running, supervisors, most_bytes)
                    if most_bytes is not None
                    else ""
                )
                run = await running
            finally:
                running.cancel()
                await asyncio.wait({running})
        if too_much:
            raise MeasurementInvalid(too_much)
        if run.stopped:
            raise BenchRefused(f"{self.argv[0]} did not end within {self.at_most_s:.0f} s")
        if run.status != 0:
            raise BenchRefused(self._exit_failure_text(run))
        return Measured(
            seconds=run.wall_s,
            values={"seconds": run.wall_s},
            operations=1,
            device_bytes=counter_growth(device, disk_bytes(self.host, self.leaves, "both")),
            cpu_s=run.cpu_s,
        )

    async def _kill_if_written_too_much(
        self, running: asyncio.Future[JobRun], supervisors: Supervisors, max_bytes: int
    ) -> str:
        """Return why the command was killed; "" where it ended by itself."""
        began, last, at = self._disks_written_bytes(), 0, time.monotonic()
        while not (await asyncio.wait({running}, timeout=LOOK_S))[0]:
            by_disk = self._disks_written_bytes() - began
            by_itself = await asyncio.to_thread(supervisors.written_bytes)
            now, wrote = time.monotonic(), max(by_disk, by_itself)
            ahead = max(0, wrote - last) * LOOK_S / max(1e-3, now - at)
            if wrote + ahead >= max_bytes:
                supervisors.kill_run()
                return _stopped_for_writes_text(self.argv[0], max_bytes, by_itself, by_disk)
            last, at = wrote, now
        return ""

    def _exit_failure_text(self, run: JobRun) -> str:
        status = run.status or 0
        ending = f"exited with status {status}" if status >= 0 else f"was ended by signal {-status}"
        return f"{self.argv[0]} {ending}" + (f": {run.error_text}" if run.error_text else "")

    async def finish_requests(self) -> None:
        """Wait, at most 2 s, until the data that the command left in the page cache are written."""
        await flush_file_system(self.private, 2.0)

    def _disks_written_bytes(self) -> int:
        return disk_bytes(self.host, self.leaves, "write") or 0


def _stopped_for_writes_text(name: str, most: int, by_itself: int, by_disk: int) -> str:
    others = max(0, by_disk - by_itself)
    shown = f"it had written {units.format_size(by_itself)}" + (
        f", the disk {units.format_size(by_disk)}" if others >> 20 else ""
    )
    return (
        f"{name} was stopped before more than the {units.format_size(most)} that were left of this session's bound "
        f"were written ({shown}); give a command that writes less"
    )
