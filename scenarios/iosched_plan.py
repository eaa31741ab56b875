"""What an iosched run would do, as it is shown and consented to: switches, bytes, seconds. Changes nothing."""

from __future__ import annotations

import msgspec

from probes.action import Action, private_directory
from probes.bench.budget import GIB
from probes.bench.mixes import files_bytes
from probes.host import Host
from probes.types import present
from scenarios.iosched_layout import Layout, layout
from scenarios.iosched_target import Target
from scenarios.knowledge.schedulers import class_of
from scenarios.model import Options
from scenarios.plan import Plan, PlannedStep, Variant, Written
from scenarios.storage_limits import endurance_share, fill_s


def switch(leaf: str, current: str, scheduler: str) -> Action:
    """The one setting that a run changes. What a switch resets silently is saved and restored with it."""
    queue = f"/sys/block/{leaf}/queue"
    return Action(
        kind="attribute",
        title=f"I/O scheduler of {leaf}: {current} to {scheduler}",
        target=f"{queue}/scheduler",
        old=current,
        new=scheduler,
        # nr_requests first: it sets async_depth along (mq-deadline, measured).
        side_paths=(f"{queue}/nr_requests", f"{queue}/iosched/*"),
        consent=True,
        risk=f"a switch waits until {leaf} has nothing in flight (some 30 ms); on a stuck device it hangs",
        rights="root",
    )


def make(
    host: Host, options: Options, scenario: str, title: str, question: str, why: str, *, root: bool
) -> Plan:
    """The plan as it is shown and consented to."""
    found = layout(host, options, has_root=root)
    if found.target is None:
        plan = Plan(scenario=scenario, title=title, question=question, why=why, refusal=found.refusal)
        return msgspec.structs.replace(plan, options=dict(options.values)).sealed()
    on = found.target
    files = sum(files_bytes(found.size_bytes, found.mixes).values())
    prepare_s = fill_s(files) + 3.0
    writes = any(mix.writes for mix in found.mixes)
    bound = found.most_written if writes else files
    kind = class_of(on.devices[0]) if on.devices else None
    schedulers = (on.current, *found.variants)
    return Plan(
        scenario=scenario,
        title=title,
        question=question,
        why=why,
        options=dict(options.values),
        variants=tuple(_variant(on, s) for s in schedulers),
        workloads=tuple(job.workload for job in found.jobs),
        steps=(
            PlannedStep("prepare", "write the test files", prepare_s),
            *(
                PlannedStep(job.workload.id, job.workload.title, found.budget_s / len(found.jobs))
                for job in found.jobs
            ),
            PlannedStep("restore", "put the queue back as it was, and check it", 1.0),
        ),
        reads=("/sys/block/*/queue", "/proc/diskstats", "/proc/swaps", "mounts", "udev rules, tuned profile"),
        actions=(
            private_directory(on.directory),
            *(switch(leaf, on.current, s) for s in found.variants for leaf in on.leaves),
        ),
        writes=tuple(
            Written(device.name, bound, on.directory, endurance_share(device, bound)) for device in on.devices
        ),
        differs=(
            "nr_requests: the kernel sets it anew with every switch",
            "write-back throttling: bfq turns it off while it is active",
        ),
        rights=("root",),
        seconds=found.budget_s + prepare_s + 2.0,
        measuring_s=found.budget_s,
        sentences=() if found.refusal else _sentences(found, on, bound, kind.why if kind else ""),
        refusal=found.refusal,
    ).sealed()


def _variant(on: Target, scheduler: str) -> Variant:
    state = on.states[0]
    if scheduler != on.current:
        return Variant(id=scheduler, label=scheduler, detail="with the kernel's own settings for it")
    facts = {"nr_requests": str(state.nr_requests)} if present(state.nr_requests) else {}
    return Variant(id=scheduler, label=scheduler, detail="now, as it is set", facts=facts | state.tunables)


def _sentences(found: Layout, on: Target, bound: int, why: str) -> tuple[str, ...]:
    lines = [
        "first reads which scheduler is active and why, and what hangs in D (also `hostdx triage`, without root)",
        f"switches the scheduler of {on.names} between {on.current} and {', '.join(found.variants)}, again and again",
        "puts it back after every block of another scheduler, with nr_requests and its tunables; wbt is never written",
        f"writes at most {bound / GIB:.1f} GiB, into files without a name that leave nothing",
        f"takes about {found.budget_s:.0f} s of measuring at most; large effects stop earlier",
    ]
    if any(mix.writes for mix in found.mixes):
        lines.append(
            f"holds each of the two writers to {found.write_rate / 1e6:.0f} MB/s, for that bound: "
            "--most-written 64G lets them press harder"
        )
    if why:
        lines.append(f"why these: {why}")
    return (*lines, *found.notes)
