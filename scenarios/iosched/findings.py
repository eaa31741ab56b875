"""What an iosched run found: which scheduler to use, what its first seconds hide, what a switch drags along. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

import msgspec

from probes.bench.disk.mixes import MIXES
from probes.host import Host
from probes.system.disk.scheduler import Scheduling
from probes.system.disk.scheduler_origin import why
from probes.types import present
from probes.units import amount, counted, duration
from scenarios import events as ev
from scenarios.experiment.wording import effect_words, titled
from scenarios.finding import Evidence, Finding, Remedy
from scenarios.iosched.layout import Job
from scenarios.iosched.remedies import throughput_of_bfq, use
from scenarios.iosched.target import Target
from scenarios.knowledge.schedulers import class_of

# The first seconds after a switch are called misleading from this factor on, either way.
ONSET_MISLEADS = 2.0
A_DAY_S = 86400.0
# Writers at this share of the rate that they are held to were held by us and not by the disk.
HELD = 0.93


class Phase(msgspec.Struct, frozen=True):
    """The leading metric of one arm before and after the onset, block by block."""

    workload: str
    variant: str
    onsets: tuple[float, ...]
    steadies: tuple[float, ...]
    unit: str


def verdict_finding(host: Host, target: Target, variant: str, verdicts: Sequence[ev.Verdict]) -> Finding:
    """One pair of schedulers over all its loads."""
    judged = [v for v in verdicts if not v.control]
    faster = [v for v in judged if v.faster]
    slower = [v for v in judged if v.slower]
    moved = [v for v in verdicts if v.control and v.differs]
    evidence = tuple(Evidence(_line(v)) for v in verdicts)
    current, device = target.current, target.names
    base = Finding(
        id="iosched.compared",
        severity="ok",
        confidence="measured",
        title=f"{variant} and {current} on {device}: no material difference",
        evidence=evidence,
        subject=f"{device}:{variant}",
        references=("Documentation/block/switching-sched.rst",),
    )
    replace = msgspec.structs.replace
    if moved:
        text = (
            f"{variant} against {current} on {device}: do not trust this run, the CPU-only control differs "
            "too"
        )
        return replace(base, severity="notice", title=text)
    open_ones = [v for v in judged if v.undecided]
    rest = f"; inconclusive for {_loads(open_ones)}" if open_ones else ""
    if faster and slower:
        title = f"{variant} on {device} is faster for {_loads(faster)} and slower for {_loads(slower)}{rest}"
        return replace(base, severity="notice", title=title, remedy=_remedies(host, target, variant))
    if faster:
        title = f"{variant} is faster than {current} on {device} for {_loads(faster)}{rest}"
        return replace(base, severity="warning", title=title, remedy=_remedies(host, target, variant))
    if slower:
        title = f"{variant} is slower than {current} on {device} for {_loads(slower)}{rest}"
        if not open_ones:
            title = (
                f"keep {current} on {device}: {variant} is slower for {_loads(slower)} and faster for none"
            )
        return replace(base, title=title)
    if open_ones:
        equal = [v for v in judged if v.equal]
        same = f"no material difference for {_loads(equal)}; " if equal else ""
        title = f"{variant} against {current} on {device}: {same}inconclusive for {_loads(open_ones)}"
        return replace(base, severity="notice", title=title)
    return base


def _loads(verdicts: Sequence[ev.Verdict]) -> str:
    """What was loaded, in words: "eight random readers, four sequential readers"."""
    titles = {mix.id: mix.title for mix in MIXES}
    known = (next((t for i, t in titles.items() if v.workload.startswith(i)), v.workload) for v in verdicts)
    return ", ".join(dict.fromkeys(known))


def _line(verdict: ev.Verdict) -> str:
    title = titled(_loads([verdict]), control=verdict.control)
    text = f"{title}, {verdict.metric}: {effect_words(verdict)}, {counted(verdict.groups, 'group')}"
    seconds = verdict.seconds_to_decide
    mix = next((m.id for m in MIXES if verdict.workload in (m.id, f"{m.id}-{verdict.variant}")), "")
    if not verdict.undecided or seconds is None or seconds > A_DAY_S or not mix:
        return text
    alone = f"--scheduler {verdict.variant} --load {mix} --budget {math.ceil(seconds / 10) * 10}"
    return f"{text}; to decide it, in about {duration(seconds)}: {alone}"


def _remedies(host: Host, target: Target, variant: str) -> tuple[Remedy, ...]:
    found: list[Remedy] = []
    for leaf, state in zip(target.leaves, target.states, strict=True):
        device = next((d for d in target.devices if d.name == leaf), None)
        flag = device.rotational if device is not None and present(device.rotational) else None
        found.append(use(host, leaf, variant, target.current, flag, why(host, state)))
    if variant == "bfq":
        found.extend(throughput_of_bfq(leaf) for leaf in target.leaves)
    return tuple(found)


def onset_finding(device: str, phase: Phase) -> Finding | None:
    """Where the first seconds after a switch show something else than what follows."""
    if len(phase.onsets) < 2 or not all(phase.steadies):
        return None
    before, after = median(phase.onsets), median(phase.steadies)
    ratio = before / after
    if 1 / ONSET_MISLEADS < ratio < ONSET_MISLEADS:
        return None
    word = "more" if ratio > 1 else "less"
    factor = ratio if ratio > 1 else 1 / ratio
    return Finding(
        id="iosched.onset",
        severity="notice",
        confidence="measured",
        title=f"the first seconds after a switch to {phase.variant} show {factor:.1f} times {word} than what follows",
        evidence=(
            Evidence(f"{phase.workload}: {before:.0f} {phase.unit} at first, then {after:.0f} {phase.unit}"),
            Evidence("a short benchmark of schedulers would name the wrong one here"),
        ),
        subject=f"{device}:{phase.variant}:{phase.workload}",
    )


def held_finding(device: str, job: Job, written: Sequence[Sequence[float]]) -> Finding | None:
    """Where the writers reached the rate that the write bound leaves them, under every scheduler.

    `written` is MB/s of all writers together, a block each, by scheduler. Then nobody had to wait for them.
    """
    at_most = job.write_rate * job.mix.writers / 1e6
    bound = amount(at_most, "MB/s")
    if not at_most or not all(written) or min(median(w) for w in written) < HELD * at_most:
        return None
    return Finding(
        id="iosched.writers-held",
        severity="notice",
        confidence="measured",
        title=f"{job.mix.title}: the disk took all that the limit of writing allows ({bound})",
        evidence=tuple(Evidence(f"median {amount(median(w), 'MB/s')} of at most {bound}") for w in written),
        remedy=(
            Remedy(
                title="To measure it at the disk's limit, let the writers write more, or take a shorter "
                "budget",
                commands=(f"hostdx plan iosched --dir DIRECTORY --load {job.mix.id} --most-written 128G",),
                warning="the plan shows how many bytes: writing wears flash",
            ),
        ),
        subject=f"{device}:{job.variant}:{job.mix.id}",
    )


def throttling_finding(seen: dict[str, tuple[Scheduling, ...]], current: str) -> Finding | None:
    """What the switches did to write-back throttling, which is compared along with the scheduler."""
    lines: list[Evidence] = []
    for number, state in enumerate(seen.get(current, ())):
        for scheduler, states in seen.items():
            other = states[number]
            if scheduler != current and other.wbt_lat_usec != state.wbt_lat_usec:
                if not (present(other.wbt_lat_usec) and present(state.wbt_lat_usec)):
                    continue
                text = f"{state.device}: {state.wbt_lat_usec} us with {current}, {other.wbt_lat_usec} with {scheduler}"
                lines.append(Evidence(text, f"/sys/block/{state.device}/queue/wbt_lat_usec"))
    if not lines:
        return None
    return Finding(
        id="iosched.wbt-switch",
        severity="notice",
        confidence="measured",
        title="a switch of the scheduler also switched write-back throttling: the comparison includes both",
        evidence=tuple(lines),
        references=("block/blk-wbt.c; bfq turns it off while it is active",),
    )


def advice(target: Target) -> Finding | None:
    """What this class of device suggests, for the report."""
    if not target.devices:
        return None
    kind = class_of(target.devices[0])
    return Finding(
        id="iosched.class",
        severity="ok",
        confidence="hint",
        title=f"{target.names}, {kind.title}: as a rule {' or '.join(kind.suggests)}",
        evidence=(Evidence(kind.why, "knowledge/schedulers.toml"),),
        references=(kind.source,),
        subject=target.names,
    )
