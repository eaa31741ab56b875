"""What an iosched run found: which scheduler to use, what its first seconds hide, what a switch drags along. Pure."""

import math
from collections.abc import Sequence
from statistics import median
from typing import Any

import msgspec

from probes.bench.disk.mixes import MIXES
from probes.host import Host
from probes.system.disk.scheduler import Scheduling
from probes.system.disk.scheduler_origin import why
from probes.types import present
from probes.units import amount, counted, duration
from scenarios import events as ev
from scenarios.experiment.wording import effect_words, reckoned_s, title_of_workload
from scenarios.finding import Evidence, Finding, Remedy, Severity
from scenarios.iosched.remedies import throughput_of_bfq, use
from scenarios.iosched.scheduler_setup import PairLoad
from scenarios.iosched.target import ScheduledDisks
from scenarios.knowledge.schedulers import class_of
from scenarios.rules.texts import texts

SAYS = texts("iosched")

# The first seconds after a switch are called misleading from this factor on, either way.
ONSET_MISLEADS = 2.0
# Writers at this share of the rate that they are held to were held by us and not by the disk.
HELD = 0.93


class Phase(msgspec.Struct, frozen=True):
    """The leading metric of one variant before and after the onset, block by block."""

    workload: str
    variant: str
    onsets: tuple[float, ...]
    steadies: tuple[float, ...]
    unit: str


def verdict_finding(
    host: Host, target: ScheduledDisks, variant: str, verdicts: Sequence[ev.RunVerdict]
) -> Finding:
    """One pair of schedulers over all its loads."""
    judged = [v for v in verdicts if not v.control]
    faster = [v for v in judged if v.is_faster]
    slower = [v for v in judged if v.is_slower]
    moved = [v for v in verdicts if v.control and v.is_different]
    open_ones = [v for v in judged if v.is_undecided]
    equal = [v for v in judged if v.is_equal]
    fields: dict[str, Any] = {
        "variant": variant,
        "current": target.current,
        "device": target.names,
        "better": _loads(faster),
        "worse": _loads(slower),
        "open": _loads(open_ones),
        "rest": f"; inconclusive for {_loads(open_ones)}" if open_ones else "",
        "same": f"no material difference for {_loads(equal)}; " if equal else "",
    }
    severity: Severity = "notice"
    if moved:
        title = "control-moved"
    elif faster:
        title = "better-and-worse" if slower else "better"
        severity = "notice" if slower else "warning"
    elif slower:
        title, severity = "worse" if open_ones else "keep", "ok"
    else:
        title, severity = ("undecided", "notice") if open_ones else ("", "ok")
    return SAYS.finding(
        "compared",
        severity=severity,
        subject=f"{target.names}:{variant}",
        title=SAYS.text(title, **fields) if title else "",
        evidence=[Evidence(_line(v)) for v in verdicts],
        remedy=_remedies(host, target, variant) if faster and not moved else (),
        **fields,
    )


def _loads(verdicts: Sequence[ev.RunVerdict]) -> str:
    """What was loaded, in words: "eight random readers, four sequential readers"."""
    titles = {mix.id: mix.title for mix in MIXES}
    known = (next((t for i, t in titles.items() if v.workload.startswith(i)), v.workload) for v in verdicts)
    return ", ".join(dict.fromkeys(known))


def _line(verdict: ev.RunVerdict) -> str:
    title = title_of_workload(_loads([verdict]), control=verdict.control)
    text = f"{title}, {verdict.metric}: {effect_words(verdict)}, {counted(verdict.groups, 'group')}"
    seconds = reckoned_s(verdict)
    mix = next((m.id for m in MIXES if verdict.workload in (m.id, f"{m.id}-{verdict.variant}")), "")
    if not verdict.is_undecided or seconds is None or not mix:
        return text
    alone = f"--scheduler {verdict.variant} --load {mix} --budget {math.ceil(seconds / 10) * 10}"
    return f"{text}; to decide it, in about {duration(seconds)}: {alone}"


def _remedies(host: Host, target: ScheduledDisks, variant: str) -> tuple[Remedy, ...]:
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
    return SAYS.finding(
        "onset",
        subject=f"{device}:{phase.variant}:{phase.workload}",
        variant=phase.variant,
        factor=f"{factor:.1f}",
        word=word,
        workload=phase.workload,
        before=f"{before:.0f}",
        after=f"{after:.0f}",
        unit=phase.unit,
    )


def held_finding(device: str, job: PairLoad, written: Sequence[Sequence[float]]) -> Finding | None:
    """Where the writers reached the rate that the write bound leaves them, under every scheduler.

    `written` is MB/s of all writers together, a block each, by scheduler. Then nobody had to wait for them.
    """
    at_most = job.write_rate * job.mix.writer_count / 1e6
    bound = amount(at_most, "MB/s")
    if not at_most or not all(written) or min(median(w) for w in written) < HELD * at_most:
        return None
    medians = [str(amount(median(w), "MB/s")) for w in written]
    return SAYS.finding(
        "writers-held",
        subject=f"{device}:{job.variant}:{job.mix.id}",
        load=job.mix.title,
        bound=str(bound),
        mix=job.mix.id,
        evidence=[SAYS.evidence("written", median=one, bound=str(bound)) for one in medians],
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
                lines.append(
                    SAYS.evidence(
                        "wbt-switch",
                        device=state.device,
                        now=state.wbt_lat_usec,
                        current=current,
                        other=other.wbt_lat_usec,
                        scheduler=scheduler,
                    )
                )
    return SAYS.finding("wbt-switch", evidence=lines) if lines else None


def advice(target: ScheduledDisks) -> Finding | None:
    """What this class of device suggests, for the report."""
    if not target.devices:
        return None
    kind = class_of(target.devices[0])
    return SAYS.finding(
        "class",
        subject=target.names,
        kind=kind.title,
        suggests=" or ".join(kind.suggests),
        why=kind.why,
        references=(kind.source,),
    )
