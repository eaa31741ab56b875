"""The user's own command as a load: each block is one run of it, timed."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Sequence

from probes import units
from probes.bench.disk.flush import flush
from probes.bench.measured import BenchRefused, Measured, NotApplicable
from probes.bench.run.process_tree import written_by
from probes.children.own_module import own_module
from probes.host import Host
from probes.number_text import whole
from probes.private_directory import PrivateDirectory
from probes.safe_read import decode
from probes.system.disk.diskstats import grown, leaf_counters

GRACE_S = 0.5  # from SIGTERM to SIGKILL
STDERR_BYTES = 4096
_CHILD = "probes.bench.run.command_child"
LOOK_S = 0.02  # between two looks at what a bounded command has written


class CommandBench:
    """Runs `command` (split like a shell would, never given to one) in `private`, which is also its TMPDIR.

    The block's value is `seconds` (less is better). Standard output is dropped, the end of standard error kept for
    the reason of a failure. `at_most_s` ends a run that hangs.
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

    async def block(self, _seconds: float = 0.0, most_bytes: int | None = None) -> Measured:
        """One run, however long it takes. Raises BenchRefused where it fails. Cancelling ends it and its children.

        Killed, and NotApplicable raised, when `most_bytes` are about to be passed: by what the kernel accounts to it
        and its children, or by what the devices' counters show meanwhile, whichever is more.
        """
        device = self._device_bytes()
        run = _Run(self.argv, self.private)
        try:
            async with asyncio.timeout(self.at_most_s):
                seconds, cpu_s, status = await self._ended(run, most_bytes)
            if status != 0:
                raise BenchRefused(run.why(status))
        except TimeoutError:
            raise BenchRefused(f"{self.argv[0]} did not end within {self.at_most_s:.0f} s") from None
        finally:
            await run.end()
        return Measured(
            seconds=seconds,
            values={"seconds": seconds},
            operations=1,
            device_bytes=grown(device, self._device_bytes()),
            cpu_s=cpu_s,
        )

    async def _ended(self, run: _Run, most_bytes: int | None) -> tuple[float, float, int]:
        if most_bytes is None:
            return await run.finished()
        ending = asyncio.ensure_future(run.finished())
        began, last, at = self._device_written(), 0, time.monotonic()
        try:
            while not (await asyncio.wait({ending}, timeout=LOOK_S))[0]:
                by_disk = self._device_written() - began
                by_itself = await asyncio.to_thread(written_by, run.pid)
                now, wrote = time.monotonic(), max(by_disk, by_itself)
                ahead = max(0, wrote - last) * LOOK_S / max(1e-3, now - at)
                if wrote + ahead >= most_bytes:
                    run.kill()
                    raise NotApplicable(_stopped(self.argv[0], most_bytes, by_itself, by_disk))
                last, at = wrote, now
            return ending.result()
        finally:
            ending.cancel()

    async def quiesce(self) -> None:
        """What the command left in the page cache is written before anything else is measured; at most 2 s."""
        await flush(self.private, 2.0)

    def _device_written(self) -> int:
        return sum(c.write_bytes for c in leaf_counters(self.host, self.leaves) or ())

    def _device_bytes(self) -> int | None:
        found = leaf_counters(self.host, self.leaves)
        return None if found is None else sum(c.bytes for c in found)


def _stopped(name: str, most: int, by_itself: int, by_disk: int) -> str:
    others = max(0, by_disk - by_itself)
    shown = f"it had written {units.size(by_itself)}" + (
        f", the disk {units.size(by_disk)}" if others >> 20 else ""
    )
    return (
        f"{name} was stopped before more than the {units.size(most)} that were left of this session's bound "
        f"were written ({shown}); give a command that writes less"
    )


class _Run:
    """One run, in a session of its own, so that all its children can be ended."""

    def __init__(self, argv: tuple[str, ...], private: PrivateDirectory) -> None:
        self.argv = argv
        self._stderr = b""
        self._told, told = os.pipe()
        try:
            self._child = subprocess.Popen(
                own_module(_CHILD, str(os.getpid()), str(told), str(private.fd), *argv),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=(told, private.fd),
                cwd="/",  # until it changes to the directory by its descriptor
                env=os.environ | {"TMPDIR": private.link, "LC_ALL": "C"},
                start_new_session=True,
            )
        except OSError as error:
            os.close(self._told)
            raise BenchRefused(f"{private.path}: the command cannot be started: {error.strerror}") from error
        finally:
            os.close(told)
        assert self._child.stderr is not None
        os.set_blocking(self._child.stderr.fileno(), False)
        asyncio.get_running_loop().add_reader(self._child.stderr.fileno(), self._hear)

    @property
    def pid(self) -> int:
        return self._child.pid

    def kill(self) -> None:
        """Without a grace in which it would write on."""
        self._signal(signal.SIGKILL)

    async def finished(self) -> tuple[float, float, int]:
        """Wall seconds from the command's own start, its CPU seconds with its children's, and its status."""
        # A thread: pidfd_open needs Linux 5.3, and polling would blur the end. It ends when the command does.
        ended, status, usage = await asyncio.to_thread(self._wait)
        told = os.read(self._told, 4096)
        began, _, problem = told.partition(b"\n")
        if problem:
            raise BenchRefused(f"{self.argv[0]} cannot be started: {decode(problem)}")
        start = whole(decode(began))
        return (ended - (ended if start is None else start)) / 1e9, usage, status

    def _wait(self) -> tuple[int, int, float]:
        _, status, used = os.wait4(self._child.pid, 0)
        ended = time.perf_counter_ns()
        self._child.returncode = os.waitstatus_to_exitcode(status)
        return ended, self._child.returncode, used.ru_utime + used.ru_stime

    def _hear(self) -> bool:
        """Whether there may be more."""
        assert self._child.stderr is not None
        try:
            data = os.read(self._child.stderr.fileno(), 1 << 16)
        except BlockingIOError:
            return False
        self._stderr = (self._stderr + data)[-STDERR_BYTES:]
        if not data:
            asyncio.get_running_loop().remove_reader(self._child.stderr.fileno())
        return bool(data)

    def why(self, status: int) -> str:
        while self._hear():
            pass
        lines = decode(self._stderr).strip().splitlines()
        how = f"exited with status {status}" if status >= 0 else f"was ended by signal {-status}"
        return f"{self.argv[0]} {how}" + (f": {lines[-1][:200]}" if lines else "")

    async def end(self) -> None:
        """Ends what still runs of it: SIGTERM, then SIGKILL. A child that left the session is its own affair."""
        try:
            if self._child.returncode is None:
                self._signal(signal.SIGTERM)
                until = time.monotonic() + GRACE_S
                while self._child.returncode is None and time.monotonic() < until:
                    await asyncio.sleep(0.01)
        finally:
            self._signal(signal.SIGKILL)
            assert self._child.stderr is not None
            asyncio.get_running_loop().remove_reader(self._child.stderr.fileno())
            self._child.stderr.close()
            os.close(self._told)

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._child.pid, number)
        except (ProcessLookupError, PermissionError):
            pass
