"""What an iosched run would do, as it is shown and consented to: switches, bytes, seconds. Changes nothing."""

import math
from collections.abc import Callable, Sequence

from hostdx.probes import units
from hostdx.probes.reading.host import Host
from hostdx.probes.types import is_present
from hostdx.scenarios.contract.model import OptionMap, make_directory_action
from hostdx.scenarios.contract.plan import Plan, PlannedStep, PlannedWrite, Variant
from hostdx.scenarios.experiment.schedule.switch import scheduler_change
from hostdx.scenarios.iosched.measurement.mixed import file_sizes_of_mixes
from hostdx.scenarios.iosched.scheduler_setup import SchedulerSetup, has_hard_disk, needed_seconds
from hostdx.scenarios.iosched.target import ScheduledDisks
from hostdx.scenarios.triage.knowledge.disks import endurance_share, guess_seconds_to_write
from hostdx.scenarios.triage.knowledge.schedulers import device_class_of


def build_plan(host: Host, setup: SchedulerSetup, options: OptionMap, planned: Callable[..., Plan]) -> Plan:
    """The plan as it is shown and consented to."""
    if setup.target is None:
        return planned(options=dict(options.values), refusal=setup.refusal)
    on = setup.target
    files = sum(file_sizes_of_mixes(setup.size_bytes, setup.mixes).values())
    prepare_s = guess_seconds_to_write(files) + 3.0
    writes = any(mix.has_writers for mix in setup.mixes)
    bound = setup.most_written if writes else files
    kind = device_class_of(on.devices[0]) if on.devices else None
    schedulers = (on.current, *setup.variants)
    return planned(
        options=dict(options.values),
        variants=tuple(_describe_variant(on, s) for s in schedulers),
        workloads=tuple(job.workload for job in setup.jobs),
        steps=(
            PlannedStep("prepare", "write the test files", prepare_s),
            *(
                PlannedStep(job.workload.id, job.workload.title, job.allotted_s)
                for job in setup.jobs
                if job.allotted_s
            ),
            PlannedStep("restore", "put the queue back as it was, and check it", 1.0),
        ),
        actions=(
            make_directory_action(host, on.directory),
            *(scheduler_change(leaf, on.current, s) for s in setup.variants for leaf in on.leaf_names),
        ),
        writes=tuple(
            PlannedWrite(device.name, bound, on.directory, endurance_share(device, bound))
            for device in on.devices
        ),
        differs=_sentences_of_switch(schedulers),
        rights=("root",),
        seconds=setup.budget_s + prepare_s + 2.0,
        measuring_s=setup.budget_s,
        left_out=() if setup.refusal else _left_out_lines(setup, on),
        sentences=() if setup.refusal else _list_sentences(setup, on, kind.why if kind else ""),
        refusal=setup.refusal,
    )


def _describe_variant(on: ScheduledDisks, scheduler: str) -> Variant:
    state = on.states[0]
    if scheduler != on.current:
        return Variant(id=scheduler, label=scheduler, detail="with the kernel's own settings for it")
    facts = {"nr_requests": str(state.nr_requests)} if is_present(state.nr_requests) else {}
    return Variant(id=scheduler, label=scheduler, detail="now, as it is set", facts=facts | state.tunables)


def _sentences_of_switch(schedulers: Sequence[str]) -> tuple[str, ...]:
    """Return what a switch drags along, as far as the compared schedulers do."""
    lines = ["nr_requests: the kernel resets it at every switch"]
    if "bfq" in schedulers:
        lines.append("write-back throttling: bfq turns it off while it is active")
    return tuple(lines)


def _needed_seconds_lines(setup: SchedulerSetup) -> list[str]:
    """Return which pair and load takes how long at least: what the budget is made of."""
    parts = []
    for variant in setup.variants:
        loads = [(j.mix.title, needed_seconds(j.workload)) for j in setup.jobs if j.variant == variant]
        each = ", ".join(f"{title} {seconds:.0f}" for title, seconds in loads)
        total_s = sum(seconds for _, seconds in loads)
        parts.append(f"needs for {variant} at least {total_s:.0f} s: {each}")
    return parts


def _left_out_lines(setup: SchedulerSetup, on: ScheduledDisks) -> tuple[str, ...]:
    lines: list[str] = []
    if setup.too_long_jobs:
        titles = ", ".join(dict.fromkeys(f"{job.mix.title} ({job.variant})" for job in setup.too_long_jobs))
        lines.append(
            f"{titles}: not within {setup.budget_s:.0f} s; --budget {math.ceil(setup.needed_s)} measures everything"
        )
    if "write-streams" not in {mix.id for mix in setup.mixes} and not has_hard_disk(on):
        lines.append(
            "eight sequential writers: they cost seeks, which matters on hard disks only, and none is known "
            "here; --load write-streams measures them"
        )
    return tuple(lines)


def _list_sentences(setup: SchedulerSetup, on: ScheduledDisks, why: str) -> tuple[str, ...]:
    lines = [
        "first reads which scheduler is active and why, and which tasks hang in D (`hostdx triage` reads the "
        "same, without root)",
        f"switches the scheduler of {on.names_text} between {on.current} and {', '.join(setup.variants)} repeatedly",
        "puts it back after every block of another scheduler, with nr_requests and its tunables; never "
        "writes its write-back throttling",
        "the test files are unnamed, so that nothing is left after a crash; large effects end the run earlier",
        *_needed_seconds_lines(setup),
    ]
    total = next((job.write_rate * job.mix.writer_count for job in setup.jobs if job.write_rate), 0)
    if total:
        lines.append(
            f"the writers write at most {units.format_rate(total)} together, within the limit of --most-written "
            "(a lower limit spares the disk and loads it less)"
        )
    lines.append(
        "does not stop by itself when other processes wait longer on this device: switching and syncing "
        "look the same; Ctrl-C (on the screen: s) stops it within seconds and puts "
        "everything back"
    )
    if why:
        lines.append(f"why these: {why}")
    return (*lines, *setup.notes)
