"""The storage scenario's plan: what would be measured, written, refused and left out, before anything happens."""

import math
import os
from collections.abc import Callable, Sequence
from functools import cached_property

import msgspec

from hostdx.probes import units
from hostdx.probes.engine.disk.budget import GIB, MAX_WRITTEN_BYTES
from hostdx.probes.engine.disk.refusals import DirectorySuitability, check_suitability, delays_inode_reuse
from hostdx.probes.engine.workloads import LOADS, USUAL_PLACES, all_written_file_bytes, file_set_count
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.block import block_devices
from hostdx.probes.system.running.cgroup import absent_cgroup, cgroup_folders
from hostdx.probes.types import Absent, is_present
from hostdx.probes.units import format_size
from hostdx.scenarios.contract.model import OptionMap, UsageError, make_directory_action
from hostdx.scenarios.contract.plan import Plan, PlannedStep, PlannedWrite, Variant, Workload
from hostdx.scenarios.experiment.files.directories import default_directories
from hostdx.scenarios.experiment.files.places import ComparedDirectory, compared_directory
from hostdx.scenarios.experiment.files.variant_bench import engine_workload
from hostdx.scenarios.experiment.guards.foreign_latency import STOPS_ITSELF
from hostdx.scenarios.experiment.load_schedule import CONTROL_S, MAY_BE_LEFT_OUT, MIN_LOAD_S
from hostdx.scenarios.storage.targets import (
    SharedPart,
    are_on_one_file_system,
    describe_other_file_systems,
    describe_shared,
    find_shared_parts,
    list_differences,
    make_variant,
)
from hostdx.scenarios.triage.knowledge.disks import disk_class, endurance_share, guess_seconds_to_write

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
DEFAULT_BUDGET_S = 60.0
MAX_MANY_PLACES_TARGETS = 6  # with 64 places: two files each, and 1024 descriptors are the usual limit
LINKS_TITLE = "create/stat/delete of hard links"
LINKS_WHY = "links made, looked at and deleted: the file system's directories and journal more than the disk"
LINKS_NOTE = (
    "create/stat/delete makes hard links to one file, not new files, which would become slower from group to group; "
    "how fast a job creates files is not measured and not rated"
)
JOB_S = 10.0  # how long a job's own I/O wait is watched before our load starts
SINGLE_BLOCKS_AT_LEAST = 4


class StorageSetup:
    """The directories that will be measured, with what stands against each, and what was left out."""

    def __init__(self, host: Host, options: OptionMap) -> None:
        requested = options.as_strings("dir")
        wanted = requested or default_directories(host)
        if len(wanted) > len(LETTERS):
            raise UsageError(f"at most {len(LETTERS)} directories can be compared, {len(wanted)} were given")
        if len({resolve_path(host, path) for path in wanted}) < len(wanted):
            raise UsageError("the same directory is named twice with --dir; name different ones")
        self._host = host
        self.most_bytes = options.as_integer("most-bytes") or MAX_WRITTEN_BYTES
        self.targets: list[ComparedDirectory] = []
        self.suitable: dict[str, DirectorySuitability] = {}
        self.left_out: list[str] = []
        self.refusals: list[str] = []
        for directory in wanted:
            self._add_or_refuse(host, directory, options.as_integer("size") or None, explicit=bool(requested))
        if not requested:
            others = describe_other_file_systems(host, self.targets)
            self.left_out += [f"not included unless you name it: {line}" for line in others]

    def _add_or_refuse(self, host: Host, directory: str, size_bytes: int | None, *, explicit: bool) -> None:
        fit = check_suitability(host, directory, explicit=explicit, size_bytes=size_bytes)
        if fit.refusal or fit.placement is None:
            (self.refusals if explicit else self.left_out).append(fit.refusal)
            return
        letter = LETTERS[len(self.targets)]
        self.targets.append(compared_directory(block_devices(host), letter, directory, fit.placement))
        self.suitable[letter] = fit

    @property
    def refusal_reason(self) -> str:
        """Return why nothing is measured; one directory that was named and cannot be measured is enough."""
        if self.refusals:
            return self.refusals[0]
        if not self.targets:
            reasons = "; ".join(self.left_out[:2]) or "neither $TMPDIR nor /var/tmp exists"
            return f"no directory to measure in: {reasons}; name a directory"
        if self.files_bytes > self.most_bytes:
            return (
                f"the test files alone take {format_size(self.files_bytes)}, and this run may write "
                f"{format_size(self.most_bytes)}; "
                f"give --most-bytes={math.ceil(2 * self.files_bytes / GIB)}G or a smaller --size"
            )
        return ""

    @property
    def size_bytes(self) -> int:
        """One size for all, so that the comparison is fair: the smallest that fits everywhere."""
        return min((fit.size_bytes for fit in self.suitable.values()), default=0)

    @cached_property
    def shared_parts(self) -> tuple[SharedPart, ...]:
        """Return what the directories have in common; they are opened for it, so only where nothing is refused."""
        return () if self.refusal_reason else find_shared_parts(self._host, self.targets)

    @property
    def place_count(self) -> int:
        """Of each side: few where one of the disks spins, or where so many files could not be held open."""
        if len(self.targets) > MAX_MANY_PLACES_TARGETS:
            return USUAL_PLACES
        spinning = any(device.rotational is True for target in self.targets for device in target.devices)
        return file_set_count(self.size_bytes, spinning=spinning)

    def makes_links(self, host: Host) -> bool:
        """Return whether links to one file are made instead of files, on all sides alike.

        Only a comparison may do so: it needs the same work in every group, and a rating the work of a job.
        """
        return len(self.targets) > 1 and any(
            delays_inode_reuse(host, target.place) for target in self.targets
        )

    @property
    def files_bytes(self) -> int:
        """Return what is written before anything is measured."""
        return len(self.targets) * (self.size_bytes + all_written_file_bytes(self.size_bytes))


def resolve_path(host: Host, path: str) -> str:
    """Without symlinks, through the reader that a dead mount cannot hold; as it is where nothing answers."""
    real_path = host.resolve_path(path, may_hang=True)
    return os.path.normpath(path) if isinstance(real_path, Absent) else real_path


def build_workloads(size_bytes: int, directory: str, directories: int) -> tuple[Workload, ...]:
    return tuple(engine_workload(load, size_bytes, directory, slices=directories > 1) for load in LOADS)


def planned_writes(targets: Sequence[ComparedDirectory], limit: int) -> tuple[PlannedWrite, ...]:
    """Return what the files and the writing loads put on each device at most, bytes; `limit` holds for all together."""
    by_device: dict[str, list[ComparedDirectory]] = {}
    for target in targets:
        by_device.setdefault(target.leaf_names, []).append(target)
    writes: list[PlannedWrite] = []
    for name, there in by_device.items():
        share = endurance_share(there[0].devices[0], limit) if there[0].devices else None
        directories_text = ", ".join(t.directory for t in there)
        writes.append(PlannedWrite(device=name, bytes=limit, where=directories_text, endurance_share=share))
    return tuple(writes)


def extra_plan_sentences(plan: Plan, size_bytes: int, count: int, notes: Sequence[str]) -> tuple[str, ...]:
    """Return what the plan's fields do not say."""
    lines = [STOPS_ITSELF, *([MAY_BE_LEFT_OUT] if len(plan.variants) > 1 else [])]
    if len(plan.writes) > 1:
        lines.append("the limit of writing is for all devices together")
    lines.append(
        f"each directory gets {format_size(size_bytes)} of test files in {count} file sets, because files on "
        "one disk differ in speed; the files have no names, so that no data is left after a crash"
    )
    return (*lines, *notes)


def describe_yardsticks_of_single_target(target: ComparedDirectory) -> str:
    """Return what a single directory can be held against: its class and its link, where they are known."""
    known_classes = [disk_class(device) for device in target.devices]
    classes = sorted({known_class.title for known_class in known_classes if known_class is not None})
    links = [device.link.now for device in target.devices if is_present(device.link)]
    if not classes and not links:
        return (
            f"one directory: the expected speed of {target.leaf_names} is not known (a virtual or loop device, "
            "or an unknown class); the verdict says which uses suit it, and which speed class is nearest"
        )
    against = [f"what a {title} usually gives" for title in classes] + [f"its link ({now})" for now in links]
    return f"one directory: its values are compared with {' and '.join(dict.fromkeys(against))}"


def least_budget_s(loads: Sequence[Workload], directories: int) -> int:
    """Whole seconds in which one comparison fits beside the control, or some blocks of each load for one directory."""
    if directories < 2:
        return math.ceil(sum(SINGLE_BLOCKS_AT_LEAST * load.block_s for load in loads))
    return math.ceil(MIN_LOAD_S + CONTROL_S * sum(load.control for load in loads[1:]))


def job_refusal(host: Host, options: OptionMap) -> str:
    """Return why the job that was named cannot be watched: said before two minutes are spent on the disk."""
    pids, cgroup = options.as_strings("pid"), options.as_string("cgroup")
    if pids and cgroup:
        raise UsageError("--pid and --cgroup name two jobs; give one of them")
    for pid in pids:
        if not host.path_exists(f"/proc/{pid}/stat"):
            return f"--pid {pid}: no such process; `ps -e` lists them"
    missing = cgroup and not cgroup_folders(host, cgroup)
    return f"--cgroup {cgroup}: {absent_cgroup(cgroup).reason}" if missing else ""


def make_plan_and_setup(
    host: Host, options: OptionMap, planned: Callable[..., Plan], only: Sequence[str] = ()
) -> tuple[Plan, StorageSetup]:
    """`only` restricts what the budget must suffice for (tests)."""
    layout = StorageSetup(host, options)
    targets, size = layout.targets, layout.size_bytes
    variants: list[Variant] = [make_variant(host, entry) for entry in targets]
    loads = build_workloads(size, targets[0].directory, len(targets)) if targets else ()
    if layout.makes_links(host):
        loads = tuple(
            msgspec.structs.replace(load, title=LINKS_TITLE, why=LINKS_WHY) if load.id == "metadata" else load
            for load in loads
        )
    if are_on_one_file_system(layout.shared_parts, len(targets)):
        loads = tuple(msgspec.structs.replace(load, one_file_system=not load.control) for load in loads)
    budget = options.as_number("budget") or DEFAULT_BUDGET_S
    asked = [load for load in loads if not only or load.id in only]
    if asked and budget < (need := least_budget_s(asked, len(targets))):
        measured_text = "one load and the control" if len(targets) > 1 else "some blocks of each load"
        raise UsageError(
            f"a budget of {budget:.0f} s is too short for {measured_text}; give --budget {need} or more"
        )
    prepare_s = guess_seconds_to_write(layout.files_bytes) + 2.0
    watches_job = bool(options.as_strings("pid") or options.as_string("cgroup"))
    job_s = JOB_S if watches_job else 0.0
    letters_by_note: dict[str, list[str]] = {}
    for entry in targets:
        for note in layout.suitable[entry.letter].notes:
            letters_by_note.setdefault(note, []).append(entry.letter)
    notes = [f"{', '.join(letters)}: {note}" for note, letters in letters_by_note.items()]
    notes += [LINKS_NOTE] if layout.makes_links(host) else []
    if len(targets) == 1:
        notes.append(describe_yardsticks_of_single_target(targets[0]))
        notes += [
            f"a block of {load.title} ends after {load.block_s:g} s or "
            f"{units.format_size(load.most_bytes)}, whichever comes "
            "first"
            for load in LOADS
            if load.most_bytes is not None
        ]
    plan = planned(
        options=dict(options.values),
        variants=tuple(variants),
        workloads=loads,
        steps=(
            *((PlannedStep("job", "watch the job's own I/O wait", job_s),) if watches_job else ()),
            PlannedStep("prepare", "write the test files", prepare_s),
            *(PlannedStep(w.id, w.title, budget / max(1, len(loads))) for w in loads),
        ),
        actions=tuple(make_directory_action(host, entry.directory) for entry in targets),
        writes=planned_writes(targets, layout.most_bytes),
        differs=list_differences(variants) if len(variants) > 1 else (),
        common=tuple(describe_shared(entry) for entry in layout.shared_parts),
        rights=tuple(f"write permission in {entry.directory}" for entry in targets),
        seconds=budget + prepare_s + job_s,
        measuring_s=budget,
        left_out=tuple(layout.left_out),
        refusal=layout.refusal_reason or job_refusal(host, options),
    )
    plan_sentences = (
        ()
        if plan.refusal
        else extra_plan_sentences(plan, layout.files_bytes // max(1, len(targets)), layout.place_count, notes)
    )
    return msgspec.structs.replace(plan, sentences=(*plan.sentences, *plan_sentences)), layout
