"""A command of the user's with all that it starts, run by `supervisor` beside this file and measured."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Self, TypeAlias

import msgspec

from hostdx.probes.children.own_module import NONE, start_module
from hostdx.probes.engine.command import process_tree
from hostdx.probes.engine.measured import BenchRefused
from hostdx.probes.engine.pool import fork_child
from hostdx.probes.profile.wait_samples import WaitSample
from hostdx.probes.reading.patterns import lazy_pattern

ENDING_S = 8.0  # the supervisor's own bounds: a grace of 0.5 s, killing at most 5 s
_SAMPLE = b'{"at_s":'
OUTPUT_BYTES = 1 << 20  # of a command's output kept, where its score is looked for in it
_FAULT = lazy_pattern(
    r"(?i)\b(?:\w*error|\w*exception|fail|fatal|panic|abort|segmentation fault|cannot|can't|could ?n.t|unable|"
    r"denied|refused|not found|no such|no space|killed|timed out)"
)
LINE_BYTES = 8 * OUTPUT_BYTES  # of an answer: a byte takes six at most in JSON


class CommandOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What is started and how. Never given to a shell. `env` is the whole environment; `cpus` empty: any.

    `ionice` is (class, level) as ioprio_set(2) has them, empty: as it is. `kept_bytes`: of standard output, its
    end; with 0 it goes to /dev/null, unread. `group`: the control group (version 2) that it runs in.
    `chains`: with call chains.
    `max_written_bytes`: it is ended when it has caused more to be written, as seen at a look; 0: unbounded.
    """

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    cpus: tuple[int, ...] = ()
    node: int | None = None
    nice: int = 0
    ionice: tuple[int, ...] = ()
    kept_bytes: int = 0
    group: str = ""
    chains: bool = False
    max_written_bytes: int = 0
    at_most_s: float = 600.0


class CallChains(msgspec.Struct, frozen=True, kw_only=True):
    """Call chains of a run. Each stack: `on`, `off` or `runnable` (not on a CPU though it wanted to); frames, the
    outermost first, as (number in `files`, place in it) or (-1, address in the kernel); seconds.

    kernel   the kernel's frames are in it; `waits`: the chains of waits too.
    lost     records that did not fit; `dropped_s`: seconds of stacks that were too many.
    """

    kernel: bool
    waits: bool
    lost: int
    dropped_s: float
    files: tuple[str, ...]
    stacks: tuple[tuple[str, tuple[tuple[int, int], ...], float], ...]


class KernelLockWaits(msgspec.Struct, frozen=True, kw_only=True):
    """Waits for locks of the kernel. Each way: the lock's kind (LCB_F_*), who waited and who had taken it before
    (kernel addresses, the innermost first; nobody: not seen), thread seconds, how often. `lost`: as in `CallChains`.
    """

    lost: int
    ways: tuple[tuple[int, tuple[int, ...], tuple[int, ...], float, float], ...]


class JobRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run that was started. Processes: the command, what it waited for and its orphans.

    peak_rss_bytes  of the largest process; None where it is below what the launcher itself had (execve(2) keeps it).
    read_bytes      from block devices, `written_bytes` to be written there (getrusage(2)); None where not counted.
    waited_s        thread seconds in a run queue, `blocked_s` waiting for block I/O (None: delay accounting is off).
    d_s             thread seconds in uninterruptible sleep (state D), as sampled in so many `looks`; None with
                    too many processes at once, and then there are no `waits`: in which calls its threads waited.
    asleep_s        thread seconds neither on a CPU nor waiting for one, exactly; None where that is not known.
    calls           None where none were wanted, or perf events are not there or not allowed; so `locks`, which need
                    root and Linux 5.19.
    throttled_s     its control groups held back by a CPU quota, sum over CPUs; None where no group tells it.
    refetching_s    thread seconds waiting for pages that had been taken away (in `blocked_s` too), `reclaiming_s` in
                    reclaim of its own (mostly system CPU); None unless each task told its delays at its end (root).
    seen            share of its CPU time whose threads `waited_s` and `blocked_s` rest on: 1 where each told at its
                    end, else the share `looked` at, on which `migrations` rest.
    peak_pss_bytes  of all at once, as sampled five times a second at most; None with fewer than three samples.
    migrations      of its threads between CPUs (/proc/PID/task/TID/sched), as far as was seen; None where untold.
    *_pressure_s    seconds in which at least one of its tasks waited (PSI of its group); None without a group.
    memory_full_s   as memory_pressure_s, of all of its tasks that were not idle at once.
    swapped_in_bytes, reclaimed_bytes  of its group, where the memory controller counts for it; `refaulted_bytes`: what
                    was taken away and soon wanted again; `limit_hits`: times that it met memory.max or memory.high.
    counts          of the CPU's counters (`perf_events.EVENTS`), those that are there and allowed; `slots`: what its
                    pipeline did with them (`topdown.SHARES`).
    energy_*_j      joules of the whole host meanwhile (RAPL); None where it cannot be read.
    left            processes that were still alive when it ended and were ended; `survivors` could not be.
    stopped         "", "time", "bytes" or "told".
    """

    stopped: str
    status: int | None
    wall_s: float
    user_s: float
    system_s: float
    peak_rss_bytes: int | None
    minor_faults: int
    major_faults: int
    voluntary_switches: int
    involuntary_switches: int
    read_bytes: int | None
    written_bytes: int | None
    waited_s: float
    blocked_s: float | None
    d_s: float | None
    waits: tuple[WaitSample, ...] = ()
    looks: int = 0
    asleep_s: float | None = None
    throttled_s: float | None = None
    calls: CallChains | None = None
    locks: KernelLockWaits | None = None
    refetching_s: float | None
    reclaiming_s: float | None
    seen: float
    looked: float
    peak_pss_bytes: int | None
    migrations: int | None
    cpu_pressure_s: float | None
    io_pressure_s: float | None
    memory_pressure_s: float | None
    swapped_in_bytes: float | None
    reclaimed_bytes: float | None
    memory_full_s: float | None
    refaulted_bytes: float | None
    limit_hits: float | None
    counts: dict[str, float] = {}
    slots: dict[str, float] = {}
    energy_package_j: float | None
    energy_dram_j: float | None
    left: int
    survivors: int
    errors: str
    output: str
    output_bytes: int

    @property
    def cpu_s(self) -> float:
        return self.user_s + self.system_s

    @property
    def error_text(self) -> str:
        """The last line of standard error that speaks of a fault, else its last three; "" without any.

        dd and others end with their counts, whatever happened.
        """
        lines = [line.strip() for line in self.errors.splitlines() if line.strip()]
        of_fault = [line for line in lines if _FAULT.search(line)]
        return " / ".join(of_fault[-1:] or lines[-3:])[-300:]


class TreeSample(msgspec.Struct, frozen=True, kw_only=True):
    """The process tree `at_s` after its start. `pss_bytes`, `processes` and `threads` are of that
    moment, the others sums since the start; None: unreadable, or not read since the sample before.
    `celsius` (the hottest package) and `hertz` (mean of the first CPUs) are the host's.
    """

    at_s: float
    pss_bytes: int | None
    cpu_s: float
    processes: int
    threads: int
    read_bytes: int | None
    written_bytes: int | None
    celsius: float | None = None
    hertz: float | None = None


Hear: TypeAlias = Callable[[TreeSample], None]


class Supervisors:
    """A supervisor for each run, all forked by one process that starts with the first run (or after it was killed).
    One run at a time. `close` it at the end; when its owner dies it ends, and the run that is under way.
    """

    def __init__(self) -> None:
        self._server: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def run(self, order: CommandOrder, on_event: Hear | None = None) -> JobRun:
        """One run. Cancelling ends it with all that it started. Raises BenchRefused where it cannot be started.

        `on_event` gets a sample a second while it runs, the first three at once; runs under 3 s have none.
        """
        reader, writer = await asyncio.open_connection(sock=self._fork_supervisor(), limit=LINE_BYTES)
        answering = asyncio.ensure_future(_read_final_answer(reader, on_event))
        try:
            # json, not msgspec: the environment may hold bytes that are no text (surrogates)
            writer.write(json.dumps(msgspec.structs.asdict(order)).encode() + b"\n")
            answer = await asyncio.shield(answering)
        finally:
            await self._end_supervisor(writer, answering)
        try:
            fields = json.loads(answer)
        except ValueError:
            raise BenchRefused(f"{order.argv[0]}: its supervisor was killed; run it again") from None
        if fields.get("problem"):
            raise BenchRefused(f"{order.argv[0]} cannot be started: {fields['problem']}")
        return msgspec.convert(fields, JobRun)

    def written_bytes(self) -> int:
        """Bytes that the run under way has caused to be written, as the kernel accounts them."""
        return process_tree.written_bytes_of_tree(self._server.pid) if self._server is not None else 0

    def kill_run(self) -> None:
        """The run under way, without a grace in which it would write on."""
        for supervisor in process_tree.list_children(self._server.pid) if self._server is not None else ():
            for pid in process_tree.list_descendants(supervisor):
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)

    async def close(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
        server, self._server = self._server, None
        if server is not None:
            until = time.monotonic() + ENDING_S
            while server.poll() is None:
                if time.monotonic() > until:
                    server.kill()
                await asyncio.sleep(0.002)

    def _fork_supervisor(self) -> socket.socket:
        """The socket of a new supervisor."""
        if self._server is None or self._server.poll() is not None:
            self._start_server()
        assert self._control is not None
        return fork_child(self._control)

    def _start_server(self) -> None:
        if self._control is not None:
            self._control.close()
        self._control, server_end = socket.socketpair()
        with server_end:
            try:
                self._server = start_module(
                    "hostdx.probes.engine.command.run_server", stdin=server_end.fileno(), stdout=NONE
                )
            except OSError as error:
                raise BenchRefused(
                    f"the process that runs commands cannot be started: {error.strerror}"
                ) from error

    async def _end_supervisor(self, writer: asyncio.StreamWriter, answering: asyncio.Future[bytes]) -> None:
        """Shielded by its shortness: what is stopped twice still waits until nothing is left."""
        if not answering.done():
            writer.write_eof()
            await asyncio.wait({answering}, timeout=ENDING_S)
        if not answering.done() and self._server is not None:
            for supervisor in process_tree.list_children(self._server.pid):
                os.kill(supervisor, signal.SIGKILL)
            await asyncio.wait({answering}, timeout=1.0)
        writer.close()


async def _read_final_answer(reader: asyncio.StreamReader, on_sample: Hear | None) -> bytes:
    """Its last line; b"" where it was killed before."""
    answer = b""
    try:
        async for line in reader:
            if not line.startswith(_SAMPLE):
                answer = line
            elif on_sample is not None:
                on_sample(msgspec.json.decode(line, type=TreeSample))
    except ConnectionError:
        pass
    return answer
