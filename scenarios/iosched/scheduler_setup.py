"""What an iosched run works from: the device, the pairs of schedulers, the loads, their seconds and bytes."""

import math
from collections.abc import Sequence

import msgspec

from hostdx.probes.engine.disk.budget import GIB, MAX_WRITTEN_BYTES
from hostdx.probes.engine.disk.refusals import check_suitability
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.model import OptionMap, UsageError
from hostdx.scenarios.contract.plan import Metric, Workload
from hostdx.scenarios.experiment.budget import LeastTime, allotted_seconds, group_seconds, minimum_seconds
from hostdx.scenarios.iosched.measurement.mixed import MIXES, WorkerMix, file_sizes_of_mixes, fio_command
from hostdx.scenarios.iosched.target import ScheduledDisks, find_scheduled_disks, find_switch_refusal
from hostdx.scenarios.triage.knowledge.schedulers import schedulers_worth_trying

DEFAULT_BUDGET_S = 480.0
MIN_GROUPS = 4
# fdatasync of what the writers left, the children that write the settings, and the kernel's own switch (30 ms).
# Measured on two busy cores: 0.4 to 1.3 s.
SWITCH_S = 1.5
# The order of importance, with the control early enough to be measured whatever the budget is.
ORDER: tuple[str, ...] = ("writers-reader", "cpu", "readers", "streams", "write-streams", "ioprio")
SLOWEST_RATE = 1 << 20
# Writers that are held to a tenth of what the disk can do starve nobody (a reader beside two of 13 MB/s kept its
# 11,000 IOPS): together they may write as fast as a hard disk,
# up to a bound that is consented to.
PRESSING_RATE = 200_000_000
MAX_PRESSING_BYTES = 64 << 30
SPARE_BYTES = 0.95  # file systems write their journals too, and those count


class PairLoad(msgspec.Struct, frozen=True, kw_only=True):
    """One workload of one pair of schedulers."""

    mix: WorkerMix
    variant: str
    workload: Workload
    write_rate: int = 0  # bytes a second for each of its writers
    allotted_s: float = 0.0  # wall seconds at most; 0: the budget does not reach to it

    def written_rates(self, blocks: Sequence[ev.Block], scheduler: str) -> list[float]:
        """MB/s of all writers together, block by block; empty where nobody writes."""
        writers = [role.load.metric for role in self.mix.roles if role.load.kind == "write"]
        steady = [b for b in blocks if b.variant == scheduler and b.phase == "steady"]
        return [sum(b.values[metric] for metric in writers) for b in steady] if writers else []


class SchedulerSetup(msgspec.Struct, frozen=True, kw_only=True):
    """What the run works from. `needed_s`: seconds in which every job gets its fewest groups."""

    target: ScheduledDisks | None
    variants: tuple[str, ...] = ()
    jobs: tuple[PairLoad, ...] = ()
    mixes: tuple[WorkerMix, ...] = ()
    size_bytes: int = 0
    most_written: int = MAX_WRITTEN_BYTES
    needed_s: float = 0.0
    budget_s: float = DEFAULT_BUDGET_S
    refusal: str = ""
    notes: tuple[str, ...] = ()

    @property
    def too_long_jobs(self) -> tuple[PairLoad, ...]:
        """Return what the budget is too short for."""
        return tuple(job for job in self.jobs if not job.allotted_s)


def choose_scheduler_setup(host: Host, options: OptionMap, *, has_root: bool) -> SchedulerSetup:
    """Raises UsageError for a wrong request; what the host refuses is in `find_switch_refusal`."""
    directory = options.as_string("dir")
    if not directory:
        raise UsageError("name a directory on the device with --dir")
    fit = check_suitability(host, directory, explicit=True, size_bytes=options.as_integer("size") or None)
    if fit.refusal or fit.placement is None:
        return SchedulerSetup(target=None, refusal=fit.refusal)
    disks = find_scheduled_disks(host, directory, fit.placement)
    if isinstance(disks, Absent):
        return SchedulerSetup(target=None, refusal=disks.reason)
    why_not = find_switch_refusal(host, disks, system_disk=options.is_set("system-disk"), has_root=has_root)
    variants = _schedulers_to_try(disks, options.as_strings("scheduler"))
    if not why_not and not variants:
        why_not = (
            f"{disks.names_text}: no other scheduler to compare {disks.current} with "
            f"({', '.join(disks.offered)} offered)"
        )
    mixes = _choose_mixes(options, disks)
    files = sum(file_sizes_of_mixes(fit.size_bytes, mixes).values())
    jobs = tuple(
        PairLoad(mix=m, variant=v, workload=build_workload(m, v, len(variants), fit.size_bytes, directory, 0))
        for v in variants
        for m in mixes
    )
    needed = sum(needed_seconds(job.workload) for job in jobs)
    budget = options.as_number("budget") or default_budget_s(needed)
    if jobs and not why_not:
        _refuse_too_short_budget(budget, [job.workload for job in jobs if job.variant == variants[0]], needed)
    jobs = _allot_seconds(jobs, budget)
    most = options.as_integer("most-written") or _default_write_limit(jobs, files)
    rate = _write_bytes_per_s(jobs, most - files)
    return SchedulerSetup(
        target=disks,
        variants=variants,
        jobs=tuple(_limit_writers(job, rate, len(variants), fit.size_bytes, directory) for job in jobs),
        mixes=mixes,
        size_bytes=fit.size_bytes,
        most_written=most,
        needed_s=needed,
        budget_s=budget,
        refusal=why_not,
        notes=tuple(fit.notes),
    )


def default_budget_s(needed_s: float) -> float:
    """Return what every pair and load needs for its fewest groups, in whole half minutes; 480 s hold one pair."""
    return max(DEFAULT_BUDGET_S, 30.0 * math.ceil(needed_s / 30))


def _refuse_too_short_budget(budget_s: float, first_pair: Sequence[Workload], needed_s: float) -> None:
    least = least_budget_s(first_pair)
    if budget_s < least:
        raise UsageError(
            f"a budget of {budget_s:.0f} s is too short for {first_pair[0].title}; give --budget "
            f"{math.ceil(least)} or more (for that load and the control; {math.ceil(needed_s)} for all loads)"
        )


def estimate_least_time(job: PairLoad) -> LeastTime:
    return LeastTime(needed_seconds(job.workload), job.mix.control)


def _allot_seconds(jobs: Sequence[PairLoad], budget_s: float) -> tuple[PairLoad, ...]:
    """Each with its wall seconds at most, as the run gives them out."""
    allotments = allotted_seconds(budget_s, [estimate_least_time(job) for job in jobs])
    return tuple(
        msgspec.structs.replace(job, allotted_s=seconds)
        for job, seconds in zip(jobs, allotments, strict=True)
    )


def _writing_jobs_with_time(jobs: Sequence[PairLoad]) -> list[PairLoad]:
    return [job for job in jobs if job.mix.has_writers and job.allotted_s]


def _default_write_limit(jobs: Sequence[PairLoad], files: int) -> int:
    """Enough to press for the fewest groups, in whole GiB; never less than for any run, never above 64 GiB."""
    pressing = (
        PRESSING_RATE * sum(needed_seconds(j.workload) for j in _writing_jobs_with_time(jobs)) / SPARE_BYTES
    )
    wanted = math.ceil((files + pressing) / GIB) * GIB
    return min(MAX_PRESSING_BYTES, max(MAX_WRITTEN_BYTES, wanted))


def _write_bytes_per_s(jobs: Sequence[PairLoad], bytes_left: int) -> int:
    """Bytes a second for all writers of a load together. Rather fewer groups than writers that press nobody."""
    writing = _writing_jobs_with_time(jobs)
    if not writing:
        return 0
    fewest = SPARE_BYTES * bytes_left / sum(needed_seconds(j.workload) for j in writing)
    lasting = SPARE_BYTES * bytes_left / sum(j.allotted_s for j in writing)
    return max(SLOWEST_RATE, int(max(lasting, min(PRESSING_RATE, fewest))))


def _limit_writers(job: PairLoad, bytes_per_s: int, pairs: int, size_bytes: int, directory: str) -> PairLoad:
    """With the total_rate of each of its writers, in the command that would measure the same as well."""
    if not job.mix.writer_count:
        return job
    own = max(1, bytes_per_s // job.mix.writer_count)
    held_workload = build_workload(job.mix, job.variant, pairs, size_bytes, directory, own)
    return msgspec.structs.replace(job, write_rate=own, workload=held_workload)


def pace_factor_of(workload: Workload, blocks: Sequence[ev.Block], seconds: float) -> float:
    """Return how many times as long as planned the groups of a load took, its warm-up among them; 0.0 of none."""
    groups = 1 + max((block.group for block in blocks), default=-1)
    return seconds * MIN_GROUPS / (groups * needed_seconds(workload)) if groups >= MIN_GROUPS else 0.0


def needed_seconds(workload: Workload) -> float:
    """Wall seconds in which a pair gets its fewest groups: with the warm-up and two switches a group.

    A tenth on top, as for any workload, is too little where a block is hardly longer than a switch.
    """
    blocks_s = MIN_GROUPS * group_seconds(workload, 2) + 2 * workload.block_s
    return max(minimum_seconds(workload, 2), blocks_s + (2 * MIN_GROUPS + 2) * SWITCH_S)


def least_budget_s(workloads: Sequence[Workload]) -> float:
    """Seconds in which the first of a pair's workloads gets its fewest groups, and the control beside it."""
    controls = [w for w in workloads[1:] if w.control]
    return needed_seconds(workloads[0]) + sum(needed_seconds(w) for w in controls)


def _schedulers_to_try(disks: ScheduledDisks, asked: Sequence[str]) -> tuple[str, ...]:
    """Return what the class of device suggests, or what was asked for; never the current one."""
    if asked:
        unknown = [s for s in asked if s not in disks.offered]
        if unknown:
            offered = ", ".join(disks.offered)
            raise UsageError(f"{disks.names_text} does not offer {', '.join(unknown)} (it offers {offered})")
        return tuple(dict.fromkeys(s for s in asked if s != disks.current))
    if not disks.devices:
        return tuple(s for s in disks.offered if s != disks.current)
    return schedulers_worth_trying(disks.devices[0], disks.current, disks.offered)


def has_hard_disk(disks: ScheduledDisks) -> bool:
    """A hard disk is among the disks: many writers at once cost it seeks."""
    return any(is_present(d.rotational) and d.rotational for d in disks.devices)


def _choose_mixes(options: OptionMap, disks: ScheduledDisks) -> tuple[WorkerMix, ...]:
    """The chosen mixes in their order; shorter blocks only where a test asks for them."""
    by_id = {mix.id: mix for mix in MIXES}
    asked = {"ioprio": options.is_set("ioprio"), "write-streams": has_hard_disk(disks)}
    chosen = options.as_strings("load") or tuple(n for n in ORDER if asked.get(n, True))
    unknown = [name for name in chosen if name not in by_id]
    if unknown:
        raise UsageError(f"no load {', '.join(unknown)} (there are {', '.join(ORDER)})")
    factor = options.as_number("scale", 1.0) or 1.0
    mixes = [by_id[name] for name in ORDER if name in chosen]
    if factor == 1.0:
        return tuple(mixes)
    replace = msgspec.structs.replace
    return tuple(replace(m, block_s=m.block_s * factor, onset_s=m.onset_s * factor) for m in mixes)


def build_workload(
    mix: WorkerMix, variant: str, pairs: int, size: int, directory: str, rate: int
) -> Workload:
    """A mix as a workload; with several pairs the pair is part of its name, so that views keep them apart."""
    several = pairs > 1
    metrics = [Metric(name=r.load.metric, unit=r.load.unit, better=r.load.better) for r in mix.roles]
    if mix.advantage:
        unjudged = [msgspec.structs.replace(m, judged=False) for m in metrics]
        metrics = [Metric(name=mix.advantage, unit="x"), *unjudged]
    elif mix.has_writers and len(metrics) > 1:
        # The writers are held to a rate for the write bound: what they reach is shown, the reader is judged.
        metrics = [metrics[0], *(msgspec.structs.replace(m, judged=False) for m in metrics[1:])]
    return Workload(
        id=f"{mix.id}-{variant}" if several else mix.id,
        title=f"{mix.title} ({variant})" if several else mix.title,
        metrics=tuple(metrics),
        block_s=mix.block_s,
        max_block_s=mix.block_s,
        min_operations=0,
        onset_s=mix.onset_s,
        min_groups=MIN_GROUPS,
        control=mix.control,
        equivalent=fio_command(mix, size, directory, rate),
        why=mix.why,
    )
