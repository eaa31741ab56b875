"""What an iosched run works from: the device, the pairs of schedulers, the loads, their seconds and bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from probes.bench.budget import MOST_WRITTEN_A_RUN
from probes.bench.mixes import MIXES, Mix, files_bytes, fio_equivalent
from probes.bench.refusals import suitability
from probes.host import Host
from probes.types import Absent
from scenarios.budget import group_seconds, least_seconds
from scenarios.iosched_target import Target, refusal, target
from scenarios.knowledge.schedulers import worth_trying
from scenarios.model import Options, Usage
from scenarios.plan import Metric, Workload

DEFAULT_BUDGET_S = 480.0
MIN_GROUPS = 4
# fdatasync of what the writers left, the children that write the settings, and the kernel's own switch (30 ms).
# Measured on two busy cores: 0.4 to 1.3 s.
SWITCH_S = 1.5
# The order of importance, with the control early enough to be measured whatever the budget is.
ORDER: tuple[str, ...] = ("writers-reader", "cpu", "readers", "streams", "ioprio")
SLOWEST_RATE = 1 << 20


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One workload of one pair of schedulers."""

    mix: Mix
    variant: str
    workload: Workload


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """What the run works from. `write_rate` is bytes a second for each of the two writers."""

    target: Target | None
    variants: tuple[str, ...] = ()
    jobs: tuple[Job, ...] = ()
    mixes: tuple[Mix, ...] = ()
    size_bytes: int = 0
    most_written: int = MOST_WRITTEN_A_RUN
    write_rate: int = 0
    budget_s: float = DEFAULT_BUDGET_S
    refusal: str = ""
    notes: tuple[str, ...] = ()


def layout(host: Host, options: Options, *, has_root: bool) -> Layout:
    """Raises Usage for a wrong request; what the host refuses is in `refusal`."""
    directory = options.string("dir")
    if not directory:
        raise Usage("name a directory on the device with --dir")
    fit = suitability(host, directory, explicit=True, size_bytes=options.integer("size") or None)
    if fit.refusal:
        return Layout(target=None, refusal=fit.refusal)
    found = target(host, directory)
    if isinstance(found, Absent):
        return Layout(target=None, refusal=found.reason)
    why_not = refusal(host, found, system_disk=options.flag("system-disk"), has_root=has_root)
    variants = _variants(found, options.strings("scheduler"))
    if not why_not and not variants:
        why_not = (
            f"{found.names}: nothing to compare {found.current} with ({', '.join(found.offered)} offered)"
        )
    mixes = _mixes(options)
    budget = options.number("budget") or DEFAULT_BUDGET_S
    most = options.integer("most-written") or MOST_WRITTEN_A_RUN
    files = sum(files_bytes(fit.size_bytes, mixes).values())
    rate = max(SLOWEST_RATE, int((most - files) / _writing_seconds(mixes, budget) / 2))
    jobs = tuple(
        Job(mix=mix, variant=v, workload=workload(mix, v, len(variants), fit.size_bytes, directory, rate))
        for v in variants
        for mix in mixes
    )
    if jobs and not why_not:
        need = least_budget([job.workload for job in jobs if job.variant == variants[0]])
        if budget < need:
            text = f"{budget:.0f} s is too short for {jobs[0].workload.title}"
            raise Usage(f"a budget of {text}; give --budget {math.ceil(need)} or more")
    return Layout(
        target=found,
        variants=variants,
        jobs=jobs,
        mixes=mixes,
        size_bytes=fit.size_bytes,
        most_written=most,
        write_rate=rate,
        budget_s=budget,
        refusal=why_not,
        notes=tuple(fit.notes),
    )


def needed_seconds(workload: Workload) -> float:
    """Wall seconds in which a pair gets its fewest groups: with the warm-up and two switches a group.

    A tenth on top, as for any workload, is too little where a block is hardly longer than a switch.
    """
    blocks_s = MIN_GROUPS * group_seconds(workload, 2) + 2 * workload.block_s
    return max(least_seconds(workload, 2), blocks_s + (2 * MIN_GROUPS + 2) * SWITCH_S)


def least_budget(workloads: Sequence[Workload]) -> float:
    """Seconds in which the first of a pair's workloads gets its fewest groups, and the control beside it."""
    controls = [w for w in workloads[1:] if w.control]
    return needed_seconds(workloads[0]) + sum(needed_seconds(w) for w in controls)


def share(left_s: float, waiting: Sequence[Workload]) -> float:
    """Seconds for the first of those that wait: all but what the later ones need, as long as it has its own."""
    own = needed_seconds(waiting[0])
    kept = 0.0
    for later in waiting[1:]:
        need = needed_seconds(later)
        if own + kept + need > left_s:
            break
        kept += need
    return left_s - kept


def _writing_share(mixes: Sequence[Mix]) -> float:
    """The share of the seconds in which the two writers run, by the lengths of the blocks; their rate follows."""
    whole = sum(mix.block_s for mix in mixes)
    return min(0.95, max(0.05, sum(mix.block_s for mix in mixes if mix.writes) / whole))


def _writing_seconds(mixes: Sequence[Mix], budget_s: float) -> float:
    """Seconds over which the bytes must last: with a small budget too the writers get their fewest groups."""
    writing = [workload(m, "", 1, 0, "", SLOWEST_RATE) for m in mixes if m.writes]
    least = max((needed_seconds(w) for w in writing), default=0.0)
    return max(_writing_share(mixes) * budget_s, min(budget_s, least))


def _variants(found: Target, asked: Sequence[str]) -> tuple[str, ...]:
    """What the class of device suggests, or what was asked for; never the current one."""
    if asked:
        unknown = [s for s in asked if s not in found.offered]
        if unknown:
            offered = ", ".join(found.offered)
            raise Usage(f"{found.names} does not offer {', '.join(unknown)} (it offers {offered})")
        return tuple(dict.fromkeys(s for s in asked if s != found.current))
    if not found.devices:
        return tuple(s for s in found.offered if s != found.current)
    return worth_trying(found.devices[0], found.current, found.offered)


def _mixes(options: Options) -> tuple[Mix, ...]:
    """The chosen mixes in their order; shorter blocks only where a test asks for them."""
    by_id = {mix.id: mix for mix in MIXES}
    chosen = options.strings("load") or tuple(n for n in ORDER if n != "ioprio" or options.flag("ioprio"))
    unknown = [name for name in chosen if name not in by_id]
    if unknown:
        raise Usage(f"no load {', '.join(unknown)} (there are {', '.join(ORDER)})")
    factor = options.number("scale", 1.0) or 1.0
    mixes = [by_id[name] for name in ORDER if name in chosen]
    if factor == 1.0:
        return tuple(mixes)
    replace = msgspec.structs.replace
    return tuple(replace(m, block_s=m.block_s * factor, onset_s=m.onset_s * factor) for m in mixes)


def workload(mix: Mix, variant: str, pairs: int, size: int, directory: str, rate: int) -> Workload:
    """A mix as a workload; with several pairs the pair is part of its name, so that views keep them apart."""
    several = pairs > 1
    metrics = [Metric(name=r.load.metric, unit=r.load.unit, better=r.load.better) for r in mix.roles]
    if mix.advantage:
        apart = [msgspec.structs.replace(m, judged=False) for m in metrics]
        metrics = [Metric(name=mix.advantage, unit="x"), *apart]
    elif mix.writes:
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
        equivalent=fio_equivalent(mix, size, directory, rate),
        why=mix.why,
    )
