"""The progress of a job that runs already: bytes moved, CPU time, or a number that a command prints."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from hostdx.probes.engine.command.supervised import CommandOrder, Supervisors
from hostdx.probes.engine.measured import BenchRefused, Measured
from hostdx.probes.number_text import parse_real, parse_unsigned
from hostdx.probes.reading.host import Host
from hostdx.probes.reading.process_stat import read_stat
from hostdx.probes.types import is_present

BYTES, CPU, UNITS = "MB/s", "CPU seconds/s", "units/s"
COMMAND_S = 10.0  # that a command which prints the progress may take
MAX_PROCESSES = 4096


class JobProgress:
    """Reads the counters of a process, or of all processes of a control group, before and after a window.

    metric: BYTES (`rchar` and `wchar` of /proc/PID/io), CPU (/proc/PID/task/*/schedstat), or UNITS of `command`.
    A window in which a process ended holds what the others did.
    """

    def __init__(
        self, host: Host, metric: str, *, pid: int = 0, cgroup: str = "", command: tuple[str, ...] = ()
    ) -> None:
        self._host = host
        self._metric = metric
        self._pid = pid
        self._cgroup = cgroup.rstrip("/")
        self._command = command
        self._birth = self._start_ticks_text(pid) if pid else ""

    async def measure_block(self, seconds: float) -> Measured:
        """Wait for `seconds` and return the progress per second. Raises BenchRefused where the job is gone."""
        before, began = await self._progress_by_process(), time.monotonic()
        await asyncio.sleep(seconds)
        after, took = await self._progress_by_process(), time.monotonic() - began
        grown = sum(max(0.0, value - before[key]) for key, value in after.items() if key in before)
        scale = {BYTES: 1e6, CPU: 1e9, UNITS: 1.0}[self._metric]
        return Measured(seconds=took, values={self._metric: grown / scale / took}, operations=1)

    async def finish_requests(self) -> None:
        """The job goes on: there is nothing to wait for."""

    async def _progress_by_process(self) -> dict[str, float]:
        if self._command:
            return {"": await self._count_by_command()}
        counters = await asyncio.to_thread(lambda: dict(self._process_counters()))
        if not counters:
            job = f"process {self._pid}" if self._pid else self._cgroup
            raise BenchRefused(
                f"{job}: nothing of it runs any more, or its counters cannot be read; needs root"
            )
        return counters

    def _process_counters(self) -> Iterator[tuple[str, float]]:
        """Yield each process's counter, by its number and birth."""
        for pid in self._process_ids():
            birth = self._start_ticks_text(pid)
            if not birth or (self._birth and birth != self._birth):
                continue
            value = self._asked_io_bytes(pid) if self._metric == BYTES else self._ran_ns(pid)
            if value is not None:
                yield f"{pid} {birth}", value

    def _process_ids(self) -> tuple[int, ...]:
        if self._pid:
            return (self._pid,)
        text = self._host.read_file_text(f"{self._cgroup}/cgroup.procs", 1 << 20)
        numbers = [parse_unsigned(word) for word in text.split()] if is_present(text) else []
        return tuple(number for number in numbers if number)[:MAX_PROCESSES]

    def _start_ticks_text(self, pid: int) -> str:
        stat = read_stat(self._host, f"/proc/{pid}/stat")
        return str(stat.start_ticks) if stat is not None else ""

    def _asked_io_bytes(self, pid: int) -> float | None:
        text = self._host.read_file_text(f"/proc/{pid}/io")
        if not is_present(text):
            return None
        lines = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
        numbers = [parse_unsigned(lines.get(name, "")) for name in ("rchar", "wchar")]
        return float(sum(number for number in numbers if number is not None))

    def _ran_ns(self, pid: int) -> float | None:
        """Return the nanoseconds that its threads ran."""
        total, has_values = 0, False
        for path in self._host.glob_paths(f"/proc/{pid}/task/*/schedstat"):
            text = self._host.read_file_text(path)
            number = parse_unsigned(text.split()[0]) if is_present(text) and text.split() else None
            total, has_values = total + (number or 0), has_values or number is not None
        return float(total) if has_values else None

    async def _count_by_command(self) -> float:
        order = CommandOrder(
            argv=self._command,
            cwd="/",
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
            at_most_s=COMMAND_S,
            kept_bytes=4096,
        )
        async with Supervisors() as supervisors:
            run = await supervisors.run(order)
        words = run.output.split()
        value = parse_real(words[-1]) if words and run.status == 0 else None
        if value is None:
            raise BenchRefused(
                f"{self._command[0]}: exit status {run.status}, and its last word is no number"
            )
        return value
