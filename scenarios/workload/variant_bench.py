"""One variant, run by run: prepared, started, measured; a run that fails is said and not measured.

What the disks under some directories moved between two looks: everybody's I/O, ours and others' (/proc/diskstats).

What a program left in the page cache is written later, by the kernel: it is in no look, or in a later one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hostdx.probes import units
from hostdx.probes.engine.command import perf_events, topdown
from hostdx.probes.engine.command.supervised import OUTPUT_BYTES, JobRun, Supervisors, TreeSample
from hostdx.probes.engine.measured import Measured, MeasurementInvalid, WriteBudgetSpent
from hostdx.probes.profile import wait_samples
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.diskstats import DiskCounters, leaf_counters
from hostdx.probes.system.disk.topology import find_placement
from hostdx.probes.types import Absent
from hostdx.probes.units import format_duration, format_size
from hostdx.scenarios.analysis.profile.call_paths import MAX_RUNS, RunCalls, run_calls_of
from hostdx.scenarios.analysis.profile.waits import WaitTotal, summarise_waits
from hostdx.scenarios.contract.model import Run
from hostdx.scenarios.contract.plan import Metric
from hostdx.scenarios.experiment.schedule.blocks import VariantBench
from hostdx.scenarios.experiment.schedule.host_settings import HostSettingsSwitch
from hostdx.scenarios.workload.cold import CacheDropper
from hostdx.scenarios.workload.group import SampleCurves, ScoreReader
from hostdx.scenarios.workload.variants import CommandVariant


class BytesMoved(NamedTuple):
    read_bytes: int
    write_bytes: int


class MovedBytesCounter:
    """`leaves`: kernel names of the disks at the bottom of the directories' stacks; empty where they lie on none."""

    def __init__(self, host: Host, directories: Iterable[str]) -> None:
        self.host = host
        places = [find_placement(host, directory) for directory in dict.fromkeys(directories)]
        leaves = (leaf for place in places if not isinstance(place, Absent) for leaf in place.leaves)
        self.leaves = tuple(dict.fromkeys(leaves))
        self._before: list[DiskCounters] | None = None

    def note_counters(self) -> None:
        self._before = leaf_counters(self.host, self.leaves)

    def bytes_moved(self) -> BytesMoved | None:
        """Since `begin`, over all leaves; None without any, or where one came, went or began to count anew."""
        now = leaf_counters(self.host, self.leaves)
        if self._before is None or now is None:
            return None
        read = [b.read_bytes - a.read_bytes for a, b in zip(self._before, now, strict=True)]
        written = [b.write_bytes - a.write_bytes for a, b in zip(self._before, now, strict=True)]
        return BytesMoved(sum(read), sum(written)) if min(*read, *written) >= 0 else None


def likely_directories(cwd: str, env: Iterable[str]) -> tuple[str, ...]:
    """Where a command is likely to work: its directory, and those that its own variables name (TMPDIR=/scratch)."""
    return (cwd, *(value for value in env if value.startswith("/") and os.path.isdir(value)))  # noqa: PTH112


IN_A_ROW = 3  # failures after which a variant is given up
MAX_SWITCHES_PER_S = 10_000  # with a user's perf events, which cost the command 0.7 µs each (`perf_ring`)
SAID = 5  # failures that are said, a variant
SEEN = 0.9  # of the CPU time: with less, what the threads waited is not known
WALL, CPU, SCORE = "wall", "CPU time", "score"
ENERGY = "energy"
MIN_ENERGY_J = 1e-6  # a count of RAPL's: a run that ended before its counters moved (every ms) is no stall
USER, SYSTEM, WAITING, BLOCKED = "user CPU", "system CPU", "waiting for a CPU", "block I/O"
QUOTA, MUTEX = "held back by a CPU quota", "mutex"
MEMORY = "swap and reclaim"
OTHER_D = "other waits in state D"
OWN_RECLAIM = "reclaim of its own"  # in swap and reclaim; as far as it computes, in system CPU as well
MINOR_FAULTS = "minor faults"
LOOKS = "looks at its waits"
ALL_WAIT, HITS = "swap and reclaim, all tasks at once", "times at the memory limit"
SWAPPED_IN, RECLAIMED, REFAULTED = "swapped in", "reclaimed", "refaulted"
DEVICES_READ, DEVICES_WRITTEN = "devices read, by everybody", "devices written, by everybody"

SHOWN = tuple(
    Metric(name, unit, better="less", judged=False)
    for unit, names in (
        ("s", (USER, SYSTEM, WAITING, QUOTA, MUTEX, BLOCKED, MEMORY, OTHER_D)),
        ("B", ("peak RSS", "peak PSS", "read", "written", DEVICES_READ, DEVICES_WRITTEN)),
        ("s", (ALL_WAIT, OWN_RECLAIM)),
        ("B", (SWAPPED_IN, RECLAIMED, REFAULTED)),
        ("", (HITS, MINOR_FAULTS, "major faults", "voluntary switches", "involuntary switches")),
        ("", ("migrations", LOOKS, *perf_events.EVENTS)),
        ("of the slots", topdown.SHARES),
        ("J", ("energy, packages", "energy, DRAM")),
    )
    for name in names
)


def window_values_of(job: JobRun) -> dict[str, float]:
    """By metric; what is not known is left out.

    Waits are sums over the threads where these were seen, or told at their end; else the seconds in which at least one
    task waited (PSI of the run's group). A wait for a page that was swapped out or reclaimed is I/O as well: it counts
    as memory.
    Not all that waits for a disk waits in the block layer: who waits for a file system's journal is in state D and in
    no account of I/O (jbd2_log_wait_commit, xlog_wait). That is seen at the looks, less what is told above.
    """
    was_observed = job.seen >= SEEN
    blocked = job.blocked_s if was_observed and job.blocked_s is not None else job.io_pressure_s
    memory, refetching = job.memory_pressure_s, job.memory_pressure_s or 0.0
    if job.refetching_s is not None:
        memory, refetching = job.refetching_s + (job.reclaiming_s or 0.0), job.refetching_s
    if blocked is not None:
        blocked = max(0.0, blocked - refetching)
    waiting = job.waited_s if was_observed else job.cpu_pressure_s
    quota = None if waiting is None or job.throttled_s is None else min(waiting, job.throttled_s)
    mutex = (
        None
        if job.d_s is None
        else sum(wait.thread_s for wait in job.waits if wait.place == wait_samples.MUTEX)
    )
    values: dict[str, float | None] = {
        WALL: job.wall_s,
        CPU: job.cpu_s,
        USER: job.user_s,
        SYSTEM: job.system_s,
        WAITING: waiting if waiting is None else waiting - (quota or 0.0),
        QUOTA: quota,
        MUTEX: mutex,
        BLOCKED: blocked,
        MEMORY: memory,
        OWN_RECLAIM: job.reclaiming_s,
        OTHER_D: None if job.d_s is None else max(0.0, job.d_s - (blocked or 0.0) - refetching),
        "peak PSS": job.peak_pss_bytes,
        ALL_WAIT: job.memory_full_s,
        SWAPPED_IN: job.swapped_in_bytes,
        RECLAIMED: job.reclaimed_bytes,
        REFAULTED: job.refaulted_bytes,
        HITS: job.limit_hits,
        "migrations": job.migrations if job.looked >= SEEN else None,
        LOOKS: job.looks if job.d_s is not None else None,
        **{name: job.counts.get(name) for name in perf_events.EVENTS},
        **job.slots,
        ENERGY: _package_and_dram_j(job),
        "energy, packages": job.energy_package_j,
        "energy, DRAM": job.energy_dram_j,
        "peak RSS": job.peak_rss_bytes,
        "read": job.read_bytes,
        "written": job.written_bytes,
        MINOR_FAULTS: job.minor_faults,
        "major faults": job.major_faults,
        "voluntary switches": job.voluntary_switches,
        "involuntary switches": job.involuntary_switches,
    }
    return {name: float(value) for name, value in values.items() if value is not None}


def _package_and_dram_j(job: JobRun) -> float | None:
    """Packages and DRAM together, as far as they can be read."""
    known_joules = [value for value in (job.energy_package_j, job.energy_dram_j) if value is not None]
    return max(MIN_ENERGY_J, sum(known_joules)) if known_joules else None


class WriteAllowance:
    """The bytes that all commands of a run of hostdx may cause to be written; 0: as many as they want."""

    def __init__(self, most_bytes: int = 0) -> None:
        self.most_bytes = most_bytes
        self.spent_bytes = 0

    @property
    def left_bytes(self) -> int:
        return max(1, self.most_bytes - self.spent_bytes) if self.most_bytes else 0

    def check(self) -> None:
        """Raises WriteBudgetSpent."""
        if self.most_bytes and self.spent_bytes >= self.most_bytes:
            raise WriteBudgetSpent(f"{format_size(self.spent_bytes)} are written, the limit of --most-bytes")

    def charge_run(self, job: JobRun) -> None:
        """Raises WriteBudgetSpent where it was ended for it."""
        self.spent_bytes += job.written_bytes or 0
        if job.stopped == "bytes":
            raise WriteBudgetSpent(
                f"a command was stopped when {format_size(self.spent_bytes)} were written (--most-bytes)"
            )


class CommandVariantBench(VariantBench):
    """A block is one run, however long it takes."""

    def __init__(
        self,
        run: Run,
        job: CommandVariant,
        supervisors: Supervisors,
        *,
        at_most_s: float,
        score: ScoreReader | None = None,
        prepare: Sequence[str] = (),
        private: bool = False,
        group: str = "",
        stay: HostSettingsSwitch | None = None,
        cold: CacheDropper | None = None,
        allowance: WriteAllowance | None = None,
        curves: SampleCurves | None = None,
        devices: MovedBytesCounter | None = None,
        profile: bool = False,
    ) -> None:
        """`private`: what the command said on standard error is not told. `stay`: where variants change settings.
        `profile`: with call chains.
        """
        self.run = run
        self.job = job
        self.supervisors = supervisors
        self.variant = job.id
        self.at_most_s = at_most_s
        self.score = score
        self.prepare = tuple(prepare)
        self.private = private
        self.group = group
        self.stay = stay
        self.cold = cold
        self.allowance = allowance or WriteAllowance()
        self.curves = curves or SampleCurves(run)
        self.devices = devices or MovedBytesCounter(run.host, ())
        self.waited: dict[
            float, tuple[WaitTotal, ...]
        ] = {}  # by the wall time of the run, as its block has it
        self.profile = profile
        self.chains: dict[float, RunCalls] = {}  # as `summarise_waits`
        self._switches_s = 0.0  # of the run before
        self.runs = self.failed = self._in_a_row = 0
        self.problem = ""  # why the last one failed
        self._left_said = False

    async def switch_to_variant(self) -> None:
        if self.stay is not None:
            await self.stay.switch_to(self.job.settings)

    async def measure_block(self, seconds: float = 0.0) -> Measured:
        """One run. Raises MeasurementInvalid where it cannot be prepared, or failed three times in a row."""
        self.allowance.check()
        await self.run_extra_command(self.prepare, "--prepare")
        if self.cold is not None:
            await self.cold.drop_caches(self.at_most_s)
        keep = OUTPUT_BYTES if self.score is not None else 0
        self.runs += 1
        order = self.job.make_order(
            keep=keep,
            group=self.group,
            chains=self._should_record_wakers(),
            most_bytes=self.allowance.left_bytes,
            at_most_s=self.at_most_s,
        )
        self.devices.note_counters()
        job = await self.supervisors.run(order, self._record_sample)
        moved = self.devices.bytes_moved()
        if job.d_s is not None:
            self.waited[job.wall_s] = summarise_waits(job.waits)
        self._switches_s = (job.voluntary_switches + job.involuntary_switches) / max(0.01, job.wall_s)
        if (calls := run_calls_of(job)) is not None:
            self.chains[job.wall_s] = calls
        if self.stay is not None:
            self.stay.check()
        self._note_survivors_once(job)
        self.allowance.charge_run(job)
        values = window_values_of(job)
        if moved is not None:
            values |= {DEVICES_READ: float(moved.read_bytes), DEVICES_WRITTEN: float(moved.write_bytes)}
        problem = describe_failure(job, self.at_most_s, self.private)
        if not problem and self.score is not None:
            score_value = self.score.find(job.output)
            if score_value is None:
                problem = "no score above 0 in its output" + (
                    f" (only the last {units.format_size(OUTPUT_BYTES)} are searched)"
                    if job.output_bytes > OUTPUT_BYTES
                    else ""
                )
            else:
                values[SCORE] = score_value
        if problem:
            self._count_failure(problem)
            values = {}
        else:
            self._in_a_row = 0
        return Measured(seconds=job.wall_s, values=values, operations=1, cpu_s=job.cpu_s)

    def _should_record_wakers(self) -> bool:
        light = os.geteuid() == 0 or self._switches_s <= MAX_SWITCHES_PER_S
        return self.profile and light and len(self.chains) < MAX_RUNS

    def _record_sample(self, sample: TreeSample) -> None:
        self.curves.record_sample(self.variant, self.runs, sample)

    async def run_extra_command(self, argv: Sequence[str], option: str, *, bounded: bool = True) -> None:
        """Another command in the variant's environment and directory, not timed. Raises MeasurementInvalid if it fails,
        Spent where it wrote more than was left; `bounded` False: it may write all the same (what cleans up).
        """
        if argv:
            most = self.allowance.left_bytes if bounded else 0
            job = await self.supervisors.run(
                self.job.make_order(argv, most_bytes=most, at_most_s=self.at_most_s)
            )
            self.allowance.charge_run(job)
            if problem := describe_failure(job, self.at_most_s, self.private):
                raise MeasurementInvalid(f"{option}: {problem}")

    def _count_failure(self, problem: str) -> None:
        self.failed += 1
        self.problem = problem
        self._in_a_row += 1
        if self._in_a_row >= IN_A_ROW:
            raise MeasurementInvalid(f"{IN_A_ROW} runs in a row failed: {problem}")
        if self.failed <= SAID:
            self.run.emit_note(f"{self.variant}: run {self.runs} is not measured: {problem}")

    def _note_survivors_once(self, job: JobRun) -> None:
        if job.left and not job.stopped and not self._left_said:
            self._left_said = True
            count = "1 process was" if job.left == 1 else f"{job.left} processes were"
            ended = f"{job.survivors} could not be ended" if job.survivors else "ended"
            self.run.emit_note(f"{self.variant}: {count} still running after the command had ended: {ended}")


def describe_failure(job: JobRun, at_most_s: float, private: bool = False) -> str:
    """Return why a run is not measured, with what standard error says of it; "" where it went well."""
    last = f": {job.error_text}" if job.error_text and not private else ""
    if job.stopped == "time":
        return f"it did not end within {format_duration(at_most_s)} (--at-most){last}"
    if job.stopped or job.status is None:
        return f"it was stopped from outside{last}"
    if job.status < 0:
        return f"it was ended by signal {-job.status} after {format_duration(job.wall_s)}{last}"
    return (
        f"it exited with status {job.status} after {format_duration(job.wall_s)}{last}" if job.status else ""
    )
