"""What a run of `box` would do: where, how much it writes at most, who else is loaded by it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from hostdx.probes import units
from hostdx.probes.engine.disk.budget import GIB, MAX_WRITTEN_BYTES
from hostdx.probes.engine.disk.refusals import delays_inode_reuse
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.mounts import NETWORK
from hostdx.probes.system.running.allowed import read_allowed_resources
from hostdx.probes.types import Absent
from hostdx.scenarios.box.measurement.bench import MAX_NAMES
from hostdx.scenarios.box.measurement.corner import (
    CORNERS,
    HARD_FILE_BYTES,
    LOADS,
    BoxSizes,
    box_tests_of,
    equivalent_command,
)
from hostdx.scenarios.contract.model import OptionMap, UsageError, make_directory_action
from hostdx.scenarios.contract.plan import Metric, Plan, PlannedStep, PlannedWrite, Variant, Workload
from hostdx.scenarios.experiment.files.directories import ChosenTestDirectory
from hostdx.scenarios.experiment.guards.foreign_latency import STOPS_ITSELF
from hostdx.scenarios.triage.knowledge.disks import guess_seconds_to_write

if TYPE_CHECKING:
    from hostdx.scenarios.analysis.compare.bounding_box import ApplicationPoint

DEFAULT_BUDGET_S = 120.0
MIN_BUDGET_S = 10.0
MAX_FILE_SET_BYTES = GIB  # of all test files together
MIN_VARIANT_BYTES = 32 << 20
MAX_WORKERS = 64
USUAL_WORKERS = 16
INODES_SHARE = 0.01  # of the free ones, in use at once on a side
READS = "read-1m-qd8"  # the engine's load that asks for a directory as this scenario does
TITLES = {
    "ior-write": "ior write",
    "ior-read": "ior read",
    "mdtest-write": "mdtest create",
    "find": "find",
    "mdtest-stat": "mdtest stat",
    "mdtest-read": "mdtest hard read",
    "mdtest-delete": "mdtest delete",
}
VARIANTS = (
    Variant(id="easy", label="easy", detail="a file or a directory for each worker"),
    Variant(id="hard", label="hard", detail="one shared file, one shared directory"),
    Variant(id="all", label="all", detail="the files of easy and hard together"),
)


class BoxSetup:
    """The directory with its file system, and the sizes."""

    def __init__(self, host: Host, options: OptionMap) -> None:
        self.place = ChosenTestDirectory(host, options, MAX_FILE_SET_BYTES, (READS,))
        self.most_bytes = options.as_integer("most-bytes") or MAX_WRITTEN_BYTES
        self.side_bytes = self.place.size_bytes // 3 // (1 << 20) * (1 << 20)
        self.worker_count = options.as_integer("workers") or usual_worker_count(host)
        self.job_refusal = ""
        if program := options.as_string("engine"):
            raise UsageError(
                f"--engine {program}: hostdx no longer starts this program; run it yourself and "
                "read its output with `hostdx import FILE`"
            )
        self.jobs: list[ApplicationPoint] = []
        self.recordings: list[str] = []  # of jobs: read when the run begins
        for path in options.as_strings("job"):
            self._add_job_or_refusal(path)
        self.budget_s = options.as_number("budget") or DEFAULT_BUDGET_S
        if self.budget_s < MIN_BUDGET_S:
            raise UsageError(
                f"--budget {self.budget_s:g} is too short for all corners; give {MIN_BUDGET_S:g} or more"
            )
        fit = self.place.fit
        self.mount = fit.placement.mount if fit is not None and fit.placement is not None else None
        free = host.read_statvfs(self.place.directory_path) if self.place.directory_path else None
        inodes = free.f_favail if free is not None and not isinstance(free, Absent) else 0
        most = int(inodes * INODES_SHARE) if inodes else MAX_NAMES
        by_bytes = self.side_bytes // (HARD_FILE_BYTES + 4096)
        self.max_files = max(self.worker_count, min(MAX_NAMES, most, by_bytes))
        self.delays_inode_reuse = (
            fit is not None and fit.placement is not None and delays_inode_reuse(host, fit.placement)
        )

    def _add_job_or_refusal(self, path: str) -> None:
        from hostdx.probes.imports.model import ImportRefusedError as Unread
        from hostdx.scenarios.box.jobs import is_recording_file, read_job_points  # all importers come with it

        try:
            if is_recording_file(path):
                self.recordings.append(path)
            else:
                self.jobs += read_job_points(path)
        except Unread as why:
            self.job_refusal = f"--job {path}: {why.why}{f'; {why.hint}' if why.hint else ''}"

    @property
    def directory_path(self) -> str:
        return self.place.directory_path

    @property
    def file_system(self) -> str:
        return self.mount.fstype if self.mount is not None else ""

    @property
    def source(self) -> str:
        """Return what tells this file system from others in later runs."""
        return self.mount.source if self.mount is not None else ""

    @property
    def is_network_file_system(self) -> bool:
        """Return whether other machines are served by it too."""
        return self.file_system in NETWORK

    @property
    def fill_bytes(self) -> int:
        return 2 * self.side_bytes

    @property
    def refusal_reason(self) -> str:
        if self.job_refusal or self.place.refusal:
            return self.job_refusal or self.place.refusal
        if self.side_bytes < MIN_VARIANT_BYTES:
            size, least = map(units.format_size, (self.place.size_bytes, 3 * MIN_VARIANT_BYTES))
            return (
                f"{self.directory_path}: {size} for test files is too little, at least {least}: give a larger --size, "
                "or free some space (the files take at most 5 % of it)"
            )
        if 2 * self.fill_bytes > self.most_bytes:
            return (
                f"the files that are read take {units.format_size(self.fill_bytes)}, and this run may write "
                f"{units.format_size(self.most_bytes)}; give --most-bytes={math.ceil(2 * self.fill_bytes / GIB)}G or a "
                "smaller --size"
            )
        return ""


def usual_worker_count(host: Host) -> int:
    """One for each CPU that may be used, at least two: a shared file needs somebody to share it with."""
    cpus = read_allowed_resources(host).cpus
    count = (os.cpu_count() or 1) if isinstance(cpus, Absent) else len(cpus)
    return max(2, min(USUAL_WORKERS, count))


def box_workloads(layout: BoxSizes) -> tuple[Workload, ...]:
    """A load is what easy and hard share; its blocks have a fixed amount of work."""
    return tuple(
        Workload(
            id=load,
            title=TITLES[load],
            metrics=(Metric(box_tests_of(load)[0].metric_name, box_tests_of(load)[0].unit),),
            block_s=0.4,
            min_operations=1,
            min_groups=4,
            equivalent="; ".join(equivalent_command(corner, layout) for corner in box_tests_of(load)),
        )
        for load in LOADS
    )


def planned_steps(layout: BoxSetup) -> tuple[PlannedStep, ...]:
    return (
        PlannedStep(
            "prepare", "write the files that are read", guess_seconds_to_write(layout.fill_bytes) + 2.0
        ),
        PlannedStep("corners", "measure the corners in turn", layout.budget_s),
    )


def planned_writes(layout: BoxSetup) -> tuple[PlannedWrite, ...]:
    return (
        PlannedWrite(device=layout.place.device_name, bytes=layout.most_bytes, where=layout.directory_path),
    )


def plan_sentences(layout: BoxSetup) -> Iterator[str]:
    yield STOPS_ITSELF
    yield (
        f"{layout.worker_count} workers; at most {units.format_size(3 * layout.side_bytes)} of files and "
        f"{2 * layout.max_files} names at once, all removed at the end; the large files are unnamed, so that nothing "
        "of them is left after a crash"
    )
    if layout.jobs or layout.recordings:
        yield f"{len({job.name for job in layout.jobs}) + len(layout.recordings)} of --job are put into the box"
    if layout.is_network_file_system:
        yield network_storage_warning(layout)
    yield from layout.place.fit.notes if layout.place.fit is not None else ()
    if layout.delays_inode_reuse:
        yield (
            "ext4 without a journal avoids recently freed inodes: each cycle makes the next file creations slower"
        )
    yield f"{len(CORNERS)} corners of IO500 in about {layout.budget_s:.0f} s: not an IO500 score"


def network_storage_warning(layout: BoxSetup) -> str:
    return (
        f"{layout.directory_path} is on {layout.file_system} ({layout.source}): this loads servers that other machines "
        "use too; reads may be served by their memory, which is not seen from here"
    )


def make_plan_and_setup(
    host: Host, options: OptionMap, planned: Callable[..., Plan]
) -> tuple[Plan, BoxSetup]:
    layout = BoxSetup(host, options)
    refusal = layout.refusal_reason
    done = planned_steps(layout)
    plan = planned(
        options=dict(options.values),
        variants=VARIANTS,
        workloads=box_workloads(layout),
        steps=done,
        reads=("mounts", "/proc/diskstats", "/proc/pressure", "/proc/stat"),
        actions=() if refusal else (make_directory_action(host, layout.directory_path),),
        writes=() if refusal else planned_writes(layout),
        rights=() if refusal else (f"write permission in {layout.directory_path}",),
        seconds=sum(step.seconds for step in done),
        measuring_s=layout.budget_s,
        sentences=() if refusal else tuple(plan_sentences(layout)),
        refusal=refusal,
    )
    return plan, layout
