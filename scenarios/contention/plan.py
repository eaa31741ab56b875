"""The plan of scenario `contention`: where it measures, which loads, by how many workers, how long."""

import math
import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import msgspec

from hostdx.probes import units
from hostdx.probes.engine.battery import own_affinity
from hostdx.probes.engine.disk.refusals import DirectorySuitability, check_suitability
from hostdx.probes.files.safe_read import read_shipped_toml
from hostdx.probes.reading.host import Host
from hostdx.probes.system.nodes.memory import read_memory
from hostdx.probes.types import is_present
from hostdx.scenarios.contention.measurement.memory_disks import IMAGE_BYTES, makeable_file_systems
from hostdx.scenarios.contention.measurement.operations import MAX_SIDE_BYTES
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.model import OptionMap, UsageError, make_directory_action
from hostdx.scenarios.contract.plan import Metric, Plan, PlannedStep, PlannedWrite, Variant, Workload
from hostdx.scenarios.experiment.files.directories import default_directories

CONTROL = "cpu"
MAX_DIRECTORIES = 2
MAX_WORKERS = 32
# Many short points: the 5 % are shared by a step of each load, and few groups make that interval several times wider.
GROUPS, MIN_GROUPS = 12, 4
MIN_POINT_S, USUAL_POINT_S, MAX_POINT_S = 0.05, 0.06, 0.5
MIN_BUDGET_S, MAX_BUDGET_S = 60.0, 300.0  # where none is given
PREPARE_S = 4.0
MEMORY_FACTOR = 4  # of what the images can hold: the rest of the host goes on
MAX_WRITTEN_BYTES = 4 << 30  # to a disk
SYNC_BYTES = 8 << 10  # a block and its part of the journal

MEMORY_DISKS = Action(
    kind="resource",
    resource="namespace",
    title="file systems on loop devices in memory, mounted in a mount namespace of a process's own",
    target="hostdx-contention-*",
    parameters={"held by": "process"},
    risk="none: the host's mounts do not change, and the kernel removes all of it when that process ends",
)


class ContentionLoad(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """files: of a file system, so measured on each; serial: the kernel's one lock of one file is expected."""

    id: str
    title: str
    why: str
    files: bool = True
    serial: bool = False


@cache
def read_loads() -> tuple[ContentionLoad, ...]:
    return read_shipped_toml(__file__, "loads.toml", dict[str, tuple[ContentionLoad, ...]])["load"]


class ContentionSetup(NamedTuple):
    """sides: their names; memory: the kinds made in memory, else `directories` holds one of each side."""

    sides: tuple[str, ...]
    memory: bool
    directories: tuple[DirectorySuitability, ...]
    levels: tuple[int, ...]
    judged: int
    budget_s: float
    left_out: tuple[str, ...]
    refusal: str

    @property
    def curve_keys(self) -> list[tuple[ContentionLoad, int]]:
        """Each load on each side; what no file system takes part in on side 0."""
        return [(load, n) for load in read_loads() for n in (range(len(self.sides)) if load.files else (0,))]

    @property
    def point_s(self) -> float:
        """Of so many seconds that GROUPS groups fit, with what starting the workers takes."""
        points = GROUPS * 2 * len(self.curve_keys) * len(self.levels)
        return min(
            MAX_POINT_S, max(MIN_POINT_S, self.budget_s / points - seconds_to_start_workers(self.levels))
        )


def seconds_to_start_workers(levels: Sequence[int]) -> float:
    """Of a point's workers, on average: 20 ms, and 1.5 ms a worker (measured on two busy cores)."""
    return 0.02 + 0.0015 * sum(levels) / len(levels)


def worker_counts(workers: int) -> tuple[int, ...]:
    """1, 2, 4 ... `workers`, and twice as many."""
    return (*(1 << n for n in range(workers.bit_length()) if 1 << n < workers), workers, 2 * workers)


def make_contention_setup(host: Host, options: OptionMap) -> ContentionSetup:
    """Raises UsageError."""
    cpus = min(MAX_WORKERS, len(own_affinity()))
    most = options.as_integer("workers") or cpus
    named_directories = options.as_strings("dir")
    if len(named_directories) > MAX_DIRECTORIES:
        raise UsageError(f"give --dir at most {MAX_DIRECTORIES} times here")
    left_out: list[str] = []
    sides: tuple[str, ...]
    directories: tuple[DirectorySuitability, ...] = ()
    refusal = ""
    if most < 2:
        refusal = "one CPU: more workers cannot do more; --workers 2 measures it all the same"
    kinds, why = ((), "") if named_directories else _memory_kinds_or_refusal(host)
    if kinds:
        sides = kinds
    else:
        left_out = [f"XFS and ext4 in memory: {why}"] if why else []
        directories, wrong = suitable_directories(host, named_directories)
        refusal = refusal or wrong
        sides = tuple(fit.directory for fit in directories) or ("",)
    levels = worker_counts(max(2, most))
    setup = ContentionSetup(
        sides, bool(kinds), directories, levels, max(2, most), 0.0, tuple(left_out), refusal
    )
    return setup._replace(budget_s=_budget_or_refuse(setup, options))


def _budget_or_refuse(setup: ContentionSetup, options: OptionMap) -> float:
    a_group = 2 * len(setup.curve_keys) * len(setup.levels)
    usual = min(
        MAX_BUDGET_S,
        max(MIN_BUDGET_S, GROUPS * a_group * (USUAL_POINT_S + seconds_to_start_workers(setup.levels))),
    )
    least = MIN_GROUPS * a_group * (MIN_POINT_S + seconds_to_start_workers(setup.levels))
    budget = options.as_number("budget") or max(least, usual)
    if budget < least:
        raise UsageError(
            f"contention: {MIN_GROUPS} groups of {a_group} points do not fit into {budget:.0f} s; "
            f"give --budget {math.ceil(least)} or more, or fewer --workers"
        )
    return budget


def _memory_kinds_or_refusal(host: Host) -> tuple[tuple[str, ...], str]:
    """The kinds that can be made, and why there is none."""
    if os.geteuid() != 0:
        return (), "needs root"
    kinds = makeable_file_systems()
    if not kinds:
        return (), "neither mkfs.xfs nor mkfs.ext4 is installed (xfsprogs, e2fsprogs)"
    need, free = MEMORY_FACTOR * len(kinds) * IMAGE_BYTES, read_memory(host).available
    if not is_present(free) or free < need:
        shown = units.format_size(free) if is_present(free) else "an unknown amount"
        return (), f"needs {units.format_size(need)} of free memory, {shown} is there"
    return kinds, ""


def suitable_directories(
    host: Host, named_directories: Sequence[str]
) -> tuple[tuple[DirectorySuitability, ...], str]:
    """All that were named, or the first usual one that fits."""
    suitabilities = [
        check_suitability(
            host, path, explicit=bool(named_directories), size_bytes=MAX_SIDE_BYTES, workloads=("metadata",)
        )
        for path in named_directories or default_directories(host)
    ]
    fit = tuple(candidate for candidate in suitabilities if not candidate.refusal)
    wrong = next((candidate.refusal for candidate in suitabilities if candidate.refusal), "")
    if named_directories:
        return (fit, wrong)
    return fit[
        :1
    ], "" if fit else wrong or "neither $TMPDIR nor /var/tmp is there: name a directory with --dir"


def build_plan(host: Host, setup: ContentionSetup, options: OptionMap, make: Callable[..., Plan]) -> Plan:
    workloads = tuple(
        Workload(
            id=load.id, title=load.title, metrics=(Metric("ops/s", "ops/s"),), block_s=setup.point_s,
            control=load.id == CONTROL, why=load.why,
        )
        for load in read_loads()
    )  # fmt: skip
    writes = () if setup.memory else tuple(map(_max_planned_write, setup.directories))
    return make(
        options=dict(options.values),
        variants=tuple(Variant(id="AB"[n], label=side, detail="in memory" if setup.memory else "")
                       for n, side in enumerate(setup.sides) if side),
        workloads=workloads,
        steps=(PlannedStep("prepare", "make files and directories", PREPARE_S),
               PlannedStep("measure", "measure and judge", setup.budget_s)),
        reads=("/proc/PID/{stat,wchan,syscall,stack} of own workers", "/proc/pressure", "mounts"),
        actions=(MEMORY_DISKS,) if setup.memory
        else tuple(make_directory_action(host, fit.directory) for fit in setup.directories),
        rights=("root",) if setup.memory else (),
        seconds=setup.budget_s + PREPARE_S,
        measuring_s=setup.budget_s,
        sentences=_plan_sentences(setup),
        left_out=setup.left_out,
        refusal=setup.refusal,
        writes=writes,
    )  # fmt: skip


def _max_planned_write(fit: DirectorySuitability) -> PlannedWrite:
    leaves = fit.placement.leaves if fit.placement else ()
    return PlannedWrite(device=", ".join(leaves), bytes=MAX_WRITTEN_BYTES, where=fit.directory)


def _plan_sentences(setup: ContentionSetup) -> tuple[str, ...]:
    counts = ", ".join(map(str, setup.levels))
    lines = [
        f"starts {counts} worker processes, up and then down in each group; keeps {setup.judged} CPUs busy",
        f"at most {units.format_size(MAX_SIDE_BYTES)} and {64 * setup.levels[-1]} names at a time on each side",
    ]
    if setup.memory:
        lines.append(
            f"takes up to {units.format_size(len(setup.sides) * IMAGE_BYTES)} of memory; measures file "
            "systems, not disks"
        )
    return (*lines, *(note for fit in setup.directories for note in fit.notes))
