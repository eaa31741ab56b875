"""Loads under which a setting is tried: reads through the page cache, the everyday loads, a command, a running job."""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Literal, TypeAlias

import msgspec

from hostdx.probes.engine.battery import BenchmarkSet, own_affinity
from hostdx.probes.engine.battery_loads import CALLS, DISK_LOADS, FILES
from hostdx.probes.engine.command.command import CommandBench
from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.engine.disk.refusals import check_suitability
from hostdx.probes.engine.measured import Measured
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.topology import find_placement, read_disk_topology
from hostdx.probes.types import is_present
from hostdx.scenarios.contract.model import OptionMap, Run, RunRefused, UsageError, own_test_directory
from hostdx.scenarios.contract.plan import Metric, Workload, timed_command_workload
from hostdx.scenarios.experiment.schedule.switch import SwitchedLoad
from hostdx.scenarios.prove.kinds import ProvableSetting
from hostdx.scenarios.prove.measurement.buffered import (
    SCATTERED_RATE,
    STREAM_RATE,
    BufferedReads,
    open_named_file,
    write_test_file,
)
from hostdx.scenarios.prove.measurement.progress import BYTES, CPU, UNITS, JobProgress

Source: TypeAlias = Literal["cache", "disk", "calls", "command", "job"]

STREAM, SCATTERED = "stream-read", "scattered-read"
DEFAULT_SIZE = 256 << 20
MAX_WRITTEN = 1 << 30
SIZED_AS = "randread-4k-qd1"  # the load of the engine whose file is as large
WINDOW_S, JOB_WINDOW_S = 0.5, 1.0
_CACHE = {
    STREAM: ("a file streamed through the page cache", STREAM_RATE, "read-ahead helps it"),
    SCATTERED: ("4 KiB at random places through the page cache", SCATTERED_RATE, "read-ahead may cost it"),
}
_CALLS = {call.id: call for call in CALLS if call.call not in FILES}
_READS = {load.id: load for load in DISK_LOADS if load.kind == "read"}
LOADS = (*_CACHE, *_READS, *_CALLS)


class ProofLoad(msgspec.Struct, frozen=True, kw_only=True):
    """One load, before it is opened. `directory`: where it writes its file; `file`: what it reads instead."""

    source: Source
    workload: Workload
    directory: str = ""
    file: str = ""
    size_bytes: int = 0
    command: str = ""
    pid: int = 0
    cgroup: str = ""
    leaves: tuple[str, ...] = ()
    refusal: str = ""

    @property
    def metric(self) -> str:
        return self.workload.metrics[0].name


def choose_loads(
    host: Host, options: OptionMap, controls: tuple[str, ...], settings: Sequence[ProvableSetting]
) -> tuple[ProofLoad, ...]:
    """Return the loads that the options name: one or more of `--load`, or one command or job. Raises UsageError.

    A load that reads files does so in `--dir`, or in a mounted directory that the settings act on.
    """
    pid, cgroup, names = options.as_integer("pid"), options.as_string("cgroup"), options.as_strings("load")
    command, progress = options.as_string("cmd"), options.as_string("progress-cmd")
    if sum(map(bool, (pid, cgroup, names, command))) != 1:
        raise UsageError(
            f"name a load: --load {STREAM} (or another: {', '.join(LOADS[1:4])}, …), --cmd 'COMMAND', or --pid or "
            "--cgroup of a job that runs"
        )
    if command or progress:
        _split_command_or_refuse(command or progress)
    if progress and not (pid or cgroup):
        raise UsageError("--progress-cmd goes with --pid or --cgroup")
    if command:
        load = timed_command_workload("command", "the command", controls=controls)
        return (
            _place_load(host, options, settings, ProofLoad(source="command", workload=load, command=command)),
        )
    if pid or cgroup:
        return (_job_load(host, options, pid, cgroup, controls),)
    return tuple(_load_by_name(host, options, name, controls, settings) for name in dict.fromkeys(names))


def _load_by_name(
    host: Host, options: OptionMap, name: str, controls: tuple[str, ...], settings: Sequence[ProvableSetting]
) -> ProofLoad:
    if name in _CALLS:
        call = _CALLS[name]
        load = _make_workload(name, call.title, call.unit, call.why, controls)
        return ProofLoad(source="calls", workload=load)
    if name in _READS:
        read = _READS[name]
        load = _make_workload(name, f"{read.title}, direct", read.metric, read.why, controls)
        return _place_load(host, options, settings, ProofLoad(source="disk", workload=load))
    if name not in _CACHE:
        raise UsageError(f"no load {name}: there are {', '.join(LOADS)}")
    title, unit, why = _CACHE[name]
    load = _make_workload(name, title, unit, why, controls)
    return _place_load(host, options, settings, ProofLoad(source="cache", workload=load))


def _make_workload(id: str, title: str, unit: str, why: str, controls: tuple[str, ...]) -> Workload:
    return Workload(
        id=id,
        title=title,
        metrics=(Metric(unit, unit),),
        block_s=WINDOW_S,
        max_block_s=WINDOW_S,
        min_operations=1,
        controls=controls,
        why=why,
    )


def _job_load(host: Host, options: OptionMap, pid: int, cgroup: str, controls: tuple[str, ...]) -> ProofLoad:
    progress = options.as_string("progress-cmd")
    unit = UNITS if progress else {"bytes": BYTES, "cpu": CPU}[options.as_string("progress", "bytes")]
    job = f"process {pid}" if pid else f"control group {cgroup}"
    if cgroup and not cgroup.startswith("/"):
        raise UsageError(
            f"--cgroup {cgroup}: write its folder, such as /sys/fs/cgroup/system.slice/job.service"
        )
    path = f"/proc/{pid}/stat" if pid else f"{cgroup}/cgroup.procs"
    if not host.path_exists(path):
        raise UsageError(f"{job}: {path} is not there")
    load = _make_workload("job", f"the progress of {job}", unit, "the job goes on as it would", controls)
    load = msgspec.structs.replace(load, block_s=JOB_WINDOW_S, max_block_s=JOB_WINDOW_S)
    return ProofLoad(source="job", workload=load, command=progress, pid=pid, cgroup=cgroup)


def _place_load(
    host: Host, options: OptionMap, settings: Sequence[ProvableSetting], load: ProofLoad
) -> ProofLoad:
    """Return the load with its directory or file, and why it cannot run there."""
    directory, file = options.as_string("dir") or _dir_on_disk_of(host, settings), options.as_string("file")
    if file and load.source != "cache":
        raise UsageError(f"--file goes with --load {STREAM} or {SCATTERED}")
    directory_path = (
        file.rpartition("/")[0] or "/" if file else directory or ("/var/tmp" if load.command else "")
    )
    if not directory_path:
        raise UsageError(
            f"--load {load.workload.id} needs --dir, a directory on the disk in question, or --file"
        )
    placement = find_placement(host, directory_path)
    leaves = placement.leaves if is_present(placement) else ()
    placed = msgspec.structs.replace(load, directory=directory_path, file=file, leaves=leaves)
    if file or load.command:
        return placed
    wanted = options.as_integer("size")
    fit = check_suitability(
        host, directory_path, explicit=True, size_bytes=wanted or None, workloads=(SIZED_AS,)
    )
    return msgspec.structs.replace(
        placed, size_bytes=wanted or min(DEFAULT_SIZE, fit.size_bytes), refusal=fit.refusal
    )


def _dir_on_disk_of(host: Host, settings: Sequence[ProvableSetting]) -> str:
    """Return where a file system is mounted that lies on the disk, or has the number, that a setting acts on."""
    topology = read_disk_topology(host)
    scopes = {setting.disk for setting in settings if setting.disk}
    for mount in topology.mounts if is_present(topology.mounts) else ():
        tops = topology.devices_directly_under(mount)
        leaves = topology.leaves_under(tops) if is_present(tops) else ()
        if scopes & {mount.devno, *leaves}:
            return mount.mountpoint
    return ""


def _split_command_or_refuse(command: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(f"the command cannot be split into words: {error}; check its quotes") from None
    if not words:
        raise UsageError("the command is empty")
    return words


class BenchmarkWindows:
    """Windows of an everyday load: its slices, one after another, until the window's time is over."""

    def __init__(self, benchmarks: BenchmarkSet, load: str, metric: str) -> None:
        self._benchmarks = benchmarks
        self._load = load
        self._metric = metric

    async def measure_block(self, seconds: float) -> Measured:
        slices: list[Measured] = []
        while not slices or sum(each.seconds for each in slices) < seconds:
            slices.append(await self._benchmarks.measure_slice(self._load, "all"))
        took = sum(each.seconds for each in slices)
        value = sum(each.values[self._metric] * each.seconds for each in slices) / took
        return Measured(
            seconds=took,
            values={self._metric: value},
            operations=sum(each.operations for each in slices),
            bytes=sum(each.bytes for each in slices),
            cpu_s=sum(each.cpu_s for each in slices),
        )

    async def finish_requests(self) -> None:
        """Each slice waits until its own requests are done."""


@asynccontextmanager
async def open_load(run: Run, load: ProofLoad) -> AsyncIterator[SwitchedLoad]:
    """Yield the load, ready to be measured; its files and workers are gone afterwards. Raises BenchRefused."""
    metric = load.metric
    if load.source == "job":
        words = _split_command_or_refuse(load.command) if load.command else ()
        yield JobProgress(run.host, metric, pid=load.pid, cgroup=load.cgroup, command=words)
    elif load.source == "calls":
        benchmarks = BenchmarkSet(run.host, None, None, 0, run.seed, (), own_affinity())
        try:
            yield BenchmarkWindows(benchmarks, load.workload.id, metric)
        finally:
            await benchmarks.close()
    elif load.file:
        reads = BufferedReads(open_named_file(load.file), run.seed, scattered=load.workload.id == SCATTERED)
        try:
            yield reads
        finally:
            reads.close()
    else:
        async with _open_in_directory(run, load, metric) as opened:
            yield opened


@asynccontextmanager
async def _open_in_directory(run: Run, load: ProofLoad, metric: str) -> AsyncIterator[SwitchedLoad]:
    async with own_test_directory(run, load.directory) as private:
        if load.source == "command":
            yield CommandBench(run.host, load.command, private, load.leaves)
            return
        if load.source == "cache":
            with run.begin_step("prepare", "write the test file") as step:
                fd = await write_test_file(private, load.size_bytes, run.seed, step.report_written)
            reads = BufferedReads(fd, run.seed, scattered=load.workload.id == SCATTERED)
            try:
                yield reads
            finally:
                reads.close()
            return
        budget = WriteBudget(MAX_WRITTEN)
        benchmarks = BenchmarkSet(
            run.host,
            load.directory,
            private,
            load.size_bytes,
            run.seed,
            load.leaves,
            own_affinity(),
            budget=budget,
        )
        try:
            with run.begin_step("prepare", "write the test files") as step:
                await benchmarks.prepare_files(step.report_written)
            yield BenchmarkWindows(benchmarks, load.workload.id, metric)
        finally:
            await benchmarks.close()


def check_reach(load: ProofLoad, disks: frozenset[str]) -> None:
    """Raise RunRefused where a setting acts on a disk that the load does not reach."""
    disks = frozenset(disk for disk in disks if ":" not in disk)  # a file system's number is none of a disk
    if load.source in ("cache", "disk") and disks and not disks & set(load.leaves):
        raise RunRefused(
            f"{load.directory} lies on {', '.join(load.leaves) or 'no disk'}, and the setting acts on "
            f"{', '.join(sorted(disks))}: name a directory on that disk with --dir"
        )
